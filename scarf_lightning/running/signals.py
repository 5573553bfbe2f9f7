"""What ends a process from outside: a scheduler's SIGTERM, and Ctrl-C."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SOON = 0.05
"""Seconds after which a signal that came to nothing is sent again."""


class Terminated(SystemExit):
    """SIGTERM came. The exit status is what a shell says of a process that it ended."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


SIGNALS: dict[type[BaseException], signal.Signals] = {
    Terminated: signal.SIGTERM,
    KeyboardInterrupt: signal.SIGINT,
}


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """A scheduler that wants the machine back sends SIGTERM: claims are given back, and finished stacks stay.

    No exception leaves what Python calls by itself, such as `__del__`: a signal that comes there is sent again.

    Raises:
        Terminated: in the block, when the signal comes.
    """

    def end(*_: object) -> NoReturn:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, hook = signal.signal(signal.SIGTERM, end), sys.unraisablehook

    def again(unraisable: "UnraisableHookArgs") -> None:
        if unraisable.exc_type in SIGNALS:
            _send_soon(SIGNALS[unraisable.exc_type])
        else:
            hook(unraisable)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, handler)


def _send_soon(number: signal.Signals) -> None:
    """To the main thread, which handles signals and may be waiting."""
    timer = threading.Timer(SOON, signal.pthread_kill, (threading.main_thread().ident, number))
    timer.daemon = True
    timer.start()
