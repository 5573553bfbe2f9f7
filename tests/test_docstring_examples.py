"""The examples in docstrings are right, and each loss, corruption, pretext task and metric has one."""

import doctest
import importlib
from pathlib import Path

import pytest

import scarf_lightning
from scarf_lightning.metrics import METRICS
from scarf_lightning.options.axes import parts

ROOT = Path(scarf_lightning.__file__).parent
OF_A_USER = (ROOT / "__init__.py", ROOT / "lightning" / "__init__.py")
"""Their examples train on a table that a user has."""


def modules_with_examples() -> list[str]:
    """The modules whose sources hold an example, by name."""
    names = []
    for path in sorted(ROOT.rglob("*.py")):
        if path not in OF_A_USER and ">>> " in path.read_text(encoding="utf-8"):
            module = path.relative_to(ROOT.parent).with_suffix("")
            names.append(".".join(module.parts).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module_are_right(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))

    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("axis", ["loss", "corruption", "selection", "pretrain"])
def test_each_part_of_an_axis_has_an_example(axis: str) -> None:
    without = [name for name, part in parts(axis).items() if ">>> " not in (part.__doc__ or "")]

    assert without == []


def test_each_metric_has_an_example() -> None:
    without = [metric.name for metric in METRICS if ">>> " not in (metric.function.__doc__ or "")]

    assert without == []
