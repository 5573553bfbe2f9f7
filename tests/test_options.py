"""Every option of every group of `conf/`, trained to the end. Nothing here lists options: the files are found.

Of the datasets, which mostly need a network, `tests/config/test_conf_folder.py` opens every one.
"""

import pytest

from scarf_lightning.data.sources.wdbc import WdbcSource
from scarf_lightning.data.table import Table
from tests.composing import GROUPS, asking_for, cells_of, config_of, names
from tests.short_training import check, trained

TRAINED = [(group, name) for group in GROUPS if group != "dataset" for name in names(group)]


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return WdbcSource().load()


@pytest.fixture(params=["wdbc", "mixed_table"])
def table(request: pytest.FixtureRequest) -> Table:
    found: Table = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(("group", "name"), TRAINED, ids=lambda value: value)
def test_every_option_trains_to_the_end(group: str, name: str, table: Table) -> None:
    (cell,) = cells_of(*asking_for(group, name))

    check(trained(cell.config, table), cell.config, table)


@pytest.mark.parametrize("name", names("corruption"))
@pytest.mark.parametrize("method", ["cotrain", "scarf_augment"])
def test_every_corruption_trains_to_the_end_in_every_place(method: str, name: str, mixed_table: Table) -> None:
    place = "corruption@cotrain.corruption" if method == "cotrain" else "corruption"
    config = config_of(f"method={method}", f"{place}={name}")

    check(trained(config, mixed_table), config, mixed_table)
