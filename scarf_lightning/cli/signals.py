"""Signals that end a process: a scheduler's SIGTERM, Ctrl-C, and the alarm of a time limit."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SOON = 0.05
"""Seconds after which a signal that was lost is sent again."""
PROGRAMS = ("train", "report", "scarf")
"""The programs whose processes do nothing but their command."""
STARTED_AT = 19
"""The place of a process's start, in ticks since boot, in what follows its name in Linux's ``/proc/self/stat``."""
_started: list[float] = []
"""When this process was started, by the clock of `time.monotonic`, if it is one of our commands."""


def note_start() -> None:
    """Note when this process was started, if it is one of our commands, so that a time limit counts the start too."""
    main = Path(getattr(sys.modules["__main__"], "__file__", None) or "").stem
    if main not in PROGRAMS or sys.platform != "linux":
        return
    try:
        # The name of the process, in brackets, may hold blanks and any other bytes.
        stat = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
    # A machine without /proc.
    except OSError:
        return
    fields = stat.rpartition(")")[2].split()
    started = float(fields[STARTED_AT]) / os.sysconf("SC_CLK_TCK")
    # Ticks count from boot, and go on while the machine sleeps, as this clock does.
    running = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    _started[:] = [time.monotonic() - running]


def seconds_gone() -> float:
    """Seconds since the command was started; 0 in a process that was started for something else."""
    return time.monotonic() - _started[0] if _started else 0.0


def slowdown() -> float:
    """The seconds that a processor second took since the command was started, at least 1: more if others compute too.

    It is 1 in a process that was started for something else.
    """
    return max(1.0, seconds_gone() / time.process_time())


class Terminated(SystemExit):
    """SIGTERM arrived. The exit status is what a shell reports of a process that this signal ended."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class Interrupted(BaseException):
    """Ctrl-C, as long as the block runs: Lightning answers a KeyboardInterrupt in a fit by exiting with status 1."""


class OutOfTime(BaseException):
    """The time of a block is over."""


class NearlyOutOfTime(BaseException):
    """SIGUSR2 arrived, by which a scheduler says that the time of its job is nearly over."""


SIGNALS: dict[type[BaseException], signal.Signals] = {
    Terminated: signal.SIGTERM,
    Interrupted: signal.SIGINT,
    OutOfTime: signal.SIGALRM,
    NearlyOutOfTime: signal.SIGUSR2,
}


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the block by an exception when SIGTERM or Ctrl-C arrives, so that claims are given back.

    Python drops exceptions that leave a function which it calls by itself, such as ``__del__``. A signal that arrives
    there is sent again. Other threads than the main one get no signals, and are left alone.

    Raises:
        Terminated: SIGTERM arrived.
        NearlyOutOfTime: SIGUSR2 arrived.
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

    def again(unraisable: "UnraisableHookArgs") -> None:
        if unraisable.exc_type not in SIGNALS:
            hook(unraisable)
            return
        # A handler that raised at once would be dropped again, since the function still runs.
        timer = threading.Timer(SOON, signal.pthread_kill, (main.ident, SIGNALS[unraisable.exc_type]))
        timer.daemon = True
        timer.start()

    handlers = {number: signal.signal(number, end) for number in SIGNALS.values()}
    sys.unraisablehook = again
    try:
        yield
    except BaseException as error:
        arrived = _ended_by(error)
        # Outside the block Ctrl-C is what it is everywhere.
        if isinstance(arrived, Interrupted):
            raise KeyboardInterrupt from None
        if arrived is None or arrived is error:
            raise
        raise arrived from None
    # A notebook, or a block around this one, has its own handlers.
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _ended_by(error: BaseException) -> BaseException | None:
    """The signal that an error comes from: what a library does when an exception leaves it may fail in its turn."""
    signal_errors = (Interrupted, Terminated, NearlyOutOfTime)
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, signal_errors):
        behind = behind.__context__
    return behind


@contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """End the block when its time is over, in the main thread; None sets no limit.

    Raises:
        OutOfTime: the time is over.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    with ended_by_signals():
        # A timer of 0 never ends, so time that is over already is the shortest one.
        signal.setitimer(signal.ITIMER_REAL, max(seconds, SOON))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def change_alarm(seconds: float | None) -> None:
    """Let the time of the `alarm` around the caller end in so many seconds from now, if one was set."""
    # A timer without a handler would end the process.
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if seconds is None or not left:
        return
    if threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, max(seconds, SOON))
