"""A cell's trials as the statistics take them, and the intervals of its levels, for a terminal, for views and pages."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..intervals import FEWEST, SIZES, Interval, median_sizes, overlap_ratio
from ..metrics import Metric, metric_named
from ..results import Predictions, Rows, read_cell, read_predictions, values_of

if TYPE_CHECKING:
    from ..verdicts.trials import Trials
    from .cell_results import CellResults


class LevelledRows(Rows):
    """The rows of a cell's trials, with what is known of them from predictions.

    Attributes:
        trials: by name of the metric, as an answer on the cell takes them.
        levels: of the same metrics.
    """

    __slots__ = ("levels", "trials")

    def __init__(self, rows: Rows, trials: "Mapping[str, Trials]", levels: Mapping[str, Interval]) -> None:
        super().__init__(rows.size, rows.columns)
        self.trials, self.levels = trials, levels


def levels_of(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Interval]:
    """The intervals that come with rows; none if they were not read from predictions."""
    return rows.levels if isinstance(rows, LevelledRows) else {}


def levelled(folder: Path, rows: Rows, leading: Metric | None = None) -> LevelledRows:
    """The rows of a cell with the level of each metric by rows and fits, as a report has it.

    Metrics of which a trial's prediction was not kept are left out, and so are all of fewer than three trials.

    Args:
        folder: of the cell in the store.
        rows: of its trials.
        leading: metric that has one even if that takes long: without a formula in `verdicts.influence`.
    """
    known: dict[str, Trials] = {}
    stored = read_cell(folder) if len(rows) >= FEWEST else None
    predictions, damaged = ({}, {}) if stored is None else read_predictions(stored)
    # Without, the caller shows the interval of the resampled t-test. Damage is for a report to find and to name.
    if stored is not None and stored.description is not None and predictions and not damaged:
        from ..verdicts.influence import FORMULAS

        metrics = [metric for metric in stored.target.metrics() if metric.name in FORMULAS or metric == leading]
        split = stored.description["options"].get("split")
        found = trials_by_metric(metrics, lambda name: values_of(rows, name), predictions, split)
        for metric, trials in zip(metrics, found, strict=True):
            # The interval must be that of the mean, so all trials of the mean take part in it.
            if len(trials.rows) == len(trials.values) >= FEWEST:
                known[metric.name] = trials
    return LevelledRows(rows, known, {name: trials.level(metric_named(name)) for name, trials in known.items()})


def trials_by_metric(
    metrics: Sequence[Metric],
    column: Callable[[str], Sequence[Any]],
    predictions: Mapping[int, Predictions],
    split: str | None,
) -> "list[Trials]":
    """The trials of a cell for each of these metrics.

    Args:
        metrics: to compute.
        column: gives a column of the cell's rows by its name.
        predictions: that were kept, by trial.
        split: of its rows; None for results of an old version, which do not record it.
    """
    # These import pandas and SciPy.
    from ..verdicts.trials import Trials, measured, rows_by_metric

    numbers = list(column("trial"))
    values: dict[str, dict[Hashable, float]] = {}
    for metric in metrics:
        # A trial that diverged has no value, and is in no mean.
        known = zip(numbers, column(metric.name), strict=True)
        values[metric.name] = {int(trial): float(value) for trial, value in known if _is_there(value)}
    rows: dict[str, dict[Hashable, Any]] = {metric.name: {} for metric in metrics}
    for trial in sorted(predictions.keys() & set(map(int, numbers))):
        kept = predictions[trial]
        for name, tested in rows_by_metric(metrics, kept.values, kept.labels, kept.rows).items():
            if trial in values[name]:
                rows[name][trial] = measured(tested, values[name][trial])
    n_test, n_labelled = _median(column("n_test")), _median(column("n_labelled"))
    ratio = overlap_ratio(*median_sizes({name: column(name) for name in SIZES}))
    return [Trials(values[each.name], rows[each.name], split, n_labelled, ratio, n_test) for each in metrics]


def level_of(results: "CellResults", cell: int, metric: Metric) -> Interval:
    """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
    return trials_of(results, cell, metric).level(metric)


def level_over(results: "CellResults", cells: Sequence[int], metric: Metric) -> Interval:
    """The level of one cell, or the mean over the cells of several datasets, which has no interval."""
    if len(cells) == 1:
        return level_of(results, cells[0], metric)
    means = [trials_of(results, cell, metric).mean for cell in cells]
    return Interval(sum(means) / len(means), float("nan"), float("nan"))


def trials_of(results: "CellResults", cell: int, metric: Metric) -> "Trials":
    """The trials of a cell that have the metric, with the test rows of those whose predictions were kept."""
    # A page asks for a cell's trials many times, as a competitor and as a reference of others.
    key = (cell, metric.name)
    if key not in results.measured:
        row = results.rows[cell]
        split = str(row["split"]) if "split" in row else None
        (results.measured[key],) = trials_by_metric(
            [metric], lambda name: results.values_of(cell, name), _predictions(results, cell), split
        )
    kept: Trials = results.measured[key]
    return kept


def _predictions(results: "CellResults", cell: int) -> dict[int, Predictions]:
    """The predictions of a cell's trials that were kept."""
    stored = results.stored_of(cell)
    # A damaged file costs its own trials alone, and the page lists it.
    kept, damaged = ({}, {}) if stored is None else read_predictions(stored)
    results.damaged.update(damaged)
    return kept


def _is_there(value: Any) -> bool:
    """True for a number; a trial that diverged has none."""
    return value is not None and value == value


def _median(sizes: Sequence[Any]) -> float:
    """The number of rows of the median trial; infinite if results of an old version do not hold it."""
    from statistics import median

    # NaN is no number of rows, and a share below one is that of an old version.
    known = [float(size) for size in sizes if size is not None and size >= 1]
    return median(known) if known else float("inf")
