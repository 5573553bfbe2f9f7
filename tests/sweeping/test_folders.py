import os
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.compose import Composer
from scarf_lightning.sweeping.expand import expand
from scarf_lightning.sweeping.folders import CONF, SWEEPS, read_sweep, recipe_options
from tests.composing import ROOT

MINIMAL = "title: T\ncells: [{seed: 1}]\n"


def write(folder: Path, text: str, name: str = "some") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(name: str, folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_sweep(name, [folder])
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    return str(caught.value)


def test_in_a_checkout_the_folders_stand_beside_the_package() -> None:
    assert (CONF, SWEEPS) == (ROOT / "conf", ROOT / "sweeps")


def test_the_options_of_a_recipe_have_their_full_names_and_a_recipe_may_begin_with_another() -> None:
    assert recipe_options("of a user") == {}
    found, begun_with = recipe_options("realmlp_number"), recipe_options("realmlp")
    assert found["finetune.schedule"] == begun_with["finetune.schedule"] == "coslog4"
    assert (found["finetune.learning_rate"], begun_with["finetune.learning_rate"]) == (0.2, 0.04)


def test_a_file_is_read_by_its_name_and_has_blocks_of_cells(tmp_path: Path) -> None:
    blocks = "[{a: [1, 2], b: x}, {trials: 3}]"
    write(tmp_path, f"title: Tïtle\npaper: Figure 3\ntrials: 7\ncells: {blocks}\nreport: [{{draw: x}}]\n")

    sweep = read_sweep("some", [tmp_path])

    assert (sweep.name, sweep.title, sweep.paper, sweep.report) == ("some", "Tïtle", "Figure 3", [{"draw": "x"}])
    assert (sweep.trials, sweep.cells) == (7, [{"a": [1, 2], "b": "x"}, {"trials": 3}])

    write(tmp_path, MINIMAL, "other")
    sweep = read_sweep("other", [tmp_path])
    assert (sweep.paper, sweep.trials, sweep.report) == (None, None, []), "what is not said is empty"


def test_a_sweep_of_the_folder_of_options_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "sweeps").mkdir()
    write(tmp_path / "sweeps", MINIMAL, "mine")

    (cell,) = expand(["sweeps=mine"], Composer((), tmp_path)).cells
    assert cell.config.seed == 1


@pytest.mark.parametrize("name", ["mine.yaml", "./mine.yaml", "sub/mine.yml", "~/mine.yaml"])
def test_a_path_is_one_from_the_working_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = Path(name).expanduser()
    path.parent.mkdir(exist_ok=True)
    path.write_text(MINIMAL)

    read = read_sweep(name, [])
    assert (read.name, read.file, read.is_of_user) == ("mine", str(path), True)
    assert not read_sweep("quick", [SWEEPS]).is_of_user
    assert read_sweep(str(path.absolute()), []).title == "T"


def test_a_name_that_is_no_sweep_is_answered_with_those_there_are(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write(tmp_path, MINIMAL, name)

    for name in ("c", "x/c.yaml"):
        assert refusal(name, tmp_path) == f"sweeps={name}: there is no such file. The sweeps are: a, b."


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large", "latin-1", "deep"])
def test_what_is_no_list_of_cells_is_refused_and_never_waited_for(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    make = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
        "large": lambda: path.write_text(MINIMAL + "#" * 1_000_000),
        "latin-1": lambda: path.write_text("title: Größe\n", encoding="latin-1"),
        "deep": lambda: path.write_text("title: " + "[" * 1000),
    }
    make[kind]()

    words = {"large": "larger than 1,000,000 bytes", "latin-1": "can't decode", "deep": "recursion"}
    sentence = refusal("some", tmp_path)
    assert sentence.startswith(f"{path} is no sweep: ")
    assert words.get(kind, "it is not a file") in sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "title is missing"),
        ("- a\n", "it must have title and cells, each with a value"),
        ("title: T\n", "cells is missing"),
        ("title: T\ntitle: S\n", "duplicate key title"),
        ("cells: [{a: 1}]\naxes: {}\n", "axes is not an option. "),
        ("cells: [{a: 1}]\nTrials: 3\n", "Trials is not an option. Did you mean trials?"),
        ("cells: []", "cells must be a list of blocks, each with axes and their values"),
        ("cells: {a: 1}", "cells={'a': 1}: it takes a list"),
        ("cells: [a=1]", "cells=a=1: it takes options by name"),
        ("cells: [{a: 1}]\ntrials: [1]", "trials=[1]: it takes a whole number"),
        ("cells: [{a: 1}]\nreport: [a]", "report=a: it takes options by name"),
        ("cells: [{max_cells: null}]", "'max_cells' is no axis; a sweep file only names cells"),
        ("cells: [{+plugins: [a]}]", "'+plugins' is no axis"),
        ("cells: [{a: '${oc.env:HOME}'}]", "${...} looks a value up"),
        ("x: &a [1]\ncells: [*a, *a, *a, *a, *a, *a, *a, *a, *a]", "it has too many aliases"),
    ],
)
def test_what_a_file_must_and_may_have_is_said(text: str, words: str, tmp_path: Path) -> None:
    # One without cells has a title of its own.
    path = write(tmp_path, text if "cells" not in text else f"title: T\n{text}\n")
    sentence = refusal("some", tmp_path)
    assert sentence.startswith(f"{path} is no sweep: ")
    assert words in sentence
