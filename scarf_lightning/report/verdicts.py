"""Verdicts and intervals of cells, from their predictions where these were kept."""

import math
from collections.abc import Sequence

import numpy as np

from ..intervals import FEWEST, FIXED_SPLITS, SIZES, Interval, mean_interval, median_sizes, overlap_ratio
from ..metrics import Metric
from ..results import Predictions, read_cell, read_predictions
from ..verdicts import Verdict, judge, judge_tables
from ..verdicts.scores import Floats
from ..verdicts.trials import RowsOfTrial, Split, judge_trials, level_of_trials, rows_of_trial
from ..verdicts.verdict import error_of, no_verdict
from .loading import CellResults
from .report_options import ReportOptions

NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"


def verdict_of(
    results: CellResults, pairs: Sequence[tuple[int, int]], differences: Floats, sizes: Floats, options: ReportOptions
) -> Verdict:
    """The verdict on cells beside their references.

    Args:
        pairs: labels of a cell and of its reference for each of D tables.
        differences: of their trials, ``(D, T)``, divided by ``sizes``; higher is better, NaN if either has no trial.
        sizes: the numbers that the differences on each table were divided by, ``(D,)``.
    """
    # A pair is of two cells, of which either may lack a trial.
    has_trials = np.isfinite(differences).any(axis=1)
    tried: list[int] = np.flatnonzero(has_trials).tolist()
    verdicts = []
    for table in tried:
        verdicts.append(_on_one(results, pairs[table], differences[table], float(sizes[table]), options))
    if not verdicts:
        return no_verdict(np.empty(0))
    if len(verdicts) == 1:
        return verdicts[0]
    # Over several tables each counts by its error, because a noisy table tells less.
    errors = np.array([error_of(verdict) for verdict in verdicts])
    return judge_tables(differences[tried], errors, margin=options.rope, width=_width(options.measure))


def level_of(results: CellResults, cell: int, metric: Metric) -> Interval:
    """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
    values = results.trials_of(cell)[metric.name].dropna().to_numpy()
    mean = float(values.mean())
    # From predictions only if all trials have kept them: the interval must be that of this mean.
    trials = list(rows_of_cell(results, cell, metric).values())
    if len(trials) == len(values) >= FEWEST:
        return level_of_trials(trials, metric, _split(results, cell))._replace(mean=mean)
    if _is_fixed(results, cell):
        return Interval(mean, math.nan, math.nan)
    ratio, n_test = _overlap(results, cell)
    return mean_interval(values, ratio, n_test=n_test, bounds=metric.bounds)


def rows_of_cell(results: CellResults, cell: int, metric: Metric) -> dict[int, RowsOfTrial]:
    """The test rows of a cell's trials whose predictions were kept and whose metric is defined, by trial."""
    # A page asks for a cell's rows many times, as a competitor and as a reference of others.
    key = (cell, metric.name)
    if key not in results.rows_of_trials:
        by_trial: dict[int, RowsOfTrial] = {}
        for trial, predictions in _predictions(results, cell).items():
            rows = rows_of_trial(metric, predictions.values, predictions.labels, predictions.rows)
            if rows is not None:
                by_trial[trial] = rows
        results.rows_of_trials[key] = by_trial
    kept: dict[int, RowsOfTrial] = results.rows_of_trials[key]
    return kept


def _on_one(
    results: CellResults, pair: tuple[int, int], differences: Floats, size: float, options: ReportOptions
) -> Verdict:
    """The verdict on one table: from rows and fits, or by the resampled t-test if a prediction was not kept."""
    metric, margin = options.measure, options.rope
    cell = pair[0]
    known = differences[np.isfinite(differences)]
    if len(known) < FEWEST:
        return no_verdict(known)
    first, second = _common(results, pair, metric)
    # A pair of which one trial lacks its predictions would be judged on fewer trials than its difference.
    if len(first) == len(known):
        return judge_trials(first, second, metric, _split(results, cell), size=size, margin=margin)
    # The resampled t-test takes the error from test sets that differ, and these do not.
    if _is_fixed(results, cell):
        return no_verdict(known, NOT_KEPT)
    ratio, n_test = _overlap(results, cell)
    return judge(differences[None], margin=margin, test_to_train=ratio, n_test=n_test, width=_width(metric))


def _width(metric: Metric) -> float:
    """The largest difference that a metric can have."""
    lowest, highest = metric.bounds
    return highest - lowest


def _common(results: CellResults, pair: tuple[int, int], metric: Metric) -> tuple[list[RowsOfTrial], list[RowsOfTrial]]:
    """The trials in which both cells tested the same rows."""
    of_cell = rows_of_cell(results, pair[0], metric)
    of_reference = rows_of_cell(results, pair[1], metric)
    first, second = [], []
    for trial, rows in of_cell.items():
        others = of_reference.get(trial)
        if others is not None and np.array_equal(rows.rows, others.rows):
            first.append(rows)
            second.append(others)
    return first, second


def _split(results: CellResults, cell: int) -> Split:
    """Split of a cell's rows; results of an old version do not record it."""
    name = None
    if "split" in results.cells:
        name = str(results.cells.loc[cell, "split"])
    n_labelled = _median(results, cell, "n_labelled")
    return Split(name, n_labelled)


def _is_fixed(results: CellResults, cell: int) -> bool:
    """True if all trials of a cell share their test rows."""
    return _split(results, cell).name in FIXED_SPLITS


def _overlap(results: CellResults, cell: int) -> tuple[float, float]:
    """The `overlap_ratio` of a cell's trials, the paper's if unknown; and the test rows of the median trial, infinite
    for results of an old version, which do not hold them."""
    trials = results.trials_of(cell)
    sizes = median_sizes({name: trials[name].tolist() for name in SIZES})
    return overlap_ratio(*sizes), _median(results, cell, "n_test")


def _median(results: CellResults, cell: int, column: str) -> float:
    """The median of a number of rows over a cell's trials, infinite if it is unknown."""
    median = float(results.trials_of(cell)[column].median())
    # NaN is no number of rows, and a share below one is that of an old version.
    return median if median >= 1 else math.inf


def _predictions(results: CellResults, cell: int) -> dict[int, Predictions]:
    """The predictions of a cell's reported trials that were kept."""
    if cell not in results.folders:
        return {}
    wanted = set(results.trials_of(cell)["trial"])
    # A damaged file costs its own trials alone, and the page lists it.
    kept, damaged = read_predictions(read_cell(results.folders[cell]))
    results.damaged.update(damaged)
    return {trial: kept[trial] for trial in sorted(wanted & set(kept))}
