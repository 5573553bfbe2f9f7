"""A process that is killed or ended at any step of the store's protocol: no trial is lost, or trained twice."""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.results import CellStore, PretrainingStore, read_cell
from tests.cells import (
    DATA_HASH,
    OF_WDBC,
    identity_of,
    pretraining_identity_of,
    some_config,
    some_pretrained,
    some_record,
)
from tests.processes import in_the_way

pytestmark = pytest.mark.slow

N_TRIALS = 2
FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime", "os.listdir", "os.scandir"}
"""Audit events that Python raises before it touches a file."""


def train_cell(results: Path, trained: Path) -> list[int]:
    """Add the trials that a cell lacks, one a stack; their numbers, each in ``trained`` before it is added."""
    store = CellStore(results, identity_of(some_config(), DATA_HASH))
    with store.claim() as claim:
        assert claim is not None
        store.mend()
        store.describe(dataset="wdbc", dataset_id=1510, source="somewhere", **OF_WDBC)
        missing = store.missing(range(N_TRIALS))
        for trial in missing:
            (trained / str(trial)).touch()
            store.add(some_record([trial]), claim)
    assert sorted(row["trial"] for row in read_cell(store.folder).rows.values()) == list(range(N_TRIALS))
    return missing


def pretrain(results: Path, trained: Path) -> list[int]:
    """Add the trials that a pre-training lacks."""
    store = PretrainingStore(results, pretraining_identity_of(some_config(), DATA_HASH), 1.0)
    with store.claim() as claim:
        missing = store.missing(range(N_TRIALS))
        for trial in missing:
            (trained / str(trial)).touch()
            store.add([some_pretrained(trial)], claim)
    assert list(store.load(range(N_TRIALS))) == list(range(N_TRIALS))
    return missing


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def disturbed(work: Callable[[Path, Path], object], folder: Path, step: int, end: Callable[[], object]) -> bool:
    """Whether work in a forked process ended, by ``end`` before so many operations on files."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    steps = count()

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS and str(arguments[0]).startswith(str(folder / "results")) and next(steps) == step:
            end()

    try:
        sys.addaudithook(watch)
        work(folder / "results", folder / "trained")
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.parametrize("end", [kill, sys.exit])
@pytest.mark.parametrize("work", [train_cell, pretrain])
def test_at_most_the_trial_at_hand_is_trained_again_and_nothing_is_in_the_way(
    work: Callable[[Path, Path], list[int]], end: Callable[[], object], tmp_path: Path
) -> None:
    all_missing = set()
    for step in count():
        folder, again = tmp_path / str(step), tmp_path / f"{step}-again"
        for place in (folder / "trained", again):
            place.mkdir(parents=True)
        is_ended = disturbed(work, folder, step, end)
        assert end is kill or in_the_way(folder / "results") == []

        missing = work(folder / "results", again)

        trained = sorted(int(path.name) for path in (folder / "trained").iterdir())
        assert missing == list(range(N_TRIALS - len(missing), N_TRIALS))
        assert set(trained[:-1]) & set(missing) == set()
        left = in_the_way(folder / "results")
        assert [path for path in left if "claim" in path or "set_aside" in path] == []
        all_missing.add(len(missing))
        if not is_ended:
            break
    assert step > 20
    assert all_missing == set(range(N_TRIALS + 1))
