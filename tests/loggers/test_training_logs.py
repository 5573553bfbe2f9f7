"""`train.py logger=...`, and what it leaves of W&B's."""

import subprocess
import sys
from datetime import date
from io import StringIO
from pathlib import Path

import pytest

from scarf_lightning.cli import commands
from scarf_lightning.options.settings import LoggerSettings, WandbSettings
from scarf_lightning.results import load, load_cell
from scarf_lightning.screen import Screen
from scarf_lightning.training.cell_loop import show_cell
from tests.cells import finish, results_in, some_cell
from tests.composing import ROOT
from tests.loggers.wandb_files import runs
from tests.processes import TINY, here, train

TWO_CELLS = ("trials=2", *TINY, "corruption=mean,marginal")

KILLED_WHILE_IT_WRITES = """
import os, runpy, signal
import scarf_lightning.loggers.writing as writing
writing.mean_curves = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
runpy.run_path("train.py", run_name="__main__")
"""


def in_absolute(folder: Path) -> str:
    """W&B's own process, which stays with this one, began in some other test's working folder."""
    return f"paths.results={folder / 'results'}"


@pytest.mark.slow
def test_two_cells_are_two_runs_that_say_what_the_store_says(tmp_path: Path) -> None:
    ran = here(commands.train, *TWO_CELLS, "logger=wandb", in_absolute(tmp_path), cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    results = tmp_path / "results"
    # The sweep has a run of its own.
    found = [run for run in runs(results) if not run.id.startswith("sweep-")]
    rows = load(results)
    assert sorted(run.id for run in found) == sorted(rows["fingerprint"].unique())
    assert {run.name.rpartition(" ")[2] for run in found} == {"corruption=mean", "corruption=marginal"}
    for run in found:
        cell = load_cell(run.id, results)
        assert (run.group, run.exit_code) == (f"corruption {date.today().isoformat()}", 0)
        assert run.config["command"].startswith("python train.py trials=2 ")
        assert "paths" not in run.config, "the path of a home names a user"
        assert run.config["corruption"] == cell.config["corruption"]
        assert run.summary["accuracy"] == pytest.approx(cell.trials["accuracy"].mean(), rel=1e-15)
    assert not (tmp_path / "wandb").exists()


@pytest.mark.slow
def test_being_killed_while_a_view_is_written_loses_nothing(tmp_path: Path) -> None:
    overrides = ("trials=2", *TINY, "logger=wandb")
    command = [sys.executable, "-c", KILLED_WHILE_IT_WRITES, *overrides, f"paths.results={tmp_path / 'results'}"]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120)
    assert killed.returncode == -9
    before = load(tmp_path / "results")
    ran = train(*overrides, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "(finished already)" in ran.stdout
    assert before["trial"].tolist() == [0, 1]
    assert load(tmp_path / "results").equals(before)


def test_a_store_that_cannot_be_read_stops_no_other_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("scarf_lightning.loggers.cell_view", unreadable)
    cell = some_cell(
        "dataset.categorical=[a]", paths=results_in(tmp_path), logger=LoggerSettings(wandb=WandbSettings(write=True))
    )
    cell.store = finish(cell)
    console = Screen(record=True, file=StringIO(), width=1000)
    show_cell(cell, console)
    assert console.export_text() == (
        "dataset.categorical=[a] cannot be shown: the disk is gone. Nothing is lost: "
        f"{tmp_path / 'results'} has all that it shows.\n"
    )
