"""Forks: copies of this process that compute beside it, on a core of their own.

A fork has what its parent has imported and read, so it begins at once. Only what a call returned, raised and warned
passes from it to the parent.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
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


def beside(call: Callable[[], T], own: Callable[[], object]) -> T:
    """The result of a call that a fork makes while this process makes one of its own.

    Args:
        call: its result or error must be such as can be pickled; the call itself need not.
        own: made here, such as imports, which a fork could not hand over.

    Raises:
        UnfinishedError: the fork was killed.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    # A program that has computed with several threads keeps them, and the fork would wait for them.
    end_openmp_threads()
    fork = multiprocessing.get_context("fork").Process(
        target=_answer, args=(os.getpid(), ours, theirs, call), daemon=True
    )
    try:
        fork.start()
        theirs.close()
        own()
        try:
            outcome: _Outcome[T] = ours.recv()
        except (EOFError, OSError) as error:
            # How it ended is known after the join.
            fork.join(SECONDS_TO_END)
            raise UnfinishedError(
                f"A process was ended from outside ({ending(fork)}), as happens where memory runs out."
            ) from error
        return outcome.result()
    finally:
        ours.close()
        # An interrupt may come before it has begun.
        if fork.pid is not None:
            # It holds nothing that must be given back, and a library may take any signal that can be taken.
            fork.kill()
            fork.join(SECONDS_TO_END)


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


def _answer(parent: int, ours: Connection, theirs: Connection, call: Callable[[], Any]) -> None:
    """The life of a fork: make the call, and send its outcome."""
    # Ctrl-C reaches all processes of a terminal. The parent answers it, and ends its fork.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Lightning takes a signal that has no handler, and only adds to one that has.
    signal.signal(signal.SIGTERM, _end)
    # The end that the parent reads: with a copy of it, this fork would not notice that the parent is gone.
    ours.close()
    end_with_parent(parent)
    outcome = _outcome(call)
    with suppress(OSError):
        try:
            theirs.send(outcome)
        except (PicklingError, TypeError, AttributeError) as error:
            theirs.send(_failed(outcome.raised or error))


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
