"""Gains said in labels: how many times the labels the reference needs for the metric of each competitor."""

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from ..intervals import FIXED_SPLITS
from ..metrics import Metric
from ..verdicts.scores import Floats
from ..verdicts.worth import REACH, Worth, worth_in_labels
from .blocks import Table, table
from .comparisons import Comparison
from .loading import CellResults
from .names import labels_in_words
from .pairing import competition
from .schema import in_order
from .sentences import references
from .verdicts import trials_of

MOST_SAID = 3
"""Competitors of which a page's answer says the worth; its table has all."""
ALIKE = 1.1
"""Numbers of labels by which tables may differ, as parts of each other, and still be one point of a curve."""

Valued = tuple[Comparison, Worth]


def worths(comparisons: Sequence[Comparison], results: CellResults, metric: Metric) -> list[Valued]:
    """The worth of each competitor at each number of labels, networks first; none without a curve over labels."""
    budgets = competition(results).budgets
    if budgets is None:
        return []
    known = []
    for each in comparisons:
        # A reference that has not learnt has no curve, and a baseline asks nothing.
        if each.labels is None or each.spoilt or each.is_baseline:
            continue
        if found := _worth(each, results, metric):
            known.append((each, found))
    # Comparisons come best first; a question on pre-training is answered before one on rivals.
    places = {name: place for place, name in enumerate(dict.fromkeys(each.name for each, _ in known))}
    return sorted(known, key=lambda valued: (valued[0].is_rival, places[valued[0].name], valued[1].labels))


def _worth(comparison: Comparison, results: CellResults, metric: Metric) -> Worth | None:
    """The worth of a competitor at the number of labels of one comparison."""
    curves = _curves(comparison, results)
    numbers = _numbers_of_labels(curves, results)
    if comparison.labels not in numbers:
        return None
    budgets = sorted(numbers, key=lambda budget: numbers[budget])
    at = budgets.index(comparison.labels)
    cells = [cell for cell, _ in comparison.pairs]
    overlap = None
    if len(cells) == 1:
        trials = trials_of(results, cells[0], metric)
        # The spread of trials that share their test rows does not show the error of these rows.
        overlap = math.inf if trials.split.name in FIXED_SPLITS else trials.test_to_train
        competitor = _of_trials(results, cells[0], metric, list(trials.values))
        columns = [_of_trials(results, curves[0].get(budget), metric, list(trials.values)) for budget in budgets]
    else:
        competitor = _means(results, cells, metric)
        columns = [_means(results, [curve.get(budget) for curve in curves], metric) for budget in budgets]
    reference = np.column_stack(columns)
    # Tables have a common scale in parts of their own reference alone.
    if metric.is_relative and overlap is None:
        sizes = np.abs(reference[:, at])
        competitor, reference = competitor / sizes, reference / sizes[:, None]
    labels = [numbers[budget] for budget in budgets]
    better = metric.higher_is_better
    return worth_in_labels(competitor, reference, labels, at, higher_is_better=better, overlap=overlap)


def _curves(comparison: Comparison, results: CellResults) -> list[dict[float, int]]:
    """The cells of the reference by budget, on each dataset of a comparison."""
    competing = competition(results)
    assert competing.budgets is not None
    curves: dict[str, dict[float, int]] = {dataset: {} for dataset in comparison.datasets}
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


def _of_trials(results: CellResults, cell: int | None, metric: Metric, trials: Sequence[Hashable]) -> Floats:
    """The metric of these trials of a cell, NaN for those that it lacks, ``(trials,)``."""
    values = {} if cell is None else trials_of(results, cell, metric).values
    return np.array([values.get(trial, math.nan) for trial in trials])


def _means(results: CellResults, cells: Sequence[int | None], metric: Metric) -> Floats:
    """The mean of the metric of each cell over its trials, NaN where there is none, ``(cells,)``."""
    return np.array([math.nan if cell is None else trials_of(results, cell, metric).mean for cell in cells])


def worth_in_words(valued: Sequence[Valued]) -> list[str]:
    """A sentence on each of the first competitors, at most `MOST_SAID`."""
    by_name: dict[str, list[Valued]] = {}
    for each in valued:
        by_name.setdefault(each[0].name, []).append(each)
    sentences = []
    for name, of_competitor in list(by_name.items())[:MOST_SAID]:
        clauses: list[str] = []
        for comparison, worth in of_competitor:
            unit = "times" if clauses else "times the labels"
            ends = f" ({_ends(worth)})" if _ends(worth) else ""
            clauses.append(f"{_factor(worth.factor, worth)} {unit}{ends} at {_at(comparison)}")
        sentences.append(f"{name[:1].upper()}{name[1:]} is worth {', '.join(clauses)}.")
    return sentences


def worth_table(valued: Sequence[Valued], metric: Metric) -> Table:
    """The worth of each competitor at each number of labels."""
    rows, data = [], []
    for comparison, worth in valued:
        where = "continued" if worth.is_continued else "measured"
        rows.append((comparison.name, _at(comparison), _factor(worth.factor, worth), _ends(worth) or None, where))
        is_of_tables = len(comparison.pairs) > 1
        data.append(
            {
                "competitor": comparison.name,
                "reference": comparison.reference,
                "labels": worth.labels,
                "worth": worth.factor,
                "worth_low": worth.low,
                "worth_high": worth.high,
                "least": worth.least,
                "most": worth.most,
                "curve": where,
                "over": "datasets" if is_of_tables else "trials",
                "n": worth.n,
            }
        )
    shown = pd.DataFrame(rows, columns=["competitor", "labels", "times the labels", "95 % interval", "curve"])
    over = references([comparison for comparison, _ in valued])
    caption = (
        f"Worth in labels: how many times the labels {over} needs for the same {metric.label}, by its learning curve, "
        f"straight in the logarithm of the labels. Beyond its ends the curve is continued to {REACH:g} times the most "
        f"labels and to one part in {REACH:g} of the fewest; curves flatten, so a gain there is worth rather more"
    )
    return table("worth", caption, shown, data=in_order("worth", pd.DataFrame(data)))


def _at(comparison: Comparison) -> str:
    """The number of labels, without the word."""
    return labels_in_words(comparison.labels or 0).removesuffix(" labels")


def _factor(factor: float, worth: Worth) -> str:
    """A factor, or the end of the curve that it lies beyond."""
    text = f"{factor:.2f}" if factor < 10 else f"{factor:.0f}"
    if factor >= worth.most:
        return f"more than {text}"
    return f"less than {text}" if factor <= worth.least else text


def _ends(worth: Worth) -> str:
    """The interval; empty if it is unknown, has no width, or lies beyond the curve."""
    if math.isnan(worth.low) or math.isclose(worth.low, worth.high):
        return ""
    return f"{_factor(worth.low, worth)} to {_factor(worth.high, worth)}"
