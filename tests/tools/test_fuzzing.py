"""A share of the attacks of each kind: `python -m tools.fuzzing` makes all of them."""

from pathlib import Path

import pytest

from tools.fuzzing.attacking import KINDS, outcomes

ATTACKS = {
    "models": 200, "records": 100, "caches": 40, "tables": 300, "folders": 60, "options": 100, "sweeps": 50,
    "changes": 30,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_hostile_is_used_or_refused_in_a_sentence(kind: str, tmp_path: Path) -> None:
    assert [str(each) for each in outcomes(kind, range(ATTACKS[kind]), tmp_path) if each.wrong] == []
