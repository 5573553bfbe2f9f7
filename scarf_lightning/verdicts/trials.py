"""Trials of competitors, and what is known of them: the level of one, the difference of two, and sums of several.

All that is shown of a difference or a level is made here, of results of any library and of ours alike.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..intervals import FEWEST, FIXED_SPLITS, TEST_TO_TRAIN, Interval, mean_interval
from ..metrics import Labels, Metric
from .answers import MARGIN, Floats
from .influence import added_values, row_values, shown_rows
from .rows_and_fits import Booleans, Integers, copies_of_rows, error_parts, groups_of_rows, unseen_values
from .verdict import Verdict, judge, judge_rows, judge_tables, no_verdict, rows_interval

NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"
PRIME = 1_000_003
ROUNDING = 1e-9
"""A mean over rows that is farther from the metric of its trial was made of rounded predictions."""
BLOCKS = 10
"""Blocks of rows in the order of time: rows in one block may depend on each other. Ten to thirty suffice (Schmeiser
1982, DOI 10.1287/opre.30.3.556); ten are the longest, and allow most dependence."""
FEWEST_OF_ONE_CLASS = 10
"""Trials below which metrics that weigh classes have no interval if `SHARE_OF_ONE_CLASS` of the trials predict one
class for every row. Few trials do not show how often fits do so: of three, three in ten intervals missed the truth."""
SHARE_OF_ONE_CLASS = 1 / 3
FEWEST_FREEDOM = 1 / 3
"""The least part of a trial's spread that counts towards the degrees of freedom of a level, see
`rows_and_fits.FEWEST_FREEDOM`. With the two thirds of a difference, levels of three trials near the bound of a metric
were held in 97 to 99.7 %, with this third in 96 to 98.7 % (release 0.2)."""


@dataclass(frozen=True)
class RowsOfTrial:
    """The test rows of one trial.

    Attributes:
        rows: their numbers in the table, ``(n,)``.
        values: of the metric, see `influence.row_values`, ``(n,)``.
        added: of one more row of each class, see `influence.added_values`, ``(C, 2)``.
        codes: numbers that rows share whose predictions are equal, ``(n,)``.
        one_class: true if one class is predicted for all rows.
        shown: whether a row of each class is right, and whether one is wrong, ``(C, 2)``; none is if not given.
    """

    rows: Integers
    values: Floats
    added: Floats
    codes: Integers
    one_class: bool = False
    shown: Booleans | None = None


@dataclass(frozen=True)
class Trials:
    """The trials of one competitor on one table.

    Attributes:
        values: of the metric, by trial.
        rows: the test rows with their values, by trial; only of trials whose predictions are known.
        split: by which trials draw their rows: ``time`` for rows in the order of time, ``group`` for groups of rows
            that stay together; others are alike.
        n_trained: rows that a trial trains on with their labels; infinite if unknown.
        test_to_train: as `overlap_ratio` gives it; used without predictions.
        n_test: test rows of a trial, infinite if unknown.
    """

    values: Mapping[Hashable, float]
    rows: Mapping[Hashable, RowsOfTrial] = field(default_factory=dict)
    split: str | None = None
    n_trained: float = math.inf
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
        tested = [self.rows[trial] for trial in self.values if trial in self.rows]
        if len(tested) == len(self.values) >= FEWEST:
            return self._level_of_rows(tested, metric)._replace(mean=self.mean)
        # The spread of trials that share their test rows does not show the error of these rows.
        if self.split in FIXED_SPLITS:
            return Interval(self.mean, math.nan, math.nan)
        return mean_interval(list(self.values.values()), self.test_to_train, n_test=self.n_test, bounds=metric.bounds)

    def _level_of_rows(self, tested: Sequence[RowsOfTrial], metric: Metric) -> Interval:
        added = self.added(tested)
        kinds = unseen_values(added)
        # Classes have several effects where they are weighed, as in balanced accuracy, and one in accuracy.
        are_weighed = len(kinds) > 1
        # A fit that predicts one class is no better than guesses, and few trials do not show how often that happens.
        one_class_share = np.mean([trial.one_class for trial in tested])
        if are_weighed and len(tested) < FEWEST_OF_ONE_CLASS and one_class_share >= SHARE_OF_ONE_CLASS:
            return Interval(math.nan, math.nan, math.nan)
        shown = [trial.shown for trial in tested if trial.shown is not None]
        unseen = unseen_values(added, shown=np.any(shown, axis=0) if shown else None)
        values = [trial.values for trial in tested]
        parts = error_parts(values, self.units(tested), self.n_trained, fewest_freedom=FEWEST_FREEDOM)
        # A row that is added widens the interval, as Wilson's for the value that is tried does; both would do it twice.
        return rows_interval(
            parts.with_unseen_rows(unseen), metric.bounds, is_share=len(kinds) == 1, is_widened=len(unseen) > 0
        )

    def added(self, tested: Sequence[RowsOfTrial]) -> list[Floats]:
        """The values of one more row of each class, by trial; NaN where units are groups or blocks of many rows."""
        # The rule of three counts rows of which each is as likely as another; a block or a group is no such row.
        if self.split in ("time", "group"):
            return [np.full_like(trial.added, np.nan) for trial in tested]
        return [trial.added for trial in tested]

    def units(self, tested: Sequence[RowsOfTrial]) -> list[Integers]:
        """The units that rows belong to, by trial: a row with its copies, a block of neighbours in time, or a group."""
        rows = [trial.rows for trial in tested]
        # Rows that depend on each other are one unit; counted one by one, they would make the error too small.
        if self.split == "group":
            return groups_of_rows(rows)
        if self.split != "time":
            return copies_of_rows(rows, [trial.codes for trial in tested])
        # The order of time is that of the trials if all have one, and else the table's.
        is_shared = all(np.array_equal(each, rows[0]) for each in rows)
        ordered = rows[0] if is_shared else np.sort(rows[0])
        order = np.argsort(ordered)
        blocks = np.concatenate([np.full(len(its), n) for n, its in enumerate(np.array_split(ordered, BLOCKS))])
        return [blocks[order[np.searchsorted(ordered, each, sorter=order)]] for each in rows]


def rows_by_metric(
    metrics: Sequence[Metric], predictions: Floats, labels: Labels, rows: Integers
) -> dict[str, RowsOfTrial]:
    """A trial's test rows for each metric that is defined on them, by its name.

    Args:
        metrics, predictions, labels: as `influence.row_values` takes them.
        rows: numbers of the rows in the table, ``(n,)``.
    """
    one_class, distinct = False, predictions
    shown = shown_rows(predictions, labels)
    if predictions.ndim == 2:
        # Copies in two mini-batches may differ in the last digits of a probability.
        distinct = predictions.astype(np.float16)
        one_class = len(np.unique(predictions.argmax(axis=1))) == 1
    # Equal codes are how copies are found later, without keeping the predictions.
    codes = np.unique(distinct, axis=0, return_inverse=True)[1].ravel()
    defined = {}
    for metric in metrics:
        values = row_values(metric, predictions, labels)
        if np.isfinite(values).all():
            added = added_values(metric, predictions, labels)
            defined[metric.name] = RowsOfTrial(rows, values, added, codes, one_class, shown)
    return defined


def measured(rows: RowsOfTrial, value: float) -> RowsOfTrial:
    """The rows of a trial with values whose mean is the metric that the trial was measured by.

    Predictions of older records are rounded, so that a tie may have another class than it had.
    """
    offset = value - float(rows.values.mean())
    if abs(offset) <= ROUNDING * max(1.0, abs(value)):
        return rows
    return replace(rows, values=rows.values + offset)


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
    return replace(first, values=values, rows=rows, n_trained=max(each.n_trained for each in several))


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
    tables: list[tuple[Trials, Trials, Trials]] = []
    differences: list[Floats] = []
    for (first, second), base in zip(pairs, sizes or [second for _, second in pairs], strict=True):
        common = [trial for trial in first.values if trial in second.values]
        if not common:
            continue
        gains = np.array([first.values[trial] - second.values[trial] for trial in common], dtype=np.float64)
        tables.append((first, second, base))
        differences.append(gains * metric.sign / _size(base, common, metric))
    if not tables:
        return no_verdict(np.empty(0))
    if len(tables) == 1:
        return _table_verdict(*tables[0], differences[0], metric, margin, reach)
    # Tables may have different numbers of trials; NaN fills up the shorter ones.
    padded = np.full((len(tables), max(map(len, differences))), np.nan)
    for row, gains in zip(padded, differences, strict=True):
        row[: len(gains)] = gains
    return judge_tables(padded, margin=margin)


def _size(base: Trials, trials: Sequence[Hashable], metric: Metric) -> float:
    """The number that differences are divided by: the mean for relative metrics, unless it is zero, and else one."""
    if not metric.is_relative:
        return 1.0
    return abs(float(np.mean([base.values[trial] for trial in trials]))) or 1.0


def _table_verdict(
    first: Trials, second: Trials, base: Trials, differences: Floats, metric: Metric, margin: float, reach: float
) -> Verdict:
    """The verdict on one table: from rows and fits, or by the resampled t-test if a prediction was not kept."""
    if len(differences) < FEWEST:
        return no_verdict(differences)
    lowest, highest = metric.bounds
    width = reach * (highest - lowest)
    bounds = -width, width
    # What is never below zero cannot fall by more than all of the reference's value.
    if metric.is_relative and lowest >= 0 and base is second:
        bounds = (-1.0, width) if metric.higher_is_better else (-width, 1.0)
    common = [trial for trial in first.values if trial in second.values]
    tested: list[list[RowsOfTrial]] = []
    for trial in common:
        known = [each.rows[trial] for each in (first, second, base) if trial in each.rows]
        if len(known) == 3 and _are_same_rows(known):
            tested.append(known)
    # A pair of which one trial lacks its predictions would be judged on fewer trials than its difference.
    if len(tested) == len(common):
        return _rows_verdict(first, tested, metric, _size(base, common, metric), margin, bounds)
    # The resampled t-test takes the error from test sets that differ, and these do not.
    if first.split in FIXED_SPLITS:
        return no_verdict(differences, NOT_KEPT)
    ratio, n_test = first.test_to_train, first.n_test
    return judge(differences, margin=margin, test_to_train=ratio, n_test=n_test, bounds=bounds)


def _rows_verdict(
    first: Trials,
    tested: Sequence[Sequence[RowsOfTrial]],
    metric: Metric,
    size: float,
    margin: float,
    bounds: tuple[float, float],
) -> Verdict:
    """The verdict on one table from the rows of a competitor, its reference and the base of relative differences."""
    ones, others, bases = zip(*tested, strict=True)
    # Row by row: what both get right, or wrong, cancels, and the error is that of where they differ.
    differences = [metric.sign * (one.values - other.values) / size for one, other, _ in tested]
    # Before relative differences are changed below.
    means = np.array([row_differences.mean() for row_differences in differences])
    if metric.is_relative:
        # The reference's mean has an error, too: by the part that it is too large, the difference is too small.
        for row_differences, base in zip(differences, bases, strict=True):
            row_differences -= float(means.mean()) * (base.values / size - 1)
    verdict = judge_rows(
        differences,
        first.units(ones),
        n_trained=first.n_trained,
        unseen=metric.sign * unseen_values(first.added(ones), first.added(others)) / size,
        margin=margin,
        bounds=bounds,
    )
    # Trials are won by what was measured, and not by what the error makes of it.
    return replace(verdict, won=int((means > 0).sum()), lost=int((means < 0).sum()))
