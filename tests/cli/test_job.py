"""A task of a job array, without Slurm: `tests/slurm` has the scenes on a real one."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.cli import job
from scarf_lightning.cli.running import OwnTraining
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.jobs import Job, write_jobs
from tests.cells import some_cell

SHOW, REQUEUE = "show job", "requeue"
Train = Callable[[Any, Sequence[Cell]], None]
Task = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """Runs a task whose training is made up; its exit status, and what was asked of scontrol."""
    monkeypatch.chdir(tmp_path)
    jobs = [Job([some_cell("seed=0")], 1.0), Job([some_cell("seed=7", seed=7)], 1.0)]
    monkeypatch.setattr("sys.argv", ["job", str(write_jobs(jobs, tmp_path))])
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    monkeypatch.setattr(job, "WAIT", 0.0)

    def run(train: Train, state: str | None = "RUNNING", refused: str = "") -> tuple[int, list[str]]:
        asked: list[str] = []

        def scontrol(*arguments: str) -> str | None:
            asked.append(" ".join(arguments))
            if asked[-1] == refused:
                return None
            return None if state is None else f"JobId=18 JobState={state} Reason=None"

        monkeypatch.setattr(job, "_scontrol", scontrol)
        monkeypatch.setattr(OwnTraining, "imported", lambda _, stack: lambda cells: train(stack, cells))
        return job.main(), asked

    return run


def test_a_task_trains_the_cells_of_its_number(task: Task) -> None:
    seeds: list[int] = []

    assert task(lambda stack, cells: seeds.extend(cell.config.seed for cell in cells)) == (0, [])
    assert seeds == [7]


def told(number: signal.Signals) -> None:
    """Tell this process, and wait until it takes effect."""
    os.kill(os.getpid(), number)
    time.sleep(5)


def told_after_a_stack(stack: Any, cells: Sequence[Cell]) -> None:
    with stack():
        pass
    told(signal.SIGUSR2)


def told_in_the_first_stack(stack: Any, cells: Sequence[Cell]) -> None:
    """Slurm tells it up to a minute before the time that was asked for."""
    for _ in range(2):
        with stack():
            os.kill(os.getpid(), signal.SIGUSR2)


def ended_in_the_first_stack(stack: Any, cells: Sequence[Cell]) -> None:
    with stack():
        os.kill(os.getpid(), signal.SIGUSR2)
        told(signal.SIGTERM)


def ended_at_once(stack: Any, cells: Sequence[Cell]) -> None:
    told(signal.SIGTERM)


TIME = "Its time is nearly over; it is in the queue again.\n"
ROOM = "It has to make room for another job; it is in the queue again.\n"
CANCELLED = "Cancelled; the same command goes on where it ended.\n"


@pytest.mark.parametrize(
    ("train", "state", "status", "asked", "sentence"),
    [
        (told_after_a_stack, "RUNNING", 1, [REQUEUE], TIME),
        (told_in_the_first_stack, "RUNNING", 1, [REQUEUE], TIME),
        # One that finished no stack would be queued for ever.
        (ended_in_the_first_stack, "RUNNING", 143, [], "set hydra.launcher.timeout_min higher"),
        (ended_at_once, "RUNNING", 1, [SHOW, REQUEUE], ROOM),
        (ended_at_once, "CANCELLED", 143, [SHOW], CANCELLED),
        (ended_at_once, None, 143, [SHOW], CANCELLED),
    ],
)
def test_an_ended_task_is_queued_again_unless_it_was_cancelled(
    train: Train,
    state: str | None,
    status: int,
    asked: list[str],
    sentence: str,
    task: Task,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert task(train, state) == (status, asked)
    said = capsys.readouterr().err
    assert said == sentence if sentence.endswith("\n") else sentence in said


def test_a_task_that_slurm_does_not_queue_again_says_who_may_go_on(
    task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm refuses it also where it is about to queue the task by itself."""
    assert task(told_after_a_stack, refused=REQUEUE) == (1, [REQUEUE])
    assert "Slurm refuses to put it into the queue again" in capsys.readouterr().err


def test_a_task_without_scontrol_trains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container may have no programs of Slurm."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    assert job._scontrol("show", "job") is None
