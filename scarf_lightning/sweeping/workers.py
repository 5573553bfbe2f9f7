"""Workers: processes that train the chunks of a run side by side.

Importing torch and Lightning takes seconds of processor time. A forked process has what its parent has imported, so a
run pays for the imports once, however many workers it has.

A worker that is killed loses the stack that it trained, and the others go with it. The run names it, starts all again,
and trains its cell from the last finished stack.

Where GPUs train, each has a worker. Others have the processor's cores, and train the cells that need no GPU meanwhile:
those of other libraries' models.
"""

import io
import math
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Self

from ..errors import UsageError
from ..forks import end_with_parent, ending, why_no_fork
from ..machine import can_end_openmp_threads, end_openmp_threads, free_memory, usable_cores
from ..options import Config
from ..results.files import remove_temporaries
from .cell import Cell, Place
from .chunks import Chunk, TrainCells, Training, can_be_divided, give_claims_back
from .plan import Group, Plan

BYTES_A_WORKER = 600_000_000
"""Memory of a worker that trains a table of usual size."""
SECONDS_A_WORKER = 1.0
"""Expected work below which another worker is not worth its start."""
LOOK_EVERY = 0.1
"""Seconds between looks at what the workers tell."""
LETTERS_AT_ONCE = 800
"""Of a text that a worker sends: Linux writes up to 4,096 bytes into a pipe in one piece, so senders need no lock."""

Say = Callable[[str], None]


Tell = Callable[[Cell], None]
"""Is told each cell of a run that has ended, by whoever trains it; a cell may end in several shares."""


def crew(config: Config, plan: Plan, training: Training) -> tuple[list[int], int]:
    """The GPUs that have a worker of a run, and the number of workers on the processor: together as many as
    ``workers``, or else as cores, memory and work allow.

    Raises:
        UsageError: several workers are asked for where a process cannot be forked.
    """
    gpus = training.gpus(config.trainer)
    reason = _obstacle(config, training, has_gpus=bool(gpus))
    if reason is not None:
        if config.workers is not None and config.workers > 1:
            raise UsageError(f"workers={config.workers} is not possible here: {reason}; leave workers out.")
        return [], 1
    others = [group for group in plan.groups if not gpus or not any(_needs_gpu(each.cell) for each in group.cells)]
    gpus = gpus[: len(plan.groups) - len(others)][: config.workers]
    if config.workers is None:
        # Of the limits on memory the least one counts. Where nobody knows any, memory is no reason for fewer.
        memory = min(free_memory(), default=math.inf) / BYTES_A_WORKER
        wanted = math.floor(min(usable_cores(), memory)) - len(gpus)
        wanted = min(wanted, math.ceil(sum(group.seconds for group in others) / SECONDS_A_WORKER))
    else:
        wanted = config.workers - len(gpus)
    return gpus, max(0 if gpus else 1, min(wanted, _most_at_once(others, training, wanted)))


def _most_at_once(groups: Sequence[Group], training: Training, wanted: int) -> int:
    """The number of jobs that groups can make, whose trials may be divided; it is not looked at beyond ``wanted``."""
    if len(groups) >= wanted:
        return len(groups)
    return sum(len(group.missing) if can_be_divided(group, training) else 1 for group in groups)


def _needs_gpu(cell: Cell) -> bool:
    return cell.config.needs_gpu


def _obstacle(config: Config, training: Training, *, has_gpus: bool) -> str | None:
    """The reason why this process cannot fork workers, if there is one."""
    if has_gpus and training.has_begun_cuda():
        return "this process has computed on a GPU, which its forks then cannot"
    # One thread waits for no other.
    if config.trainer.threads > 1 and not can_end_openmp_threads():
        return "with trainer.threads above 1 a fork may wait for ever, because an old OpenMP is loaded"
    return why_no_fork()


class Workers:
    """Processes that wait for chunks, for the time of a `with` block. Calling it trains chunks: it is a `Launch`.

    Fork before threads are started: a lock that another thread holds stays locked in the fork.

    Args:
        n_cores: the number of processes on the processor.
        train: trains cells in a worker. Each worker has a copy of it.
        say: shows a sentence.
        prepare: called once a launch, while the workers train and this process has nothing else to do.
        gpus: the numbers of those that have a process more each, for cells that need one.

    Attributes:
        tell: is told each cell that has ended.
        endings: the words on how the last worker ended that died while it had a cell, by the cell's key.
    """

    def __init__(
        self,
        n_cores: int,
        train: TrainCells,
        say: Say,
        prepare: Callable[[], None] = lambda: None,
        gpus: Sequence[int] = (),
    ) -> None:
        self._n_cores, self._train, self._say, self._prepare, self._gpus = n_cores, train, say, prepare, gpus
        self.number = n_cores + len(gpus)
        self.tell: Tell = lambda _: None
        self.endings = dict[str, str]()
        self._shown = set[str]()

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        # What has ended is in the store, and after an error nobody waits for the rest.
        self._stop()
        give_claims_back(self._in_training.values())

    def __call__(self, chunks: Sequence[Chunk]) -> None:
        """Train chunks, the first ones first, and return when all have ended. Results are in the store.

        Raises:
            Exception: what is no cell's failure, such as a full disk.
        """
        self._cells = {cell.place: cell for chunk in chunks for cell in chunk.cells}
        left = dict.fromkeys(chunks)
        while left:
            try:
                self._train_all(left)
            except BrokenProcessPool:
                dead = self._replace()
                # The run launches the cells of a dead worker again, as often as it gives a cell a try.
                if not dead:
                    return
                left = {chunk: None for chunk in left if dead.isdisjoint(cell.place for cell in chunk.cells)}

    def _train_all(self, left: dict[Chunk, None]) -> None:
        """Train chunks, and take out those that have ended."""
        ended = SimpleQueue[Future[None]]()
        chunks = dict[Future[None], Chunk]()
        for chunk in left:
            on_gpu = any(map(_needs_gpu, chunk.cells))
            pool = self._pools.get(on_gpu) or self._pools[not on_gpu]
            future = pool.submit(_train_chunk, chunk.cells, bool(self._gpus))
            chunks[future] = chunk
            future.add_done_callback(ended.put)
        self._prepare()
        problem: BaseException | None = None
        for _ in chunks:
            future = self._next(ended)
            if not future.cancelled() and (error := future.exception()):
                if isinstance(error, BrokenProcessPool):
                    raise error
                problem = problem or error
                # What stops one chunk stops the next. Those that are in training end by themselves.
                for waiting in chunks:
                    waiting.cancel()
            del left[chunks[future]]
        self._hear()
        if problem is not None:
            raise problem

    def _next(self, ended: "SimpleQueue[Future[None]]") -> "Future[None]":
        """The next chunk that has ended; what workers tell meanwhile is shown."""
        while True:
            self._hear()
            with suppress(Empty):
                return ended.get(timeout=LOOK_EVERY)

    def _start(self) -> None:
        """Fork the workers."""
        # A notebook that starts this run may have computed with threads that a fork would wait for.
        end_openmp_threads()
        context = multiprocessing.get_context("fork")
        self._inbox, outbox = context.Pipe(duplex=False)
        self._in_training = dict[int, Cell]()
        gpus = context.SimpleQueue()
        for gpu in self._gpus:
            gpus.put(gpu)
        self._others = multiprocessing.active_children()
        self._pools = dict[bool, ProcessPoolExecutor]()
        for is_on_gpu, number in ((False, self._n_cores), (True, len(self._gpus))):
            if number:
                begin = (os.getpid(), self._train, outbox, gpus.get if is_on_gpu else None)
                pool = ProcessPoolExecutor(number, context, _begin, begin)
                # All are forked with the first job.
                pool.submit(os.getpid)
                self._pools[is_on_gpu] = pool
        self._processes = self._children()
        outbox.close()

    def _stop(self) -> None:
        """End all workers at once."""
        for process in self._children():
            # A fork loses a SIGTERM that arrives before it has begun.
            process.kill()
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)
        self._hear()
        self._inbox.close()

    def _children(self) -> list[BaseProcess]:
        """The workers that have not ended, also those of a start that a signal has ended."""
        return [process for process in multiprocessing.active_children() if process not in self._others]

    def _hear(self) -> None:
        """Act on what the workers have told."""
        # The end of the last worker is the end of the pipe.
        with suppress(EOFError, OSError):
            while self._inbox.poll():
                pid, what, text = self._inbox.recv()
                if what is None:
                    self._print(text)
                    continue
                cell = self._cells[what]
                if text == _BEGAN:
                    self._in_training[pid] = cell
                else:
                    del self._in_training[pid]
                    self.tell(cell)

    def _print(self, text: str) -> None:
        # Such as how a table was read, which every worker finds out.
        if text not in self._shown:
            self._shown.add(text)
            sys.stderr.write(text)
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
            cell = self._in_training.get(process.pid or 0)
            if cell is not None:
                self.endings[cell.key] = ending(process)
                places.add(cell.place)
        give_claims_back(self._in_training.values())
        self._start()
        return places


_BEGAN, _ENDED = "began", "ended"


@dataclass
class _Worker:
    """What a worker process has: its training, its end of the pipe, and the number of its GPU, if it has one."""

    train: TrainCells
    outbox: Connection
    gpu: int | None

    def tell(self, what: Place | None, text: str) -> None:
        self.outbox.send((os.getpid(), what, text))


_worker: _Worker


class _Outbox(io.TextIOBase):
    """The standard error of a worker: the run shows what is written to it, above its own progress."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def write(self, text: str) -> int:
        for start in range(0, len(text), LETTERS_AT_ONCE):
            _worker.tell(None, text[start : start + LETTERS_AT_ONCE])
        return len(text)

    def isatty(self) -> bool:
        return self._is_terminal


def _begin(parent: int, train: TrainCells, outbox: Connection, take_gpu: Callable[[], int] | None) -> None:
    """Begin the life of a worker."""
    global _worker
    # Ctrl-C reaches all processes of a terminal. The run answers it, and kills its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    end_with_parent(parent)
    _worker = _Worker(train, outbox, take_gpu() if take_gpu else None)
    # The run's display redraws its last line, so two processes must not write to one terminal.
    sys.stderr = sys.stdout = _Outbox(is_terminal=sys.stderr.isatty())


def _end(*_: object) -> None:
    """Answer SIGTERM by its usual effect. Lightning has an answer of its own where there is none, and trains on."""
    remove_temporaries()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)


def _train_chunk(cells: Iterable[Cell], has_gpus: bool) -> None:
    """Train cells in a worker of a run that has GPUs or none. One that fails has its note; an error keeps a note from
    being written."""
    for cell in cells:
        _worker.tell(cell.place, _BEGAN)
        _worker.train([_on_device(cell) if has_gpus else cell])
        _worker.tell(cell.place, _ENDED)


def _on_device(cell: Cell) -> Cell:
    """The cell, to be trained on this worker's GPU, or on the processor if it needs none."""
    if _needs_gpu(cell):
        trainer = replace(cell.config.trainer, device=_worker.gpu)
    else:
        trainer = replace(cell.config.trainer, accelerator="cpu", device=None)
    return replace(cell, config=replace(cell.config, trainer=trainer))
