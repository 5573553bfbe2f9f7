"""A task of a job array, without Slurm: `tests/slurm` has the scenes on a real one."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scarf_lightning.cli import job, running
from scarf_lightning.cli.process import Terminated
from scarf_lightning.sweeping.cell import Cell, Job
from scarf_lightning.sweeping.launchers import write_jobs
from tests.cells import finish, some_cell

Train = Callable[[Sequence[Cell]], None]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Train], None]:
    """Runs a task whose training is made up."""
    monkeypatch.chdir(tmp_path)
    write_jobs([Job([some_cell("seed=0")]), Job([some_cell("seed=7", seed=7)])], tmp_path / "job")
    monkeypatch.setattr("sys.argv", ["job", str(tmp_path / "job")])
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")

    def run(train: Train) -> None:
        monkeypatch.setattr(running, "load_training", lambda: lambda cells, trials: train(cells))
        job.main()

    return run


def test_a_task_trains_the_cells_of_its_number(task: Callable[[Train], None]) -> None:
    seeds: list[int] = []
    task(lambda cells: seeds.extend(cell.config.seed for cell in cells))
    assert seeds == [7]


def test_a_task_that_slurm_ends_gives_its_claims_back(task: Callable[[Train], None]) -> None:
    def told(cells: Sequence[Cell]) -> None:
        with finish(cells[0], trials=[]).claim():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    with pytest.raises(Terminated):
        task(told)

    assert not list(Path().glob("results/*/claim"))
