"""The signals that end a command, and its streams that are closed or have no reader."""

import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


SOON = 0.05
"""Seconds after which a signal that was lost is sent again."""


class Terminated(SystemExit):
    """SIGTERM arrived. The exit status is what a shell reports of a process that this signal ended."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class Interrupted(BaseException):
    """Ctrl-C, as long as the block runs: Lightning answers a KeyboardInterrupt in a fit by exiting with status 1."""


SIGNALS: dict[type[BaseException], signal.Signals] = {Terminated: signal.SIGTERM, Interrupted: signal.SIGINT}


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the block by an exception when SIGTERM or Ctrl-C arrives, so that claims are given back.

    Python drops exceptions that leave a function which it calls by itself, such as ``__del__``. A signal that arrives
    there is sent again. Other threads than the main one get no signals, and are left alone.

    Raises:
        Terminated: SIGTERM arrived.
        KeyboardInterrupt: Ctrl-C, also within a fit.
    """
    # Python lets the main thread alone set handlers.
    main = threading.main_thread()
    if threading.current_thread() is not main:
        yield
        return

    def end(number: int, _: object) -> NoReturn:
        raise next(kind for kind, each in SIGNALS.items() if each == number)

    hook = sys.unraisablehook

    def send_again(unraisable: "UnraisableHookArgs") -> None:
        if unraisable.exc_type not in SIGNALS:
            hook(unraisable)
            return
        # A handler that raised at once would be dropped again, since the function still runs.
        timer = threading.Timer(SOON, signal.pthread_kill, (main.ident, SIGNALS[unraisable.exc_type]))
        timer.daemon = True
        timer.start()

    handlers = {number: signal.signal(number, end) for number in SIGNALS.values()}
    sys.unraisablehook = send_again
    try:
        yield
    except BaseException as error:
        signal_error = _find_signal(error)
        # Outside the block Ctrl-C is a KeyboardInterrupt, as everywhere.
        if isinstance(signal_error, Interrupted):
            raise KeyboardInterrupt from None
        if signal_error is None or signal_error is error:
            raise
        raise signal_error from None
    # A notebook, or a block around this one, has its own handlers.
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _find_signal(error: BaseException) -> BaseException | None:
    """The signal that an error comes from: what a library does when an exception leaves it may fail in its turn."""
    signal_errors = (Interrupted, Terminated)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, signal_errors):
        cause = cause.__context__
    return cause


NAMES = ("stdin", "stdout", "stderr")
"""In the order of their numbers."""


def prepare_streams() -> None:
    """Open streams that are closed, and write signs that a stream lacks in others."""
    for number, name in enumerate(NAMES):
        if getattr(sys, name) is None:
            # The lowest number that is free, which is that of the closed stream.
            null_device = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null_device, "w" if number else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # A notebook, or a test, has streams of its own. A pipe shows a line when it is written.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="replace")
    # Hydra logs what its flags show, and logging would complain of each line that has no reader.
    logging.raiseExceptions = False


def give_up_full_output() -> None:
    """Write nothing more to a standard output that takes nothing, as on a full disk or without a reader.

    Python would flush what is left of it at the end, complain, and exit with status 120.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
