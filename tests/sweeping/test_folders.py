import os
from pathlib import Path

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.sweeping.composer import Composer
from scarf_lightning.sweeping.expand import expand
from scarf_lightning.sweeping.folders import CONF, SWEEPS, read_sweep, recipe_options
from tests.composing import ROOT, yaml

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


def test_the_options_of_a_recipe_have_their_full_names() -> None:
    found = recipe_options("practical")

    written = yaml(ROOT / "conf" / "recipe" / "practical.yaml")
    assert found["recipe"] == "practical"
    assert {name: value for name, value in found.items() if name.startswith("finetune.")} == {
        f"finetune.{name}": value for name, value in written["finetune"].items()
    }
    assert recipe_options("of a user") == {}


def test_a_recipe_may_begin_with_another_one() -> None:
    found, begun_with = recipe_options("realmlp_number"), recipe_options("realmlp")
    assert found["finetune.schedule"] == begun_with["finetune.schedule"] == "coslog4"
    assert (found["finetune.learning_rate"], begun_with["finetune.learning_rate"]) == (0.2, 0.04)


def test_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "title: Tïtle\npaper: Figure 3\ntrials: 7\ncells: [{seed: 1}]\nreport: [{draw: x}]\n")

    sweep = read_sweep("some", [tmp_path])

    assert (sweep.name, sweep.title, sweep.paper, sweep.trials) == ("some", "Tïtle", "Figure 3", 7)
    assert (sweep.cells, sweep.report) == ([{"seed": 1}], [{"draw": "x"}])

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

    read = read_sweep(name)
    assert (read.name, read.file, read.is_of_user) == ("mine", path, True)
    assert not read_sweep("quick").is_of_user
    assert read_sweep(str(path.absolute())).title == "T"


@pytest.mark.parametrize(
    ("yaml", "argument"),
    [
        ("corruption: [mean, marginal]", "corruption=mean,marginal"),
        ("corruption: mean", "corruption=mean"),
        ("corruption.rate: [0.1, 1.0e-3]", "corruption.rate=0.1,0.001"),
        ("seed: [0, 1]", "seed=0,1"),
        ("finetune.patience: [null, 3]", "finetune.patience=null,3"),
        ("pretrain.drop_last: [true, false]", "pretrain.drop_last=true,false"),
        ("dataset: glob(cc18-*)", "dataset=glob(cc18-*)"),
        ("dataset.categorical: [[a, b]]", "dataset.categorical=[a,b]"),
        ("dataset.categorical: [[a, b], [], [[c]]]", "dataset.categorical=[a,b],[],[[c]]"),
        ("method.options: {device: cpu, early: null}", "method.options={device:cpu,early:null}"),
        ("method.options: [{c: 1, d: [a, b]}, {}]", "method.options={c:1,d:[a,b]},{}"),
        ("loss@cotrain.loss: infonce", "loss@cotrain.loss=infonce"),
    ],
)
def test_an_axis_is_written_as_on_the_command_line(yaml: str, argument: str, tmp_path: Path) -> None:
    write(tmp_path, f"title: T\ncells:\n  - {yaml}\n")

    assert read_sweep("some", [tmp_path]).blocks() == [[argument]]


def test_a_block_has_its_axes_and_the_files_trials(tmp_path: Path) -> None:
    write(tmp_path, "title: T\ntrials: 30\ncells: [{a: [1, 2], b: x}, {c: 3}]\n")

    assert read_sweep("some", [tmp_path]).blocks() == [["a=1,2", "b=x", "trials=30"], ["c=3", "trials=30"]]


def test_a_name_that_is_no_sweep_is_answered_with_those_there_are(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write(tmp_path, MINIMAL, name)

    assert refusal("c", tmp_path) == f"sweeps=c: there is no file {tmp_path / 'c.yaml'}. The sweeps are: a, b."
    assert refusal("x/c.yaml", tmp_path).startswith("sweeps=x/c.yaml: there is no file x/c.yaml. ")


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large", "latin-1", "deep"])
def test_what_is_no_list_of_cells_is_refused_and_never_waited_for(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    make = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
        "large": lambda: path.write_text(MINIMAL + "#" * 1_000_000),
        "latin-1": lambda: path.write_text("title: Größe\n", encoding="latin-1"),
        "deep": lambda: path.write_text("title: " + "[" * 5000),
    }
    make[kind]()

    no_list = f"{path} is not YAML: some.yaml cannot be read: it is "
    said = {"large": f"{no_list}larger than 1,000,000 bytes.", "latin-1": f"{path} is not", "deep": f"{path} is not"}
    assert refusal("some", tmp_path).startswith(said.get(kind, f"{no_list}not a file."))


def test_what_a_file_must_and_may_have_is_said(tmp_path: Path) -> None:
    for text, said in (
        ("", " must have title and cells, each with a value."),
        ("- a\n", " must have title and cells, each with a value."),
        ("title: T\n", ": cells is missing."),
        ("cells: [{a: 1}]\n", ": title is missing."),
        ("title: T\ncells: [{a: 1}]\naxes: {}\n", ": axes is not an option. "),
        ("title: T\ncells: [{a: 1}]\nTrials: 3\n", ": Trials is not an option. Did you mean trials?"),
    ):
        path = write(tmp_path, text)

        assert refusal("some", tmp_path).startswith(f"{path}{said}"), text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("cells: []", "cells must be a list of blocks, each with axes and their values."),
        ("cells: {a: 1}", "cells={'a': 1}: it takes a list, as in [a,b]."),
        ("cells: null", "cells=null: it takes a list, as in [a,b]."),
        ("cells: [a=1]", "cells=a=1: it takes options by name, as in {a:1,b:x}."),
        ("trials: [1]", "trials=[1]: it takes a whole number."),
        ("trials: 2026-01-01", "trials=2026-01-01: it takes a whole number."),
        ("report: 3", "report=3: it takes a list, as in [a,b]."),
        ("report: [a]", "report=a: it takes options by name, as in {a:1,b:x}."),
    ],
)
def test_what_a_file_says_is_of_its_type(more: str, sentence: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"title: T\n{more}\n" + "cells: [{a: 1}]\n" * ("cells" not in more))

    assert refusal("some", tmp_path) == f"{path}: {sentence}"
