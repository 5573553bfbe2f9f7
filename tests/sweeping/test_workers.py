"""Forked workers: how many there are, and that each job is trained once, whatever becomes of a worker."""

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from scarf_lightning.engine import hardware
from scarf_lightning.errors import UsageError
from scarf_lightning.options.settings import TrainerSettings
from scarf_lightning.sweeping import workers
from scarf_lightning.sweeping.cell import Cell, Job, plan_jobs, survey
from scarf_lightning.sweeping.workers import Workers, crew
from tests.cells import some_cell, some_config
from tests.processes import is_alive, soon

pytestmark = pytest.mark.usefixtures("in_tmp")

ON_CPU, ON_ANY = TrainerSettings(accelerator="cpu"), TrainerSettings(accelerator="auto")


def jobs(n: int) -> list[Job]:
    """Jobs of a cell each."""
    cells = [some_cell(f"seed={seed}", seed=seed, trainer=ON_CPU, pretrain="none") for seed in range(n)]
    return plan_jobs(survey(cells))


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores, ten times the memory of a worker, no GPU, and numbers that depend on the stack."""
    monkeypatch.setattr(hardware, "is_exact", lambda _: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(workers, "usable_cores", lambda: 4)
    monkeypatch.setattr(workers, "free_memory", lambda: [10 * workers.BYTES_A_WORKER])
    monkeypatch.setattr(workers, "START_UP", 1e-6)


def number(n_cells: int, **chosen: Any) -> int:
    """Of workers for so many cells of two trials each."""
    config = some_config(**{"trainer": ON_CPU} | chosen)
    return len(crew(config, jobs(n_cells)))


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("n_cells", "chosen", "expected"),
    [
        # One a core, and none without a cell to train.
        (10, {}, 4),
        (3, {}, 3),
        (10, {"workers": 7}, 7),
        (3, {"workers": 7}, 3),
        (10, {"workers": 1}, 1),
        # Threads are of one process.
        (10, {"trainer": TrainerSettings(accelerator="cpu", threads=2)}, 1),
    ],
)
def test_there_are_as_many_as_cores_and_cells_allow(n_cells: int, chosen: dict[str, Any], expected: int) -> None:
    assert number(n_cells, **chosen) == expected


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(("n_cells", "wanted", "expected"), [(1, None, 2), (3, 7, 6), (5, None, 4)])
def test_there_is_one_a_trial_where_numbers_do_not_depend_on_it(
    n_cells: int, wanted: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These cells have two."""
    monkeypatch.setattr(hardware, "is_exact", lambda _: True)
    assert number(n_cells, workers=wanted) == expected


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("n_cells", "n_gpus", "wanted", "expected"), [(10, 1, None, 1), (10, 3, None, 3), (2, 3, None, 2), (10, 3, 2, 2)]
)
def test_there_is_one_a_gpu_where_gpus_train(
    n_cells: int, n_gpus: int, wanted: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    assert number(n_cells, trainer=ON_ANY, workers=wanted) == expected


@pytest.mark.usefixtures("four_cores")
def test_several_are_refused_where_one_has_several_threads() -> None:
    with pytest.raises(UsageError, match=r"^workers=2 is not possible here: trainer\.threads=2"):
        number(10, trainer=TrainerSettings(accelerator="cpu", threads=2), workers=2)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(("times", "expected"), [(0.5, 1), (2.9, 2), (50.0, 4)])
def test_there_are_no_more_than_memory_allows(times: float, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "free_memory", lambda: [1 << 60, int(times * workers.BYTES_A_WORKER)])
    assert number(10) == expected


@pytest.mark.usefixtures("four_cores")
def test_there_are_no_more_than_work_is_there_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_UP", sum(job.seconds for job in jobs(10)) / 1.5)
    assert number(10) == 2


class Log:
    """A file to which every process appends a line at a time."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "log"

    def add(self, *words: object) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(" ".join(map(str, words)) + "\n")

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self._file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


@contextmanager
def training(
    log: Log,
    n: int,
    then: Callable[[Cell], object] = lambda cell: None,
    gpus: Sequence[int] = (),
) -> Iterator[Workers]:
    """Workers that write down which process trains which cell."""

    def train(trained: Sequence[Cell], trials: Sequence[int] | None) -> None:
        for cell in trained:
            log.add(os.getpid(), cell.config.seed)
            then(cell)

    with Workers(gpus or [None] * n, train) as workers:
        workers.tell = lambda _: None
        yield workers


def test_each_job_of_one_launch_after_the_other_is_trained_once_by_another_process(log: Log) -> None:
    ended: list[Cell] = []
    with training(log, 2, lambda _: time.sleep(0.02)) as run:
        run.tell = ended.append
        run.train(jobs(5))
        run.train(jobs(3))

    assert sorted(int(seed) for _, seed in log.lines()) == [0, 0, 1, 1, 2, 2, 3, 4]
    assert sorted(cell.config.seed for cell in ended) == [0, 0, 1, 1, 2, 2, 3, 4]
    assert len({pid for pid, _ in log.lines()} - {str(os.getpid())}) == 2


def test_each_worker_trains_on_a_gpu_of_its_own(log: Log) -> None:
    def gpus() -> dict[str, str]:
        return {pid: word for pid, word in log.lines() if word.startswith("gpu")}

    def train(cell: Cell) -> None:
        log.add(os.getpid(), f"gpu{cell.config.trainer.device}")
        # The first one dies, and its GPU is that of the next one.
        if cell.config.seed == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        # Each worker leaves a cell for the other one.
        soon(lambda: len(gpus()) >= 3)

    with training(log, 2, train, gpus=(4, 7)) as run:
        run.train(jobs(6))

    assert sorted(gpus().values()) in (["gpu4", "gpu4", "gpu7"], ["gpu4", "gpu7", "gpu7"])
    changed = {(pid, word) for pid, word in log.lines() if word.startswith("gpu")}
    assert len(changed) == len(gpus()), "no worker changes its GPU"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_is_ended_is_named_and_the_other_jobs_are_trained(
    number: signal.Signals, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    def die(cell: Cell) -> None:
        if cell.config.seed == 1:
            os.kill(os.getpid(), number)
            time.sleep(60)

    with training(log, 2, die) as run:
        run.train(jobs(5))
        run.train(jobs(1))  # the run launches cells again that are not finished

    assert sorted(int(seed) for _, seed in log.lines()) == [0, 0, 1, 2, 3, 4]
    sentence = capsys.readouterr().err
    assert sentence.count("A worker ended early (") == 1
    assert "workers=1" in sentence


def test_a_worker_that_dies_while_it_waits_is_replaced(log: Log) -> None:
    with training(log, 2) as run:
        run.train(jobs(1))
        ((pid, _),) = log.lines()
        os.kill(int(pid), signal.SIGKILL)
        assert soon(lambda: not is_alive(int(pid)))
        run.train(jobs(3))

    # The job that it was to have is left to the next launch.
    assert [seed for _, seed in log.lines()] == ["0", "1", "2"]


def test_what_every_worker_finds_out_is_shown_once(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    def read(cell: Cell) -> None:
        print("how it was", "read")
        # Each worker leaves a cell for the other one.
        soon(lambda: len({pid for pid, _ in log.lines()}) == 2)

    with training(log, 2, read) as run:
        run.train(jobs(2))

    assert capsys.readouterr().err.splitlines()[1:] == ["how it was read"]


def test_what_a_worker_writes_again_is_shown_again(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    with training(log, 2, lambda cell: print(*["said", "by a part"] * 2, sep="\n", file=sys.stderr)) as run:
        run.train(jobs(1))

    assert capsys.readouterr().err.splitlines()[1:] == ["said", "by a part"] * 2


def test_a_line_without_an_end_is_shown_with_its_cell(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    with training(log, 2, lambda cell: print("epoch 1,", "epoch 2", end="")) as run:
        run.train(jobs(1))

    assert capsys.readouterr().err.splitlines()[1:] == ["epoch 1, epoch 2"]


def test_an_error_that_is_no_cells_stops_all(log: Log) -> None:
    """Such as a full disk, on which not even the reason of a failure can be kept."""

    def fail(cell: Cell) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "results/failures/x.json")

    with training(log, 2, fail) as run:
        for _ in range(2):
            with pytest.raises(OSError, match="No space left on device"):
                run.train(jobs(30))

    assert len(log.lines()) < 30


@pytest.mark.slow
def test_what_ends_the_run_ends_its_workers(log: Log) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted(seconds: float) -> None:
        with training(log, 2, lambda _: time.sleep(60)) as run:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            run.train(jobs(2))

    signal.signal(signal.SIGALRM, interrupt)
    with pytest.raises(KeyboardInterrupt):
        interrupted(0.5)

    assert len(log.lines()) == 2
    assert not any(is_alive(int(pid)) for pid, _ in log.lines())


def test_workers_do_not_outlive_a_run_that_is_killed(log: Log) -> None:
    parent = os.fork()
    if parent == 0:
        with training(log, 2, lambda _: time.sleep(60)) as run:
            run.train(jobs(2))
        os._exit(0)
    assert soon(lambda: log._file.exists() and len(log.lines()) == 2)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)

    assert soon(lambda: not any(is_alive(int(pid)) for pid, _ in log.lines()))
