"""Cells that have learnt nothing are broken, not weak."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.reporting.answers import answers_of
from scarf_lightning.reporting.cell_results import CellResults
from scarf_lightning.reporting.learning import not_learnt, not_learnt_note, probability_note
from scarf_lightning.reporting.report_options import ReportOptions
from tests.reporting.cell_results import ALIKE, results_of
from tests.reporting.shown import answer_of, said, tables

TWO, TEN = Classes(("no", "yes")), Classes(tuple("abcdefghij"))


def rows_of(**columns: list[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([False] * 5, ""),
        ([True, False, False, False], ""),
        ([True, False, False], "predicts one class for every test row in 1 of 3 trials"),
        ([True, True, False, False, False], "predicts one class for every test row in 2 of 5 trials"),
        ([math.nan, math.nan], ""),
    ],
)
def test_a_third_of_trials_that_predict_one_class_is_a_sign(flags: list[Any], said: str) -> None:
    rows = rows_of(one_class=flags, balanced_accuracy=[0.9] * len(flags), n_test=[100] * len(flags))
    assert not_learnt(rows, TWO) == said


def test_a_trial_with_labels_of_one_class_is_no_sign() -> None:
    columns = {"one_class": [True, True, False], "balanced_accuracy": [0.5, 0.5, 0.9], "n_test": [100] * 3}
    classes = {"n_label_classes": [1, 1, 2]}

    assert "in 2 of 3 trials" in not_learnt(rows_of(**columns), TWO), "rows of older versions do not tell"
    assert not_learnt(rows_of(**columns, **classes), TWO) == ""
    assert "in 1 of 2 trials" in not_learnt(rows_of(**columns, n_label_classes=[1, 2, 2]), TWO)
    assert not_learnt(rows_of(one_class=[True], n_label_classes=[1]), TWO) == "", "nothing could be learnt"


def test_guesses_are_called_so_and_what_is_better_is_not() -> None:
    """Of cells that guess, at most one in twenty is missed; of those that are right by six in ten, none is accused."""
    random = np.random.default_rng(0)

    def share_called_so(right: float, trials: int) -> float:
        # Different test rows for each trial, a half of each class.
        accuracies = random.binomial(50, right, size=(1000, trials, 2)).mean(axis=2) / 50
        rows = [rows_of(balanced_accuracy=each.tolist(), n_test=[100] * trials) for each in accuracies]
        return float(np.mean([bool(not_learnt(each, TWO)) for each in rows]))

    assert share_called_so(0.5, trials=1) > 0.95
    assert share_called_so(0.5, trials=5) > 0.95
    assert share_called_so(0.6, trials=5) < 0.01


@pytest.mark.parametrize(
    ("target", "columns", "said"),
    [
        (TEN, {"balanced_accuracy": [0.1, 0.1], "n_test": [300, 300]}, "is no better than guesses (balanced accuracy"),
        (TEN, {"balanced_accuracy": [0.2, 0.2], "n_test": [300, 300]}, ""),
        # Many trials test the same rows over and over, and are worth a few.
        (TWO, {"balanced_accuracy": [0.53] * 30, "n_test": [100] * 30}, "is no better than guesses"),
        (None, {"balanced_accuracy": [0.1, 0.1], "n_test": [300, 300]}, ""),
        (TEN, {"balanced_accuracy": [0.1, 0.1], "n_test": [None, None]}, ""),
        (Number("y"), {"r2": [0.3, -0.5]}, "predicts no better than the mean (R² -0.10)"),
        (Number("y"), {"r2": [0.3, -0.1]}, ""),
        (Number("y"), {"r2": [math.nan, None]}, ""),
        (TWO, {"accuracy": [0.5]}, ""),
    ],
)  # fmt: skip
def test_of_each_kind_of_target(target: Any, columns: dict[str, list[Any]], said: str) -> None:
    found = not_learnt(rows_of(**columns), target)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_run_names_the_cells_and_says_that_it_is_no_answer_on_their_method() -> None:
    assert not_learnt_note({}, 1) == []
    (one,) = not_learnt_note({"a": "guesses"}, 1)
    assert one.startswith("a guesses. It has not learnt, which says nothing about the method")
    (several,) = not_learnt_note(dict.fromkeys("abcde", "guesses"), 6)
    assert "; 2 others. 5 of 6 cells have not learnt" in several


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([True, False, False], ["a in 1 of 3 trials"]),
        ([True, False, False, False], []),
        ([], []),
    ],
)
def test_bad_probabilities_are_said_from_a_third_of_trials_on(flags: list[Any], expected: list[str]) -> None:
    rows = [{"worse_than_frequencies": flag, "balanced_accuracy": 0.9, "n_test": 100} for flag in flags]
    sentences = probability_note({"a": rows, "of an older version": [{"one_class": False}]})
    assert [sentence.split("log-loss: ")[1].split(".")[0] for sentence in sentences] == expected
    assert not_learnt(rows, TWO) == "", "classes may be right"


LOW, HIGH = [0.50, 0.51, 0.49, 0.50, 0.51] * 2, [0.90, 0.92, 0.91, 0.89, 0.90] * 2


def flagged(cells: list[tuple[dict[str, Any], list[float], bool]]) -> CellResults:
    """Results of cells by their columns, values, and whether all trials predict one class."""
    found = results_of([(ALIKE | columns, values) for columns, values, _ in cells])
    flags = found.trials["cell"].map(lambda cell: float(cells[cell][2]))
    return replace(found, trials=found.trials.assign(one_class=flags), targets=dict.fromkeys(range(len(cells)), TWO))


@pytest.mark.parametrize(("broken", "name"), [(1, "pretrain=scarf"), (0, "pretrain=none")])
def test_no_comparison_counts_against_a_cell_that_has_not_learnt(broken: int, name: str) -> None:
    """A reference that is good and a competitor that is bad, or the reverse; one of them has not learnt."""
    values = [HIGH, LOW] if broken == 1 else [LOW, HIGH]
    results = flagged([({"pretrain": p}, values[n], n == broken) for n, p in enumerate(("none", "scarf"))])

    blocks = answer_of(results)

    headline, reason, *_ = said(blocks)
    assert " undecided, " in headline
    assert reason == f"{name} has not learnt: it predicts one class for every test row in 10 of 10 trials."
    assert {row[-1].text for row in tables(blocks)[0].rows} == {"reference", "undecided"}


@pytest.mark.parametrize(("n_broken", "claimed"), [(2, "undecided"), (1, "hurts")])
def test_over_datasets_a_third_of_them_is_enough(n_broken: int, claimed: str) -> None:
    cells = []
    for number, (pretrain, values) in itertools.product(range(6), (("none", HIGH), ("scarf", LOW))):
        columns = {"dataset": f"d{number}", "pretrain": pretrain}
        cells.append((columns, values, pretrain == "scarf" and number < n_broken))

    (comparison,) = answers_of(flagged(cells), ReportOptions("accuracy")).effects

    assert comparison.claimed == claimed
    assert ("has not learnt" in comparison.verdict.reason) == (n_broken == 2)


@pytest.mark.parametrize("n_cells", [1, 2])
def test_the_page_says_whose_probabilities_are_bad_and_answers_all_the_same(n_cells: int) -> None:
    found = results_of([(ALIKE | {"pretrain": each}, HIGH) for each in ("none", "scarf")[:n_cells]])
    assert not any("class frequencies" in text for text in said(answer_of(found)))
    spoilt = found.trials.assign(worse_than_frequencies=(found.trials["cell"] == n_cells - 1).astype(float))

    answer, *others = said(answer_of(replace(found, trials=spoilt)))

    assert "no practical difference" in answer or n_cells == 1
    assert [" in 10 of 10 trials." in text for text in others if "class frequencies" in text] == [True]
