"""Cells whose probabilities are worse than the class frequencies are named, and judged as all others."""

import math
from dataclasses import replace
from typing import Any

import pytest

from scarf_lightning.data.targets import Classes
from scarf_lightning.reporting.learning import not_learnt, probability_note
from tests.reporting.cell_results import ALIKE, results_of
from tests.reporting.shown import answer_of, said

LOW, HIGH = [0.50, 0.51, 0.49, 0.50, 0.51] * 2, [0.90, 0.92, 0.91, 0.89, 0.90] * 2


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([True, False, False], " a in 1 of 3 trials."),
        ([True, False, False, None], " a in 1 of 3 trials."),
        ([True, False, False, False], ""),
        ([None, math.nan], ""),
        ([], ""),
    ],
)
def test_bad_probabilities_are_said_from_a_third_of_trials_on(flags: list[Any], expected: str) -> None:
    rows = [{"worse_than_frequencies": flag, "balanced_accuracy": 0.9, "n_test": 100} for flag in flags]
    sentences = probability_note([("a", rows), ("of an older version", [{"one_class": False}])])
    assert [expected in sentence for sentence in sentences] == [True] * bool(expected)
    assert not_learnt(rows, Classes(("no", "yes"))) == "", "classes may be right"


def test_the_page_says_whose_probabilities_are_bad_and_answers_all_the_same() -> None:
    found = results_of([(ALIKE | {"pretrain": "none"}, LOW), (ALIKE | {"pretrain": "scarf"}, HIGH)])
    assert not any("class frequencies" in text for text in said(answer_of(found)))
    flagged = found.trials.assign(worse_than_frequencies=(found.trials["cell"] == 1).astype(float))
    results = replace(found, trials=flagged)

    texts = said(answer_of(results))

    assert texts[0].startswith("On iris, beside pretrain=none: pretrain=scarf helps, +40.20 points of accuracy")
    (sentence,) = [text for text in texts if "class frequencies" in text]
    assert "by log-loss: pretrain=scarf in 10 of 10 trials." in sentence
    # A cell that is compared with nothing has the same sentence.
    only = replace(results, cells=results.cells.iloc[1:])
    assert sum("class frequencies" in text for text in said(answer_of(only))) == 1
