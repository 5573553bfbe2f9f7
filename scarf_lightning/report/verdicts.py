"""Verdicts and intervals of cells, which take into account how their trials share rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ..intervals import FEWEST, FIXED_SPLITS, SIZES, median_sizes, unseen
from ..metrics import Metric
from ..results import Predictions, read_cell, read_predictions
from .loading import CellResults
from .report_options import ReportOptions
from .statistics import Interval, Verdict, fixed_error, judge, judge_fixed, mean_interval, overlap_ratio
from .statistics.intervals import bootstrapped_error, share_of_test
from .statistics.scores import Floats
from .statistics.verdict import no_verdict

NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"


def verdict_of(
    results: CellResults,
    pairs: Sequence[tuple[int, int]],
    differences: Floats,
    sizes: Floats,
    options: ReportOptions,
) -> Verdict:
    """The verdict on cells beside their references.

    Args:
        pairs: labels of a cell and of its reference for each of D datasets.
        differences: of their trials, ``(D, T)``, divided by ``sizes``; higher is better, NaN if either has no trial.
        sizes: what the differences on each dataset were divided by, ``(D,)``.
    """
    metric = options.measure
    width = metric.bounds[1] - metric.bounds[0]
    tried = np.isfinite(differences).any(axis=1)
    if tried.sum() != 1:
        return judge(differences, rope=options.rope, width=width)
    cell, reference = pairs[int(tried.argmax())]
    its = differences[tried][0]
    its = its[np.isfinite(its)]
    if not _is_fixed(results, cell):
        ratio, n_test = _overlap(results, cell, metric, reference)
        return judge(differences, rope=options.rope, test_to_train=ratio, n_test=n_test, width=width)
    if len(its) < FEWEST:
        return judge(differences, rope=options.rope, width=width)
    first, second = _shared(results, cell, reference)
    if len(first) < FEWEST:
        return no_verdict(its, NOT_KEPT)
    error, freedom = _error(results, cell, metric, first, second)
    size, n_rows = float(sizes[tried][0]), len(first[0].rows)
    return judge_fixed(its, error / size, freedom, rope=options.rope, n_test=n_rows, width=width)


def level_of(results: CellResults, cell: int, metric: Metric) -> Interval:
    """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
    values = results.trials.loc[results.trials["cell"] == cell, metric.name].dropna().tolist()
    if not _is_fixed(results, cell):
        ratio, n_test = _overlap(results, cell, metric)
        return mean_interval(values, ratio, n_test=n_test, bounds=metric.bounds)
    mean = float(np.mean(values))
    predicted = _aligned(list(_predictions(results, cell).values())) if len(values) >= FEWEST else []
    if len(predicted) < FEWEST:
        return Interval(mean, math.nan, math.nan)
    error, freedom = _error(results, cell, metric, predicted)
    half = float(stdtrit(freedom, 0.975)) * error
    lowest, highest = metric.bounds
    if not error and math.isfinite(highest):
        half = unseen(len(predicted[0].rows), 1) * (highest - lowest)
    return Interval(mean, max(mean - half, lowest), min(mean + half, highest))


def _is_fixed(results: CellResults, cell: int) -> bool:
    """Whether all trials of a cell share their test rows."""
    return "split" in results.cells and results.cells.loc[cell, "split"] in FIXED_SPLITS


def _overlap(results: CellResults, cell: int, metric: Metric, reference: int | None = None) -> tuple[float, float]:
    """The `overlap_ratio` of a cell's trials, or of their differences from a reference's, the paper's if unknown; and
    the test rows of the median trial, infinite for results of an older version, which do not hold them."""
    its = results.trials.loc[results.trials["cell"] == cell, list(SIZES)]
    n_test, n_train, n_labelled = median_sizes({name: its[name].tolist() for name in SIZES})
    share = 1.0
    if metric.name == "accuracy" and n_labelled is not None and n_labelled < n_train:
        first = _predictions(results, cell)
        second = {} if reference is None else _predictions(results, reference)
        trials = [trial for trial in first if reference is None or trial in second]
        rows = [_right(first[t]) - (_right(second[t]) if t in second else 0.0) for t in trials]
        if len(rows) >= FEWEST and len({len(each) for each in rows}) == 1:
            share = share_of_test(np.array(rows))
    known = float(its["n_test"].median())
    return overlap_ratio(n_test, n_train, n_labelled, share), known if known >= 1 else math.inf


def _predictions(results: CellResults, cell: int) -> dict[int, Predictions]:
    """The predictions of a cell's reported trials that were kept."""
    if cell not in results.folders:
        return {}
    wanted = set(results.trials.loc[results.trials["cell"] == cell, "trial"])
    kept, damaged = read_predictions(read_cell(results.folders[cell]))
    results.damaged.update(damaged)
    return {trial: kept[trial] for trial in sorted(wanted & set(kept))}


def _shared(results: CellResults, cell: int, reference: int) -> tuple[list[Predictions], list[Predictions]]:
    """The predictions of the trials that both cells have, on the same rows."""
    first, second = _predictions(results, cell), _predictions(results, reference)
    same = [t for t in first if t in second and np.array_equal(first[t].rows, second[t].rows)]
    return _aligned([first[t] for t in same]), _aligned([second[t] for t in same])


def _aligned(predictions: list[Predictions]) -> list[Predictions]:
    """Trials that share their test rows, with these in one order: the trials' own if it is the same in all, as in the
    order of time; else the table's."""
    if all(np.array_equal(each.rows, predictions[0].rows) for each in predictions):
        return predictions
    orders = [np.argsort(each.rows) for each in predictions]
    return [
        replace(each, rows=each.rows[order], labels=each.labels[order], values=each.values[order])
        for each, order in zip(predictions, orders, strict=True)
    ]


def _error(
    results: CellResults, cell: int, metric: Metric, first: list[Predictions], second: Sequence[Predictions] = ()
) -> tuple[float, float]:
    """The error of a mean over trials that share their test rows, or of its difference from a ``second`` one, and its
    degrees of freedom."""

    def values(measure: Callable[[Predictions], Any]) -> Floats:
        of_first = np.array([measure(each) for each in first])
        return of_first - np.array([measure(each) for each in second]) if second else of_first

    def on_rows(rows: NDArray[np.int64]) -> Floats:
        return values(lambda each: metric.sign * metric.function(each.values[rows], each.labels[rows]))

    in_time = str(results.cells.loc[cell, "split"]) == "time"
    if metric.name == "accuracy":
        return fixed_error(values(_right), in_time=in_time)
    return bootstrapped_error(on_rows, len(first[0].rows), in_time=in_time)


def _right(predictions: Predictions) -> Floats:
    return np.asarray(predictions.values.argmax(axis=1) == predictions.labels, dtype=np.float64)
