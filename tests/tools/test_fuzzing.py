"""A share of the attacks of each kind: `python -m tools.fuzzing` makes all of them."""

from pathlib import Path

import pytest

from tools.fuzzing.attacking import KINDS, outcomes

FAST = {"models": 15, "records": 8, "caches": 2, "tables": 20, "options": 4, "sweeps": 3, "changes": 2}
SLOW = {
    "models": 200,
    "records": 100,
    "caches": 40,
    "tables": 300,
    "folders": 60,
    "options": 100,
    "sweeps": 50,
    "changes": 30,
}


def faults(kind: str, first: int, count: int, folder: Path) -> list[str]:
    return [str(each) for each in outcomes(kind, range(first, first + count), folder) if each.wrong]


@pytest.mark.parametrize("kind", FAST)
def test_some_are_used_or_refused_in_a_sentence(kind: str, tmp_path: Path) -> None:
    assert faults(kind, 0, FAST[kind], tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_are_used_or_refused_in_a_sentence(kind: str, tmp_path: Path) -> None:
    assert faults(kind, FAST.get(kind, 0), SLOW[kind], tmp_path) == []
