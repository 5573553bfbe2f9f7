"""Trials of competitors, and what is known of them: the level of one, the difference of two, and sums of several.

A level and a difference have one kind of estimate, of results of any library and of ours alike:

- **With predictions** its error is that of the rows and of the fits, see `rows_and_fits`.
- **Without predictions** it is that of the corrected resampled t-test (Nadeau and Bengio 2003, DOI
  10.1023/A:1024068626366), which is also the posterior of the Bayesian correlated t-test (Corani and Benavoli 2015, DOI
  10.1007/s10994-015-5486-z). Its interval is about a third wider.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from ..intervals import FEWEST, FIXED_SPLITS, TEST_TO_TRAIN, Interval, are_equal, level_interval, student_quantile
from ..intervals import unseen as unseen_share
from ..metrics import Floats, Labels, Metric
from .influence import added_values, row_values
from .rows_and_fits import NOTHING, ErrorParts, Integers, error_parts, units_of, unseen_values

Basis = Literal["rows and fits", "resampled t-test", "sign test", "none"]
NOT_KEPT = "all trials share their test rows, and their predictions, from which the error would be known, were not kept"
PRIME = 1_000_003


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


class Estimate(NamedTuple):
    """A mean over trials of one table, with its error as far as it is known.

    Attributes:
        mean: over trials.
        error: its standard error; NaN if it is unknown.
        freedom: degrees of freedom of the error.
        basis: where the error is from; ``none`` if it is unknown.
        parts: of the error, if the predictions are known.
        reason: why the error is unknown, if it is another than too few trials.
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
        tested = [self.rows[trial] for trial in self.values if trial in self.rows]
        # With predictions of some trials alone the error would be that of fewer trials than the mean.
        if len(tested) == n:
            units = units_of([trial.rows for trial in tested], [trial.codes for trial in tested], self.split)
            unseen = NOTHING
            # The rule of three counts rows of which each is as likely as another; a block or a group is no such row.
            if self.split not in ("time", "group"):
                unseen = unseen_values([trial.added for trial in tested])
            parts = error_parts([trial.values for trial in tested], units, self.n_trained, unseen)
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
    every, n = [*ones, *others], len(ones)
    trials = [trial for trial in ones[0].values if all(trial in each.values for each in every)]
    values = np.array([[each.values[trial] for trial in trials] for each in every])
    weights = np.repeat([1.0, -1.0], n) * metric.sign * (2 if is_interaction else 1) / n
    offset = 0.0
    measured = weights @ values
    if metric.is_relative and trials:
        # The mean that the difference is a part of.
        shares = np.repeat([0.5, 0.5] if is_interaction else [0.0, 1.0], n) / n
        size = abs(float((shares @ values).mean())) or 1.0
        measured = measured / size
        # It has an error, too: by the part that it is too large, the difference is too small.
        offset = float(measured.mean())
        weights = (weights - offset * shares) / size
    rows = {}
    for trial in trials:
        tested = [each.rows[trial] for each in every if trial in each.rows]
        if len(tested) < len(every) or not all(np.array_equal(each.rows, tested[0].rows) for each in tested):
            continue
        # Row by row: what both get right, or wrong, cancels, and the error is that of where they differ.
        row_values = weights @ np.array([each.values for each in tested]) + offset
        # A row that one side gets right and the other wrong: right minus wrong, and wrong minus right.
        added = np.array([each.added if place < n else each.added[:, ::-1] for place, each in enumerate(tested)])
        # Copies are rows that all predict alike: one number for the numbers of all. It wraps around.
        codes = np.zeros_like(tested[0].codes)
        for each in tested[:n]:
            codes = codes * PRIME + each.codes
        rows[trial] = RowsOfTrial(tested[0].rows, row_values, np.tensordot(weights, added, 1), codes)
    # A row that is in more training sets moves the values by more, so the most rows of any of them.
    n_trained = max(each.n_trained for each in ones)
    return replace(ones[0], values=dict(zip(trials, measured.tolist(), strict=True)), rows=rows, n_trained=n_trained)
