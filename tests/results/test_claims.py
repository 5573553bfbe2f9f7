import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results import LostClaimError, clear_dead, folder_time, give_back, is_claimed
from scarf_lightning.results import claims as module
from scarf_lightning.results.claims import STALE_AFTER, claim, claim_when_free

ELSEWHERE = "1.77.0123456789ab.deadbeef"
"""The claim of a process on another machine: only its age says whether it lives."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cell that does not exist yet."""
    return tmp_path / "results" / "cell"


def held(folder: Path) -> bool:
    return is_claimed(folder, folder_time(folder))


def tokens(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "claim").iterdir())


def claimed_by(folder: Path, token: str, *, age: float = 0.0) -> Path:
    """A claim as another process would have left it, that long without a sign of life."""
    path = folder / "claim" / token
    path.parent.mkdir(parents=True)
    path.touch()
    then = folder_time(folder) - age
    os.utime(path, (then, then))
    return path


@cache
def ended_process() -> str:
    """The token of a process of this machine that is gone, the same one for all tests."""
    code = "from scarf_lightning.results.claims import _token; print(_token())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def living_process() -> str:
    """The token of a process of this machine that lives: the one that started this one."""
    parent = os.getppid()
    return f"{parent}.{module._started(parent)}.{module._process_space()}.deadbeef"


class TestHolding:
    def test_a_folder_is_claimed_while_the_block_runs_and_no_trace_is_left(self, folder: Path) -> None:
        with claim(folder) as mine:
            assert mine is not None
            assert held(folder)
            mine.check()

        assert not held(folder)
        assert list(folder.iterdir()) == []

    def test_nobody_else_has_it_meanwhile(self, folder: Path) -> None:
        with claim(folder) as mine:
            with claim(folder) as other:
                assert other is None
            assert held(folder)
            assert mine is not None
            mine.check()

        with claim(folder) as later:
            assert later is not None

    def test_claims_to_other_folders_are_their_own(self, folder: Path) -> None:
        with claim(folder) as one, claim(folder.with_name("other")) as other:
            assert one is not None
            assert other is not None

    def test_an_exception_gives_it_back(self, folder: Path) -> None:
        with pytest.raises(KeyboardInterrupt), claim(folder):
            raise KeyboardInterrupt

        assert list(folder.iterdir()) == []

    def test_looking_for_a_claim_makes_nothing(self, folder: Path) -> None:
        assert not is_claimed(folder, 0.0)
        assert not folder.exists()

    def test_a_folder_that_cannot_be_made_is_an_error_and_not_a_claim(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(OSError, match="file"), claim(tmp_path / "file" / "cell"):
            pass

    def test_an_error_in_the_making_leaves_nothing(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise OSError("no space left")

        monkeypatch.setattr(Path, "rename", full)

        with pytest.raises(OSError, match="no space left"), claim(folder):
            pass
        assert list(folder.iterdir()) == []

    def test_a_process_that_never_gives_it_back_can_end(self, folder: Path) -> None:
        code = "import sys; from pathlib import Path; from scarf_lightning.results.claims import claim\n"
        code += "held = claim(Path(sys.argv[1])); held.__enter__()"

        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, timeout=120)

        assert not held(folder)


class TestRenewal:
    def test_a_holder_that_shows_signs_of_life_keeps_it(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "RENEW_EVERY", 0.01)
        with claim(folder):
            (path,) = (folder / "claim").iterdir()
            os.utime(path, (0, 0))
            deadline = time.monotonic() + 30
            while path.stat().st_mtime == 0 and time.monotonic() < deadline:
                time.sleep(0.01)

            assert held(folder)
            with claim(folder) as other:
                assert other is None

    def test_checking_is_a_sign_of_life_too(self, folder: Path) -> None:
        with claim(folder) as mine:
            (path,) = (folder / "claim").iterdir()
            os.utime(path, (0, 0))
            assert not held(folder)
            assert mine is not None
            mine.check()
            assert held(folder)

    def test_a_file_server_that_is_away_for_a_moment_does_not_end_it(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RENEW_EVERY", 0.0)
        tried, utime = threading.Event(), os.utime

        def away_once(*arguments: Any) -> None:
            if not tried.is_set():
                tried.set()
                raise TimeoutError("the server does not answer")
            utime(*arguments)

        with claim(folder):
            monkeypatch.setattr(os, "utime", away_once)
            (path,) = (folder / "claim").iterdir()
            utime(path, (0, 0))
            assert tried.wait(30)
            deadline = time.monotonic() + 30
            while path.stat().st_mtime == 0 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert held(folder)


class TestTakeover:
    def test_one_that_is_too_old_is_taken_over(self, folder: Path) -> None:
        claimed_by(folder, ELSEWHERE, age=STALE_AFTER + 1)

        assert not held(folder)
        with claim(folder) as mine:
            assert mine is not None
            assert held(folder)
            assert ELSEWHERE not in tokens(folder)
        assert list(folder.iterdir()) == []

    def test_its_holder_notices_though_another_file_lies_there_that_cannot_be_removed(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file server leaves such files; the holder's own is the one that is taken over."""
        with claim(folder) as mine:
            assert mine is not None
            (folder / "claim" / ".nfs0001").touch()
            for path in (folder / "claim").iterdir():
                os.utime(path, (0, 0))
            with monkeypatch.context() as patched:
                patched.setattr(module, "remove", lambda path: (_ for _ in ()).throw(OSError("busy")))
                assert module._take_over(folder, ELSEWHERE)

            with pytest.raises(LostClaimError):
                mine.check()

    def test_one_that_is_not_too_old_is_respected(self, folder: Path) -> None:
        path = claimed_by(folder, ELSEWHERE, age=STALE_AFTER - 30)

        assert held(folder)
        with claim(folder) as mine:
            assert mine is None
        assert path.exists()

    def test_one_of_exactly_the_oldest_age_is_respected(self, folder: Path) -> None:
        path = claimed_by(folder, ELSEWHERE)
        # Whole seconds, of which no file system keeps less.
        os.utime(path, (1_000, 1_000))

        assert is_claimed(folder, 1_000 + STALE_AFTER)
        assert not is_claimed(folder, 1_000 + STALE_AFTER + 1)

    def test_a_dead_process_of_this_machine_need_not_be_waited_for(self, folder: Path) -> None:
        claimed_by(folder, ended_process())

        assert not held(folder)
        with claim(folder) as mine:
            assert mine is not None

    def test_nor_one_whose_number_another_process_has_by_now(self, folder: Path) -> None:
        pid, started, space, name = module._token().split(".")
        claimed_by(folder, f"{pid}.{int(started) - 1}.{space}.{name}")

        assert not held(folder)

    @pytest.mark.skipif(sys.platform != "linux", reason="zombies are told by /proc")
    def test_nor_a_zombie(self, folder: Path) -> None:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, module._token().encode())
            os._exit(0)
        try:
            token = os.read(reading, 200).decode()
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            claimed_by(folder, token)
            os.kill(child, 0)  # it can be signalled, and yet it is dead

            assert not held(folder)
        finally:
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)

    def test_a_living_one_of_this_machine_is_respected(self, folder: Path) -> None:
        claimed_by(folder, living_process())

        assert held(folder)

    def test_one_that_this_process_could_not_give_back_is_none(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The disk went read-only: nobody waits two minutes for a process that has let go."""
        with monkeypatch.context() as patched:
            with claim(folder):
                assert held(folder)
                patched.setattr(module, "remove", lambda path: (_ for _ in ()).throw(OSError("read-only")))
            assert tokens(folder)
        assert not held(folder)
        with claim(folder) as mine:
            assert mine is not None

    def test_a_killed_process_leaves_a_claim_that_the_next_one_gets_at_once(self, folder: Path) -> None:
        code = (
            "import sys, time; from pathlib import Path; from scarf_lightning.results.claims import claim\n"
            "with claim(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
        )
        with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with claim(folder) as mine:
                assert mine is None
            holder.send_signal(signal.SIGKILL)
            holder.wait()

            with claim(folder) as mine:
                assert mine is not None

    def test_an_empty_claim_left_by_a_kill_halfway_through_a_release_is_no_claim(self, folder: Path) -> None:
        (folder / "claim").mkdir(parents=True)

        assert not held(folder)
        with claim(folder) as mine:
            assert mine is not None
            assert len(tokens(folder)) == 1

    def test_age_is_judged_by_the_folders_own_clock(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the server's clock is an hour ahead of this machine's, or behind, a claim of it is as old as it is."""
        claimed_by(folder, ELSEWHERE, age=30)
        for now in (time.time() + 3600, time.time() - 3600):
            os.utime(folder / "claim" / ELSEWHERE, (0, now - 30))
            monkeypatch.setattr(module, "folder_time", lambda _, now=now: now)
            with claim(folder) as mine:
                assert mine is None
            monkeypatch.setattr(module, "folder_time", lambda _, now=now: now + STALE_AFTER)
            with claim(folder) as mine:
                assert mine is not None
            claimed_by(folder, ELSEWHERE)

    def test_the_folders_clock_is_read_off_a_file_in_it(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir(parents=True)
        touch = Path.touch
        monkeypatch.setattr(Path, "touch", lambda path: (touch(path), os.utime(path, (5, 5))))
        monkeypatch.setattr(time, "time", None)

        assert folder_time(folder) == 5
        assert list(folder.iterdir()) == []


class TestStrayFiles:
    """What a file manager puts into a claim."""

    STRAY = ".DS_Store"

    @pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
    def test_one_alone_is_judged_by_its_age(self, folder: Path, make: Callable[[Path], None]) -> None:
        (folder / "claim").mkdir(parents=True)
        stray = folder / "claim" / self.STRAY
        make(stray)

        assert held(folder)
        os.utime(stray, (0, 0))
        assert not held(folder)
        with claim(folder) as mine:
            assert mine is not None
            assert len(tokens(folder)) == 1
        assert list(folder.iterdir()) == []

    def test_an_old_one_does_not_end_a_claim_that_is_held(self, folder: Path) -> None:
        with claim(folder) as mine:
            (folder / "claim" / self.STRAY).touch()
            os.utime(folder / "claim" / self.STRAY, (0, 0))

            with claim(folder) as other:
                assert other is None
            assert mine is not None
            mine.check()
        assert list(folder.iterdir()) == []

    def test_a_holder_that_overslept_beside_one_loses_its_claim(self, folder: Path) -> None:
        with claim(folder) as mine:
            (folder / "claim" / self.STRAY).touch()
            for path in (folder / "claim").iterdir():
                os.utime(path, (0, 0))

            with claim(folder) as other:
                assert other is not None
                assert len(tokens(folder)) == 1
                assert mine is not None
                with pytest.raises(LostClaimError):
                    mine.check()

    @pytest.mark.parametrize("name", ["a.b.c.d", "1.2.3", "-1.2.3.4", "1.2.3.4.5", "x" * 200, "\u0663.1.a.b"])
    def test_any_name_is_one(self, folder: Path, name: str) -> None:
        claimed_by(folder, name)

        assert held(folder)
        os.utime(folder / "claim" / name, (0, 0))
        assert not held(folder)


class TestFuture:
    def test_a_stamp_from_the_future_is_stale(self, folder: Path) -> None:
        claimed_by(folder, ELSEWHERE, age=-2 * STALE_AFTER)

        assert not held(folder)
        with claim(folder) as mine:
            assert mine is not None

    def test_one_that_was_renewed_while_this_process_slept_is_not_from_the_future(self, folder: Path) -> None:
        claimed_by(folder, ELSEWHERE)

        assert is_claimed(folder, folder_time(folder) - 10 * STALE_AFTER)


Remove = Callable[[Path], None]


@pytest.mark.parametrize("remove", [give_back, clear_dead])
class TestGivingBack:
    def test_the_claim_of_a_dead_process_is_removed(self, remove: Remove, folder: Path) -> None:
        claimed_by(folder, ended_process())

        remove(folder)

        assert list(folder.iterdir()) == []

    def test_one_that_a_kill_left_without_its_holder_is_removed(self, remove: Remove, folder: Path) -> None:
        (folder / "claim").mkdir(parents=True)

        remove(folder)

        assert list(folder.iterdir()) == []

    def test_that_of_a_living_one_stays(self, remove: Remove, folder: Path) -> None:
        with claim(folder) as mine:
            remove(folder)

            assert mine is not None
            mine.check()

    def test_where_there_is_none_nothing_is_made(self, remove: Remove, folder: Path) -> None:
        remove(folder)

        assert not folder.exists()


class TestClearing:
    def test_one_that_is_old_stays_since_its_holder_may_be_asleep(self, folder: Path) -> None:
        claimed_by(folder, ELSEWHERE, age=2 * STALE_AFTER)

        clear_dead(folder)

        assert tokens(folder) == [ELSEWHERE]

    def test_where_nothing_may_be_written_it_stays(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        token = ended_process()
        claimed_by(folder, token)
        monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (folder, os.W_OK))

        clear_dead(folder)

        assert tokens(folder) == [token]


class TestLosing:
    def test_a_holder_learns_that_it_was_taken_over_and_leaves_the_others_claim(self, folder: Path) -> None:
        with ExitStack() as late:
            mine = late.enter_context(claim(folder))
            assert mine is not None
            (path,) = (folder / "claim").iterdir()
            os.utime(path, (0, 0))
            with claim(folder) as other:
                assert other is not None
                with pytest.raises(LostClaimError, match=r"cell was taken over by another process after 120 seconds"):
                    mine.check()
                late.close()
                other.check()
                assert held(folder)
        assert list(folder.iterdir()) == []

    def test_a_claim_that_is_gone_is_lost(self, folder: Path) -> None:
        with claim(folder) as mine:
            shutil.rmtree(folder / "claim")
            assert mine is not None
            with pytest.raises(LostClaimError):
                mine.check()


class TestWaiting:
    def test_it_is_had_once_the_holder_lets_go(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with ExitStack() as other:
            other.enter_context(claim(folder))
            looks: list[float] = []

            def look_again(seconds: float) -> None:
                looks.append(seconds)
                if len(looks) == 3:
                    other.close()

            monkeypatch.setattr(time, "sleep", look_again)
            with claim_when_free(folder) as mine:
                mine.check()

        assert looks == [module.LOOK_EVERY] * 3
        assert list(folder.iterdir()) == []


def compete(folder: Path, start: Any, won: Any, over: Any) -> None:
    start.wait()
    with claim(folder) as mine:
        if mine is not None:
            won.put(os.getpid())
            over.wait()  # until everyone has tried
        else:
            over.wait()


@pytest.fixture
def race(folder: Path) -> Callable[[], int]:
    """How many of eight processes that want the claim at the same moment get it."""
    context = multiprocessing.get_context("fork")
    n = 8

    def run() -> int:
        start, won, over = context.Barrier(n), context.SimpleQueue(), context.Barrier(n)
        racing = [context.Process(target=compete, args=(folder, start, won, over)) for _ in range(n)]
        for process in racing:
            process.start()
        for process in racing:
            process.join(60)
        assert [process.exitcode for process in racing] == [0] * n
        winners = 0
        while not won.empty():
            won.get()
            winners += 1
        return winners

    return run


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
class TestRace:
    ROUNDS = 12

    @pytest.mark.slow
    def test_of_many_processes_one_makes_the_claim(self, folder: Path, race: Callable[[], int]) -> None:
        for _ in range(self.ROUNDS):
            assert race() == 1
            assert list(folder.iterdir()) == []

    @pytest.mark.slow
    def test_of_many_processes_one_takes_it_over(self, folder: Path, race: Callable[[], int]) -> None:
        for _ in range(self.ROUNDS):
            claimed_by(folder, ELSEWHERE, age=STALE_AFTER + 1)
            assert race() == 1
            assert list(folder.iterdir()) == []
