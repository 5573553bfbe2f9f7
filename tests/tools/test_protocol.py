"""The store and the cache of pre-trainings, with a process killed at every step of their protocol."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.composing import ROOT
from tools.faults.protocol import STACK, TRIALS, Seen

pytestmark = pytest.mark.slow

ENDS = {"full-disk": "failed", "stop": "stopped"}
TORN = {
    "cell": [r"cell\.json: cell\.json is torn", r"stacks/0002-0003-\w+: curves\.parquet is torn"],
    "pretraining": [r"trials/0001: curve\.json is torn"],
}


def disturbed(scenario: str, fault: str, every: int, folder: Path) -> Iterator[Seen]:
    ran = subprocess.run(
        [sys.executable, "-m", "tools.faults.protocol", scenario, fault, str(every), str(folder)],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    *seen, last = [Seen(**json.loads(line)) for line in ran.stdout.splitlines()]
    assert {each.ended for each in seen} == {ENDS.get(fault, "killed")}
    assert last.ended == "finished"
    assert (last.claims, last.unfinished) == ([], [])
    yield from (*seen, last)


def check(seen: Seen) -> None:
    """One complete record a trial, none trained twice, nothing locked, no rubbish."""
    assert seen.again == "finished"
    assert seen.records == [1] * len(TRIALS)
    assert seen.trained_again == [trial for trial in TRIALS if trial not in seen.published]
    assert (seen.left, seen.not_old) == ([], [])


@pytest.mark.parametrize("scenario", ["cell", "pretraining", "cell-takeover", "pretraining-takeover"])
def test_killed_at_every_step(scenario: str, tmp_path: Path) -> None:
    published = set()
    claimed = False
    for seen in disturbed(scenario, "kill", 1, tmp_path):
        check(seen)
        assert seen.aside == []
        published.add(tuple(seen.published))
        claimed |= bool(seen.claims)

    size = STACK if scenario.startswith("cell") else 1
    assert published == {tuple(TRIALS[:n]) for n in (*range(0, len(TRIALS), size), len(TRIALS))}
    assert claimed


@pytest.mark.parametrize("scenario", ["cell", "pretraining"])
def test_told_to_end_at_every_step(scenario: str, tmp_path: Path) -> None:
    """SIGTERM and Ctrl-C, unlike a kill, leave nothing at all that is in the way."""
    for seen in disturbed(scenario, "stop", 1, tmp_path):
        check(seen)
        assert (seen.claims, seen.unfinished, seen.aside) == ([], [], [])


@pytest.mark.parametrize("work", ["cell", "pretraining"])
def test_killed_at_every_step_where_records_were_damaged(work: str, tmp_path: Path) -> None:
    """What was damaged is set aside once, and nothing else is."""
    for seen in disturbed(f"{work}-damage", "kill", 1, tmp_path):
        check(seen)
        for found, expected in zip(seen.aside, TORN[work], strict=True):
            assert re.fullmatch(expected, found)


def test_killed_at_every_step_where_the_cache_is_too_small(tmp_path: Path) -> None:
    """Two trials fit; the others are evicted, and trained again when they are asked for."""
    for seen in disturbed("pretraining-evicting", "kill", 1, tmp_path):
        assert seen.again == "finished"
        assert sorted(seen.records) == [0, 0, 0, 1, 1]
        assert seen.trained_again == [trial for trial in TRIALS if trial not in seen.published]
        assert (seen.left, seen.not_old, seen.aside) == ([], [], [])


@pytest.mark.parametrize("scenario", ["cell", "pretraining"])
@pytest.mark.parametrize("fault", ["kill-in-write", "full-disk"])
def test_stopped_in_the_middle_of_a_write(scenario: str, fault: str, tmp_path: Path) -> None:
    sizes = list(disturbed(scenario, fault, 31, tmp_path))

    assert len(sizes) > 15
    for seen in sizes:
        check(seen)
        assert seen.aside == []
        if fault == "full-disk":
            assert (seen.claims, seen.unfinished) == ([], [])
    assert any(seen.unfinished for seen in sizes) == (fault == "kill-in-write")
