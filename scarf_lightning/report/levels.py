"""Levels of one cell, for a terminal and for views: the mean of each metric with its interval, from its predictions."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..intervals import FEWEST, Interval
from ..metrics import Metric
from ..results import Rows, read_cell, read_predictions, values_of

FROM_PREDICTIONS = "rows and fits"
FROM_TRIALS = "resampled t-test"
"""Where the intervals of a cell are from, as a report calls it."""


class LevelledRows(Rows):
    """The rows of a cell's trials, with the intervals of the metrics that are known from predictions.

    Attributes:
        levels: by name of the metric.
    """

    __slots__ = ("levels",)

    def __init__(self, rows: Rows, levels: Mapping[str, Interval]) -> None:
        super().__init__(rows.size, rows.layout, rows.numbers, rows.others)
        self.levels = levels


def levels_of(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Interval]:
    """The intervals that come with rows; none if they were not read from predictions."""
    return rows.levels if isinstance(rows, LevelledRows) else {}


def levels_of_cell(
    folder: Path, rows: Sequence[Mapping[str, Any]], only: Collection[Metric] | None = None
) -> dict[str, Interval]:
    """The level of each metric of a cell by rows and fits, as a report has it.

    Metrics of which a trial's prediction was not kept are left out, and so are all of fewer than three trials.

    Args:
        folder: of the cell in the store.
        rows: of its trials.
        only: metrics to compute; all of the cell's target if not given.
    """
    if len(rows) < FEWEST:
        return {}
    # These import pandas and SciPy.
    from ..verdicts.trials import Split, level_of_trials, rows_by_metric

    stored = read_cell(folder)
    predictions, _ = read_predictions(stored)
    # The caller then shows the interval of the resampled t-test, which needs no predictions.
    if stored.description is None or not predictions:
        return {}
    split = Split(stored.description["options"].get("split"), _n_labelled(rows))
    metrics = stored.target.metrics() if only is None else list(only)
    tested = {}
    for trial, kept in predictions.items():
        tested[trial] = rows_by_metric(metrics, kept.values, kept.labels, kept.rows)
    levels = {}
    trials = values_of(rows, "trial")
    for metric in metrics:
        # A trial that diverged has no value, and is in no mean.
        measured = []
        for trial, value in zip(trials, values_of(rows, metric.name), strict=True):
            if _is_there(value):
                measured.append(trial)
        of_metric = []
        for trial in measured:
            if metric.name in tested.get(trial, {}):
                of_metric.append(tested[trial][metric.name])
        # The interval must be that of the mean, so all trials of the mean take part in it.
        if len(of_metric) == len(measured) >= FEWEST:
            levels[metric.name] = level_of_trials(of_metric, metric, split)
    return levels


def _is_there(value: Any) -> bool:
    """True for a number; a trial that diverged has none."""
    return value is not None and value == value


def _n_labelled(rows: Sequence[Mapping[str, Any]]) -> float:
    """Training rows with a label in the median trial; infinite if results of an old version do not hold them."""
    from statistics import median

    known = [float(size) for size in values_of(rows, "n_labelled") if size is not None and size >= 1]
    return median(known) if known else float("inf")
