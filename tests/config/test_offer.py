"""Parts of a plugin are asked for and set as the package's own are."""

import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from hydra.core.config_store import ConfigStore

from scarf_lightning.config.axes import BASES
from scarf_lightning.config.offer import offer
from tests.composing import composed

MODULE = """
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from scarf_lightning.data.scaling import Scaling
from scarf_lightning.networks import Network


@dataclass
class Halves(Scaling):
    name: ClassVar[str] = "halves"
    factor: float = 0.5

    def statistics(self, values):
        return values.mean(axis=0) * 0, values.mean(axis=0) * 0 + 1 / self.factor


@dataclass
class Straight(Network):
    name: ClassVar[str] = "straight"
    units: int = 7

    def build(self, columns, dropout):
        return nn.Linear(columns.n_encoded, self.units)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ConfigStore.instance(), "repo", deepcopy(ConfigStore.instance().repo))
    path = tmp_path / f"offered_{tmp_path.name}.py"
    path.write_text(MODULE)
    yield path.stem
    sys.modules.pop(path.stem, None)


def test_a_part_is_an_option_of_its_axis(plugin: str) -> None:
    offer([plugin])
    config = composed(f"plugins=[{plugin}]", "scaling=halves", "scaling.factor=0.25", "network=straight")
    assert config.scaling == {"name": "halves", "factor": 0.25}
    assert (config.network.name, config.network.encoder) == ("straight", {"units": 7})
    assert config.network.head.width == 256


def offered() -> set[str]:
    return {f"{axis}/{file}" for axis in BASES for file in ConfigStore.instance().repo.get(axis, {})}


def test_ours_are_left_to_the_configuration(plugin: str) -> None:
    before = offered()
    offer([plugin])
    assert offered() - before == {"scaling/halves.yaml", "network/straight.yaml"}
    assert "scaling/zscore.yaml" not in offered()


def test_without_a_plugin_nothing_is_offered(plugin: str) -> None:
    before = offered()
    offer([])
    assert offered() == before
