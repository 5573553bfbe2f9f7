"""Trials of competitors, and what is known of them: the level of one, the difference of two, and sums of several.

All that is shown of a difference or a level is made here, of results of any library and of ours alike.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..intervals import FEWEST, FIXED_SPLITS, TEST_TO_TRAIN, Interval, mean_interval
from ..metrics import Labels, Metric
from .answers import MARGIN, Floats
from .influence import added_values, row_values
from .rows_and_fits import Integers, copies_of_rows, error_parts, rows_interval, units_of_rows, unseen_values
from .verdict import Verdict, judge, judge_rows, judge_tables, no_verdict

NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"
PRIME = 1_000_003
ROUNDING = 1e-9
"""A mean over rows that is farther from the metric of its trial was made of rounded predictions."""
BLOCKS = 10
"""Blocks of rows in the order of time: rows in one block may depend on each other. Ten to thirty suffice (Schmeiser
1982, DOI 10.1287/opre.30.3.556); ten are the longest, and allow most dependence."""
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
    """

    rows: Integers
    values: Floats
    added: Floats
    codes: Integers


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
            values = [trial.values for trial in tested]
            parts = error_parts(values, self.units(tested), self.n_trained, fewest_freedom=FEWEST_FREEDOM)
            # In accuracy each row counts the same; where classes are weighed, their rows have several effects.
            is_share = len(unseen_values(self.added(tested))) == 1
            return rows_interval(parts, metric.bounds, is_share=is_share)._replace(mean=self.mean)
        # The spread of trials that share their test rows does not show the error of these rows.
        if self.split in FIXED_SPLITS:
            return Interval(self.mean, math.nan, math.nan)
        return mean_interval(list(self.values.values()), self.test_to_train, n_test=self.n_test, bounds=metric.bounds)

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
            return units_of_rows(rows, [np.zeros_like(each) for each in rows])
        if self.split != "time":
            return copies_of_rows(rows, [trial.codes for trial in tested])
        # All trials test the same rows, in the order of time.
        block_of = {row: n for n, block in enumerate(np.array_split(rows[0], BLOCKS)) for row in block}
        return [np.array([block_of[row] for row in each]) for each in rows]


def rows_by_metric(
    metrics: Sequence[Metric], predictions: Floats, labels: Labels, rows: Integers
) -> dict[str, RowsOfTrial]:
    """A trial's test rows for each metric that is defined on them, by its name.

    Args:
        metrics, predictions, labels: as `influence.row_values` takes them.
        rows: numbers of the rows in the table, ``(n,)``.
    """
    # Copies in two mini-batches may differ in the last digits of a probability.
    distinct = predictions.astype(np.float16) if predictions.ndim == 2 else predictions
    # Equal codes are how copies are found later, without keeping the predictions.
    codes = np.unique(distinct, axis=0, return_inverse=True)[1].ravel()
    defined = {}
    for metric in metrics:
        values = row_values(metric, predictions, labels)
        if np.isfinite(values).all():
            added = added_values(metric, predictions, labels)
            defined[metric.name] = RowsOfTrial(rows, values, added, codes)
    return defined


def measured(rows: RowsOfTrial, value: float) -> RowsOfTrial:
    """The rows of a trial with values whose mean is the metric that the trial was measured by.

    Predictions of older records are rounded, so that a tie may have another class than it had.
    """
    offset = value - float(rows.values.mean())
    if abs(offset) <= ROUNDING * max(1.0, abs(value)):
        return rows
    return replace(rows, values=rows.values + offset)


def verdict_on(
    sides: Sequence[tuple[Sequence[Trials], Sequence[Trials]]],
    metric: Metric,
    margin: float = MARGIN,
    *,
    is_interaction: bool = False,
) -> Verdict:
    """The verdict on the mean of competitors beside that of others, over all tables with a common trial.

    Args:
        sides: on each table the competitors that are added, and as many that are taken away.
        metric: of their values.
        margin: a difference no larger than this is of no practical consequence.
        is_interaction: true for a difference of differences: the sides are sums of two means.
    """
    found = [difference_of(*side, metric, is_interaction=is_interaction) for side in sides]
    tables = [difference for difference in found if difference.values]
    if len(tables) > 1:
        return judge_tables([np.array(list(table.values.values())) for table in tables], margin=margin)
    if not tables:
        return no_verdict(np.empty(0))
    lowest, highest = metric.bounds
    width = (highest - lowest) * (2 if is_interaction else 1)
    bounds = -width, width
    # What is never below zero cannot fall by more than all of the reference's value.
    if metric.is_relative and lowest >= 0 and not is_interaction:
        bounds = (-1.0, width) if metric.higher_is_better else (-width, 1.0)
    return _table_verdict(tables[0], margin, bounds)


def difference_of(
    ones: Sequence[Trials], others: Sequence[Trials], metric: Metric, *, is_interaction: bool = False
) -> Trials:
    """The improvement of the mean of competitors over that of others on one table, by trial and by row, as trials of
    its own. Of a relative metric it is a part of the mean of the others, or of all for an interaction.

    Only trials that all of them have are in it, and only rows that all of them tested.

    >>> from scarf_lightning.metrics import metric_named
    >>> difference_of([Trials({0: 0.5, 1: 1.0})], [Trials({0: 0.25})], metric_named("accuracy")).values
    {0: 0.25}
    """
    every, n_ones = [*ones, *others], len(ones)
    weight = (2 if is_interaction else 1) / n_ones
    trials = [trial for trial in ones[0].values if all(trial in each.values for each in every)]

    def sides(values: Sequence[Any]) -> tuple[Any, Any, Any]:
        """The weighted sums of both sides, and the mean that relative differences are parts of."""
        one, other = weight * np.sum(values[:n_ones], axis=0), weight * np.sum(values[n_ones:], axis=0)
        return one, other, np.mean(values, axis=0) if is_interaction else other

    one, other, base = sides([[each.values[trial] for trial in trials] for each in every])
    size = (abs(float(base.mean())) or 1.0) if metric.is_relative and trials else 1.0
    values = dict(zip(trials, ((one - other) * metric.sign / size).tolist(), strict=True))
    rows, bases = {}, {}
    for trial in trials:
        tested = [each.rows[trial] for each in every if trial in each.rows]
        if len(tested) < len(every) or not all(np.array_equal(each.rows, tested[0].rows) for each in tested):
            continue
        # Row by row: what both get right, or wrong, cancels, and the error is that of where they differ.
        one, other, bases[trial] = sides([each.values for each in tested])
        right, wrong, _ = sides([each.added for each in tested])
        # A row that one side gets right and the other wrong: right minus wrong, and wrong minus right.
        added = metric.sign * (right - wrong[:, ::-1]) / size
        # Copies are rows that all predict alike: one number for the numbers of all. It wraps around.
        codes = np.zeros_like(tested[0].codes)
        for each in tested[:n_ones]:
            codes = codes * PRIME + each.codes
        rows[trial] = RowsOfTrial(tested[0].rows, metric.sign * (one - other) / size, added, codes)
    if metric.is_relative and rows:
        # The reference's mean has an error, too: by the part that it is too large, the difference is too small.
        mean = float(np.mean([each.values.mean() for each in rows.values()]))
        for trial, each in rows.items():
            rows[trial] = replace(each, values=each.values - mean * (bases[trial] / size - 1))
    # The most rows of any of them, since a row that is in more training sets moves the values by more.
    return replace(ones[0], values=values, rows=rows, n_trained=max(each.n_trained for each in ones))


def _table_verdict(difference: Trials, margin: float, bounds: tuple[float, float]) -> Verdict:
    """The verdict on one table: from rows and fits, or by the resampled t-test if a prediction was not kept."""
    differences = np.array(list(difference.values.values()))
    if len(differences) < FEWEST:
        return no_verdict(differences)
    # With predictions of some trials alone the error would be that of fewer trials than the difference.
    if len(difference.rows) < len(differences):
        # The resampled t-test takes the error from test sets that differ, and these do not.
        if difference.split in FIXED_SPLITS:
            return no_verdict(differences, NOT_KEPT)
        ratio, n_test = difference.test_to_train, difference.n_test
        return judge(differences, margin=margin, test_to_train=ratio, n_test=n_test, bounds=bounds)
    tested = list(difference.rows.values())
    verdict = judge_rows(
        [trial.values for trial in tested],
        difference.units(tested),
        n_trained=difference.n_trained,
        unseen=unseen_values(difference.added(tested)),
        margin=margin,
        bounds=bounds,
    )
    # Trials are won by what was measured, and not by what the error makes of it.
    measured_alone = no_verdict(differences)
    return replace(verdict, won=measured_alone.won, lost=measured_alone.lost)
