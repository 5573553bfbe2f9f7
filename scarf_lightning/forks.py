"""Forks: copies of this process that compute side by side, each on a core of its own.

A fork has what its parent has imported and read, so it begins at once. Only results pass between the two::

    parent  ---- the number of a call, or None at the end ---->  fork
    parent  <--- what the call returned, raised and warned ----  fork
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.process import BaseProcess
from pickle import PicklingError
from typing import Any, Generic, TypeVar

from .errors import UnfinishedError, UsageError
from .machine import c_function, end_openmp_threads

T = TypeVar("T")

PARENT_DEATH_SIGNAL = 1
"""The option of Linux's ``prctl`` that sets the signal which a process gets when its parent dies."""
SECONDS_TO_END = 10.0
"""Time that the kernel has to end a fork that was killed. Only one that waits for a disk needs any."""


def why_no_fork() -> str | None:
    """The reason why this process cannot fork others that compute, if there is one."""
    # Frameworks of macOS may crash in a fork, and Windows has none.
    if sys.platform != "linux":
        return "processes are forked on Linux alone"
    # The kernel ends a fork with the thread that made it, see `end_with_parent`.
    if threading.current_thread() is not threading.main_thread():
        return "only the main thread may start them"
    if multiprocessing.current_process().daemon:
        return "this process is itself a worker"
    return None


def end_with_parent(parent: int) -> None:
    """Let Linux send SIGTERM to this fork when its parent dies, whatever it dies of.

    Elsewhere a fork ends when it next looks for work, see `why_no_fork`.

    Args:
        parent: its number, from before the fork. In a container it may be 1.
    """
    prctl = c_function("prctl")
    if prctl is not None:
        prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    # The parent may have died before the kernel was asked, and another process has adopted this one.
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)


def ending(process: BaseProcess) -> str:
    """The words on how a process ended: by which signal, or with which status."""
    code = process.exitcode
    # Python negates the number of the signal that ended a process.
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


def side_by_side(
    calls: Sequence[Callable[[], T]], n_processes: int, on_result: Callable[[int], None] = lambda number: None
) -> list[T]:
    """The results of all calls, in their order. With one process, or one call, they are made in this one.

    The first calls begin first, so the longest belong in front. What a call warns of is warned of here.

    Args:
        calls: results and errors must be such as can be pickled; the calls themselves need not.
        n_processes: to fork at most.
        on_result: told the number of each call that has ended, as they end.

    Raises:
        UnfinishedError: a fork was killed, as where memory runs out.
    """
    results: dict[int, T] = {}
    if min(n_processes, len(calls)) <= 1:
        for number, call in enumerate(calls):
            results[number] = call()
            on_result(number)
    else:
        forks = _Forks(calls)
        try:
            forks.begin(min(n_processes, len(calls)))
            for number, outcome in forks.outcomes():
                results[number] = outcome.result()
                on_result(number)
        finally:
            forks.end()
    return [results[number] for number in range(len(calls))]


def beside(call: Callable[[], T], own: Callable[[], object]) -> T:
    """The result of a call that a fork makes while this process makes one of its own.

    Args:
        call: its result or error must be such as can be pickled; the call itself need not.
        own: made here, such as imports, which a fork could not hand over.

    Raises:
        UnfinishedError: the fork was killed.
    """
    forks = _Forks([call])
    try:
        forks.begin(1)
        own()
        ((_, outcome),) = forks.outcomes()
        return outcome.result()
    finally:
        forks.end()


@dataclass(frozen=True)
class _Outcome(Generic[T]):
    """The value that a call returned or the error that it raised, and the texts and kinds of its warnings."""

    returned: T | None
    raised: BaseException | None
    warned: Sequence[tuple[str, type[Warning]]]

    def result(self) -> T:
        """Warn of what was warned of, and return or raise."""
        for text, kind in self.warned:
            warnings.warn(text, kind, stacklevel=4)
        if self.raised is not None:
            raise self.raised
        return self.returned  # type: ignore[return-value]


class _Forks(Generic[T]):
    """Forks that make calls, each the next one when it has ended its last."""

    def __init__(self, calls: Sequence[Callable[[], T]]) -> None:
        self._calls = calls
        self._waiting = iter(range(len(calls)))
        self._processes: dict[Connection, ForkProcess] = {}

    def begin(self, n_processes: int) -> None:
        """Start as many forks, at most one a call, and let them begin the first calls."""
        for _ in range(n_processes):
            self._start()
        for pipe in self._processes:
            # A dead fork reads nothing, and is heard of next.
            with suppress(OSError):
                pipe.send(next(self._waiting))

    def outcomes(self) -> Iterator[tuple[int, _Outcome[T]]]:
        """Number and outcome of each call, as they end."""
        busy = list(self._processes)
        while busy:
            ready = wait(busy)
            for pipe in [pipe for pipe in busy if pipe in ready]:
                number, outcome = self._heard(pipe)
                following = next(self._waiting, None)
                # Before the outcome is used, so that the fork does not wait for that. A dead one is heard of next.
                with suppress(OSError):
                    pipe.send(following)
                if following is None:
                    busy.remove(pipe)
                yield number, outcome

    def end(self) -> None:
        """End all forks, those that are still at work too."""
        # First, so that no fork waits for us, nor one whose number we do not know because we were interrupted.
        for pipe in self._processes:
            pipe.close()
        begun = [process for process in self._processes.values() if process.pid is not None]
        # Forks hold nothing that must be given back, and a library may take any signal that can be taken.
        for process in begun:
            process.kill()
        for process in begun:
            process.join(SECONDS_TO_END)
        self._processes.clear()

    def _start(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        # A program that has computed with several threads keeps them, and the fork would wait for them.
        end_openmp_threads()
        # The fork closes its copies of our ends, or no fork would notice that we are gone.
        inherited = [*self._processes, ours]
        process = multiprocessing.get_context("fork").Process(
            target=_answer, args=(os.getpid(), theirs, inherited, self._calls), daemon=True
        )
        # Before it starts, so that whatever interrupts us from here on ends it.
        self._processes[ours] = process
        process.start()
        theirs.close()

    def _heard(self, pipe: Connection) -> tuple[int, _Outcome[T]]:
        """The message of a fork."""
        try:
            message: tuple[int, _Outcome[T]] = pipe.recv()
        except (EOFError, OSError) as error:
            # How it ended is known after the join.
            process = self._processes[pipe]
            process.join(SECONDS_TO_END)
            raise UnfinishedError(
                f"A process that trained was ended from outside ({ending(process)}), as happens where memory runs out; "
                "fewer processes need less."
            ) from error
        return message


def _answer(parent: int, pipe: Connection, inherited: Sequence[Connection], calls: Sequence[Callable[[], Any]]) -> None:
    """The life of a fork: make call after call until there are no more, or the parent is gone."""
    # Ctrl-C reaches all processes of a terminal. The parent answers it, and ends its forks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Lightning takes a signal that has no handler, and only adds to one that has.
    signal.signal(signal.SIGTERM, _end)
    for other in inherited:
        other.close()
    end_with_parent(parent)
    # The parent is gone, and with it the other end.
    with suppress(EOFError, OSError):
        while (number := pipe.recv()) is not None:
            outcome = _outcome(calls[number])
            try:
                pipe.send((number, outcome))
            except (PicklingError, TypeError, AttributeError) as error:
                pipe.send((number, _failed(outcome.raised or error)))


def _end(number: int, _: object) -> None:
    """End this process at once, without the clean-up of Python, which is the parent's."""
    os._exit(128 + number)


def _outcome(call: Callable[[], T]) -> _Outcome[T]:
    returned, raised = None, None
    with warnings.catch_warnings(record=True) as caught:
        try:
            returned = call()
        except BaseException as error:
            # The traceback does not pass between processes, and a sentence for the user needs none.
            if not isinstance(error, UsageError):
                error.add_note("".join(traceback.format_tb(error.__traceback__)))
            raised = error
    warned = [(str(each.message), each.category) for each in caught]
    return _Outcome(returned, raised, warned)


def _failed(error: BaseException) -> _Outcome[Any]:
    """The outcome of a call that cannot be pickled."""
    return _Outcome(None, RuntimeError(f"{type(error).__name__}: {error}"), ())
