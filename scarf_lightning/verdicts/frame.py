"""Trials of competitors, and what is known of them: the level of one, the difference of two, and means over several.

All that is shown of a difference or a level is made here, of results of any library and of ours alike.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..intervals import FEWEST, FIXED_SPLITS, TEST_TO_TRAIN, Interval, mean_interval
from ..metrics import Metric
from .answers import MARGIN
from .rows_and_fits import Integers
from .scores import Floats
from .trial_rows import RowsOfTrial, Split, judge_trials, level_of_trials
from .verdict import Ends, Verdict, judge, judge_tables, no_verdict

NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"
PRIME = 1_000_003
ROUNDING = 1e-9
"""A mean over rows that is farther from the metric of its trial was made of rounded predictions."""


@dataclass(frozen=True)
class Trials:
    """The trials of one competitor on one table.

    Attributes:
        values: of the metric, by trial.
        rows: the test rows with their values, by trial; only of trials whose predictions are known.
        split: how trials draw their rows.
        test_to_train: as `overlap_ratio` gives it; used without predictions.
        n_test: test rows of a trial, infinite if unknown.
    """

    values: Mapping[Hashable, float]
    rows: Mapping[Hashable, RowsOfTrial] = field(default_factory=dict)
    split: Split = Split()
    test_to_train: float = TEST_TO_TRAIN
    n_test: float = math.inf

    @property
    def mean(self) -> float:
        """The mean over trials; NaN without any."""
        return float(np.mean(list(self.values.values()))) if self.values else math.nan

    def level(self, metric: Metric) -> Interval:
        """The mean over trials with its interval, whose ends are NaN if the error is unknown.

        It is that of rows and fits if all trials have kept their predictions, for it must be that of this mean.
        """
        n = len(self.values)
        known = [self.rows[trial] for trial in self.values if trial in self.rows]
        if len(known) == n >= FEWEST:
            return level_of_trials(known, metric, self.split)._replace(mean=self.mean)
        # The spread of trials that share their test rows does not show the error of these rows.
        if self.split.name in FIXED_SPLITS:
            return Interval(self.mean, math.nan, math.nan)
        return mean_interval(list(self.values.values()), self.test_to_train, n_test=self.n_test, bounds=metric.bounds)


def measured(rows: RowsOfTrial, value: float) -> RowsOfTrial:
    """The rows of a trial with values whose mean is the metric that the trial was measured by.

    Predictions of older records are rounded, so that a tie may have another class than it had.
    """
    offset = value - float(rows.values.mean())
    if abs(offset) <= ROUNDING * max(1.0, abs(value)):
        return rows
    return replace(rows, values=rows.values + offset)


def verdict_on(
    pairs: Sequence[tuple[Trials, Trials]],
    metric: Metric,
    margin: float = MARGIN,
    *,
    sizes: Sequence[Trials] = (),
    reach: float = 1.0,
) -> Verdict:
    """The verdict on a competitor beside its reference, over all tables on which they have a common trial.

    Args:
        pairs: the competitor and the reference on each table.
        metric: of their values.
        margin: a difference no larger than this is of no practical consequence.
        sizes: for metrics whose differences are relative, the trials that they are parts of, by table; those of the
            reference if not given.
        reach: the largest difference, in widths of the metric's bounds; 2 for the difference of two differences.
    """
    tables: list[_OneTable] = []
    for table, (first, second) in enumerate(pairs):
        common = _common(first, second)
        if not common:
            continue
        base = sizes[table] if sizes else second
        size = _size([base.values[trial] for trial in common], metric)
        differences = _differences(first, second, common, metric, size)
        tables.append(_OneTable(first, second, base, common, differences, size))
    if not tables:
        return no_verdict(np.empty(0))
    if len(tables) == 1:
        bounds = _bounds_of_differences(tables[0], metric, reach)
        return _verdict_within(_table_verdict(tables[0], metric, margin, reach), bounds)
    # Tables may have different numbers of trials; NaN fills up the shorter ones.
    padded = np.full((len(tables), max(len(each.common) for each in tables)), np.nan)
    for row, each in zip(padded, tables, strict=True):
        row[: len(each.common)] = each.differences
    return judge_tables(padded, margin=margin)


def combined(several: Sequence[Trials], weight: float | None = None) -> Trials:
    """Several competitors as one: the weighted sum of their values, by trial and by row; their mean by default.

    Only trials that all of them have are in it, and only rows that all of them tested.

    >>> combined([Trials({0: 0.5, 1: 1.0}), Trials({0: 1.0})]).values
    {0: 0.75}
    """
    first, *others = several
    weight = 1 / len(several) if weight is None else weight
    if not others and weight == 1:
        return first
    values: dict[Hashable, float] = {}
    rows: dict[Hashable, RowsOfTrial] = {}
    for trial in first.values:
        if not all(trial in other.values for other in others):
            continue
        values[trial] = weight * sum(each.values[trial] for each in several)
        tested = [each.rows[trial] for each in several if trial in each.rows]
        if len(tested) == len(several) and _are_same_rows(tested):
            rows[trial] = _combined_rows(tested, weight)
    # The most rows of any of them, since a row that is in more training sets moves the values by more.
    n_trained = max(each.split.n_trained for each in several)
    return replace(first, values=values, rows=rows, split=replace(first.split, n_trained=n_trained))


def _combined_rows(tested: Sequence[RowsOfTrial], weight: float) -> RowsOfTrial:
    """The test rows of one trial with the weighted sum of several competitors' values."""
    # Copies are rows that all of them predict alike: one number for the numbers of all. It wraps around.
    codes: Integers = np.zeros(len(tested[0].rows), dtype=np.int64)
    for each in tested:
        codes = codes * PRIME + each.codes
    shown = [each.shown for each in tested if each.shown is not None]
    return RowsOfTrial(
        rows=tested[0].rows,
        values=weight * np.sum([each.values for each in tested], axis=0),
        added=weight * np.sum([each.added for each in tested], axis=0),
        codes=codes,
        one_class=all(each.one_class for each in tested),
        shown=np.any(shown, axis=0) if shown else None,
    )


def _are_same_rows(tested: Sequence[RowsOfTrial]) -> bool:
    return all(np.array_equal(each.rows, tested[0].rows) for each in tested)


def _common(first: Trials, second: Trials) -> list[Hashable]:
    """The trials that both have."""
    return [trial for trial in first.values if trial in second.values]


def _size(values: Sequence[float], metric: Metric) -> float:
    """The number that differences are divided by: the mean for relative metrics, unless it is zero, and else one."""
    if not metric.is_relative or not values:
        return 1.0
    return abs(float(np.mean(values))) or 1.0


def _differences(first: Trials, second: Trials, common: Sequence[Hashable], metric: Metric, size: float) -> Floats:
    differences = [first.values[trial] - second.values[trial] for trial in common]
    return np.asarray(differences, dtype=np.float64) * metric.sign / size


class _OneTable(NamedTuple):
    """A competitor beside its reference on one table.

    Attributes:
        base: the trials that relative differences are parts of.
        common: the trials that both have, with their ``differences`` in parts of ``size``.
    """

    first: Trials
    second: Trials
    base: Trials
    common: Sequence[Hashable]
    differences: Floats
    size: float


def _table_verdict(table: _OneTable, metric: Metric, margin: float, reach: float) -> Verdict:
    """The verdict on one table: from rows and fits, or by the resampled t-test if a prediction was not kept."""
    first, second, base, common, differences, size = table
    if len(common) < FEWEST:
        return no_verdict(differences)
    tested: list[list[RowsOfTrial]] = []
    for trial in common:
        known = [each.rows[trial] for each in (first, second, base) if trial in each.rows]
        if len(known) == 3 and _are_same_rows(known):
            tested.append(known)
    # A pair of which one trial lacks its predictions would be judged on fewer trials than its difference.
    if len(tested) == len(common):
        ones, others, bases = zip(*tested, strict=True)
        return judge_trials(ones, others, metric, first.split, size=size, margin=margin, bases=bases, reach=reach)
    # The resampled t-test takes the error from test sets that differ, and these do not.
    if first.split.name in FIXED_SPLITS:
        return no_verdict(differences, NOT_KEPT)
    return judge(
        differences[None],
        margin=margin,
        test_to_train=first.test_to_train,
        n_test=first.n_test,
        width=reach * _width(metric),
    )


def _width(metric: Metric) -> float:
    """The largest difference that a metric can have."""
    lowest, highest = metric.bounds
    return highest - lowest


def _bounds_of_differences(table: _OneTable, metric: Metric, reach: float) -> tuple[float, float]:
    """The least and the largest difference that a metric can have."""
    width = reach * _width(metric)
    # What is never below zero cannot fall by more than all of the reference's value.
    if metric.is_relative and metric.bounds[0] >= 0 and table.base is table.second:
        return (-1.0, width) if metric.higher_is_better else (-width, 1.0)
    return -width, width


def _verdict_within(verdict: Verdict, bounds: tuple[float, float]) -> Verdict:
    """A verdict on one table whose intervals of every coverage end at these bounds; its error stays as it is."""
    if verdict.ends is None:
        return verdict
    _, low, high = _cut(verdict.interval, bounds)
    return replace(verdict, low=low, high=high, ends=partial(_cut_ends, verdict.ends, bounds))


def _cut_ends(ends: Ends, bounds: tuple[float, float], *, level: float) -> Interval:
    return _cut(ends(level=level), bounds)


def _cut(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """An interval that ends at these bounds; NaN where it has no ends."""
    lowest, highest = bounds
    return interval._replace(low=max(interval.low, lowest), high=min(interval.high, highest))
