"""Every choice of every group of `conf/` trains to the end; every option of every part is refused beyond its limits.

Nothing here lists options: files and classes are found. Datasets mostly need a network;
`tests/tools/test_reference.py` opens every one.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scarf_lightning.data.sources import DiabetesSource, WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.options import Config
from scarf_lightning.options.axes import BASES, parts
from scarf_lightning.options.option import options_of
from tests.composing import GROUPS, asking_for, config_of, names
from tests.short_training import check, trained

CHOICES = [(group, name) for group in GROUPS if group != "dataset" for name in names(group)]


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return WdbcSource().load()


def train_to_the_end(config: Config, table: Table) -> None:
    if not table.target.is_among(config.part("method").targets):
        table = DiabetesSource().load()
    table = replace(table, split_by=split_by(config.split["name"], table.n_rows))
    check(trained(config, table), config, table)


def split_by(name: str, n_rows: int) -> NDArray[np.float64] | None:
    """What a split may go by: every row a group of its own, so that all trials have the same sizes; or the share of
    rows before it, and the part that this share is in."""
    share = np.arange(n_rows) / n_rows
    part = np.digitize(share, [0.7, 0.8]).astype(np.float64)
    return {"group": np.full(n_rows, np.nan), "time": share, "column": part}.get(name)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["mixed_table", "wdbc"])
@pytest.mark.parametrize(("group", "name"), CHOICES, ids=lambda value: value)
def test_every_choice_trains_to_the_end_beside_the_defaults(
    group: str, name: str, table: str, request: pytest.FixtureRequest
) -> None:
    train_to_the_end(config_of(*asking_for(group, name)), request.getfixturevalue(table))


@pytest.mark.slow
@pytest.mark.parametrize("name", names("corruption"))
@pytest.mark.parametrize("place", ["corruption@cotrain.corruption", "corruption"])
def test_every_corruption_trains_to_the_end_in_every_place(place: str, name: str, mixed_table: Table) -> None:
    method = "cotrain" if "cotrain" in place else "scarf_augment"
    train_to_the_end(config_of(f"method={method}", f"{place}={name}"), mixed_table)


@pytest.mark.parametrize("axis", BASES)
def test_values_beyond_the_limits_are_refused(axis: str) -> None:
    for cls in parts(axis).values():
        for option in options_of(cls).values():
            if not option.limits and not option.choices:
                continue
            parts_of_others = {"corruption", "selection", "loss", "pretext", "weight"} - options_of(cls).keys()
            composed: dict[str, Any] = dict.fromkeys(parts_of_others & cls.__dataclass_fields__.keys())
            cls(**composed, **{option.name: option.default})
            for value in (-math.inf, math.nan) if option.limits else ("nobody's choice",):
                with pytest.raises(ValueError, match=rf"^{option.name}="):
                    cls(**composed, **{option.name: value})
