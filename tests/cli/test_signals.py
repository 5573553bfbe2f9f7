import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from scarf_lightning.cli.signals import Terminated, ended_by_signals

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
