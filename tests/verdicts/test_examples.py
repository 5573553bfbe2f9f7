"""The examples in the docstrings of the verdicts."""

import doctest
import importlib
import pkgutil

import pytest

from scarf_lightning import verdicts

MODULES = [module.name for module in pkgutil.iter_modules(verdicts.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"{verdicts.__name__}.{name}"))

    assert found.failed == 0
    assert found.attempted > 0
