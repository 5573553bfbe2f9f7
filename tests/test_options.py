"""Every choice of every group of `conf/` trains to the end; every option of every part is refused beyond its limits.

Nothing here lists options: files and classes are found. Datasets mostly need a network;
`tests/options/test_reference.py` opens every one.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scarf_lightning.data.sources import DiabetesSource, WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.options.combinations import method_of
from scarf_lightning.options.option import Option, options_of
from tests.composing import GROUPS, asking_for, cells_of, config_of, names
from tests.short_training import check, trained

TRAINED = [(group, name) for group in GROUPS if group != "dataset" for name in names(group)]


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return WdbcSource().load()


@pytest.fixture(params=["mixed_table", pytest.param("wdbc", marks=pytest.mark.slow)])
def table(request: pytest.FixtureRequest) -> Table:
    found: Table = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(("group", "name"), TRAINED, ids=lambda value: value)
def test_every_option_trains_to_the_end(group: str, name: str, table: Table) -> None:
    (cell,) = cells_of(*asking_for(group, name))
    if not table.target.is_among(method_of(cell.config).targets):
        table = DiabetesSource().load()
    if group == "split":
        table = replace(table, split_by=split_by(name, table.n_rows))

    check(trained(cell.config, table), cell.config, table)


def split_by(name: str, n_rows: int) -> NDArray[np.float64] | None:
    """What a split may go by: every row a group of its own, so that all trials have the same sizes; or the share of
    rows before it, and the part that this share is in; or that part in each of five folds."""
    share = np.arange(n_rows) / n_rows
    part = np.digitize(share, [0.7, 0.8]).astype(np.float64)
    task = np.stack([np.where(np.arange(n_rows) % 5 == fold, 2.0, 0.0) for fold in range(5)], axis=1)
    return {"group": np.full(n_rows, np.nan), "time": share, "column": part, "files": part, "task": task}.get(name)


@pytest.mark.parametrize("name", names("corruption"))
@pytest.mark.parametrize("method", ["cotrain", "scarf_augment"])
def test_every_corruption_trains_to_the_end_in_every_place(method: str, name: str, mixed_table: Table) -> None:
    place = "corruption@cotrain.corruption" if method == "cotrain" else "corruption"
    config = config_of(f"method={method}", f"{place}={name}")

    check(trained(config, mixed_table), config, mixed_table)


LIMITED = [
    pytest.param(cls, option, id=f"{axis}.{name}.{option.name}")
    for axis in BASES
    for name, cls in parts(axis).items()
    for option in options_of(cls).values()
    if option.limits or option.choices
]


def beyond(option: Option) -> list[Any]:
    """Values just outside."""
    if option.limits is None:
        return ["nobody's choice"]
    limits, is_whole = option.limits, option.kind is int
    below = limits.low - 1 if is_whole else math.nextafter(limits.low, -math.inf)
    above = limits.high + 1 if is_whole else math.nextafter(limits.high, math.inf)
    low = below if limits.includes_low else limits.low
    high = [above if limits.includes_high else limits.high] if limits.high < math.inf else []
    return [low, *high, -math.inf, math.inf, math.nan]


@pytest.mark.parametrize(("cls", "option"), LIMITED)
def test_values_beyond_the_limits_are_refused(cls: type[Any], option: Option) -> None:
    parts_of_others = {"corruption", "selection", "loss", "pretext", "weight"} - options_of(cls).keys()
    composed = dict.fromkeys(parts_of_others & cls.__dataclass_fields__.keys())
    cls(**composed, **{option.name: option.default})
    for value in beyond(option):
        with pytest.raises(ValueError, match=rf"^{option.name} must "):
            cls(**composed, **{option.name: value})
