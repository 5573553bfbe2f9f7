"""A task of a job array, without Slurm: `tests/slurm` has the scenes on a real one."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.cli import job
from scarf_lightning.cli.job import StackTimes
from scarf_lightning.cli.running import OwnTraining
from scarf_lightning.cli.signals import NearlyOutOfTime
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.sweeping.chunks import Chunk, write_chunks
from tests.cells import some_cell


class TestStackTimes:
    def test_the_first_stack_always_begins(self) -> None:
        times = StackTimes(time.time() + 0.01)
        with times.stack():
            pass
        assert times.n_finished == 1

    def test_none_begins_that_cannot_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = [0.0]
        monkeypatch.setattr(time, "time", lambda: clock[0])
        times = StackTimes(ends=100.0)
        for started, ended in ((0.0, 30.0), (30.0, 60.0)):
            clock[0] = started
            with times.stack():
                clock[0] = ended
        clock[0] = 63.9  # 36.1 seconds are left, and 1.2 times 30 are 36
        with times.stack():
            clock[0] = 64.0
        clock[0] = 64.1

        with pytest.raises(NearlyOutOfTime), times.stack():
            raise AssertionError

        assert times.n_finished == 3

    def test_without_a_limit_all_begin(self) -> None:
        times = StackTimes(None)
        for _ in range(3):
            with times.stack():
                pass
        assert times.n_finished == 3


Trained = Callable[[Sequence[Cell]], None]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[str]]]:
    """Runs a task whose training is made up; its exit status, and what was asked of scontrol."""
    monkeypatch.chdir(tmp_path)
    chunks = [Chunk([some_cell("seed=0")], 1.0), Chunk([some_cell("seed=7", seed=7)], 1.0)]
    folder = write_chunks(chunks, tmp_path)
    monkeypatch.setattr("sys.argv", ["job", str(folder)])
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    monkeypatch.delenv("SLURM_JOB_END_TIME", raising=False)
    monkeypatch.setattr(job, "WAIT", 0.0)

    def run(train: Callable[[Any, Sequence[Cell]], None], state: str | None = "RUNNING") -> tuple[int, list[str]]:
        asked: list[str] = []

        def scontrol(*arguments: str) -> str | None:
            asked.append(" ".join(arguments))
            return None if state is None else f"JobId=18 JobState={state} Reason=None"

        monkeypatch.setattr(job, "_scontrol", scontrol)
        monkeypatch.setattr(OwnTraining, "imported", lambda _, stack: lambda cells: train(stack, cells))
        return job.main(), asked

    return run


def test_a_task_trains_the_cells_of_its_number(task: Callable[..., tuple[int, list[str]]]) -> None:
    seeds: list[int] = []

    def train(stack: Any, cells: Sequence[Cell]) -> None:
        seeds.extend(cell.config.seed for cell in cells)

    assert task(train) == (0, ["show job 18"])
    assert seeds == [7]


def test_a_task_knows_its_end_from_the_environment_or_from_the_controller(
    task: Callable[..., tuple[int, list[str]]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm 22.05 sets no SLURM_JOB_END_TIME."""

    def train(stack: Any, cells: Sequence[Cell]) -> None:
        with stack():
            time.sleep(0.02)
        with stack():
            raise AssertionError

    monkeypatch.setattr(job, "MARGIN", 1e9)  # however little the first stack took, the next one is too long
    ends = round(time.time()) + 1000
    assert task(train, f"RUNNING StartTime={ends - 60} EndTime={ends}")[1] == ["show job 18", "requeue 18"]
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(ends))
    assert task(train)[1] == ["requeue 18"]


def test_a_task_that_is_told_of_its_end_goes_into_the_queue_again(
    task: Callable[..., tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    def train(stack: Any, cells: Sequence[Cell]) -> None:
        with stack():
            pass
        os.kill(os.getpid(), signal.SIGUSR2)
        time.sleep(5)

    assert task(train) == (1, ["show job 18", "requeue 18"])
    assert capsys.readouterr().err == "Its time is nearly over; it is in the queue again.\n"


def test_a_task_that_is_told_early_finishes_its_first_stack(
    task: Callable[..., tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm tells it up to a minute before the time that was asked for."""
    ended: list[int] = []

    def train(stack: Any, cells: Sequence[Cell]) -> None:
        for number in range(2):
            with stack():
                os.kill(os.getpid(), signal.SIGUSR2)
                ended.append(number)

    assert task(train) == (1, ["show job 18", "requeue 18"])
    assert ended == [0]
    assert capsys.readouterr().err == "Its time is nearly over; it is in the queue again.\n"


def test_a_task_that_finished_no_stack_is_not_queued_for_ever(
    task: Callable[..., tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    def train(stack: Any, cells: Sequence[Cell]) -> None:
        with stack():
            os.kill(os.getpid(), signal.SIGUSR2)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    assert task(train) == (128 + signal.SIGTERM, ["show job 18"])
    assert "set hydra.launcher.timeout_min higher" in capsys.readouterr().err


def test_a_task_that_slurm_ends_while_it_gives_claims_back_is_queued_again(
    task: Callable[..., tuple[int, list[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    def train(stack: Any, cells: Sequence[Cell]) -> None:
        with stack():
            pass
        try:
            os.kill(os.getpid(), signal.SIGUSR2)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    assert task(train) == (1, ["show job 18", "show job 18", "requeue 18"])
    assert capsys.readouterr().err == "It has to make room for another job; it is in the queue again.\n"


def test_a_task_without_scontrol_trains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container may have no programs of Slurm."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert job._scontrol("show", "job", "18") is None


@pytest.mark.parametrize(
    ("state", "asked", "sentence"),
    [
        ("RUNNING", ["requeue 18"], "It has to make room for another job; it is in the queue again."),
        ("CANCELLED", [], "Cancelled; the same command goes on where it ended."),
        (None, [], "Cancelled; the same command goes on where it ended."),
    ],
)
def test_a_terminated_task_is_queued_again_unless_it_was_cancelled(
    state: str | None,
    asked: list[str],
    sentence: str,
    task: Callable[..., tuple[int, list[str]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def train(stack: Any, cells: Sequence[Cell]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    status, questions = task(train, state)

    assert questions == ["show job 18", "show job 18", *asked]
    assert status != 0
    assert capsys.readouterr().err == f"{sentence}\n"
