import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import LostClaimError, folder_time, give_back, is_claimed
from scarf_lightning.results import claims as module
from scarf_lightning.results.claims import STALE_AFTER, Claim, claim
from tests.processes import soon

ELSEWHERE = "1.77.0123456789ab.deadbeef"
"""The claim of a process on another machine: only its age says whether it lives."""
STRAY = ".DS_Store"
"""What a file manager puts into a claim."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cell that does not exist yet."""
    return tmp_path / "results" / "cell"


def held(folder: Path) -> bool:
    return is_claimed(folder, folder_time(folder))


def tokens(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "claim").iterdir())


def is_free(folder: Path) -> bool:
    """Whether a process that asks for the claim gets it, alone."""
    with claim(folder) as mine:
        return mine is not None and len(tokens(folder)) == 1 and held(folder)


@contextmanager
def claimed(folder: Path) -> Iterator[Claim]:
    with claim(folder) as mine:
        assert mine is not None
        yield mine


def asleep(folder: Path) -> None:
    """Let all files of a claim be as old as if nobody had ever renewed them."""
    for path in (folder / "claim").iterdir():
        os.utime(path, (0, 0))


def claimed_by(folder: Path, token: str, *, age: float = 0.0) -> Path:
    """A claim as another process would have left it, that long without a sign of life."""
    path = folder / "claim" / token
    path.parent.mkdir(parents=True)
    path.touch()
    then = folder_time(folder) - age
    os.utime(path, (then, then))
    return path


def forked() -> tuple[int, str]:
    """A process of this machine that ends at once and has not been waited for: its number, and the token of a claim."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, module._token().encode())
        os._exit(0)
    token = os.read(reading, 200).decode()
    os.close(reading)
    os.close(writing)
    return child, token


@cache
def ended_process() -> str:
    """The token of a process of this machine that is gone, the same one for all tests."""
    child, token = forked()
    os.waitpid(child, 0)
    return token


def process_that_another_followed() -> str:
    """The token of an ended process, whose number another one has by now."""
    pid, started, space, name = module._token().split(".")
    return f"{pid}.{int(started) - 1}.{space}.{name}"


def living_process() -> str:
    """The token of a process of this machine that lives: the one that started this one."""
    parent = os.getppid()
    return f"{parent}.{module._start_time(parent)}.{module._process_space()}.deadbeef"


def refuse(*_: object) -> None:
    raise OSError("no space left")


class TestHolding:
    def test_while_the_block_runs_nobody_else_has_the_folder_and_no_trace_is_left(self, folder: Path) -> None:
        assert not is_claimed(folder, 0.0)
        assert not folder.exists(), "looking makes nothing"

        with claimed(folder) as mine, claimed(folder.with_name("other")):
            assert held(folder)
            with claim(folder) as other:
                assert other is None
            assert held(folder)
            mine.check()

        assert not held(folder)
        assert list(folder.iterdir()) == []
        assert is_free(folder)


class TestRenewal:
    @pytest.mark.parametrize("is_away_once", [False, True], ids=["usual", "file server away for a moment"])
    def test_a_holder_that_shows_signs_of_life_keeps_it(
        self, folder: Path, is_away_once: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RENEW_EVERY", 0.001)
        tried, utime = threading.Event(), os.utime

        def away_once(*arguments: Any) -> None:
            if is_away_once and not tried.is_set():
                tried.set()
                raise TimeoutError("the server does not answer")
            tried.set()
            utime(*arguments)

        with claimed(folder):
            monkeypatch.setattr(os, "utime", away_once)
            (path,) = (folder / "claim").iterdir()
            utime(path, (0, 0))
            assert tried.wait(30)
            assert soon(lambda: path.stat().st_mtime > 0)

            assert held(folder)
            assert not is_free(folder)

    def test_a_holder_learns_that_it_was_taken_over_and_leaves_the_others_claim(self, folder: Path) -> None:
        with ExitStack() as late:
            mine = late.enter_context(claimed(folder))
            asleep(folder)
            with claimed(folder) as other:
                with pytest.raises(LostClaimError, match=r"cell was taken over by another process after 120 seconds"):
                    mine.check()
                late.close()
                other.check()
                assert held(folder)
        assert list(folder.iterdir()) == []


class TestTakeover:
    @pytest.mark.parametrize(
        ("token", "age", "is_respected"),
        [
            (lambda: ELSEWHERE, STALE_AFTER - 30, True),
            (lambda: ELSEWHERE, STALE_AFTER + 1, False),
            (lambda: ELSEWHERE, -2 * STALE_AFTER, False),  # stamped in the future
            (living_process, 0, True),
            (ended_process, 0, False),
            (process_that_another_followed, 0, False),
            *((lambda name=name: name, age, age == 0)
              for name in (STRAY, "a.b.c.d", "1.2.3", "-1.2.3.4", "1.2.3.4.5", "x" * 200, "\u0663.1.a.b")
              for age in (0, STALE_AFTER + 1)),
        ],
    )  # fmt: skip
    def test_one_that_is_too_old_from_the_future_or_of_a_dead_process_is_taken_over(
        self, folder: Path, token: Callable[[], str], age: float, is_respected: bool
    ) -> None:
        path = claimed_by(folder, token(), age=age)

        assert held(folder) is is_respected
        assert is_free(folder) is not is_respected
        assert path.exists() is is_respected

    @pytest.mark.parametrize("linked", [".", "claim"])
    def test_none_is_made_or_taken_through_a_link(self, folder: Path, tmp_path: Path, linked: str) -> None:
        token = claimed_by(tmp_path / "mine", ELSEWHERE, age=2 * STALE_AFTER)
        before = token.stat()
        place = folder / linked
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(tmp_path / "mine" / ("claim" if linked == "claim" else ""))

        with pytest.raises(UsageError, match=f"{place.name} is a link, and is not written through"), claim(folder):
            pass
        assert (list(token.parent.iterdir()), token.stat()) == ([token], before)

    def test_age_is_judged_by_the_folders_own_clock(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the server's clock is an hour ahead of this machine's, or behind, a claim of it is as old as it is."""
        claimed_by(folder, ELSEWHERE, age=30)
        for now in (time.time() + 3600, time.time() - 3600):
            os.utime(folder / "claim" / ELSEWHERE, (0, now - 30))
            for later in (0, STALE_AFTER):
                monkeypatch.setattr(module, "folder_time", lambda _, now=now + later: now)
                with claim(folder) as mine:
                    assert (mine is None) is (later == 0)
            claimed_by(folder, ELSEWHERE)


def test_a_claim_that_nobody_holds_is_removed_and_one_that_is_held_stays(folder: Path) -> None:
    give_back(folder)
    assert not folder.exists(), "where there is none nothing is made"

    for stray in ([], [STRAY]):
        claimed_by(folder, ended_process())
        for name in stray:
            (folder / "claim" / name).touch()
            os.utime(folder / "claim" / name, (0, 0))
        give_back(folder)
        assert list(folder.iterdir()) == []

    (folder / "claim").mkdir()
    give_back(folder)
    assert list(folder.iterdir()) == []

    with claimed(folder) as mine:
        give_back(folder)
        mine.check()


def test_a_worker_trains_under_the_claim_of_its_run_and_does_not_release_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with claimed(folder) as mine:
        monkeypatch.setattr(module, "_run", "")
        module.work_under_claims_of(os.getpid())
        with claim(folder) as shared:
            assert shared is not None
            shared.check()
        mine.check()
        assert held(folder)
    with pytest.raises(LostClaimError):
        shared.check()


def compete(folder: Path, start: Any, won: Any, over: Any) -> None:
    start.wait()
    with claim(folder) as mine:
        if mine is not None:
            won.put(os.getpid())
        over.wait()  # until everyone has tried


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("is_taken_over", [False, True])
def test_of_eight_processes_that_want_it_at_the_same_moment_one_gets_it(folder: Path, is_taken_over: bool) -> None:
    context = multiprocessing.get_context("fork")
    n = 8
    for _ in range(12):
        if is_taken_over:
            claimed_by(folder, ELSEWHERE, age=STALE_AFTER + 1)
        start, won, over = context.Barrier(n), context.SimpleQueue(), context.Barrier(n)
        racing = [context.Process(target=compete, args=(folder, start, won, over)) for _ in range(n)]
        for process in racing:
            process.start()
        for process in racing:
            process.join(60)
        assert [process.exitcode for process in racing] == [0] * n
        won.get()
        assert won.empty()
        assert list(folder.iterdir()) == []
