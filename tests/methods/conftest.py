"""Stacks of the patients that tests only read."""

import pytest

from scarf_lightning.data.table import Table
from scarf_lightning.engine.stack import Stack
from tests.stacks import MakeStack, make_stack, patients

__all__ = ["exact", "make_stack", "patients", "stack"]


@pytest.fixture(scope="session")
def stack(patients: Table, make_stack: MakeStack) -> Stack:
    """One trial."""
    return make_stack(patients, [0])


@pytest.fixture(scope="session")
def exact(patients: Table, make_stack: MakeStack) -> Stack:
    """Two trials in double precision."""
    return make_stack(patients, [0, 1], precision="64-true")
