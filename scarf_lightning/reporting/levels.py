"""A cell's trials as the statistics take them, and its levels with their intervals, on the screen and on the page."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from ..intervals import SIZES, Interval, median_sizes, overlap_ratio
from ..metrics import Metric
from ..verdicts.influence import FORMULAS
from ..verdicts.trials import RowsOfTrial, Trials, rows_by_metric
from .cell_results import MANY, CellResults


def level_of(results: CellResults, cell: int, metric: Metric) -> Interval:
    """The mean of a cell's metric over trials with its interval, whose ends are NaN if the error is unknown."""
    return trials_of(results, cell, metric).level(metric)


def trials_of(results: CellResults, cell: int, metric: Metric) -> Trials:
    """The trials of a cell that have the metric, with the test rows of those whose predictions were kept."""
    # A page asks for a cell's trials many times, as a competitor and as a reference of others.
    if (cell, metric.name) not in results.measured:
        wanted = [metric]
        # A page and a table of few cells show other metrics too, from the same predictions.
        if cell in results.targets and len(results.cells) <= MANY:
            others = results.targets[cell].metrics()
            wanted += [each for each in others if each.name in FORMULAS and each.name != metric.name]
        for each, trials in zip(wanted, _measured_trials(results, cell, wanted), strict=True):
            results.measured[cell, each.name] = trials
    return results.measured[cell, metric.name]


def _measured_trials(results: CellResults, cell: int, metrics: Sequence[Metric]) -> list[Trials]:
    """The trials of a cell for each of these metrics."""
    numbers = results.values_of(cell, "trial")
    values: dict[str, dict[Hashable, float]] = {}
    for metric in metrics:
        # A trial that diverged has no value, and is in no mean.
        known = zip(numbers, results.values_of(cell, metric.name), strict=True)
        values[metric.name] = {trial: value for trial, value in known if not math.isnan(value)}
    rows: dict[str, dict[Hashable, RowsOfTrial]] = {metric.name: {} for metric in metrics}
    predictions = results.predictions_of(cell)
    for trial in sorted(predictions.keys() & set(numbers)):
        kept = predictions[trial]
        for name, tested in rows_by_metric(metrics, kept.values, kept.labels, kept.rows).items():
            if trial in values[name]:
                rows[name][trial] = tested
    sizes = median_sizes({name: results.values_of(cell, name) for name in SIZES})
    n_test, _, n_labelled = sizes
    alike = Trials(
        {},
        split=results.rows[cell].get("split"),
        n_trained=n_labelled or math.inf,
        test_to_train=overlap_ratio(*sizes),
        # Rows of an older version say their shares alone, which are below 1.
        n_test=n_test if n_test >= 1 else math.inf,
    )
    return [replace(alike, values=values[each.name], rows=rows[each.name]) for each in metrics]
