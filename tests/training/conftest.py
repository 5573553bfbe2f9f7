"""The tables that cells and stacks of these tests are trained on."""

import pytest

from scarf_lightning.data.sources import WdbcSource
from scarf_lightning.data.table import Table
from tests.stacks import make_stack, patients

__all__ = ["make_stack", "patients"]


@pytest.fixture(scope="session")
def wdbc() -> Table:
    return WdbcSource().load()
