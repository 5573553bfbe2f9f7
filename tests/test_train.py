"""`train.py`: its output, what it leaves on the disk; as a user starts it, and in this process."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from scarf_lightning.cli import commands
from scarf_lightning.results import fingerprint, load
from tests.processes import TINY, Process, here, train

HEAVY = {"pytorch_lightning", "openml", "pandas", "sklearn", "skrub", "matplotlib"}
"""What checking a command line does not import; torch comes with the classes of the parts."""


def imported(ran: Process) -> set[str]:
    """The modules that a process imported, of one that was started with ``-X importtime``."""
    names = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert "hydra" in names
    return names


def warned(ran: Process) -> list[str]:
    """What such a process says on stderr beside its imports."""
    return [line for line in ran.stderr.splitlines() if not line.startswith("import time:")]


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Run:
    """A finished process, and the folder that it ran in."""

    cwd: Path
    ran: Process


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A cell of two trials, trained in a folder that is not the repository. Nobody changes it."""
    cwd = tmp_path_factory.mktemp("first")
    return Run(cwd, here(commands.train, "trials=2", *TINY, cwd=cwd))


@pytest.fixture(scope="module")
def cell(first: Run) -> Path:
    """The folder of the cell."""
    (described,) = first.cwd.glob("results/*/cell.json")
    return described.parent


@pytest.fixture(scope="module")
def extended(first: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same cell in a copy of the folder, with three trials."""
    cwd = tmp_path_factory.mktemp("extended")
    shutil.copytree(first.cwd, cwd, dirs_exist_ok=True)
    return Run(cwd, here(commands.train, "trials=3", *TINY, cwd=cwd))


def test_a_plain_run_prints_the_cells_table_and_nothing_else(first: Run) -> None:
    cwd, ran = first.cwd, first.ran
    assert (ran.returncode, ran.stderr) == (0, "")
    heading, *lines, last = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
    said = re.fullmatch(r"dataset=wdbc, pretrain=scarf, method=control, (.*) \([0-9a-f]{16}\)", heading)
    assert said is not None
    chosen = {option for option in TINY if option != "trainer.accelerator=cpu"}
    assert set(said[1].split(", ")) == chosen | {"recipe=paper"}
    table = dict(re.split(r"\s{2,}", line)[:2] for line in lines if re.search(r"\s{2,}", line))
    assert table["pretrain epochs (median)"] == table["finetune epochs (median)"] == "2"
    assert table["accuracy"] == f"{load(cwd / 'results')['accuracy'].mean():.4f}"
    assert last == f"Results are in {cwd / 'results'}"


def test_it_leaves_the_documented_files_and_no_others(first: Run, cell: Path) -> None:
    (stack,) = (cell / "stacks").iterdir()
    (pretrained,) = first.cwd.glob("results/pretrained/*")
    in_stack = (
        "trials.json", "curves.parquet", "predictions.parquet", "preprocessing.safetensors", "environment.json",
    )  # fmt: skip
    weights = [f"{trial:04d}/{name}" for trial in (0, 1) for name in ("curve.json", "weights.safetensors")]

    expected = ["datasets/wdbc.json", f"{cell.name}/cell.json"]
    expected += [f"{cell.name}/stacks/{stack.name}/{name}" for name in in_stack]
    expected += [f"pretrained/{pretrained.name}/trials/{each}" for each in weights]

    assert sorted(files(first.cwd)) == sorted(f"results/{name}" for name in expected)


@pytest.mark.slow
def test_a_finished_cell_is_shown_again_and_nothing_heavy_is_imported(first: Run) -> None:
    before = files(first.cwd)

    ran = train("trials=2", *TINY, cwd=first.cwd, python_options=("-X", "importtime"))

    assert ran.returncode == 0
    # Levels are of a frame.
    assert not imported(ran) & (HEAVY - {"pandas"})
    assert warned(ran) == []
    heading, *rest = ran.stdout.splitlines()
    heading_before, *rest_before = first.ran.stdout.splitlines()
    assert heading == re.sub(r"\(\w+\)$", "(finished already)", heading_before)
    assert rest == rest_before
    assert files(first.cwd) == before


def test_what_it_leaves_can_be_read(first: Run, cell: Path) -> None:
    described = json.loads((cell / "cell.json").read_text())
    assert described["fingerprint"] == fingerprint(described["identity"]) == cell.name
    assert "hydra" not in described["config"]
    assert "${" not in json.dumps(described["config"])

    frame = load(first.cwd / "results")
    assert frame["trial"].tolist() == [0, 1]
    settled = {"dataset_id": 1510, "corruption.rate": 0.6, "n_labelled": 398, "n_validation": 57, "n_test": 114}
    assert {name: frame[name].unique().tolist() for name in settled} == {name: [each] for name, each in settled.items()}


def test_more_trials_train_the_missing_ones_alone(first: Run, extended: Run, cell: Path) -> None:
    assert (extended.ran.returncode, extended.ran.stderr) == (0, "")
    before, after = files(first.cwd), files(extended.cwd)
    assert {name: after[name] for name in before} == before
    stacks = [name.split("/")[3] for name in after.keys() - before.keys() if "/stacks/" in name]
    trials = [name.split("/")[4] for name in after.keys() - before.keys() if "/pretrained/" in name]
    assert {stack[:10] for stack in stacks} == {"0002-0002-"}
    assert set(trials) == {"0002"}
    assert load(extended.cwd / "results")["trial"].tolist() == [0, 1, 2]
