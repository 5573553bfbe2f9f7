"""Verdicts and intervals of cells, from their predictions where these were kept."""

import math
from collections.abc import Sequence

import numpy as np

from ..intervals import FEWEST, FIXED_SPLITS, SIZES, Interval, mean_interval, median_sizes, overlap_ratio
from ..metrics import Metric
from ..results import Predictions, read_cell, read_predictions
from .loading import CellResults
from .report_options import ReportOptions
from .statistics import Verdict, judge, judge_tables
from .statistics.scores import Floats
from .statistics.trials import RowsOfTrial, Split, judge_trials, level_of_trials, rows_of_trial
from .statistics.verdict import error_of, no_verdict

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
        pairs: labels of a cell and of its reference for each of D tables.
        differences: of their trials, ``(D, T)``, divided by ``sizes``; higher is better, NaN if either has no trial.
        sizes: the numbers that the differences on each table were divided by, ``(D,)``.
    """
    tried: list[int] = np.flatnonzero(np.isfinite(differences).any(axis=1)).tolist()
    each = [_on_one(results, pairs[i], differences[i], float(sizes[i]), options) for i in tried]
    if len(each) == 1:
        return each[0]
    if not each:
        return no_verdict(np.empty(0))
    errors = np.array([error_of(verdict) for verdict in each])
    width = options.measure.bounds[1] - options.measure.bounds[0]
    return judge_tables(differences[tried], errors, margin=options.rope, width=width)


def level_of(results: CellResults, cell: int, metric: Metric) -> Interval:
    """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
    values = results.trials.loc[results.trials["cell"] == cell, metric.name].dropna().to_numpy()
    trials = list(rows_of_cell(results, cell, metric).values())
    if len(trials) == len(values) >= FEWEST:
        return level_of_trials(trials, metric, _split(results, cell))._replace(mean=float(values.mean()))
    if _is_fixed(results, cell):
        return Interval(float(values.mean()), math.nan, math.nan)
    ratio, n_test = _overlap(results, cell)
    return mean_interval(values, ratio, n_test=n_test, bounds=metric.bounds)


def rows_of_cell(results: CellResults, cell: int, metric: Metric) -> dict[int, RowsOfTrial]:
    """The test rows of a cell's trials whose predictions were kept and whose metric is defined, by trial."""
    key = (cell, metric.name)
    if key not in results.rows_of_trials:
        found: dict[int, RowsOfTrial] = {}
        for trial, its in _predictions(results, cell).items():
            rows = rows_of_trial(metric, its.values, its.labels, its.rows)
            if rows is not None:
                found[trial] = rows
        results.rows_of_trials[key] = found
    kept: dict[int, RowsOfTrial] = results.rows_of_trials[key]
    return kept


def _on_one(
    results: CellResults, pair: tuple[int, int], differences: Floats, size: float, options: ReportOptions
) -> Verdict:
    """The verdict on one table: from rows and fits, or by the resampled t-test if a prediction was not kept."""
    metric = options.measure
    its = differences[np.isfinite(differences)]
    if len(its) < FEWEST:
        return no_verdict(its)
    first, second = _common(results, pair, metric)
    if len(first) == len(its):
        return judge_trials(first, second, metric, _split(results, pair[0]), size=size, margin=options.rope)
    if _is_fixed(results, pair[0]):
        return no_verdict(its, NOT_KEPT)
    ratio, n_test = _overlap(results, pair[0])
    width = metric.bounds[1] - metric.bounds[0]
    return judge(differences[None], margin=options.rope, test_to_train=ratio, n_test=n_test, width=width)


def _common(results: CellResults, pair: tuple[int, int], metric: Metric) -> tuple[list[RowsOfTrial], list[RowsOfTrial]]:
    """The trials in which both cells tested the same rows."""
    of_first, of_second = (rows_of_cell(results, cell, metric) for cell in pair)
    first, second = [], []
    for trial, its in of_first.items():
        other = of_second.get(trial)
        if other is not None and np.array_equal(its.rows, other.rows):
            first.append(its)
            second.append(other)
    return first, second


def _split(results: CellResults, cell: int) -> Split:
    """Split of a cell's rows; results of an old version do not record it."""
    name = str(results.cells.loc[cell, "split"]) if "split" in results.cells else None
    known = float(results.trials.loc[results.trials["cell"] == cell, "n_labelled"].median())
    return Split(name, known if known >= 1 else math.inf)


def _is_fixed(results: CellResults, cell: int) -> bool:
    """True if all trials of a cell share their test rows."""
    return _split(results, cell).name in FIXED_SPLITS


def _overlap(results: CellResults, cell: int) -> tuple[float, float]:
    """The `overlap_ratio` of a cell's trials, the paper's if unknown; and the test rows of the median trial, infinite
    for results of an old version, which do not hold them."""
    its = results.trials.loc[results.trials["cell"] == cell, list(SIZES)]
    known = float(its["n_test"].median())
    sizes = median_sizes({name: its[name].tolist() for name in SIZES})
    return overlap_ratio(*sizes), known if known >= 1 else math.inf


def _predictions(results: CellResults, cell: int) -> dict[int, Predictions]:
    """The predictions of a cell's reported trials that were kept."""
    if cell not in results.folders:
        return {}
    wanted = set(results.trials.loc[results.trials["cell"] == cell, "trial"])
    kept, damaged = read_predictions(read_cell(results.folders[cell]))
    results.damaged.update(damaged)
    return {trial: kept[trial] for trial in sorted(wanted & set(kept))}
