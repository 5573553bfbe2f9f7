"""Workers: processes that train the jobs of a run side by side.

Importing torch and Lightning takes seconds of processor time. A forked process has what its parent has imported, so a
run pays for the imports once, however many workers it has.

A worker that is killed loses the stack that it trained. The run names it and forks another one in its place; the
others train on. Each has a pipe of its own, whose end is the end of the worker.

What is long for one worker is divided by trials: a job pre-trains its trials once, and trains them in each cell. ::

    run      claims the cells of a job and their pre-training -----------> gives the claims back
    worker     trials 0 to 9 of each cell     trials of another job
    worker     trials 10 to 19 of each cell   ...

Other processes see the claims and wait. Trials of a worker that dies are missing in the store, and the run launches
their cells again.
"""

import io
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from ..errors import UsageError
from ..machine import end_openmp_threads, end_with_parent, ending, free_memory, usable_cores, why_no_fork
from ..options import Config
from ..results import work_under_claims_of
from ..screen import screen
from .cell import START_UP, Cell, Job, stores_of

BYTES_A_WORKER = 600_000_000
"""Memory of a worker that trains a table of usual size."""
LONG = 0.25
"""A job is divided if it takes longer than this share of the shortest time in which all workers can end."""
PATIENCE = 2.0
"""Seconds in which a worker may give its claims back before it is killed."""

Launch = Callable[[Sequence[Job]], None]
"""Trains jobs, and returns when all have ended. Results are in the store."""
TrainCells = Callable[[Sequence[Cell], Sequence[int] | None], None]
"""Trains cells one after the other in this process, all their trials or some of them."""
LoadTraining = Callable[[], TrainCells]
"""Imports torch and Lightning, and returns what trains."""
Tell = Callable[[Cell], None]
"""Gets each cell of a run that has ended, from the process that trains it. A cell may end in several jobs."""


def crew(config: Config, jobs: Sequence[Job]) -> Sequence[int | None]:
    """The GPU of each worker, None on the processor: as many as ``workers``, or else as cores, memory and work allow.

    Raises:
        UsageError: ``workers`` is more than one where a process cannot be forked.
    """
    # It imports torch, which the checks before training have imported.
    from ..engine.hardware import usable_gpus

    n_workers, threads = config.workers, config.trainer.threads
    reason = f"trainer.threads={threads} is of one process" if threads > 1 else why_no_fork()
    if reason:
        if (n_workers or 1) > 1:
            raise UsageError(f"workers={n_workers} is not possible here: {reason}; leave workers out.")
        return [None]
    if gpus := usable_gpus(config.trainer):
        return gpus[: len(jobs)][:n_workers]
    if n_workers is None:
        # The smallest limit on memory counts. If none is known, memory is no reason for fewer.
        memory = min(free_memory(), default=math.inf) / BYTES_A_WORKER
        # Less work than a start takes is not worth another worker.
        starts = 1 + sum(job.seconds for job in jobs) / START_UP
        n_workers = math.floor(min(usable_cores(), memory, starts))
    n_jobs = len(jobs)
    if n_jobs < n_workers:
        n_jobs = sum(len(job.missing) if can_be_divided(job) else 1 for job in jobs)
    return [None] * max(1, min(n_workers, n_jobs))


def divided(jobs: Sequence[Job], n_workers: int, claims: ExitStack) -> list[Job]:
    """The jobs, with a part for each worker in place of one that would keep a worker busy alone. The cells of such a
    job are claimed for as long as the ``claims`` last."""
    shortest = sum(job.seconds for job in jobs) / n_workers
    parts, whole = list[Job](), list[Job]()
    for job in jobs:
        trials = job.missing
        number = min(n_workers, len(trials)) if job.seconds > LONG * shortest else 1
        if number > 1 and can_be_divided(job) and _claim(job, claims):
            for n in range(number):
                share = trials[len(trials) * n // number : len(trials) * (n + 1) // number]
                parts.append(replace(job, trials=share))
        else:
            whole.append(job)
    return parts + whole


def can_be_divided(job: Job) -> bool:
    """True if workers may divide the trials of a job: no number depends on it, and no logger shows live curves, which
    are a process' own."""
    # It imports torch, which the checks before training have imported.
    from ..engine.hardware import is_exact

    return all(not cell.config.logger.views and is_exact(cell.config.trainer) for cell in job.cells)


def _claim(job: Job, claims: ExitStack) -> bool:
    """Claim the cells of a job and their pre-training; false if another process has one of them, or the data cannot be
    read, which their training will note."""
    for cell in job.cells:
        if cell.data is None:
            try:
                cell.learn(cell.source.read().table)
            except UsageError:
                return False
    for store in stores_of(job.cells):
        # A worker that trains the job whole does so under the claims that the run has got.
        if claims.enter_context(store.claim()) is None:
            return False
        for sentence in store.mend():
            screen(stderr=True).say(sentence)
    return True


class Worker:
    """A process that trains one job after the other, as its run sends them.

    Args:
        train: of which the process has a copy.
        gpu: the number of its GPU; None if the cells' options decide.

    Attributes:
        pipe: what it sends: a text to show, the place in its job of a cell that has ended, and at the end of a job an
            error that is no cell's failure, or None.
        cells: those of the job that it trains; none if it waits.
        text_counts: how often it has sent each text.
    """

    def __init__(self, train: TrainCells, gpu: int | None) -> None:
        # A notebook that starts this run may have computed with threads that a fork would wait for.
        end_openmp_threads()
        self.gpu, self.cells, self.text_counts = gpu, list[Cell](), Counter[str]()
        context = multiprocessing.get_context("fork")
        self.pipe, child_pipe = context.Pipe()
        # Python ends daemons at its own end, also those of a start that a signal has ended.
        self.process = context.Process(target=_work, args=(os.getpid(), train, child_pipe, gpu), daemon=True)
        self.process.start()
        # The pipe ends when the process does, which alone holds its other end.
        child_pipe.close()


class Workers:
    """Processes that wait for jobs while a `with` block runs. Calling it trains jobs: it is a `Launch`. A single worker
    is this process itself.

    Fork before threads are started: a lock that another thread holds stays locked in the fork.

    Args:
        gpus: that of each worker, see `crew`.
        train: of which each worker has a copy, with all that it imports.

    Attributes:
        tell: gets each cell that has ended.
    """

    tell: Tell

    def __init__(self, gpus: Sequence[int | None], train: TrainCells) -> None:
        self._gpus, self._train = gpus, train
        self._workers, self._shown_counts = list[Worker](), Counter[str]()

    def __enter__(self) -> Self:
        # One would only cost its fork.
        if len(self._gpus) > 1:
            screen(stderr=True).say(
                f"{len(self._gpus)} workers train, on a core or a GPU each; workers=1 trains in one process."
            )
            self._workers = [Worker(self._train, gpu) for gpu in self._gpus]
        return self

    def __exit__(self, *_: object) -> None:
        # Finished stacks are in the store. After an error the run does not wait for the rest.
        until = time.monotonic() + PATIENCE
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(max(0, until - time.monotonic()))
            # A fork loses a SIGTERM that arrives before it has begun.
            worker.process.kill()
            worker.process.join()

    def __call__(self, jobs: Sequence[Job]) -> None:
        """Train jobs, and return when all have ended. Results are in the store.

        Raises:
            Exception: an error that is no cell's failure, such as a full disk.
        """
        if not self._workers:
            for job in jobs:
                for cell in job.cells:
                    self._train([cell], None)
                    self.tell(cell)
            return
        with ExitStack() as claims:
            self.train(divided(jobs, len(self._workers), claims))

    def train(self, jobs: Sequence[Job]) -> None:
        """Train jobs, the first ones first. That of a worker that dies is left to the next launch of the run."""
        queue = list(reversed(jobs))
        while True:
            for worker in self._workers:
                if not worker.cells and queue:
                    job = queue.pop()
                    worker.cells = job.cells
                    # It may have died while it waited, which the end of its pipe shows.
                    with suppress(OSError):
                        worker.pipe.send((job.cells, job.trials))
            busy: dict[Any, Worker] = {worker.pipe: worker for worker in self._workers if worker.cells}
            if not busy:
                return
            for pipe in wait(busy):
                self._hear(busy[pipe])

    def _hear(self, worker: Worker) -> None:
        """Act on a message of a worker. An error that is no cell's failure is raised: it stops the next job too."""
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            screen(stderr=True).say(
                f"A worker ended early ({ending(worker.process)}), as happens where memory runs out; its cells go on "
                "from their last finished stack, and workers=1 needs less."
            )
            self._workers[self._workers.index(worker)] = Worker(self._train, worker.gpu)
            return
        if isinstance(message, int):
            self.tell(worker.cells[message])
        elif not isinstance(message, str):
            worker.cells = []
            if message is not None:
                raise message
        else:
            worker.text_counts[message] += 1
            # Every worker sends some texts, for instance how a table was read. They are shown once.
            if worker.text_counts[message] > self._shown_counts[message]:
                self._shown_counts[message] += 1
                sys.stderr.write(message)


class _Output(io.TextIOBase):
    """The standard error of a worker: the run shows what is written to it, above its own progress."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock, self._begun = pipe, threading.RLock(), ""

    def send(self, message: str | int | Exception | None) -> None:
        """Send the run a message, see `Worker.pipe`."""
        # Threads of libraries may write, too.
        with self._lock:
            # A line that has no end yet comes before the end of its cell.
            if self._begun and not isinstance(message, str):
                self.write("\n")
            self._pipe.send(message)

    def write(self, text: str) -> int:
        with self._lock:
            # Whole lines, since another worker may write between the parts of one.
            lines, end, self._begun = (self._begun + text).rpartition("\n")
            if end:
                self.send(lines + end)
        return len(text)


def _work(parent: int, train: TrainCells, pipe: Connection, gpu: int | None) -> None:
    """The life of a worker."""
    # Ctrl-C reaches all processes of a terminal. The run answers it, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Claims are given back on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    end_with_parent(parent)
    work_under_claims_of(parent)
    # The run's display redraws its last line, so two processes must not write to one terminal.
    output = _Output(pipe)
    sys.stderr = sys.stdout = output
    while True:
        cells, trials = pipe.recv()
        try:
            for place, cell in enumerate(cells):
                if gpu is not None:
                    cell.config.trainer = replace(cell.config.trainer, device=gpu)
                # A cell that fails has its note in the store.
                train([cell], trials)
                output.send(place)
            output.send(None)
        # For instance, a full disk keeps a note from being written.
        except Exception as error:
            output.send(error)
