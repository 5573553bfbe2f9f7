"""A user's own modules: how they are found, what is refused of them, and what of their source names a cell."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.corruption.strategies import Mean
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metric_named
from scarf_lightning.options import build_parts, parts, read
from scarf_lightning.options.option import _options_of
from scarf_lightning.options.plugins import load_plugins, plugin_hashes
from scarf_lightning.options.settings import PretrainSettings
from tests.cells import DATA_HASH, identity_of, pretraining_identity_of
from tests.composing import config_of

MODULE = """
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.corruption import SelectiveCorruption
from scarf_lightning.options import option


@dataclass
class Halved(SelectiveCorruption):
    name: ClassVar[str] = "halved"
    factor: float = option(0.5, "what a value is multiplied by")

    def replacement(self, x, source, random):
        return x * self.factor
"""
METRIC = """
from scarf_lightning.metrics import metric


@metric("least")
def least(probabilities, labels):
    return float(probabilities.min())
"""
SUBCLASS = """
from dataclasses import dataclass

from part_{folder} import Halved


@dataclass
class HalvedAgain(Halved):
    name = "halved_again"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plugin(folder: Path) -> Path:
    """A module under a name that no other test has taken."""
    path = folder / f"parts_{folder.name}.py"
    path.write_text(MODULE)
    return path


def test_a_part_has_its_options_and_belongs_to_cells_that_use_it(plugin: Path) -> None:
    """A cell without pre-training uses none, whose choice ``none`` is no part and has no class."""
    before = list(sys.path)
    alone = config_of("pretrain=none")
    values = asdict(alone) | {"plugins": [plugin.stem]}
    values["pretrain"] = asdict(PretrainSettings())
    values["corruption"] = {"name": "halved", "factor": 0.25}

    load_plugins([plugin.stem])
    config = read(values)

    corruption: Any = build_parts(config).pretext.corruption  # type: ignore[union-attr]
    assert (corruption.name, corruption.factor, corruption.rate) == ("halved", 0.25, 0.6)
    assert sys.path == before
    assert identity_of(replace(alone, plugins=(plugin.stem,)), DATA_HASH) == identity_of(alone, DATA_HASH)
    for of_cell in (identity_of(config, DATA_HASH), pretraining_identity_of(config, DATA_HASH)):
        assert list(of_cell["plugins"]) == [plugin.stem]
    values["corruption"] = {"name": "halved", "fcator": 1}
    with pytest.raises(
        UsageError, match=r"corruption\.fcator is not an option\. Did you mean factor\? .* rate, factor\."
    ):
        read(values)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_module_anywhere", "No module named 'no_such_module_anywhere'"),
        ("scarf_lightning.no", "No module named 'scarf_lightning.no'"),
        ("lacking", "No module named 'no_such'"),
        ("only_a_folder", "which is no file of Python"),
        ("lacking.py", "named as import names it"),
        ("./lacking", "named as import names it"),
        ("misspelt", r"invalid syntax \(misspelt\.py, line 1\)"),
    ],
)
def test_a_module_that_does_not_exist_is_refused(name: str, reason: str, folder: Path) -> None:
    (folder / "lacking.py").write_text("import no_such")
    (folder / "misspelt.py").write_text("def (:")
    (folder / "only_a_folder").mkdir()
    with pytest.raises(UsageError, match=f"^plugins names {name}.*{reason}"):
        load_plugins([name])


def test_an_error_of_a_module_is_its_own(folder: Path) -> None:
    (folder / "broken.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        load_plugins(["broken"])


def test_a_module_whose_parts_name_is_taken_or_that_has_changed_since_its_import_is_refused(plugin: Path) -> None:
    plugin.write_text(MODULE.replace('"halved"', '"mean"'))
    load_plugins([plugin.stem])
    load_plugins([plugin.stem])
    both = rf"^mean is the name of two parts, scarf_lightning\.corruption.*{plugin.stem}"
    with pytest.raises(UsageError, match=both):
        parts("corruption")

    plugin.write_text(MODULE)
    with pytest.raises(UsageError, match=f"^{plugin.stem} has changed since it was imported; start Python again"):
        load_plugins([plugin.stem])


class TestHashes:
    def hash_of(self, name: str) -> str:
        """As another process finds it."""
        for known in (name, f"{name}.part", f"helper_of_{name}"):
            sys.modules.pop(known, None)
        from scarf_lightning.options import plugins

        plugins._imported.clear()
        load_plugins([name])
        (found,) = plugin_hashes([name, name], [parts("corruption")["halved"]]).values()
        _options_of.cache_clear()
        return found

    def test_the_source_of_a_module_and_of_one_beside_it_that_it_imports_is_hashed(self, plugin: Path) -> None:
        helper, unrelated = plugin.parent / f"helper_of_{plugin.stem}.py", plugin.parent / "unrelated.py"
        helper.write_text("FACTOR = 0.5\n")
        plugin.write_text(f"from {helper.stem} import FACTOR\n{MODULE}")
        before = self.hash_of(plugin.stem)

        unrelated.write_text("x = 1\n")
        assert self.hash_of(plugin.stem) == before

        helper.write_text("FACTOR = 0.6\n")
        with_helper = self.hash_of(plugin.stem)
        plugin.write_text(plugin.read_text() + "\n")
        assert len({before, with_helper, self.hash_of(plugin.stem)}) == 3

    def test_a_plugin_counts_for_cells_that_use_it_or_if_nobody_knows_what_it_does(self, folder: Path) -> None:
        sources = {"part": MODULE, "measure": METRIC, "unknown": "class Any: pass\n", "sub": SUBCLASS}
        for name, source in sources.items():
            (folder / f"{name}_{folder.name}.py").write_text(source.format(folder=folder.name))
        names = [f"{name}_{folder.name}" for name in sources]
        load_plugins(names)

        def counting(*used: Any) -> set[str]:
            return {name.removesuffix(f"_{folder.name}") for name in plugin_hashes(names, used)}

        found, ours = parts("corruption"), Mean
        assert counting() == counting(ours) == {"unknown"}
        assert counting(ours, found["halved"]) == {"unknown", "part", "sub"}, "sub imports part, so it is made of both"
        assert counting(found["halved_again"]) == {"unknown", "part", "sub"}
        assert counting(metric_named("least").function) == {"unknown", "measure"}


def test_a_configuration_imports_no_module_that_nobody_named(plugin: Path) -> None:
    values = asdict(config_of()) | {"plugins": [plugin.stem]}

    config = read(values)
    with pytest.raises(UsageError, match=rf"^plugins names {plugin.stem}, which is not imported; "):
        identity_of(config, DATA_HASH)
    assert plugin.stem not in sys.modules

    load_plugins([plugin.stem])
    assert identity_of(config, DATA_HASH) == identity_of(config_of(), DATA_HASH)
