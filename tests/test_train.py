"""`train.py`: its output, what it leaves on the disk; as a user starts it, and in this process."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from scarf_lightning.cli import commands
from scarf_lightning.metrics import metrics
from scarf_lightning.results import fingerprint, load
from tests.processes import TIMES, TINY, Process, here, train

HEAVY = {"pytorch_lightning", "openml", "pandas", "sklearn", "skrub", "matplotlib"}
"""What checking a command line does not import; torch comes with the classes of the parts."""
SECONDS = "seconds (all trials)"
N_TRAIN = 398  # of wdbc's 569 rows


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
    """The same cell in a copy of the folder, asked for with three trials."""
    cwd = tmp_path_factory.mktemp("extended")
    shutil.copytree(first.cwd, cwd, dirs_exist_ok=True)
    return Run(cwd, here(commands.train, "trials=3", *TINY, cwd=cwd))


def test_a_plain_run_prints_the_cells_table_and_nothing_else(first: Run) -> None:
    cwd, ran = first.cwd, first.ran
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
    # Two epochs may leave probabilities that are worth nothing, by the last digits of a processor.
    lines = [line for line in lines if not line.startswith("Probabilities are worse")]
    axes = "dataset=wdbc, pretrain=scarf, method=control"
    options = sorted([*(option for option in TINY if option != "trainer.accelerator=cpu"), "recipe=paper"])
    heading, _, fingerprinted = lines[0].rpartition(" ")
    assert re.fullmatch(r"\([0-9a-f]{16}\)", fingerprinted)
    assert heading.startswith(f"{axes}, ")
    assert sorted(heading.removeprefix(f"{axes}, ").split(", ")) == options
    assert "fewer than 100" in lines[-2]
    assert lines[-1] == f"Results are in {cwd / 'results'}"
    table = [re.split(r"\s{2,}", line) for line in lines[1:-2] if not set(line) <= set("─ ")]
    defined = [metric.label for metric in metrics(("classes",)) if load(cwd / "results")[metric.name].notna().all()]
    phases = [f"{phase} {what}" for phase in ("pretrain", "finetune") for what in ("epochs (median)", SECONDS)]
    assert [cells[0] for cells in table] == ["mean", *defined, *phases]
    assert [cells[1] for cells in table if "epochs" in cells[0]] == ["2", "2"]
    assert table[1][1] == f"{load(cwd / 'results')['accuracy'].mean():.4f}"


def test_it_leaves_the_documented_files_and_no_others(first: Run, cell: Path) -> None:
    (stack,) = (cell / "stacks").iterdir()
    (pretrained,) = first.cwd.glob("results/pretrained/*")
    in_stack = (
        "trials.json", "curves.parquet", "predictions.parquet", "preprocessing.safetensors", "environment.json",
    )  # fmt: skip
    weights = [f"{trial:04d}/{name}" for trial in (0, 1) for name in ("curve.json", "weights.safetensors")]

    expected = ["datasets/wdbc.json", f"{cell.name}/cell.json", f"{cell.name}/summary.json"]
    expected += [f"{cell.name}/stacks/{stack.name}/{name}" for name in in_stack]
    expected += [f"pretrained/{pretrained.name}/trials/{each}" for each in weights]

    assert sorted(files(first.cwd)) == sorted(f"results/{name}" for name in expected)


def test_what_it_leaves_can_be_read(first: Run, cell: Path) -> None:
    (stack,) = (cell / "stacks").iterdir()
    described = json.loads((cell / "cell.json").read_text())
    assert (described["dataset"], described["dataset_id"]) == ("wdbc", 1510)
    assert described["fingerprint"] == fingerprint(described["identity"]) == cell.name
    known = json.loads((first.cwd / "results" / "datasets" / "wdbc.json").read_text())
    size = {"n_rows": 569, "n_columns": 30, "n_encoded": 30, "kind": "classes"}
    assert known["data"] == {"hash": described["identity"]["data"]} | size

    config = described["config"]
    chosen = config["trials"], config["network"]["encoder"]["width"], config["corruption"]["name"]
    assert chosen == (2, 16, "marginal")
    assert "${" not in json.dumps(config)
    assert "hydra" not in config

    curves = pd.read_parquet(stack / "curves.parquet")
    assert sorted(curves[["phase", "trial", "epoch"]].itertuples(index=False, name=None)) == [
        (phase, trial, epoch) for phase in ("finetune", "pretrain") for trial in (0, 1) for epoch in (1, 2)
    ]
    assert np.isfinite(curves[["train_loss", "validation_loss"]]).all(axis=None)
    assert curves["validation_error"].between(0, 1)[curves["phase"] == "finetune"].all()

    arrays = load_file(stack / "preprocessing.safetensors")
    assert {name: (array.shape, str(array.dtype)) for name, array in arrays.items()} == dict.fromkeys(
        ("fill", "scale", "shift"), ((2, 30), "float64")
    )
    environment = json.loads((stack / "environment.json").read_text())
    assert (environment["device"], environment["threads"]) == ("cpu", 1)
    assert {"torch", "numpy", "pytorch-lightning"} <= set(environment["packages"])

    frame = load(first.cwd / "results")
    assert frame["trial"].tolist() == [0, 1]
    assert frame[["accuracy", "balanced_accuracy", "auroc"]].melt()["value"].between(0, 1).all()
    assert (frame[["log_loss", *TIMES]] > 0).all(axis=None)
    settled = {
        "dataset_id": 1510, "pretrain": "scarf", "corruption.rate": 0.6, "pretrain_epochs": 2, "finetune_epochs": 2,
        "n_train": N_TRAIN, "n_labelled": N_TRAIN, "n_validation": 57, "n_test": 114,
    }  # fmt: skip
    assert {name: frame[name].unique().tolist() for name in settled} == {name: [each] for name, each in settled.items()}


@pytest.mark.slow
def test_a_finished_cell_is_shown_again_and_nothing_heavy_is_imported(first: Run) -> None:
    before = files(first.cwd)

    ran = train("trials=2", *TINY, cwd=first.cwd, python_options=("-X", "importtime"))

    assert ran.returncode == 0
    assert not imported(ran) & HEAVY
    assert warned(ran) == []
    heading, *rest = ran.stdout.splitlines()
    heading_before, *rest_before = first.ran.stdout.splitlines()
    assert heading == re.sub(r"\(\w+\)$", "(finished already)", heading_before)
    assert rest == rest_before
    assert files(first.cwd) == before


def test_more_trials_train_the_missing_ones_alone(first: Run, extended: Run, cell: Path) -> None:
    assert (extended.ran.returncode, extended.ran.stderr) == (0, "")
    assert extended.ran.stdout.splitlines()[0] == first.ran.stdout.splitlines()[0]

    before, after = files(first.cwd), files(extended.cwd)
    entry = f"results/{cell.name}/summary.json"
    assert before.pop(entry) != after.pop(entry)
    new = [name for name in after if name not in before]
    of_the_cell = [name for name in new if re.search(r"/stacks/0002-0002-[0-9a-f]{8}/", name)]
    of_its_pretraining = [name for name in new if re.search(r"/pretrained/[0-9a-f]{16}/trials/0002/", name)]
    assert (len(of_the_cell), len(of_its_pretraining), len(new)) == (5, 2, 7)
    assert {name: after[name] for name in before} == before
    assert load(extended.cwd / "results")["trial"].tolist() == [0, 1, 2]
