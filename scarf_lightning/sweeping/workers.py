"""Workers: processes that train the chunks of a run side by side.

Importing torch and Lightning takes seconds of processor time. A forked process has what its parent has imported, so a
run pays for the imports once, however many workers it has.

    run  ---- the cells of a chunk, or None at the end ---->  worker
    run  <--- text to show, and the end of the chunk -------  worker

A worker that is killed loses the stack that it trained. The run starts another worker in its place, and trains the
cell again from its last finished stack.

Where GPUs train, each has a worker. Others have the processor's cores, and train the cells that need no GPU meanwhile:
those of other libraries' models.
"""

import io
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import TracebackType
from typing import Protocol, Self

from ..errors import UnfinishedError, UsageError, counted, explained
from ..forks import end_with_parent, ending, why_no_fork
from ..machine import can_end_openmp_threads, end_openmp_threads, free_memory, usable_cores
from ..options import Config
from ..options.settings import TrainerSettings
from ..results import give_back
from .cell import Cell
from .chunks import Chunk
from .plan import Plan
from .shares import Exactness, can_be_divided

BYTES_A_WORKER = 600_000_000
"""Memory of a worker that trains a table of usual size."""
SECONDS_A_WORKER = 1.0
"""Expected work below which another worker is not worth its start."""
SECONDS_TO_END, SECONDS_TO_STOP = 30.0, 2.0
"""Time that a worker has to give back its claims before it is killed: at the end of a run, and after Ctrl-C."""

TrainCells = Callable[[Sequence[Cell]], None]
"""Trains cells one after the other in this process."""


class Training(Exactness, Protocol):
    """The training that workers share: `scarf_lightning.cli.running.OwnTraining` has it."""

    def gpus(self, settings: TrainerSettings) -> list[int]: ...
    def has_begun_cuda(self) -> bool: ...
    def imported(self) -> TrainCells: ...


Say = Callable[[str], None]


class Told(Protocol):
    """Is told how far the cells of a run are, by whoever trains them; a cell may be told in several shares."""

    def began(self, cell: Cell) -> None: ...
    def ended(self, cell: Cell) -> None: ...


class Untold:
    """Keeps nothing of what it is told."""

    def began(self, cell: Cell) -> None: ...
    def ended(self, cell: Cell) -> None: ...


class _Message(Enum):
    TEXT = auto()
    BEGAN = auto()
    ENDED = auto()
    DONE = auto()
    FAILED = auto()


def n_workers(config: Config, plan: Plan, training: Training) -> int:
    """The number of workers of a run: one a core, as far as memory and work suffice, or `workers` if that is set.

    Where GPUs train there is one worker a GPU, and one a core for cells that need none.

    Raises:
        UsageError: several workers are asked for where a process cannot be forked, or more than there are GPUs, and
            cells that need none.
    """
    gpus = training.gpus(config.trainer)
    beside = [group for group in plan.groups if not _needs_gpu(each.cell for each in group.cells)] if gpus else []
    gpu_workers = min(len(gpus), len(plan.groups) - len(beside))
    most = gpu_workers + len(beside) if gpus else _most_at_once(plan, training, config.workers or usable_cores())
    reason = _obstacle(config, training, len(gpus), len(beside))
    if reason is not None:
        if config.workers is not None and config.workers > 1:
            raise UsageError(f"workers={config.workers} is not possible here: {reason}; leave workers out.")
        return 1
    if config.workers is not None:
        return max(1, min(config.workers, most))
    # Of the limits on memory the least one counts. Where nobody knows any, memory is no reason for fewer.
    memory_workers = min(free_memory(), default=BYTES_A_WORKER * most) // BYTES_A_WORKER
    if gpus:
        # A worker on a GPU goes on with what is left for the cores, so none is started for less than its start takes.
        busy = math.floor(sum(group.seconds for group in beside) / SECONDS_A_WORKER)
        core_workers = min(usable_cores() - gpu_workers, memory_workers - gpu_workers, busy, len(beside))
        return max(1, gpu_workers + max(0, core_workers))
    busy = math.ceil(plan.seconds / SECONDS_A_WORKER)
    return max(1, min(usable_cores(), memory_workers, busy, most))


def _most_at_once(plan: Plan, training: Training, enough: int) -> int:
    """The chunks that workers can train at the same time, counted as far as there are ``enough``.

    Cells that share a pre-training stay together, but their trials may be divided.
    """
    number = 0
    for left, group in enumerate(plan.groups):
        if number + len(plan.groups) - left >= enough:
            return max(enough, len(plan.groups))
        number += len(group.missing) if can_be_divided(group, training) else 1
    return number


def _needs_gpu(cells: Iterable[Cell]) -> bool:
    """True if one of the cells is trained on a GPU where there is one."""
    return any(cell.config.needs_gpu for cell in cells)


def _obstacle(config: Config, training: Training, n_gpus: int, n_beside: int) -> str | None:
    """The reason why this process cannot fork the workers that are asked for, if there is one."""
    reason = why_no_fork()
    if reason is not None:
        return reason
    if n_gpus and training.has_begun_cuda():
        return "this process has computed on a GPU, which its forks then cannot"
    if n_gpus and config.workers is not None and config.workers > n_gpus and not n_beside:
        gpus = counted(n_gpus, "GPU")
        return f"each worker trains on a GPU of its own, and torch finds {gpus}"
    # One thread waits for no other.
    if config.trainer.threads > 1 and not can_end_openmp_threads():
        return "with trainer.threads above 1 a fork may wait for ever, because an old OpenMP is loaded"
    return None


@dataclass(eq=False)
class _Worker:
    """A process, its end of the pipe, and the chunk that it trains."""

    process: ForkProcess
    pipe: Connection
    gpu: int | None
    """The number of the GPU that it trains on; None for the processor, or for the GPU that a cell names."""
    chunk: Chunk | None = None
    dataset: str | None = field(default=None)
    """The key of the source that it trained last, whose table it still has."""


class Workers:
    """Processes that wait for chunks, for the time of a `with` block. Calling it trains chunks: it is a `Launch`.

    Fork before threads are started: a lock that another thread holds stays locked in the fork.

    Args:
        number: of processes.
        train: trains cells in a worker. Each worker has a copy of it.
        say: shows a sentence.
        prepare: called once a launch, while the workers train and this process has nothing else to do.
        gpus: their numbers, one a worker; further workers train what needs none, on the processor. Without any, all
            train on the processor, or on the GPU that a cell names.

    Attributes:
        told: is told how far cells are.
        endings: the words on how the last worker ended that died while it had a cell, by the cell's key.
    """

    def __init__(
        self,
        number: int,
        train: TrainCells,
        say: Say,
        prepare: Callable[[], None] = lambda: None,
        gpus: Sequence[int] = (),
    ) -> None:
        self._number, self._train, self._say = number, train, say
        self._prepare, self._gpus = prepare, gpus
        self._workers: list[_Worker] = []
        self._problem: str | None = None
        self.told: Told = Untold()
        self.endings = dict[str, str]()
        self._shown = set[str]()

    @property
    def number(self) -> int:
        """The number of processes."""
        return self._number

    def __enter__(self) -> Self:
        for _ in range(self._number):
            self._workers.append(self._started())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            for worker in self._workers:
                # A worker that has died reads no message.
                with suppress(OSError):
                    worker.pipe.send(None)
            self._join(SECONDS_TO_END)
            return
        # After an error nobody waits for the chunks that are in training.
        for worker in self._workers:
            worker.process.terminate()
        self._join(SECONDS_TO_STOP)

    def __call__(self, chunks: Sequence[Chunk]) -> None:
        """Train chunks, the first ones first, and return when all have ended. Results are in the store.

        Raises:
            UnfinishedError: a worker could train no cell more, such as on a full disk.
        """
        pending = list(chunks)
        self._hand_out(pending)
        self._prepare()
        while busy := [worker for worker in self._workers if worker.chunk is not None]:
            ready = wait([worker.pipe for worker in busy])
            for worker in busy:
                # The pipe of a dead worker is ready as well: it is at its end.
                if worker.pipe in ready and not self._heard(worker):
                    self._replace(worker)
            # What stops one worker stops the next. Chunks that are in training end by themselves.
            if self._problem is not None:
                pending.clear()
            self._hand_out(pending)
        problem, self._problem = self._problem, None
        if problem is not None:
            raise UnfinishedError(problem)

    def _hand_out(self, pending: list[Chunk]) -> None:
        """Give each idle worker a chunk, as long as there are some."""
        idle = [worker for worker in self._workers if worker.chunk is None]
        while pending and idle:
            worker = idle.pop(0)
            place = self._next(worker, pending)
            # The chunk stays pending if its worker died while it was idle.
            if place is not None and not self._give(worker, pending, place):
                idle.append(self._replace(worker))

    def _next(self, worker: _Worker, pending: Sequence[Chunk]) -> int | None:
        """The place of a worker's next chunk: of the table that it has loaded if there is one, else the first. None if
        all wait for a GPU, and it has none."""
        places = list(range(len(pending)))
        if self._gpus:
            gpu_places = [place for place in places if _needs_gpu(pending[place].cells)]
            core_places = [place for place in places if place not in gpu_places]
            # A GPU trains what needs it first.
            places = core_places if worker.gpu is None else gpu_places or core_places
        loaded = [place for place in places if pending[place].cells[0].source.key == worker.dataset]
        return next(iter([*loaded, *places]), None)

    def _started(self) -> _Worker:
        """Another worker, on a GPU that no other one has."""
        taken = {worker.gpu for worker in self._workers}
        free = [gpu for gpu in self._gpus if gpu not in taken]
        ours, theirs = multiprocessing.Pipe()
        inherited = [worker.pipe for worker in self._workers]
        # A notebook that starts this run may have computed with threads that the fork would wait for.
        end_openmp_threads()
        # The fork has copies of our ends of all pipes. It closes them, or no worker would notice that we are gone.
        process = multiprocessing.get_context("fork").Process(
            target=_work, args=(os.getpid(), theirs, [ours, *inherited], self._train), daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(process, ours, free[0] if free else None)

    def _give(self, worker: _Worker, pending: list[Chunk], place: int) -> bool:
        """Hand a worker the chunk at a place; false if the worker has died."""
        chunk = pending[place]
        cells: Sequence[Cell] = chunk.cells
        if self._gpus:
            cells = _on_device(cells, worker.gpu if _needs_gpu(chunk.cells) else None)
        try:
            worker.pipe.send(cells)
        except OSError:
            return False
        worker.chunk = pending.pop(place)
        worker.dataset = chunk.cells[-1].source.key
        return True

    def _heard(self, worker: _Worker) -> bool:
        """Act on a worker's message; False if there is none, because the worker has died."""
        try:
            kind, text = worker.pipe.recv()
        except (EOFError, OSError):
            return False
        if kind in (_Message.BEGAN, _Message.ENDED):
            assert worker.chunk is not None
            tell = self.told.began if kind is _Message.BEGAN else self.told.ended
            tell(worker.chunk.cells[text])
            return True
        if kind is not _Message.TEXT:
            worker.chunk = None
        if kind is _Message.FAILED:
            self._problem = text
        if kind is not _Message.TEXT:
            return True
        # Such as how a table was read, which every worker finds out.
        if text not in self._shown:
            self._shown.add(text)
            sys.stderr.write(text)
            sys.stderr.flush()
        return True

    def _replace(self, worker: _Worker) -> _Worker:
        """Another worker in the place of one that has died. The run launches the cells of the dead one again."""
        # The exit status is known after the join, and the claims are those of a dead process only then.
        worker.process.join(SECONDS_TO_END)
        how = ending(worker.process)
        for cell in worker.chunk.cells if worker.chunk else ():
            self.endings[cell.key] = how
        _release(worker)
        self._say(f"A worker ended early ({how}); its cells go on from their last finished stack.")
        worker.pipe.close()
        self._workers.remove(worker)
        self._workers.append(self._started())
        return self._workers[-1]

    def _join(self, seconds: float) -> None:
        """Wait until all workers have ended, and kill those that have not within these seconds."""
        over = time.monotonic() + seconds
        for worker in self._workers:
            # Its last texts are read: a worker that writes into a full pipe would not end.
            while worker.process.is_alive() and worker.pipe.poll(max(0.0, over - time.monotonic())):
                if not self._heard(worker):
                    break
            worker.process.join(max(0.0, over - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join(SECONDS_TO_END)
            _release(worker)
            worker.pipe.close()
        self._workers.clear()


def _on_device(cells: Sequence[Cell], gpu: int | None) -> list[Cell]:
    """The cells, to be trained on the GPU of this number; on the processor if there is none."""
    moved = []
    for cell in cells:
        trainer = replace(cell.config.trainer, device=gpu)
        if gpu is None:
            trainer = replace(trainer, accelerator="cpu")
        moved.append(replace(cell, config=replace(cell.config, trainer=trainer)))
    return moved


def _release(worker: _Worker) -> None:
    """Give back the claims that a dead worker held."""
    if worker.chunk is None:
        return
    for cell in worker.chunk.cells:
        for store in (cell.store(), cell.pretraining()):
            # It leaves the claims of living processes alone.
            if store is not None:
                give_back(store.folder)
    worker.chunk = None


class _Outbox(io.TextIOBase):
    """The standard error of a worker: the run shows what is written to it, above its own progress."""

    def __init__(self, pipe: Connection, *, is_terminal: bool) -> None:
        self._pipe, self._is_terminal = pipe, is_terminal

    def write(self, text: str) -> int:
        if text:
            self._pipe.send((_Message.TEXT, text))
        return len(text)

    def isatty(self) -> bool:
        return self._is_terminal


def _work(parent: int, pipe: Connection, inherited: Sequence[Connection], train: TrainCells) -> None:
    """The life of a worker: train chunk after chunk until the run says that there are no more, or is gone."""
    # Ctrl-C reaches all processes of a terminal. The run answers it, and ends its workers by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    end_with_parent(parent)
    # The run's display redraws its last line, so two processes must not write to one terminal.
    sys.stderr = sys.stdout = _Outbox(pipe, is_terminal=sys.stderr.isatty())
    while True:
        try:
            cells = pipe.recv()
        # The run is gone, and with it the other end.
        except EOFError:
            return
        if cells is None:
            return
        try:
            for place, cell in enumerate(cells):
                pipe.send((_Message.BEGAN, place))
                train([cell])
                pipe.send((_Message.ENDED, place))
        # A cell that fails has its note. This is what keeps a note from being written, such as a full disk.
        except Exception as error:
            pipe.send((_Message.FAILED, explained(error) or "".join(traceback.format_exception(error)).rstrip()))
        else:
            pipe.send((_Message.DONE, ""))
