import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scarf_lightning.cli import signals
from scarf_lightning.cli.signals import OutOfTime, Terminated, alarm, change_alarm, ended_by_signals
from scarf_lightning.results.claims import claim

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
IN_VAIN = 10.0
"""Seconds that a block runs where the signal comes to nothing."""


class Dropped:
    """Does this when nobody has it any more, in its `__del__`."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __del__(self) -> None:
        self._act()


def terminated() -> None:
    signal.raise_signal(signal.SIGTERM)


def interrupted() -> None:
    signal.raise_signal(signal.SIGINT)


both_signals = pytest.mark.parametrize(("send", "ends"), [(terminated, Terminated), (interrupted, KeyboardInterrupt)])


def test_the_signal_ends_the_block_with_the_status_of_a_process_that_it_ended() -> None:
    cleaned = []

    @ended_by_signals()
    def block() -> None:
        try:
            terminated()
        finally:
            cleaned.append(True)

    with pytest.raises(Terminated) as raised:
        block()

    assert raised.value.code == 143
    assert cleaned == [True]


@both_signals
def test_one_that_comes_where_no_exception_gets_out_is_sent_again(
    send: Callable[[], None], ends: type[BaseException]
) -> None:
    went_on = []

    @ended_by_signals()
    def block() -> None:
        Dropped(send)
        went_on.append(True)
        time.sleep(IN_VAIN)
        pytest.fail("the signal came to nothing")

    with pytest.raises(ends):
        block()

    assert went_on == [True]


@both_signals
def test_one_that_makes_another_error_as_it_leaves_is_still_what_ended_the_block(
    send: Callable[[], None], ends: type[BaseException]
) -> None:
    """As in Hydra, which closes a file that it could not open."""

    @ended_by_signals()
    def block() -> None:
        try:
            send()
        except BaseException:
            del cleaned[0]

    cleaned: list[bool] = []
    with pytest.raises(ends):
        block()
    with pytest.raises(KeyError), ended_by_signals():
        raise KeyError("of no signal")


def test_what_signals_and_other_errors_do_is_what_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(unraisable.exc_type))
    before = signal.getsignal(signal.SIGTERM), sys.unraisablehook

    with ended_by_signals():
        Dropped(lambda: 1 / 0)
        assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) != before

    assert said == [ZeroDivisionError]
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


def test_other_threads_which_get_no_signals_are_left_alone() -> None:
    handlers = []

    def run() -> None:
        with ended_by_signals():
            handlers.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert handlers == [before]


def test_without_proc_a_command_counts_no_time_and_its_claim_is_judged_by_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another file system lies on /proc, and in some containers."""
    read, link = Path.read_text, Path.readlink

    def gone(path: Path) -> None:
        if path.is_relative_to("/proc"):
            raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "read_text", lambda path, **named: gone(path) or read(path, **named))
    monkeypatch.setattr(Path, "readlink", lambda path: gone(path) or link(path))
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "train.py", raising=False)
    monkeypatch.setattr(signals, "_started", [])

    signals.note_start()

    assert signals.seconds_gone() == 0.0
    with claim(tmp_path / "cell") as mine:
        assert mine is not None
        with claim(tmp_path / "cell") as other:
            assert other is None
    with claim(tmp_path / "cell") as again:
        assert again is not None


@pytest.mark.parametrize(("started", "slowdown"), [([100.0], 3.0), ([110.0], 1.0), ([], 1.0)])
def test_a_busy_machine_slows_a_command_down(
    started: list[float], slowdown: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "time", SimpleNamespace(monotonic=lambda: 112.0, process_time=lambda: 4.0))
    monkeypatch.setattr(signals, "_started", started)

    assert signals.slowdown() == slowdown


def test_an_alarm_ends_its_block_and_is_gone_after_it() -> None:
    def block() -> None:
        with alarm(1000.0):
            change_alarm(0.05)
            time.sleep(IN_VAIN)

    with pytest.raises(OutOfTime):
        block()
    for seconds in (None, 3600):
        with alarm(seconds):
            pass
        change_alarm(0.05)
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
