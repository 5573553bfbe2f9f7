import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.config import build_parts, read
from scarf_lightning.config.plugins import load_plugins, plugin_hashes
from scarf_lightning.errors import UsageError
from scarf_lightning.results import fingerprint, identity
from scarf_lightning.sweeping.composer import Composer
from scarf_lightning.sweeping.expand import expand
from tests.composing import SWEEPS, composed, loader_and_master

MODULE = """
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.corruption import SelectiveCorruption


@dataclass
class Halved(SelectiveCorruption):
    name: ClassVar[str] = "halved"
    factor: float = 0.5

    def replacement(self, x, source, random):
        return x * self.factor
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module in the working folder, under a name that no other test has taken."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"parts_{tmp_path.name}.py"
    path.write_text(MODULE)
    yield path
    sys.modules.pop(path.stem, None)


HALVED = ("corruption=mean", "corruption.name=halved")


def test_a_part_of_the_users_is_found_by_its_name(plugin: Path) -> None:
    before = list(sys.path)
    config = read(composed(f"plugins=[{plugin.stem}]", *HALVED, "+corruption.factor=0.25"))
    parts = build_parts(config)
    assert parts.pretext is not None
    corruption = parts.pretext.corruption
    assert (corruption.name, corruption.factor, corruption.rate) == ("halved", 0.25, 0.6)  # type: ignore[attr-defined]
    assert sys.path == before


def test_its_options_are_checked_as_ours_are(plugin: Path) -> None:
    config = read(composed(f"plugins=[{plugin.stem}]", *HALVED, "+corruption.fcator=1"))
    with pytest.raises(UsageError, match=r"corruption\.fcator is not an option; .* are: rate, factor\."):
        build_parts(config)


def test_its_source_belongs_to_what_a_cell_is(plugin: Path) -> None:
    config = read(composed(f"plugins=[{plugin.stem}]", "corruption.name=halved"))
    before = fingerprint(identity(config, "data"))
    plugin.write_text(MODULE.replace("0.5", "0.6"))
    assert fingerprint(identity(config, "data")) != before
    assert plugin_hashes([plugin.stem, plugin.stem]) == plugin_hashes([plugin.stem])


@pytest.mark.parametrize("name", ["no_such_module_anywhere", "no_such_package.module", "scarf_lightning.nothing"])
def test_a_module_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match=f"plugins names {name}, which is no module in "):
        load_plugins([name])


def test_one_that_changes_after_it_was_imported_is_refused(plugin: Path) -> None:
    load_plugins([plugin.stem])
    load_plugins([plugin.stem])

    plugin.write_text(MODULE.replace("0.5", "0.6"))

    with pytest.raises(UsageError, match=f"^{plugin.stem} has changed since it was imported; start Python again"):
        load_plugins([plugin.stem])


def test_a_configuration_file_cannot_name_one(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compose = Composer._compose

    def with_a_plugin(composer: Composer, overrides: tuple[str, ...]) -> Any:
        composed = compose(composer, overrides)
        return replace(composed, config=replace(composed.config, plugins=[plugin.stem]))

    monkeypatch.setattr(Composer, "_compose", with_a_plugin)
    with pytest.raises(UsageError, match="plugins may be named on the command line only"):
        expand(["trainer=auto"], Composer(*loader_and_master()), SWEEPS)
    assert expand([f"plugins=[{plugin.stem}]"], Composer(*loader_and_master()), SWEEPS).cells
