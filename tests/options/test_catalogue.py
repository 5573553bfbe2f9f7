"""The descriptions of parts: kept in a file as their classes give them, and made of the classes where these are."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from scarf_lightning.errors import SYNONYMS, UsageError
from scarf_lightning.options import BASES, catalogue, description, descriptions, parts
from scarf_lightning.options.catalogue import FILE, descriptions_of_classes, label
from scarf_lightning.options.option import options_of

ROOT = Path(__file__).parents[2]
EXPECTED = "the catalogue differs from the classes; run `python docs/generate.py`"


@pytest.mark.parametrize("axis", BASES)
def test_the_file_says_what_the_classes_say(axis: str) -> None:
    own = {name: each for name, each in descriptions_of_classes(axis).items() if each.is_own}

    kept = catalogue._kept(axis)

    assert kept == own, EXPECTED
    assert {name: options_of(cls) for name, cls in parts(axis).items() if name in own} == {
        name: each.options for name, each in own.items()
    }


def test_a_description_has_the_class_variables_of_its_part() -> None:
    control = description("method", "control")

    assert (control.name, control.pretrainable, control.uses) == ("control", True, ("network", "finetune"))
    assert description("corruption", "marginal").search_space == {"rate": ("float", 0.1, 0.9)}
    with pytest.raises(AttributeError, match="no sings"):
        _ = control.sings
    assert copy.deepcopy(control) == pickle.loads(pickle.dumps(control)) == control


def test_an_unknown_part_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"^selection.name=exacts is unknown; .* Did you mean exact\?$"):
        description("selection", "exacts")


def test_people_call_a_part_by_its_label_or_by_its_name() -> None:
    called = {("method", "cotrain"): "co-training", ("corruption", "single_row"): "single row"}
    called |= {("pretrain", "none"): "no pre-training", ("dataset", "my_table"): "my table"}
    assert {choice: label(*choice) for choice in called} == called


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The file does not have the corruptions of today's source."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    content["corruption"]["sources"]["corruption/strategies.py"] = "0" * 16
    content["corruption"]["parts"] = []
    monkeypatch.setattr(catalogue, "FILE", tmp_path / "catalogue.json")
    catalogue.FILE.write_text(json.dumps(content), encoding="utf-8")
    caches = (catalogue._kept, catalogue._content)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.usefixtures("changed")
def test_an_axis_whose_sources_have_changed_is_described_by_its_classes() -> None:
    assert catalogue._kept("corruption") is None
    assert catalogue._kept("loss") is not None
    assert "marginal" in descriptions("corruption")


@pytest.mark.usefixtures("changed")
def test_a_file_that_is_missing_counts_for_no_axis() -> None:
    catalogue.FILE.unlink()

    assert [axis for axis in BASES if catalogue._kept(axis) is not None] == []


THEIRS = '''
from dataclasses import dataclass
from typing import ClassVar

from scarf_lightning.losses import Loss
from scarf_lightning.options import option


@dataclass
class TheirLoss(Loss):
    """Theirs."""

    name: ClassVar[str] = "theirs"
    has_error: ClassVar[bool] = False
    sharpness: float = option(2.0, "how sharp it is")

    def __call__(self, *given):
        return given
'''


def test_a_part_of_a_plugin_is_described_by_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_losses.py").write_text(THEIRS)
    before = {axis: len(descriptions(axis)) for axis in ("loss", "method")}

    import_module("their_losses")

    theirs = description("loss", "theirs")
    assert (theirs.summary, theirs.has_error, theirs.is_own) == ("Theirs.", False, False)
    assert theirs.options["sharpness"].default == 2.0
    assert {axis: len(descriptions(axis)) - n for axis, n in before.items()} == {"loss": 1, "method": 0}


def test_parts_are_described_and_other_names_of_options_known_without_their_classes() -> None:
    code = (
        "import sys\n"
        "from scarf_lightning.errors import did_you_mean\n"
        "from scarf_lightning.options import BASES, description, descriptions\n"
        "print(did_you_mean('hidden_size', description('network', 'mlp').options), [*map(descriptions, BASES)] == [])\n"
        "print('torch' in sys.modules)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout == " Did you mean width? False\nFalse\n"
    assert "width" in SYNONYMS["hidden_size"]
