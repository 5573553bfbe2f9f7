"""Looks that a store remembers: further ones are stricter, the same ones are free."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scarf_lightning.errors import RecordWarning
from scarf_lightning.reporting.answers import answers_of
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.report_options import ReportOptions
from scarf_lightning.results import read_looks
from scarf_lightning.results.notes import LOOKS
from scarf_lightning.verdicts import Effect
from tests.reporting.cell_results import a_cell, compared, results_of

OPTIONS = ReportOptions(metric="accuracy")
GAINS = np.random.default_rng(4).normal(0.012, 0.025, size=30)


def kept(results: CellResults, folder: Path) -> CellResults:
    """The same, in a store."""
    cells = {label: folder / f"cell-{results.competition.names[label]}" for label in results.rows}
    for cell in cells.values():
        cell.mkdir(parents=True, exist_ok=True)
    return replace(results, folders=cells)


def compared_in(folder: Path, trials: int, name: str = "scarf") -> CellResults:
    alike = [0.5 + 0.001 * n for n in range(trials)]
    return kept(compared({"iris": {"none": alike, name: (alike + GAINS[:trials]).tolist()}}), folder)


def look(folder: Path, trials: int, name: str = "scarf") -> Effect:
    """One look at a comparison of a store, after these trials."""
    answers = answers_of(compared_in(folder, trials, name), OPTIONS)
    answers.remember()
    (found,) = answers.effects
    return found


def looks_at(effect: Effect) -> list[int]:
    return [look.trials for look in effect.verdict.looks]


def test_each_look_is_stricter_than_it_would_be_alone(tmp_path: Path) -> None:
    alone = [look(tmp_path / str(n), n) for n in (10, 20, 30)]

    found = [look(tmp_path, n) for n in (10, 20, 30)]

    assert [looks_at(each) for each in found] == [[10], [10, 20], [10, 20, 30]]
    assert found[0].row == alone[0].row
    assert found[1].verdict.levels.direction > alone[1].verdict.levels.direction


def test_the_same_look_again_costs_nothing_and_another_comparison_has_its_own(tmp_path: Path) -> None:
    first = look(tmp_path, 10)
    assert look(tmp_path, 10).row == first.row
    assert len(read_looks(tmp_path)) == 1

    assert looks_at(look(tmp_path, 20, name="vime")) == [20]
    assert looks_at(look(tmp_path, 20)) == [10, 20]


def test_effects_that_share_cells_remember_no_look_of_each_other(tmp_path: Path) -> None:
    """An interaction with one value has cells of that with another one."""
    noise = np.random.default_rng(0).normal(0, 0.002, (6, 12))

    def looks_after(trials: int) -> list[list[int]]:
        cells = []
        for place, (c, s) in enumerate(itertools.product(("marginal", "mean"), ("zscore", "minmax", "none"))):
            cells.append(a_cell((0.8 + noise[place][:trials]).tolist(), corruption=c, scaling=s))
        answers = answers_of(kept(results_of(cells), tmp_path), OPTIONS)
        answers.remember()
        return [looks_at(each) for each in answers.effects]

    assert looks_after(5) == [[]] * 5, "nothing is claimed, so nothing is looked at"
    assert looks_after(10) == [[10]] * 5
    assert looks_after(12) == [[10, 12]] * 5


def test_a_look_that_somebody_has_edited_counts_for_nothing(tmp_path: Path) -> None:
    look(tmp_path, 10)
    (whole,) = read_looks(tmp_path)
    (file,) = tmp_path.glob(f"*/{LOOKS}")
    edits = ({"trials": math.inf}, {"trials": "ten"}, {"pairs": 3}, {"pairs": [[["cell-none"], "cell-scarf"]]})
    file.write_text("\n".join(json.dumps(edited) for edited in ({"trials": 10}, *(whole | edit for edit in edits))))

    assert looks_at(look(tmp_path, 20)) == [20]


def test_a_store_that_cannot_be_written_is_named_and_answers_stay(tmp_path: Path) -> None:
    compared_in(tmp_path, 10)
    for cell in tmp_path.iterdir():
        (cell / LOOKS).mkdir()

    with pytest.warns(RecordWarning, match="not remembered"):
        assert looks_at(look(tmp_path, 10)) == [10]


def test_a_question_writes_nothing(tmp_path: Path) -> None:
    assert answers_of(compared_in(tmp_path, 10), OPTIONS).in_words
    assert read_looks(tmp_path) == []
