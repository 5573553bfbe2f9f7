"""Workers: processes that train the jobs of a run side by side.

Importing torch and Lightning takes seconds of processor time. A forked process has what its parent has imported, so a
run pays for the imports once, however many workers it has.

A worker that is killed loses the stack that it trained, and the others go with it. The run names it, starts all again,
and trains its cell from the last finished stack.
"""

import io
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Self

from ..errors import UsageError
from ..forks import end_with_parent, ending, why_no_fork
from ..machine import can_end_openmp_threads, end_openmp_threads, free_memory, usable_cores
from ..options import Config
from ..results import work_under_claims_of
from ..results.files import remove_temporaries
from .cell import Cell, Place
from .jobs import Job, TrainCells, Training, can_be_divided, divided, give_claims_back
from .plan import Group, Plan

BYTES_A_WORKER = 600_000_000
"""Memory of a worker that trains a table of usual size."""
SECONDS_A_WORKER = 1.0
"""Expected work below which another worker is not worth its start."""
LOOK_EVERY = 0.1
"""Seconds between looks at what the workers tell."""
PATIENCE = 1.0
"""Seconds in which a worker may end by itself before it is killed."""
LETTERS_AT_ONCE = 800
"""Of a text that a worker sends: Linux writes up to 4,096 bytes into a pipe in one piece, so senders need no lock."""

Say = Callable[[str], None]
Tell = Callable[[Cell], None]
"""Is told each cell of a run that has ended, by whoever trains it; a cell may end in several jobs."""


def crew(config: Config, plan: Plan, training: Training) -> tuple[int, list[int]]:
    """The number of workers: as many as ``workers``, or else as cores, memory and work allow; and the GPUs of which
    each has one, where GPUs train.

    Raises:
        UsageError: several workers are asked for where a process cannot be forked.
    """
    gpus, wanted = training.gpus(config.trainer), config.workers
    reason = _obstacle(config, training, has_gpus=bool(gpus))
    if reason is not None:
        if wanted is not None and wanted > 1:
            raise UsageError(f"workers={wanted} is not possible here: {reason}; leave workers out.")
        return 1, []
    if gpus:
        gpus = gpus[: len(plan.groups)][:wanted]
        return len(gpus), gpus
    if wanted is None:
        # Of the limits on memory the least one counts. Where nobody knows any, memory is no reason for fewer.
        memory = min(free_memory(), default=math.inf) / BYTES_A_WORKER
        work = sum(group.seconds for group in plan.groups) / SECONDS_A_WORKER
        wanted = math.floor(min(usable_cores(), memory, math.ceil(work)))
    n_jobs = len(plan.groups)
    if n_jobs < wanted:
        n_jobs = sum(len(group.missing) if can_be_divided(group, training) else 1 for group in plan.groups)
    return max(1, min(wanted, n_jobs)), []


def _obstacle(config: Config, training: Training, *, has_gpus: bool) -> str | None:
    """The reason why this process cannot fork workers, if there is one."""
    if has_gpus and training.has_begun_cuda():
        return "this process has computed on a GPU, which its forks then cannot"
    # One thread waits for no other.
    if config.trainer.threads > 1 and not can_end_openmp_threads():
        return "with trainer.threads above 1 a fork may wait for ever, because an old OpenMP is loaded"
    return why_no_fork()


class Workers:
    """Processes that wait for jobs while a `with` block runs. Calling it trains groups of cells: it is a `Launch`.

    Fork before threads are started: a lock that another thread holds stays locked in the fork.

    Args:
        number: of processes.
        training: of which each worker has a copy.
        say: shows a sentence.
        prepare: called once, while the workers train and this process has nothing else to do.
        gpus: the numbers of those that the workers train on, one each.

    Attributes:
        tell: is told each cell that has ended.
        endings: the words on how the last worker ended that died while it had a cell, by the cell's key.
    """

    def __init__(
        self,
        number: int,
        training: Training,
        say: Say,
        prepare: Callable[[], None] = lambda: None,
        gpus: Sequence[int] = (),
    ) -> None:
        self.number, self._training, self._say, self._prepare, self._gpus = number, training, say, prepare, gpus
        self.tell: Tell = lambda _: None
        self.endings = dict[str, str]()
        self._shown = set[str]()

    def __enter__(self) -> Self:
        # Imported before the workers are forked, so that it is paid once.
        self._train = self._training.imported()
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        # What has ended is in the store, and after an error nobody waits for the rest.
        self._stop()
        give_claims_back(self._at_work.values())

    def __call__(self, groups: Sequence[Group]) -> None:
        """Train groups of cells, and return when all jobs have ended. Results are in the store.

        Raises:
            Exception: what is no cell's failure, such as a full disk.
        """
        with divided(groups, self.number, self._training, self._say) as jobs:
            self.train(jobs)

    def train(self, jobs: Sequence[Job]) -> None:
        """Train jobs, the first ones first."""
        self._cells = {cell.place: cell for job in jobs for cell in job.cells}
        left = dict.fromkeys(jobs)
        while left:
            try:
                self._train_all(left)
            except BrokenProcessPool:
                dead = self._replace()
                # The run launches the cells of a dead worker again, as often as it gives a cell a try.
                if not dead:
                    return
                left = {job: None for job in left if dead.isdisjoint(cell.place for cell in job.cells)}

    def _train_all(self, left: dict[Job, None]) -> None:
        """Train jobs, and take out those that have ended."""
        waiting, running = list(reversed(left)), dict[Future[None], Job]()
        problem: BaseException | None = None
        while waiting or running:
            # One more than there are workers, so that none waits for this process.
            while waiting and len(running) <= self.number:
                job = waiting.pop()
                running[self._pool.submit(_train_job, job)] = job
            # Once, while the workers train.
            self._prepare()
            self._prepare = lambda: None
            ended, _ = wait(running, LOOK_EVERY, FIRST_COMPLETED)
            self._hear()
            for future in ended:
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise error
                del left[running.pop(future)]
                if error is not None:
                    # What stops one job stops the next. Those that are in training end by themselves.
                    problem, waiting = problem or error, []
        if problem is not None:
            raise problem

    def _start(self) -> None:
        """Fork the workers."""
        # A notebook that starts this run may have computed with threads that a fork would wait for.
        end_openmp_threads()
        context = multiprocessing.get_context("fork")
        self._inbox, outbox = context.Pipe(duplex=False)
        self._at_work = dict[int, Cell]()
        gpus = context.SimpleQueue()
        for gpu in self._gpus:
            gpus.put(gpu)
        self._others = multiprocessing.active_children()
        begin = (os.getpid(), self._train, outbox, gpus.get if self._gpus else None)
        self._pool = ProcessPoolExecutor(self.number, context, _begin, begin)
        # All are forked with the first job.
        self._pool.submit(os.getpid)
        self._processes = self._children()
        outbox.close()

    def _stop(self) -> None:
        """End all workers at once."""
        children, until = self._children(), time.monotonic() + PATIENCE
        # By SIGTERM they remove what they have begun to write.
        for process in children:
            process.terminate()
        for process in children:
            process.join(max(0, until - time.monotonic()))
            # A fork loses a SIGTERM that arrives before it has begun.
            process.kill()
        self._pool.shutdown(cancel_futures=True)
        self._hear()
        self._inbox.close()

    def _children(self) -> list[BaseProcess]:
        """The workers that have not ended, also those of a start that a signal has ended."""
        return [process for process in multiprocessing.active_children() if process not in self._others]

    def _hear(self) -> None:
        """Act on what the workers have told: a text to show, a cell that begins, or a worker's last one that ended."""
        # The end of the last worker is the end of the pipe.
        with suppress(EOFError, OSError):
            while self._inbox.poll():
                pid, told = self._inbox.recv()
                if told is None:
                    self.tell(self._at_work.pop(pid))
                elif not isinstance(told, str):
                    self._at_work[pid] = self._cells[told]
                # Such as how a table was read, which every worker finds out.
                elif told not in self._shown:
                    self._shown.add(told)
                    sys.stderr.write(told)
                    sys.stderr.flush()

    def _replace(self) -> set[Place]:
        """Start all workers again after one has died; the cells that the dead one had."""
        # The exit status is known after the join.
        for process in self._processes:
            process.join(timeout=1)
        # The pool ends the others by SIGTERM.
        dead = [process for process in self._processes if process.exitcode not in (None, -signal.SIGTERM)]
        self._stop()
        places = set[Place]()
        for process in dead or self._processes:
            self._say(f"A worker ended early ({ending(process)}); its cells go on from their last finished stack.")
            cell = self._at_work.get(process.pid or 0)
            if cell is not None:
                self.endings[cell.key] = ending(process)
                places.add(cell.place)
        give_claims_back(self._at_work.values())
        self._start()
        return places


_train: TrainCells
"""Of this worker, as what follows."""
_outbox: Connection
_gpu: int | None


class _Output(io.TextIOBase):
    """The standard error of a worker: the run shows what is written to it, above its own progress."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def write(self, text: str) -> int:
        for start in range(0, len(text), LETTERS_AT_ONCE):
            _tell(text[start : start + LETTERS_AT_ONCE])
        return len(text)

    def isatty(self) -> bool:
        return self._is_terminal


def _begin(parent: int, train: TrainCells, outbox: Connection, take_gpu: Callable[[], int] | None) -> None:
    """Begin the life of a worker."""
    global _train, _outbox, _gpu
    # Ctrl-C reaches all processes of a terminal. The run answers it, and kills its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    end_with_parent(parent)
    work_under_claims_of(parent)
    _train, _outbox, _gpu = train, outbox, take_gpu() if take_gpu else None
    # The run's display redraws its last line, so two processes must not write to one terminal.
    sys.stderr = sys.stdout = _Output(is_terminal=sys.stderr.isatty())


def _end(*_: object) -> None:
    """Answer SIGTERM by its usual effect. Lightning has an answer of its own where there is none, and trains on."""
    remove_temporaries()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)


def _train_job(job: Job) -> None:
    """Train a job in a worker. A cell that fails has its note; an error keeps a note from being written."""
    for cell in job.cells:
        _tell(cell.place)
        config = cell.config
        if _gpu is not None:
            config = replace(config, trainer=replace(config.trainer, device=_gpu))
        _train([replace(cell, config=config)], job.trials)
        _tell(None)


def _tell(told: str | Place | None) -> None:
    """Send the run a text, the place of a cell that begins, or None at its end."""
    _outbox.send((os.getpid(), told))
