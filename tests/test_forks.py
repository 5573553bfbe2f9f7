"""A call that a fork makes: its result, error and warnings, and how the fork ends."""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import pytest

from scarf_lightning import forks
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.forks import beside, why_no_fork
from tests.processes import MINUTES, is_alive, soon


def no_fork_is_left() -> bool:
    return not multiprocessing.active_children()


def test_an_error_of_the_call_has_its_place_in_the_code() -> None:
    def fail() -> None:
        raise ZeroDivisionError("planted")

    with pytest.raises(ZeroDivisionError, match=r"^planted") as caught:
        beside(fail, os.getpid)
    assert "in fail" in caught.value.__notes__[0]
    assert no_fork_is_left()


def test_warnings_of_a_call_are_warned_of_here() -> None:
    with pytest.warns(UserWarning, match="ids are left out") as caught:
        beside(partial(warnings.warn, "ids are left out", UserWarning), os.getpid)
    # Python 3.12 and later warn of each fork, too.
    assert [each.category for each in caught].count(UserWarning) == 1


def test_what_cannot_be_pickled_is_named() -> None:
    with pytest.raises(RuntimeError, match="lambda"):
        beside(lambda: lambda: 0, os.getpid)


def test_a_fork_that_is_killed_ends_the_call_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnfinishedError, match=r"^A process was ended from outside \(killed by SIGKILL\)"):
        beside(lambda: os.kill(os.getpid(), signal.SIGKILL), os.getpid)
    monkeypatch.setattr(forks, "end_with_parent", lambda parent: os._exit(3))
    with pytest.raises(UnfinishedError, match=r"^A process was ended from outside \(exit status 3\)"):
        beside(os.getpid, os.getpid)
    assert no_fork_is_left()


def test_a_fork_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    def stay() -> None:
        (tmp_path / "fork").write_text(str(os.getpid()))
        # Longer than `soon` waits: a fork that no signal reaches would find its pipe closed and end then.
        time.sleep(3 * MINUTES)

    if (parent := os.fork()) == 0:
        beside(stay, partial(time.sleep, 3 * MINUTES))
    assert soon(lambda: [path for path in tmp_path.iterdir() if path.read_text()] != [])
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)

    assert soon(lambda: not is_alive(int((tmp_path / "fork").read_text())))


def test_an_interrupt_of_the_parent_ends_its_fork() -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def wait_for_the_end() -> None:
        os.kill(os.getppid(), signal.SIGUSR1)
        time.sleep(60)

    before = signal.signal(signal.SIGUSR1, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            beside(wait_for_the_end, partial(time.sleep, 60))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert no_fork_is_left()


def test_a_fork_makes_a_call_while_this_process_makes_one_of_its_own() -> None:
    ours, theirs = multiprocessing.Pipe()
    made_here: list[int] = []

    def answer_the_fork() -> None:
        made_here.append(os.getpid())
        ours.send("hello")

    def wait_for_the_other_call() -> tuple[int, str]:
        return os.getpid(), theirs.recv()

    # The fork can only end while the other call is made.
    number, text = beside(wait_for_the_other_call, answer_the_fork)

    assert text == "hello"
    assert made_here == [os.getpid()]
    assert number != os.getpid()
    assert no_fork_is_left()


def test_an_error_of_either_of_two_calls_is_raised_here() -> None:
    def refuse() -> None:
        raise UsageError("The column is empty.")

    with pytest.raises(UsageError, match=r"^The column is empty\.$"):
        beside(refuse, os.getpid)
    with pytest.raises(UsageError, match=r"^The column is empty\.$"):
        beside(partial(time.sleep, 60), refuse)
    assert no_fork_is_left()


def test_who_cannot_fork_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str | None] = [why_no_fork()]
    thread = threading.Thread(target=lambda: said.append(why_no_fork()))
    thread.start()
    thread.join()
    said.append(beside(why_no_fork, os.getpid))
    monkeypatch.setattr(forks.sys, "platform", "darwin")
    said.append(why_no_fork())

    worker = "this process is itself a worker"
    assert said == [None, "only the main thread may start them", worker, "processes are forked on Linux alone"]
