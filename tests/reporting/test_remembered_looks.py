"""Looks that a store remembers: further ones are stricter, the same ones are free."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cell_results import compared

from scarf_lightning.errors import RecordWarning
from scarf_lightning.reporting.questions import answers_of
from scarf_lightning.reporting.remembered_looks import remember_looks
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import read_looks
from scarf_lightning.results.kept_looks import FILE
from scarf_lightning.verdicts import Effect
from scarf_lightning.verdicts.looks import level_after, spent

OPTIONS = ReportOptions(metric="accuracy")
GAINS = np.random.default_rng(4).normal(0.012, 0.025, size=30)


def look(folder: Path, trials: int, *, name: str = "scarf", sign: int = 1) -> Effect:
    """One look at a comparison of a store, after these trials."""
    folder.mkdir(exist_ok=True)
    alike = [0.5 + 0.001 * n for n in range(trials)]
    gained = [value + sign * float(gain) for value, gain in zip(alike, GAINS[:trials], strict=True)]
    results = compared({"iris": {"none": alike, name: gained}})
    cells = {label: folder / f"cell-{row['pretrain']}" for label, row in results.rows.items()}
    for cell in cells.values():
        cell.mkdir(exist_ok=True)
    results = replace(results, folders=cells)
    (found,) = answers_of(results, OPTIONS).effects
    remember_looks([found], results, OPTIONS)
    return found


def test_each_look_is_as_strict_as_the_looks_before_demand(tmp_path: Path) -> None:
    alone = [look(tmp_path / str(n), n).verdict.levels.direction for n in (10, 20, 30)]
    # In a store of its own each of these is the first look.
    by_itself = [level * float(spent([n])[0]) for level, n in zip(alone, (10, 20, 30), strict=True)]

    found = [look(tmp_path, n) for n in (10, 20, 30)]

    assert found[0].verdict.levels.direction == alone[0]
    for place, numbers in ((1, [10, 20]), (2, [10, 20, 30])):
        expected = min(level_after(by_itself[k], [10, 20, 30][: k + 1]) for k in range(place + 1))
        assert found[place].verdict.levels.direction == pytest.approx(expected)
        assert found[place].looks == tuple(numbers)


def test_the_same_look_again_costs_nothing_and_another_comparison_has_its_own(tmp_path: Path) -> None:
    first = look(tmp_path, 10)
    assert look(tmp_path, 10).row == first.row
    assert len(read_looks(tmp_path)) == 1

    assert look(tmp_path, 20, name="vime").looks == (20,)
    assert look(tmp_path, 20).looks == (10, 20)


def test_a_look_that_somebody_has_edited_counts_for_nothing(tmp_path: Path) -> None:
    look(tmp_path, 10)
    (whole,) = read_looks(tmp_path)
    edits = ({"trials": math.inf}, {"trials": "ten"}, {"pairs": 3}, {"pairs": [[["cell-none"], "cell-scarf"]]})
    lines = [json.dumps(edited) for edited in ({"trials": 10}, *(whole | edit for edit in edits))]
    (tmp_path / "cell-scarf" / FILE).write_text("\n".join(lines))

    assert look(tmp_path, 20).looks == (20,)


def test_a_store_that_cannot_be_written_is_named_and_answers_stay(tmp_path: Path) -> None:
    (tmp_path / "cell-scarf" / FILE).mkdir(parents=True)

    with pytest.warns(RecordWarning, match="not remembered"):
        found = look(tmp_path, 10)

    assert found.looks == (10,)


def test_a_question_writes_nothing(tmp_path: Path) -> None:
    results = compared({"iris": {"none": [0.5, 0.51, 0.52] * 4, "scarf": [0.6, 0.62, 0.61] * 4}})
    results = replace(results, folders={label: tmp_path / f"cell-{label}" for label in results.rows})
    for cell in results.folders.values():
        cell.mkdir()

    answers = answers_of(results, OPTIONS)

    assert answers.in_words
    assert read_looks(tmp_path) == []
    answers.remember()
    assert len(read_looks(tmp_path)) == 1
