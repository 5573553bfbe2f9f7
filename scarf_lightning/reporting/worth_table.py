"""Gains said in labels: how many times the labels the reference needs for the metric of each competitor."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ..metrics import Metric
from ..verdicts.effects import Effect
from ..verdicts.frame import Trials
from ..verdicts.words import references
from ..verdicts.worth import REACH, Worth, worth_of_trials, worth_sentence
from .blocks import Table, table
from .cell_results import CellResults
from .levels import trials_of
from .names import labels_in_words

MOST_SAID = 3
"""Competitors of which a page's answer says the worth; its table has all."""
ALIKE = 1.1
"""Numbers of labels by which tables may differ, as parts of each other, and still be one point of a curve."""

Valued = tuple[Effect, Worth]


def worths(comparisons: Sequence[Effect], results: CellResults, metric: Metric) -> list[Valued]:
    """The worth of each competitor at each number of labels, networks first; none without a curve over labels."""
    budgets = results.competition.budgets
    if budgets is None:
        return []
    known = []
    for each in comparisons:
        # A reference that has not learnt has no curve, and a baseline asks nothing.
        if each.labels is None or each.spoilt or each.is_baseline:
            continue
        if found := _worth(each, results, metric):
            known.append((each, found))
    # Effects come best first; a question on pre-training is answered before one on rivals.
    places = {name: place for place, name in enumerate(dict.fromkeys(each.what for each, _ in known))}
    return sorted(known, key=lambda valued: (valued[0].is_rival, places[valued[0].what], valued[1].labels))


def _worth(comparison: Effect, results: CellResults, metric: Metric) -> Worth | None:
    """The worth of a competitor at the number of labels of one comparison."""
    curves = _curves(comparison, results)
    numbers = _numbers_of_labels(curves, results)
    if comparison.labels not in numbers:
        return None
    competitor = [cell.trials for cell in comparison.ones]
    reference: list[dict[float, Trials]] = []
    for curve in curves:
        measured = {budget: cell for budget, cell in curve.items() if budget in numbers}
        reference.append({numbers[budget]: trials_of(results, cell, metric) for budget, cell in measured.items()})
    return worth_of_trials(competitor, reference, numbers[comparison.labels], metric)


def _curves(comparison: Effect, results: CellResults) -> list[dict[float, int]]:
    """The cells of the reference by budget, on each dataset of a comparison."""
    competing = results.competition
    assert competing.budgets is not None
    curves: dict[str, dict[float, int]] = {dataset: {} for dataset in comparison.cells}
    for label, budget in competing.budgets.items():
        dataset = str(results.rows[label]["dataset"])
        if competing.names[label] == comparison.reference and dataset in curves:
            curves[dataset][budget] = label
    return list(curves.values())


def _numbers_of_labels(curves: Sequence[Mapping[float, int]], results: CellResults) -> dict[float, float]:
    """The number of labels of each budget; without those that are another number on each table, as all labels are."""
    n_labels = results.trials["n_labels"].fillna(results.trials["n_labelled"]).astype(float)
    by_cell = n_labels.groupby(results.trials["cell"]).median()
    numbers: dict[float, float] = {}
    for budget in dict.fromkeys(budget for curve in curves for budget in curve):
        counts = by_cell.reindex([curve[budget] for curve in curves if budget in curve]).dropna()
        # Two budgets of one number, such as 100 labels and a tenth of 1,000 rows, are one point of the curve.
        if len(counts) and counts.max() <= ALIKE * counts.min() and counts.median() not in numbers.values():
            numbers[budget] = float(counts.median())
    return numbers


def worth_in_words(valued: Sequence[Valued]) -> list[str]:
    """A sentence on each of the first competitors, at most `MOST_SAID`."""
    by_name: dict[str, list[Valued]] = {}
    for each in valued:
        by_name.setdefault(each[0].what, []).append(each)
    sentences = []
    for name, competitor_worths in list(by_name.items())[:MOST_SAID]:
        sentences.append(worth_sentence(name, {_at(comparison): worth for comparison, worth in competitor_worths}))
    return sentences


def worth_table(valued: Sequence[Valued], metric: Metric) -> Table:
    """The worth of each competitor at each number of labels."""
    rows, data = [], []
    for comparison, worth in valued:
        rows.append((comparison.what, _at(comparison), worth.times, worth.ends or None, worth.curve))
        data.append({"competitor": comparison.what, "reference": comparison.reference} | worth.columns)
    shown = pd.DataFrame(rows, columns=["competitor", "labels", "times the labels", "95 % interval", "curve"])
    over = references([comparison for comparison, _ in valued])
    caption = (
        f"Worth in labels: how many times the labels {over} needs for the same {metric.label}, by its learning curve, "
        f"straight in the logarithm of the labels. Beyond its ends the curve is continued to {REACH:g} times the most "
        f"labels and to one part in {REACH:g} of the fewest; curves flatten, so a gain there is worth rather more"
    )
    return table("worth", caption, shown, data=pd.DataFrame(data))


def _at(comparison: Effect) -> str:
    """The number of labels, without the word."""
    return labels_in_words(comparison.labels or 0).removesuffix(" labels")
