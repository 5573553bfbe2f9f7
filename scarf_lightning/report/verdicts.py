"""Verdicts and intervals of cells, from their predictions where these were kept."""

from collections.abc import Sequence

from ..intervals import Interval
from ..metrics import Metric
from ..results import Predictions, has_predictions, read_cell, read_predictions
from ..verdicts import Verdict
from ..verdicts.frame import Trials, verdict_on
from .levels import trials_by_metric
from .loading import CellResults
from .report_options import ReportOptions


def verdict_of(results: CellResults, pairs: Sequence[tuple[int, int]], options: ReportOptions) -> Verdict:
    """The verdict on cells beside their references: a pair of labels for each table."""
    metric = options.measure
    beside = [(trials_of(results, cell, metric), trials_of(results, reference, metric)) for cell, reference in pairs]
    return verdict_on(beside, metric, options.rope)


def level_of(results: CellResults, cell: int, metric: Metric) -> Interval:
    """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
    return trials_of(results, cell, metric).level(metric)


def trials_of(results: CellResults, cell: int, metric: Metric) -> Trials:
    """The trials of a cell that have the metric, with the test rows of those whose predictions were kept."""
    # A page asks for a cell's trials many times, as a competitor and as a reference of others.
    key = (cell, metric.name)
    if key not in results.measured:
        frame = results.trials_of(cell)
        split = str(results.cells.loc[cell, "split"]) if "split" in results.cells else None
        (results.measured[key],) = trials_by_metric(
            [metric], lambda name: frame[name].tolist(), _predictions(results, cell), split
        )
    kept: Trials = results.measured[key]
    return kept


def _predictions(results: CellResults, cell: int) -> dict[int, Predictions]:
    """The predictions of a cell's trials that were kept."""
    # Reading a cell takes a hundred times as long as the look.
    if cell not in results.folders or not has_predictions(results.folders[cell]):
        return {}
    # A damaged file costs its own trials alone, and the page lists it.
    kept, damaged = read_predictions(read_cell(results.folders[cell]))
    results.damaged.update(damaged)
    return kept
