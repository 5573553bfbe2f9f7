"""What is read from the source of a part is what its class says."""

from dataclasses import fields
from pathlib import Path

import pytest

from scarf_lightning.config.axes import BASES
from scarf_lightning.config.facts import facts
from scarf_lightning.config.registry import options
from scarf_lightning.errors import UsageError

PLUGIN = """
from dataclasses import dataclass
from typing import ClassVar
from scarf_lightning.methods import SingleFitMethod
import scarf_lightning.pretexts

@dataclass
class Base(SingleFitMethod):
    pretrainable: ClassVar[bool] = False
    strength: float = 1.0

@dataclass
class Own(Base):
    name: ClassVar[str] = "own_method"
    uses: ClassVar[tuple[str, ...]] = ("network",)
    more: int = 2

@dataclass
class Task(scarf_lightning.pretexts.Pretext):
    name: ClassVar[str] = "own_pretext"
    corruption: object
"""


@pytest.mark.parametrize("axis", BASES)
def test_names_fields_and_class_variables_are_those_of_the_classes(axis: str) -> None:
    read, classes = facts(axis), options(axis)

    assert set(read) == set(classes)
    for name, cls in classes.items():
        assert list(read[name].fields) == [field.name for field in fields(cls)]
        for variable, value in read[name].variables.items():
            if variable != "limits":  # which add up: tests/test_limits.py
                assert getattr(cls, variable) == value, (name, variable)


def test_a_plugin_says_the_same_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugin_of_facts.py").write_text(PLUGIN)

    method, pretext = (facts(axis, ["plugin_of_facts"]) for axis in ("method", "pretrain"))

    own = method["own_method"]
    assert list(own.fields) == ["strength", "more"]
    assert (own.variables["pretrainable"], own.variables["uses"], own.variables["typical_fits"]) == (
        False,
        ("network",),
        1,
    )
    assert list(pretext["own_pretext"].fields) == ["corruption"]
    assert "own_method" not in facts("method")


def test_what_is_computed_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugin_that_computes.py").write_text(PLUGIN.replace('= ("network",)', "= tuple(['network'])"))

    with pytest.raises(UsageError, match=r"Own\.uses must be written as a plain value, not computed"):
        facts("method", ["plugin_that_computes"])
