"""Calls that forks make side by side: their results, errors and warnings, and how forks end."""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from scarf_lightning import forks
from scarf_lightning.errors import UnfinishedError, UsageError
from scarf_lightning.forks import beside, end_with_parent, ending, side_by_side, why_no_fork
from tests.processes import MINUTES, is_alive, soon


def no_fork_is_left() -> bool:
    return not multiprocessing.active_children()


def test_results_come_in_the_order_of_the_calls_and_ends_as_they_come() -> None:
    ended: list[int] = []
    # A call that is made here only, which cannot be pickled.
    calls = [lambda: (time.sleep(0.2), os.getpid())[1], os.getpid, os.getpid]

    slow, *quick = side_by_side(calls, 2, ended.append)

    assert ended == [1, 2, 0]
    assert len({slow, *quick, os.getpid()}) == 3
    assert len(set(quick)) == 1
    assert no_fork_is_left()


@pytest.mark.parametrize(("n_calls", "n_processes"), [(3, 1), (1, 3), (0, 3)])
def test_one_process_or_one_call_needs_no_fork(n_calls: int, n_processes: int) -> None:
    assert side_by_side([os.getpid] * n_calls, n_processes) == [os.getpid()] * n_calls


def test_an_error_of_a_call_is_raised_here_and_the_others_are_ended() -> None:
    def refuse() -> None:
        raise UsageError("The column is empty.")

    def fail() -> None:
        raise ZeroDivisionError("planted")

    started = time.monotonic()
    with pytest.raises(UsageError, match=r"^The column is empty\.$"):
        side_by_side([refuse, partial(time.sleep, 60)], 2)
    with pytest.raises(ZeroDivisionError, match=r"^planted") as caught:
        side_by_side([fail, partial(time.sleep, 60)], 2)
    assert time.monotonic() - started < 60
    assert "in fail" in caught.value.__notes__[0]
    assert no_fork_is_left()


def test_warnings_of_a_call_are_warned_of_here() -> None:
    with pytest.warns(UserWarning, match="ids are left out") as caught:
        side_by_side([partial(warnings.warn, "ids are left out", UserWarning), os.getpid], 2)
    # Python 3.12 and later warn of each fork, too.
    assert [each.category for each in caught].count(UserWarning) == 1


def test_what_cannot_be_pickled_is_named() -> None:
    with pytest.raises(RuntimeError, match="lambda"):
        side_by_side([lambda: lambda: 0, os.getpid], 2)


def test_a_fork_that_is_killed_ends_all_with_a_sentence() -> None:
    with pytest.raises(UnfinishedError, match=r"^A process that trained was ended from outside \(killed by SIGKILL\)"):
        side_by_side([lambda: os.kill(os.getpid(), signal.SIGKILL), partial(time.sleep, 60)], 2)
    assert no_fork_is_left()


def test_a_fork_that_dies_before_its_first_call_ends_all_with_the_same_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forks, "end_with_parent", lambda parent: os._exit(3))
    with pytest.raises(UnfinishedError, match=r"^A process that trained was ended from outside \(exit status 3\)"):
        side_by_side([os.getpid] * 2, 2)
    assert no_fork_is_left()


@pytest.mark.parametrize(
    ("exitcode", "words"),
    [(-1, "killed by SIGHUP"), (-9, "killed by SIGKILL"), (0, "exit status 0"), (1, "exit status 1")],
)
def test_words_on_an_end_name_the_signal_or_the_status(exitcode: int, words: str) -> None:
    assert ending(SimpleNamespace(exitcode=exitcode)) == words


def test_a_call_that_lets_no_signal_end_it_is_ended_with_the_others() -> None:
    """As Lightning does with SIGTERM in a fit."""

    def stay() -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)
        while True:
            time.sleep(1)

    with pytest.raises(ZeroDivisionError):
        side_by_side([lambda: 1 / 0, stay], 2)
    assert no_fork_is_left()


@pytest.mark.parametrize("adds", [False, True])
def test_sigterm_ends_a_fork_though_a_library_adds_a_handler(adds: bool) -> None:
    def end_itself() -> None:
        ours = signal.getsignal(signal.SIGTERM)
        assert callable(ours)
        if adds:
            signal.signal(signal.SIGTERM, lambda *given: ours(*given))
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(UnfinishedError, match="exit status 143"):
        side_by_side([end_itself, partial(time.sleep, 60)], 2)


def test_forks_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    def stay(name: str) -> None:
        (tmp_path / name).write_text(str(os.getpid()))
        # Longer than `soon` waits: a fork that no signal reaches would find its pipe closed and end then.
        time.sleep(3 * MINUTES)

    if (parent := os.fork()) == 0:
        side_by_side([partial(stay, "a"), partial(stay, "b")], 2)
    assert soon(lambda: len([path for path in tmp_path.iterdir() if path.read_text()]) == 2)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)

    pids = [int(path.read_text()) for path in tmp_path.iterdir()]
    assert soon(lambda: not any(is_alive(pid) for pid in pids))


@pytest.mark.parametrize(
    ("before", "found", "status"),
    # Number 1 is the parent in a container, and who adopts elsewhere.
    [(7, 7, 0), (1, 1, 0), (7, 1, 143), (7, 3, 143)],
)
def test_a_fork_whose_parent_died_first_ends(
    before: int, found: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: found)
    if (fork := os.fork()) == 0:
        try:
            end_with_parent(before)
        except SystemExit as ended:
            os._exit(ended.code)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == status


def test_an_interrupt_of_the_parent_ends_its_forks() -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def wait_for_the_end() -> None:
        os.kill(os.getppid(), signal.SIGUSR1)
        time.sleep(60)

    before = signal.signal(signal.SIGUSR1, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            side_by_side([wait_for_the_end, partial(time.sleep, 60)], 2)
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
    said += side_by_side([why_no_fork] * 2, 2)
    monkeypatch.setattr(forks.sys, "platform", "darwin")
    said.append(why_no_fork())

    worker = "this process is itself a worker"
    assert said == [None, "only the main thread may start them", worker, worker, "processes are forked on Linux alone"]
