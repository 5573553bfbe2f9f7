"""The table that cells of these tests are trained on."""

import pytest

from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.table import Table


@pytest.fixture(scope="session")
def wdbc() -> Table:
    return WdbcSource().load()
