import os
import re
import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.results import PretrainedTrial, PretrainingStore
from scarf_lightning.results.claims import claim
from scarf_lightning.results.pretrained import GIGABYTE, WEIGHTS, evict
from scarf_lightning.results.records import UNFINISHED
from tests.cells import DATA_HASH, pretraining_identity_of, some_config, some_pretrained


def make(results: Path, max_gb: float = 1.0, **chosen: Any) -> PretrainingStore:
    return PretrainingStore(results, pretraining_identity_of(some_config(**chosen), DATA_HASH), max_gb)


@pytest.fixture
def store(tmp_path: Path) -> PretrainingStore:
    return make(tmp_path / "results")


def same(found: PretrainedTrial, given: PretrainedTrial) -> None:
    assert {name: (w.dtype, w.shape, w.tobytes()) for name, w in found.weights.items()} == {
        name: (w.dtype, w.shape, w.tobytes()) for name, w in given.weights.items()
    }
    for field in ("trial", "epochs", "best_epoch", "seconds"):
        assert getattr(found, field) == getattr(given, field)
    assert list(found.curve) == list(given.curve)


def place(store: PretrainingStore, trial: int) -> Path:
    return store.folder / "trials" / f"{trial:04d}"


def use_times(store: PretrainingStore, times: dict[int, float]) -> None:
    for trial, then in times.items():
        os.utime(place(store, trial), (then, then))


class TestKeeping:
    def test_a_trial_comes_back_bit_for_bit_also_odd_numbers_and_arrays_in_pieces(
        self, store: PretrainingStore
    ) -> None:
        """A number of a curve may be left out: its values are then whole, with a fraction, and none."""
        for trial, dtype in enumerate((np.float32, np.float64, np.int64)):
            given = some_pretrained(trial, dtype)
            given.curve[0]["train_loss"] = None
            store.add([given])
            same(store.load([trial])[trial], given)

        odd = np.array([[np.nan, -0.0, np.inf], [np.nextafter(0, 1), 1 / 3, -1e308]]).T
        assert not odd.flags.c_contiguous
        store.add([PretrainedTrial(3, 1, 1, 0.1, [], {"w": odd})])
        found = store.load([3])[3].weights["w"]
        assert (found.tobytes(), found.shape) == (np.ascontiguousarray(odd).tobytes(), odd.shape)


class TestDamage:
    @pytest.mark.parametrize(("name", "damage"), [("curve.json", "torn"), (WEIGHTS, "missing"), (WEIGHTS, "flipped")])
    def test_a_damaged_trial_is_missing_and_set_aside_before_it_is_trained_again(
        self, store: PretrainingStore, name: str, damage: str
    ) -> None:
        store.add([some_pretrained(0), some_pretrained(1)])
        file = place(store, 0) / name
        content = bytearray(file.read_bytes())
        content[-20] ^= 1
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(content if damage == "flipped" else content[:-3])

        why = f"{name} is {'(damaged|torn)' if damage == 'flipped' else damage}"
        with pytest.warns(UserWarning, match=f"trials/0000 is left out: {why}"):
            assert sorted(store.load([0, 1])) == [1]
        with pytest.warns(UserWarning, match=rf"trials/0000 is set aside in .*: {why}"), store.claim() as claim:
            store.add([some_pretrained(0)], claim)

        same(store.load([0])[0], some_pretrained(0))
        (reason,) = store.results.glob("set_aside/*/reason.txt")
        assert re.fullmatch(rf"pretrained/{store.fingerprint}/trials/0000: {why}\n", reason.read_text())


class TestBound:
    SIZE = 10_000

    def fill(self, store: PretrainingStore, trials: range) -> int:
        """Bytes of one trial."""
        store.add([some_pretrained(trial, n=self.SIZE) for trial in trials])
        return (place(store, trials[0]) / WEIGHTS).stat().st_size

    @pytest.mark.parametrize("linked", ["", "trials"])
    def test_nothing_outside_is_removed_or_touched(self, store: PretrainingStore, tmp_path: Path, linked: str) -> None:
        mine = tmp_path / "mine"
        (mine / "trials" / "0000").mkdir(parents=True)
        (mine / "trials" / "0000" / WEIGHTS).write_bytes(b"mine")
        before = {path: path.stat().st_mtime_ns for path in mine.rglob("*")}
        place = store.folder / linked
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(mine / linked)

        evict(store.results, 0)
        new = [some_pretrained(1)]
        for use in (lambda: store.load([0]), lambda: store.claim().__enter__(), lambda: store.add(new)):
            with pytest.raises(UsageError, match="is a link, and is not written through"):
                use()

        assert {path: path.stat().st_mtime_ns for path in mine.rglob("*")} == before

    def test_the_bound_is_one_for_all_pretrainings_and_holds_after_each_that_is_added(
        self, store: PretrainingStore
    ) -> None:
        size = self.fill(store, range(2))
        use_times(store, {0: 200, 1: 100})
        other = make(store.results, max_gb=2 * size / GIGABYTE, seed=1)

        other.add([some_pretrained(0, n=self.SIZE)])

        assert (store.missing(range(2)), other.missing([0])) == ([1], [])


class TestClaim:
    def test_nothing_is_added_once_another_process_has_taken_it_over(self, store: PretrainingStore) -> None:
        with store.claim() as claim:
            shutil.rmtree(store.folder / "claim")
            store.add([some_pretrained(0)], claim)

            assert store.missing([0]) == [0]
            assert list((store.folder / "trials").iterdir()) == []

    def test_another_process_is_waited_for(self, store: PretrainingStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with ExitStack() as other:
            other.enter_context(claim(store.folder))

            def finish(_: float) -> None:
                store.add([some_pretrained(0)])
                other.close()

            monkeypatch.setattr(time, "sleep", finish)
            assert store.missing([0]) == [0]
            with store.claim(waits=True):
                assert store.missing([0]) == []

        assert not (store.folder / "claim").exists()

    def test_what_a_killed_process_left_half_written_is_removed_after_an_hour(self, store: PretrainingStore) -> None:
        old, new = (store.folder / "trials" / f"{UNFINISHED}{name}" for name in ("old", "new"))
        for folder in (old, new):
            folder.mkdir(parents=True)
            (folder / WEIGHTS).write_bytes(b"half")
        os.utime(old, (0, 0))

        with store.claim():
            assert not old.exists()
            assert new.exists()
