"""Trials of competitors, and the evidence that they give: the level of one, and the verdict on differences.

A level and a difference have one kind of estimate, of results of any library and of ours alike:

- **With predictions** its error is that of the rows and of the fits, see `rows_and_fits`.
- **Without predictions** it is that of the corrected resampled t-test (Nadeau and Bengio 2003, DOI
  10.1023/A:1024068626366), which is also the posterior of the Bayesian correlated t-test (Corani and Benavoli 2015, DOI
  10.1007/s10994-015-5486-z). Its interval is about a third wider.

A verdict is about one table or over several:

- **One table**: Student's interval around the mean of its trials. The claim is about this table.
- **Several tables**: the exact interval of the sign test (Thompson 1936, DOI 10.1214/aoms/1177732502; Conover 1999,
  *Practical Nonparametric Statistics*, chapter 3), which assumes nothing about how gains are distributed: each table
  lies above the median with a chance of at most one half. The claim is about the median one of tables like these. The
  mean over tables hangs on the few that gain most, and has no claim.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..intervals import (
    FEWEST,
    FEWEST_TABLES,
    FIXED_SPLITS,
    LEVEL,
    TEST_TO_TRAIN,
    Interval,
    are_equal,
    level_interval,
    student_interval,
    student_quantile,
    unseen_share,
)
from ..metrics import Floats, Metric
from .answers import MARGIN, Basis, Levels, Verdict
from .rows_and_fits import NOTHING, ErrorParts, RowsOfTrial, error_parts, units_of, unseen_values

NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"
PRIME = 1_000_003
DECIMALS = 12
"""Decimals of a difference; further ones are rounding."""


class Estimate(NamedTuple):
    """A mean over trials of one table, with its error as far as it is known.

    Attributes:
        mean: over trials.
        error: its standard error; NaN if it is unknown.
        freedom: degrees of freedom of the error.
        basis: where the error is from; ``none`` if it is unknown.
        parts: of the error, if the predictions are known.
        reason: why the error is unknown, unless there are too few trials.
    """

    mean: float
    error: float = math.nan
    freedom: float = math.nan
    basis: Basis = "none"
    parts: ErrorParts | None = None
    reason: str = ""


@dataclass(frozen=True)
class Trials:
    """The trials of one competitor on one table, or of a difference of several.

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
        """The mean over trials with its 95 % interval, whose ends are NaN if the error is unknown."""
        return level_interval(*self.estimate()[:3], metric.bounds)

    def estimate(self) -> Estimate:
        """The mean with its error.

        If all values are equal, their spread is zero and says nothing of rows that no trial tested. The interval then
        reaches as far as the largest share of these rows may move the mean, each of them by 1 unless more is known; a
        relative difference is at most 100 %.
        """
        n, mean = len(self.values), self.mean
        if n < FEWEST:
            return Estimate(mean)
        test_rows = [self.rows[trial] for trial in self.values if trial in self.rows]
        # With predictions of some trials alone the error would be that of fewer trials than the mean.
        if len(test_rows) == n:
            units = units_of([trial.rows for trial in test_rows], [trial.codes for trial in test_rows], self.split)
            unseen = NOTHING
            # The rule of three counts rows of which each is as likely as another; a block or a group is no such row.
            if self.split not in ("time", "group"):
                unseen = unseen_values([trial.added for trial in test_rows])
            parts = error_parts([trial.values for trial in test_rows], units, self.n_trained, unseen)
            error = parts.error
            # All trials are as one, because `n_tested` counts the different rows of all of them.
            if parts.reach:
                error = unseen_share(parts.n_tested, 1) * parts.reach / student_quantile(parts.freedom)
            return Estimate(parts.mean, error, parts.freedom, "rows and fits", parts)
        # The resampled t-test takes the error from test sets that differ, and these do not.
        if self.split in FIXED_SPLITS:
            return Estimate(mean, reason=NOT_KEPT)
        values = np.array(list(self.values.values()))
        error = math.sqrt(values.var(ddof=1) * (1 / n + self.test_to_train))
        if are_equal(values):
            error = unseen_share(self.n_test, n) / student_quantile(n - 1)
        return Estimate(mean, error, n - 1, "resampled t-test")


def difference_of(
    ones: Sequence[Trials], others: Sequence[Trials], metric: Metric, *, is_interaction: bool = False
) -> Trials:
    """The improvement of the mean of competitors over that of as many others on one table, by trial and by row, as
    trials of its own. Of a relative metric it is a part of the mean of the others, or of all for an interaction.

    Only trials that all of them have are in it, and only rows that all of them tested.

    >>> from scarf_lightning.metrics import metric_named
    >>> difference_of([Trials({0: 0.5, 1: 1.0})], [Trials({0: 0.25})], metric_named("accuracy")).values
    {0: 0.25}
    """
    competitors, n = [*ones, *others], len(ones)
    trials = [trial for trial in ones[0].values if all(trial in each.values for each in competitors)]
    values = np.array([[each.values[trial] for trial in trials] for each in competitors])
    weights = np.repeat([1.0, -1.0], n) * metric.sign * (2 if is_interaction else 1) / n
    offset = 0.0
    differences = weights @ values
    if metric.is_relative and trials:
        # The mean that the difference is a part of.
        shares = np.repeat([0.5, 0.5] if is_interaction else [0.0, 1.0], n) / n
        size = abs(float((shares @ values).mean())) or 1.0
        differences = differences / size
        # It has an error, too: by the part that it is too large, the difference is too small.
        offset = float(differences.mean())
        weights = (weights - offset * shares) / size
    rows = {}
    for trial in trials:
        row_sets = [each.rows[trial] for each in competitors if trial in each.rows]
        if len(row_sets) < len(competitors) or not all(
            np.array_equal(each.rows, row_sets[0].rows) for each in row_sets
        ):
            continue
        # Row by row: what both get right, or wrong, cancels, and the error is that of where they differ.
        row_values = weights @ np.array([each.values for each in row_sets]) + offset
        # A row that one side gets right and the other wrong: right minus wrong, and wrong minus right.
        added = np.array([each.added if place < n else each.added[:, ::-1] for place, each in enumerate(row_sets)])
        # Copies are rows that all predict alike: one number for the numbers of all. It wraps around.
        codes = np.zeros_like(row_sets[0].codes)
        for each in row_sets[:n]:
            codes = codes * PRIME + each.codes
        rows[trial] = RowsOfTrial(row_sets[0].rows, row_values, np.tensordot(weights, added, 1), codes)
    # A row that is in more training sets moves the values by more, so the most rows of any of them.
    n_trained = max(each.n_trained for each in ones)
    return replace(ones[0], values=dict(zip(trials, differences.tolist(), strict=True)), rows=rows, n_trained=n_trained)


def judge(tables: Sequence[Trials], metric: Metric, margin: float = MARGIN, *, is_interaction: bool = False) -> Verdict:
    """The verdict on differences of a metric.

    Args:
        tables: the differences on each table that has any, higher is better, see `difference_of`.
        metric: of which they are.
        margin: a difference no larger than this is of no practical consequence.
        is_interaction: true for a difference of differences.

    >>> from scarf_lightning.metrics import metric_named
    >>> gains = [0.021, 0.034, 0.030, 0.028, 0.027, 0.031, 0.025, 0.029, 0.033, 0.026]
    >>> judge([Trials(dict(enumerate(gains)))], metric_named("accuracy")).answer
    'helps'
    """
    from scipy.special import stdtr

    values, *others = [np.array(list(table.values.values())) for table in tables]
    if others:
        return judge_tables([values, *others], margin=margin)
    lowest, highest = metric.bounds
    width = (highest - lowest) * (2 if is_interaction else 1)
    bounds = -width, width
    # A metric that is never below zero cannot fall by more than the reference's whole value.
    if metric.is_relative and lowest >= 0 and not is_interaction:
        bounds = (-1.0, width) if metric.higher_is_better else (-width, 1.0)
    mean, error, freedom, basis, parts, reason = tables[0].estimate()

    def level(distance: float) -> float:
        """Twice the chance of an estimate so far from the truth, as either side might have been found; without an error
        there is none."""
        return min(1.0, 2 * float(stdtr(freedom, -distance / error) if error else distance <= 0))

    _, low, high = student_interval(mean, error, freedom, bounds)
    size = abs(mean)
    levels = Levels(level(size), level(size - margin), level(margin - size))
    counts = *_won_and_lost(values), len(values), min(len(values), 1)
    return Verdict(mean, low, high, *counts, mean, levels, basis, margin, parts, reason)


def judge_tables(differences: Sequence[Floats], *, margin: float = MARGIN) -> Verdict:
    """The verdict over several tables.

    Args:
        differences: of paired trials of each table, ``(T,)``, higher is better.
        margin: as in `judge`.

    >>> verdict = judge_tables([np.array([gain]) for gain in np.linspace(0.02, 0.05, 12)])
    >>> verdict.answer, verdict.claim
    ('helps', 'tables like these')
    """
    from scipy.special import bdtr

    gains = np.round([each.mean() for each in differences], DECIMALS)
    n, average = len(gains), gains.mean()
    interval = median, *_ = median_gain(gains)
    fields = *interval, *_won_and_lost(gains), min(map(len, differences)), n, average
    if n < FEWEST_TABLES:
        return Verdict(*fields, margin=margin, reason=f"an answer over tables needs {FEWEST_TABLES} or more")

    def level(is_beyond: NDArray[np.bool_]) -> float:
        """Twice the chance of so many tables beyond a value, if the median does not lie there. Tables that are equal to
        it speak for neither side."""
        return min(1.0, 2 * float(bdtr(n - is_beyond.sum(), n, 0.5)))

    signed_gains = gains if median > 0 else -gains
    # A few tables that gain much may lift the mean, although the median one gains nothing.
    within = max(level(gains < margin), level(gains > -margin)) if abs(average) <= margin else 1.0
    return Verdict(*fields, Levels(level(signed_gains > 0), level(signed_gains > margin), within), "sign test", margin)


def _won_and_lost(differences: Floats) -> tuple[int, int]:
    """Count the differences above zero, and those below."""
    # What cancels but for rounding is neither: 0.3 - 0.1 - 0.2 is -3e-17.
    rounded = np.round(differences, DECIMALS)
    return int((rounded > 0).sum()), int((rounded < 0).sum())


def median_gain(gains: Floats) -> Interval:
    """The median gain of tables ``(D,)``, with the interval of all values that the sign test does not reject.

    It holds the median in 95 % or more with any distribution of gains. With fewer than six tables the ends are NaN.
    Of seven tables the test rejects what all, or none, exceed, and of 17 what at most four, or all but four, do:

    >>> median_gain(np.arange(1.0, 8.0))
    Interval(mean=4.0, low=1.0, high=7.0)
    >>> median_gain(np.arange(1.0, 18.0))
    Interval(mean=9.0, low=5.0, high=13.0)
    """
    from scipy.special import bdtr

    n = len(gains)
    median = float(np.median(gains))
    if n < FEWEST_TABLES:
        return Interval(median, math.nan, math.nan)
    # The gain in this place, from either end, is the first that the test does not reject.
    place = 0
    while bdtr(place, n, 0.5) <= (1 - LEVEL) / 2:
        place += 1
    ordered = np.sort(gains)
    return Interval(median, float(ordered[place - 1]), float(ordered[n - place]))
