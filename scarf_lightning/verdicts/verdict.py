"""Does it help? One of six answers, from an interval of the difference and a margin.

- **One table, with its predictions**: the error of the mean difference is that of the rows and of the fits, see
  `rows_and_fits`. The claim is about this table.
- **One table, without predictions**: the corrected resampled t-test (Nadeau and Bengio 2003, DOI
  10.1023/A:1024068626366), which is also the posterior of the Bayesian correlated t-test (Corani and Benavoli 2015, DOI
  10.1007/s10994-015-5486-z). Its interval is about a third wider than the one from predictions.
- **Several tables**: the sign test over tables, see `tables`. The claim is about the median one of tables like these;
  the mean over tables has a test of its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from ..intervals import (
    FEWEST,
    LEVEL,
    TEST_TO_TRAIN,
    UNBOUNDED,
    Interval,
    are_equal,
    student_interval,
    student_quantile,
)
from ..intervals import unseen as unseen_share
from .answers import CANNOT_TELL, MARGIN, Answer, Levels, answer_of, corrected
from .centres import FEWEST_TABLES, mean_gain, mean_levels, median_gain, median_levels
from .looks import Look, levels_after
from .over_tables import NextTable, next_table, steadied
from .rows_and_fits import NOTHING, ErrorParts, Integers, error_parts
from .scores import Floats, mean_of, variance_of

Claim = Literal["this table", "tables like these"]
Tails = Callable[[float], tuple[float, float]]
"""The levels at which a difference is found to be above a value, and below it."""
Basis = Literal["rows and fits", "resampled t-test", "sign test", "none"]
FEWEST_FOR_SAME = 10
"""Trials without predictions below which it is not claimed that there is no practical difference."""
DECIMALS = 12
"""Decimals of a table's mean gain; what is behind them is rounding."""
NORMAL_END = 1.96
"""Half of the 95 % interval in standard errors, with many degrees of freedom."""
MOST_FREEDOM = 1e9
"""Degrees of freedom that stand for infinitely many."""


@dataclass(frozen=True)
class Verdict:
    """The evidence of a difference and the answer that it gives. All differences are improvements, on the metric's own
    scale.

    Attributes:
        answer: of this comparison alone, see `answers`. Where several are answered together, see `answers_together`.
        difference: the mean over trials, or the gain of the median table.
        low, high: the ends of its 95 % interval; NaN where there are too few trials or tables for one.
        levels: of what can be claimed.
        better: probability that there is an improvement at all.
        helps, same, hurts: probabilities of lying above, within and below the margin.
        won, lost: trials of the one table, or tables by their mean difference; the others are equal.
        trials: common trials of the one table, or of the table with fewest.
        datasets: tables with a common trial.
        claim: what the answer is about.
        basis: where the interval is from; ``none`` if there is none.
        parts: of the error on one table, if its predictions are known.
        average: over tables, the mean difference with its interval.
        p_average: the level at which the mean over tables is found to differ from zero, two-sided; 1 without one.
        next_table: over tables, what to expect of the next one; None for fewer than six.
        reason: why there is no answer, if it is another than too few trials or tables.
    """

    answer: Answer
    difference: float
    low: float
    high: float
    levels: Levels
    better: float
    helps: float
    same: float
    hurts: float
    won: int
    lost: int
    trials: int
    datasets: int
    claim: Claim = "this table"
    basis: Basis = "none"
    parts: ErrorParts | None = None
    average: Interval = Interval(math.nan, math.nan, math.nan)
    p_average: float = 1.0
    next_table: NextTable | None = None
    reason: str = ""

    @property
    def interval(self) -> Interval:
        """The difference and the ends of its interval."""
        return Interval(self.difference, self.low, self.high)

    @property
    def looked_at(self) -> int:
        """The trials that a look at this verdict is of, on all tables together."""
        return self.trials * self.datasets

    @property
    def tied(self) -> int:
        """The trials of the one table, or the tables, on which neither is better."""
        compared = self.trials if self.claim == "this table" else self.datasets
        return compared - self.won - self.lost


def judge(
    differences: Floats,
    *,
    margin: float = MARGIN,
    test_to_train: float = TEST_TO_TRAIN,
    n_test: float = math.inf,
    width: float = math.inf,
) -> Verdict:
    """The verdict on a competitor beside its reference, from a value a trial.

    Args:
        differences: of paired trials, ``(D, T)`` for D tables, higher is better; NaN where either has no trial.
        margin: a difference no larger than this is of no practical consequence.
        test_to_train: n_test/n_train of the splits.
        n_test: test rows of a trial, see `scarf_lightning.intervals.unseen`.
        width: of the metric's bounds, which no interval leaves.

    >>> trials = np.array([[0.021, 0.034, 0.030, 0.028, 0.027, 0.031, 0.025, 0.029, 0.033, 0.026]])
    >>> judge(trials).answer
    'helps'
    >>> judge(trials - 0.022).answer
    'helps, size open'
    """
    is_tried = np.isfinite(differences).any(axis=1)
    if is_tried.sum() > 1:
        tried = differences[is_tried]
        # The spread of trials alone: a correction for overlap is an upper bound, and would hide how tables differ.
        errors = resampled_errors(tried, 0.0)
        return judge_tables(tried, errors, margin=margin)
    paired = differences[np.isfinite(differences)]
    n = len(paired)
    if n < FEWEST:
        return no_verdict(paired)
    error = float(resampled_errors(paired[None], test_to_train)[0])
    # Trials that agree have no spread, and yet rows that none of them tested may differ.
    if are_equal(paired):
        error = _error_of_unseen(unseen_share(n_test, n), n - 1, min(width, 1.0))
    mean = float(paired.mean())
    return _verdict(
        student_interval(mean, error, n - 1, (-width, width)),
        _student(mean, error, n - 1),
        margin,
        paired,
        trials=n,
        basis="resampled t-test",
        may_be_same=n >= FEWEST_FOR_SAME,
    )


def judge_rows(
    values: Sequence[Floats],
    units: Sequence[Integers],
    *,
    n_trained: float = math.inf,
    unseen: Floats = NOTHING,
    margin: float = MARGIN,
    width: float = math.inf,
    fewest: int = FEWEST,
) -> Verdict:
    """The verdict on one table, from the differences of a competitor and its reference on each test row.

    Args:
        values: of the test rows of each of T trials, ``(n_t,)``, higher is better. See `influence` for metrics that are
            no means over rows.
        units, n_trained, unseen: as `rows_and_fits.error_parts` takes them.
        margin, width: as in `judge`.
        fewest: trials below which there is no interval. The spread of two says nothing of the fits; where the claim is
            about the very fits that were tested, one is enough, and only its rows have a part in the error.

    >>> random = np.random.default_rng(0)
    >>> rows = [random.permutation(200)[:40] for _ in range(10)]
    >>> gain = random.normal(0.03, 0.05, size=200)
    >>> judge_rows([gain[its] for its in rows], rows).answer
    'helps'
    """
    means = np.array([float(each.mean()) for each in values])
    if len(values) < fewest:
        return no_verdict(means)
    parts = error_parts(values, units, n_trained, unseen)
    error, freedom = rows_error(parts, width)
    return _verdict(
        student_interval(parts.mean, error, freedom, (-width, width)),
        _student(parts.mean, error, freedom),
        margin,
        means,
        trials=len(means),
        basis="rows and fits",
        parts=parts,
    )


def judge_tables(differences: Floats, errors: Floats, *, margin: float = MARGIN) -> Verdict:
    """The verdict over several tables.

    Args:
        differences: of paired trials, ``(D, T)`` for D tables, higher is better; NaN where either has no trial.
        errors: the standard error of each table's mean difference, ``(D,)``; NaN where it is unknown.
        margin: as in `judge`.

    >>> found = judge_tables(np.linspace(0.02, 0.05, 12)[:, None], np.full(12, 0.005))
    >>> found.answer, found.claim, found.next_table.n_gain
    ('helps', 'tables like these', 12)
    """
    # Trials that cancel but for rounding gain nothing: 0.3 - 0.1 - 0.2 is -3e-17.
    gains = np.round(mean_of(differences), DECIMALS)
    median, average = median_gain(gains), mean_gain(gains)
    is_known = len(gains) >= FEWEST_TABLES
    # A few tables that gain much may lift the mean, although the median one gains nothing.
    may_be_same = -margin <= average.low and average.high <= margin
    verdict = _verdict(
        median,
        partial(median_levels, gains),
        margin,
        gains,
        trials=int(np.isfinite(differences).sum(axis=1).min()),
        basis="sign test" if is_known else "none",
        may_be_same=may_be_same,
    )
    expected = next_table(gains, steadied(errors), margin) if is_known else None
    return replace(
        verdict,
        datasets=len(gains),
        claim="tables like these",
        average=average,
        p_average=min(1.0, 2 * min(mean_levels(gains, 0.0))),
        next_table=expected,
    )


def answers_together(verdicts: Sequence[Verdict], margin: float = MARGIN, alpha: float = 1 - LEVEL) -> list[Answer]:
    """The answers that may be claimed together, after Holm's correction over all of them.

    >>> trials = np.array([[0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025]])
    >>> alone = judge(trials)
    >>> alone.answer, answers_together([alone] * 5)[0]
    ('helps, size open', 'cannot tell')
    """
    levels = corrected([verdict.levels for verdict in verdicts])
    answers = []
    for verdict, its_levels in zip(verdicts, levels, strict=True):
        answers.append(answer_of(verdict.interval, its_levels, margin, alpha))
    return answers


def after_looks(verdict: Verdict, before: Sequence[Look], margin: float = MARGIN) -> Verdict:
    """A verdict whose levels and answer hold after the looks that were taken before, see `looks`.

    >>> trials = np.array([[0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, 0.036, 0.02, 0.031]])
    >>> found = judge(trials)
    >>> found.answer, after_looks(found, [Look(8), Look(9)]).answer
    ('helps', 'helps, size open')
    """
    # Nothing is claimed without an interval.
    if verdict.basis == "none":
        return verdict
    levels = levels_after(verdict.levels, verdict.looked_at, verdict.difference > 0, margin, before)
    return replace(verdict, levels=levels, answer=answer_of(verdict.interval, levels, margin))


def no_verdict(differences: Floats, reason: str = "") -> Verdict:
    """The mean of paired differences ``(T,)`` on one table, without an interval. ``reason`` says why, unless there are
    too few trials."""
    n = len(differences)
    won, lost = _won(differences)
    return Verdict(
        answer=CANNOT_TELL,
        difference=float(differences.mean()) if n else math.nan,
        low=math.nan,
        high=math.nan,
        levels=Levels(),
        better=math.nan,
        helps=math.nan,
        same=math.nan,
        hurts=math.nan,
        won=won,
        lost=lost,
        trials=n,
        datasets=int(n > 0),
        reason=reason,
    )


def error_of(verdict: Verdict) -> float:
    """The standard error of a verdict on one table; NaN if it has no interval."""
    if verdict.parts is not None:
        return verdict.parts.error
    return (verdict.high - verdict.low) / 2 / NORMAL_END


def resampled_errors(differences: Floats, test_to_train: float) -> Floats:
    """The standard errors of the corrected resampled t-test, of each table's mean difference.

    Args:
        differences: ``(D, T)``, NaN where there is no trial.
        test_to_train: n_test/n_train of the splits.

    Returns:
        ``(D,)``, NaN for fewer than two trials.

    >>> resampled_errors(np.array([[1.0, 3.0]]), 0.5)
    array([1.41421356])
    """
    counts = np.isfinite(differences).sum(axis=1)
    factors = 1 / np.maximum(counts, 1) + test_to_train
    return np.asarray(np.sqrt(variance_of(differences) * factors))


def rows_error(parts: ErrorParts, width: float) -> tuple[float, float]:
    """The standard error from rows and fits, and its degrees of freedom.

    If no value varies, the interval is as wide as the rows that no trial tested may differ. A row of a rare class
    differs by more than another, where each class counts the same.
    """
    freedom = min(parts.freedom, MOST_FREEDOM)
    if parts.varies:
        return parts.error, freedom
    reach = min(width, 1.0) if parts.reach is None else parts.reach
    # As one trial: `n_tested` counts the different rows of all of them already.
    error = _error_of_unseen(unseen_share(parts.n_tested, 1), freedom, reach)
    return error, freedom


def rows_interval(parts: ErrorParts, bounds: tuple[float, float] = UNBOUNDED, *, is_share: bool = False) -> Interval:
    """The 95 % interval of a mean over trials from rows and fits, within its bounds.

    Between two finite bounds the interval is Wilson's (1927, DOI 10.1080/01621459.1927.10502953) for as many rows as
    would give a share this error, which is how shares of samples that are not independent have one (Korn and Graubard
    1998, Survey Methodology 24, 193): the error is that of the value that is tried, and not of the mean, near whose
    bound it would vanish.

    Args:
        parts: of the error.
        bounds: of the metric.
        is_share: true if each row is right or wrong, and counts the same. The rows' part of the error then follows from
            the mean, and few rows that are wrong leave it no less sure.

    All of a hundred rows are right; three more in a hundred may still be wrong:

    >>> rows = [np.arange(100)] * 5
    >>> found = rows_interval(error_parts([np.ones(100)] * 5, rows), (0.0, 1.0))
    >>> round(found.low, 3), found.high
    (0.97, 1.0)
    """
    lowest, highest = bounds
    width = highest - lowest
    if is_share:
        parts = parts.with_sure_rows()
    error, freedom = rows_error(parts, width)
    share = (parts.mean - lowest) / width if math.isfinite(width) else math.nan
    # A mean on a bound is no share of rows that has an error, and neither has one without bounds.
    if not 0 < share < 1 or not error:
        return student_interval(parts.mean, error, freedom, bounds)
    variance = (error / width) ** 2
    n_rows = share * (1 - share) / variance
    # The values whose distance from the share is the quantile times their own error: Wilson's two roots.
    squared = student_quantile(freedom) ** 2 / n_rows
    middle = (share + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    low, high = (lowest + width * end for end in (middle - half, middle + half))
    return Interval(parts.mean, low, high)


def _verdict(
    interval: Interval,
    tails: Tails,
    margin: float,
    values: Floats,
    *,
    trials: int,
    basis: Basis,
    parts: ErrorParts | None = None,
    may_be_same: bool = True,
) -> Verdict:
    """A verdict from an interval and the levels at which the difference is found above and below any value.

    ``values`` are the differences of trials, or of tables. Without ``may_be_same`` it is not claimed that there is
    no practical difference.
    """
    above_zero, below_zero = tails(0.0)
    above_margin, below_margin = tails(margin)
    above_loss, below_loss = tails(-margin)
    # Either side might have been found, so a level is twice the tail.
    levels = Levels(
        direction=min(1.0, 2 * min(above_zero, below_zero)),
        beyond=min(1.0, 2 * (above_margin if interval.mean > 0 else below_loss)),
        # Two one-sided tests: it must lie below the margin and above minus the margin.
        within=min(1.0, 2 * max(below_margin, above_loss)) if may_be_same else 1.0,
    )
    # Without an interval nothing may be claimed.
    if basis == "none":
        levels = Levels()
    better = _chance(above_zero, below_zero)
    helps = _chance(above_margin, below_margin)
    hurts = _chance(below_loss, above_loss)
    return Verdict(
        answer_of(interval, levels, margin),
        *interval,
        levels,
        better,
        helps,
        max(1 - helps - hurts, 0.0),
        hurts,
        *_won(values),
        trials,
        1,
        basis=basis,
        parts=parts,
    )


def _chance(level: float, opposite: float) -> float:
    """The chance that the difference lies on one side of a value, from the levels at which it is found on this side
    and on the opposite one. Where values can tie they add up to more than one, so the chance is the middle of both."""
    return (1 + opposite - level) / 2


def _student(mean: float, error: float, freedom: float) -> Tails:
    """The tails of a difference with Student's t distribution."""

    from scipy.special import stdtr

    def tails(value: float) -> tuple[float, float]:
        # Without an error it is known on which side of the value the difference lies.
        if error == 0:
            return float(mean <= value), float(mean >= value)
        above = float(stdtr(freedom, (value - mean) / error))
        return above, 1 - above

    return tails


def _won(differences: Floats) -> tuple[int, int]:
    """The numbers of differences for the better and for the worse."""
    return int((differences > 0).sum()), int((differences < 0).sum())


def _error_of_unseen(share: float, freedom: float, reach: float) -> float:
    """The error whose 95 % interval reaches as far as the largest share of rows of a kind that no trial tested may move
    the mean, if each of them differs from it by ``reach``; a relative difference is at most 100 %."""
    return share * reach / student_quantile(freedom)
