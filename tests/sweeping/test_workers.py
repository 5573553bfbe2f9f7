"""Forked workers: how many there are, and that each job is trained once, whatever becomes of a worker."""

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.options.settings import TrainerSettings
from scarf_lightning.sweeping import workers
from scarf_lightning.sweeping.cell import Cell, survey
from scarf_lightning.sweeping.jobs import Job, TrainCells
from scarf_lightning.sweeping.plan import Plan, make_plan
from scarf_lightning.sweeping.workers import Workers, crew
from tests.cells import some_cell
from tests.processes import is_alive, soon

pytestmark = pytest.mark.usefixtures("in_tmp")

ON_CPU, ON_ANY = TrainerSettings(accelerator="cpu"), TrainerSettings(accelerator="auto")


def cells(n: int, **chosen: object) -> list[Cell]:
    """Cells that share nothing."""
    return [some_cell(f"seed={seed}", seed=seed, trainer=ON_CPU, pretrain="none", **chosen) for seed in range(n)]


def jobs(n: int) -> list[Job]:
    return [Job([cell], 1.0) for cell in cells(n)]


def plan_of(n: int) -> Plan:
    return make_plan(survey(cells(n)))


@dataclass
class OnGpus:
    """The training of a machine with GPUs."""

    n_gpus: int = 1
    has_begun: bool = False
    exact: bool = False

    def gpus(self, settings: TrainerSettings) -> list[int]:
        return [] if settings.accelerator == "cpu" else list(range(self.n_gpus))

    def has_begun_cuda(self) -> bool:
        return self.has_begun

    def is_exact(self, settings: TrainerSettings) -> bool:
        return self.exact

    def imported(self) -> TrainCells:
        raise AssertionError


class TestNumber:
    @pytest.fixture(autouse=True)
    def large_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "usable_cores", lambda: 4)
        monkeypatch.setattr(workers, "free_memory", lambda: [10 * workers.BYTES_A_WORKER])
        monkeypatch.setattr(workers, "SECONDS_A_WORKER", 1e-6)

    def number(self, n_cells: int, training: OnGpus | None = None, **chosen: object) -> int:
        config = replace(cells(1)[0].config, **chosen)  # type: ignore[arg-type]
        return crew(config, plan_of(n_cells), training or OnGpus())[0]

    @pytest.mark.parametrize(
        ("n_cells", "machine", "chosen", "expected"),
        [
            # One a core, and none without a cell to train.
            (10, OnGpus(), {}, 4),
            (3, OnGpus(), {}, 3),
            (10, OnGpus(), {"workers": 7}, 7),
            (3, OnGpus(), {"workers": 7}, 3),
            (10, OnGpus(), {"workers": 1}, 1),
            # Where numbers do not depend on it, one a trial: these cells have two.
            (1, OnGpus(exact=True), {}, 2),
            (2, OnGpus(exact=True), {}, 4),
            (3, OnGpus(exact=True), {"workers": 7}, 6),
            (5, OnGpus(exact=True), {}, 4),
            # One a GPU, where GPUs train.
            (10, OnGpus(), {"trainer": ON_ANY}, 1),
            (10, OnGpus(3), {"trainer": ON_ANY}, 3),
            (2, OnGpus(3), {"trainer": ON_ANY}, 2),
            (10, OnGpus(3), {"trainer": ON_ANY, "workers": 2}, 2),
            # One where this process has begun CUDA.
            (10, OnGpus(3, has_begun=True), {"trainer": ON_ANY}, 1),
            (10, OnGpus(3, has_begun=True), {"trainer": ON_CPU}, 4),
        ],
    )
    def test_as_many_as_cores_gpus_and_cells_allow(
        self, n_cells: int, machine: OnGpus, chosen: dict[str, object], expected: int
    ) -> None:
        assert self.number(n_cells, machine, **chosen) == expected

    def test_where_cuda_has_begun_several_are_refused(self) -> None:
        with pytest.raises(UsageError, match=r"^workers=2 is not possible here: this process has computed on a GPU"):
            self.number(10, OnGpus(3, has_begun=True), trainer=ON_ANY, workers=2)

    def test_no_more_than_time_and_memory_allow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for times, number in ((0.5, 1), (2.9, 2), (50.0, 4)):
            free = [1 << 60, int(times * workers.BYTES_A_WORKER)]
            monkeypatch.setattr(workers, "free_memory", lambda free=free: free)
            assert self.number(10) == number
        monkeypatch.setattr(workers, "SECONDS_A_WORKER", sum(group.seconds for group in plan_of(10).groups) / 2)
        assert self.number(10) == 2


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
    number: int,
    then: Callable[[Cell], object] = lambda cell: None,
    say: Callable[[str], None] = print,
    gpus: Sequence[int] = (),
) -> Iterator[Callable[[Sequence[Job]], None]]:
    """Workers that write down which process trains which cell, and what trains jobs by them."""

    def train(trained: Sequence[Cell], trials: Sequence[int] | None = None) -> None:
        for cell in trained:
            log.add(os.getpid(), cell.config.seed)
            then(cell)

    with Workers(number, SimpleNamespace(imported=lambda: train), say, gpus=gpus) as workers:  # type: ignore[arg-type]
        yield workers.train


class TestTraining:
    def test_each_job_of_one_launch_after_the_other_is_trained_once_by_another_process(self, log: Log) -> None:
        with training(log, 2, lambda _: time.sleep(0.02)) as launch:
            launch(jobs(5))
            launch(jobs(3))

        assert sorted(int(seed) for _, seed in log.lines()) == [0, 0, 1, 1, 2, 2, 3, 4]
        assert len({pid for pid, _ in log.lines()} - {str(os.getpid())}) == 2

    def test_each_worker_trains_on_a_gpu_of_its_own(self, log: Log) -> None:
        def gpus() -> dict[str, str]:
            return {pid: word for pid, word in log.lines() if word.startswith("gpu")}

        def train(cell: Cell) -> None:
            log.add(os.getpid(), f"gpu{cell.config.trainer.device}")
            # The first one dies, and its GPU is that of the next one.
            if cell.config.seed == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            # Each worker leaves a cell for the other one.
            soon(lambda: len(gpus()) >= 2)

        with training(log, 2, train, gpus=(4, 7)) as launch:
            launch(jobs(6))

        assert set(gpus().values()) == {"gpu4", "gpu7"}
        changed = {(pid, word) for pid, word in log.lines() if word.startswith("gpu")}
        assert len(changed) == len(gpus()), "no worker changes its GPU"


class TestEnding:
    def test_a_worker_that_gets_sigterm_ends_although_lightning_answers_it_where_nobody_does(self, log: Log) -> None:
        def wait(cell: Cell) -> None:
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
            if cell.config.seed == 1:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)

        said: list[str] = []
        with training(log, 1, wait, said.append) as launch:
            launch(jobs(3))

        assert [seed for _, seed in log.lines()] == ["0", "1", "2"]
        assert said == ["A worker ended early (killed by SIGTERM); its cells go on from their last finished stack."]

    def test_a_killed_worker_is_named_and_the_other_jobs_are_trained(self, log: Log) -> None:
        said: list[str] = []

        def die(cell: Cell) -> None:
            if cell.config.seed == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        with training(log, 2, die, said.append) as launch:
            launch(jobs(5))
            launch(jobs(1))  # the run launches cells again that are not finished

        trained = {int(seed) for _, seed in log.lines()}
        assert trained == {0, 1, 2, 3, 4}
        assert [seed for _, seed in log.lines()].count("1") == 1, "the run launches it again"
        assert said == ["A worker ended early (killed by SIGKILL); its cells go on from their last finished stack."]

    def test_an_error_that_is_no_cells_stops_all(self, log: Log) -> None:
        """Such as a full disk, on which not even the reason of a failure can be kept."""

        def fail(cell: Cell) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", "results/failures/x.json")

        with training(log, 2, fail) as launch:
            with pytest.raises(OSError, match="No space left on device"):
                launch(jobs(60))
            tried = len(log.lines())
            with pytest.raises(OSError, match="No space left on device"):
                launch(jobs(1))

        assert tried < 60
        assert len(log.lines()) == tried + 1

    @pytest.mark.slow
    def test_what_ends_the_run_ends_its_workers(self, log: Log) -> None:
        def interrupted(seconds: float) -> None:
            with training(log, 2, lambda _: time.sleep(60)) as launch:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                launch(jobs(2))

        signal.signal(signal.SIGALRM, _interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted(0.5)

        assert len(log.lines()) == 2
        assert not any(is_alive(int(pid)) for pid, _ in log.lines())

    def test_workers_do_not_outlive_a_run_that_is_killed(self, log: Log) -> None:
        parent = os.fork()
        if parent == 0:
            with training(log, 2, lambda _: time.sleep(60)) as launch:
                launch(jobs(2))
            os._exit(0)
        assert soon(lambda: log._file.exists() and len(log.lines()) == 2)
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)

        assert soon(lambda: not any(is_alive(int(pid)) for pid, _ in log.lines()))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
