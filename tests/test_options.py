"""Every option of every group of `conf/`, trained to the end. Nothing here lists options: the files are found.

Of the datasets, which mostly need a network, `tests/config/test_conf_folder.py` opens every one.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.table import Table
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
