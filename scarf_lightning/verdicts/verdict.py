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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol

import numpy as np

from ..intervals import (
    FEWEST,
    FEWEST_TABLES,
    LEVEL,
    TEST_TO_TRAIN,
    UNBOUNDED,
    Interval,
    are_equal,
    student_interval,
    student_quantile,
)
from ..intervals import unseen as unseen_share
from .answers import ALONE, ENOUGH_TRIALS, MARGIN, SAME, UNDECIDED, Answer, Floats, Levels, answer_of, needed_together
from .centres import median_gain, median_levels
from .looks import Look, level_at, levels_after
from .rows_and_fits import NOTHING, ErrorParts, Integers, error_parts, mean_of

Claim = Literal["this table", "tables like these"]
Tails = Callable[[float], tuple[float, float]]
"""The levels at which a difference is found to be above a value, and below it."""


class Ends(Protocol):
    """The interval of a difference by its coverage."""

    def __call__(self, *, level: float) -> Interval: ...


Basis = Literal["rows and fits", "resampled t-test", "sign test", "none"]
DECIMALS = 12
"""Decimals of a table's mean gain; what is behind them is rounding."""
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
        won, lost: trials of the one table, or tables by their mean difference; the others are equal.
        trials: common trials of the one table, or of the table with fewest.
        datasets: tables with a common trial.
        claim: what the answer is about.
        basis: where the interval is from; ``none`` if there is none.
        parts: of the error on one table, if its predictions are known.
        average: over tables, the mean difference; NaN on one.
        reason: why there is no answer, if it is another than too few trials or tables.
        ends: the interval of any coverage, by which the answer is read; None without an interval.
        looks: that were taken at this comparison, this one with them, by their trials; none if nobody counts them.
    """

    answer: Answer
    difference: float
    low: float
    high: float
    levels: Levels
    won: int
    lost: int
    trials: int
    datasets: int
    claim: Claim = "this table"
    basis: Basis = "none"
    parts: ErrorParts | None = None
    average: float = math.nan
    reason: str = ""
    ends: Ends | None = field(default=None, compare=False, repr=False)
    looks: tuple[Look, ...] = ()

    @property
    def interval(self) -> Interval:
        """The difference and the ends of its interval."""
        return Interval(self.difference, self.low, self.high)

    @property
    def has_few_trials(self) -> bool:
        """True for too few trials of one table to claim anything."""
        return self.claim == "this table" and self.trials < ENOUGH_TRIALS

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
    bounds: tuple[float, float] = UNBOUNDED,
) -> Verdict:
    """The verdict on a competitor beside its reference, from a value a trial.

    Args:
        differences: of paired trials of one table, ``(T,)``, higher is better.
        margin: a difference no larger than this is of no practical consequence.
        test_to_train: n_test/n_train of the splits.
        n_test: test rows of a trial, see `scarf_lightning.intervals.unseen`.
        bounds: of differences, which no interval leaves.

    >>> trials = np.array([0.021, 0.034, 0.030, 0.028, 0.027, 0.031, 0.025, 0.029, 0.033, 0.026])
    >>> judge(trials).answer
    'helps'
    >>> judge(trials - 0.022).answer
    'helps, size open'
    """
    n = len(differences)
    if n < FEWEST:
        return no_verdict(differences)
    mean, error = float(differences.mean()), math.sqrt(differences.var(ddof=1) * (1 / n + test_to_train))
    # Trials that agree have no spread, and yet rows that none of them tested may differ.
    if are_equal(differences):
        error = _error_of_unseen(unseen_share(n_test, n), n - 1, min(max(bounds), 1.0))
    return _verdict(
        partial(student_interval, mean, error, n - 1, bounds),
        _student(mean, error, n - 1),
        margin,
        differences,
        trials=n,
        basis="resampled t-test",
    )


def judge_rows(
    values: Sequence[Floats],
    units: Sequence[Integers],
    *,
    n_trained: float = math.inf,
    unseen: Floats = NOTHING,
    margin: float = MARGIN,
    bounds: tuple[float, float] = UNBOUNDED,
) -> Verdict:
    """The verdict on one table, from the differences of a competitor and its reference on each test row.

    Args:
        values: of the test rows of each of T trials, ``(n_t,)``, higher is better. See `influence` for metrics that are
            no means over rows.
        units, n_trained, unseen: as `rows_and_fits.error_parts` takes them.
        margin, bounds: as in `judge`.

    >>> random = np.random.default_rng(0)
    >>> rows = [random.permutation(200)[:40] for _ in range(10)]
    >>> gain = random.normal(0.03, 0.05, size=200)
    >>> judge_rows([gain[its] for its in rows], rows).answer
    'helps'
    """
    means = np.array([float(each.mean()) for each in values])
    if len(values) < FEWEST:
        return no_verdict(means)
    parts = error_parts(values, units, n_trained, unseen)
    error, freedom = rows_error(parts, max(bounds))
    return _verdict(
        partial(student_interval, parts.mean, error, freedom, bounds),
        _student(parts.mean, error, freedom),
        margin,
        means,
        trials=len(means),
        basis="rows and fits",
        parts=parts,
    )


def judge_tables(differences: Floats, *, margin: float = MARGIN) -> Verdict:
    """The verdict over several tables.

    Args:
        differences: of paired trials, ``(D, T)`` for D tables, higher is better; NaN where either has no trial.
        margin: as in `judge`.

    >>> found = judge_tables(np.linspace(0.02, 0.05, 12)[:, None])
    >>> found.answer, found.claim
    ('helps', 'tables like these')
    """
    # Trials that cancel but for rounding gain nothing: 0.3 - 0.1 - 0.2 is -3e-17.
    gains = np.round(mean_of(differences), DECIMALS)
    average = float(gains.mean())
    is_known = len(gains) >= FEWEST_TABLES
    # A few tables that gain much may lift the mean, although the median one gains nothing.
    may_be_same = abs(average) <= margin
    verdict = _verdict(
        partial(median_gain, gains),
        partial(median_levels, gains),
        margin,
        gains,
        trials=int(np.isfinite(differences).sum(axis=1).min()),
        basis="sign test" if is_known else "none",
        may_be_same=may_be_same,
    )
    over_tables = replace(
        verdict,
        datasets=len(gains),
        claim="tables like these",
        average=average,
        reason="" if is_known else f"an answer over tables needs {FEWEST_TABLES} or more",
    )
    return replace(over_tables, answer=decided(over_tables, margin=margin))


def decided(verdict: Verdict, needed: Levels = ALONE, margin: float = MARGIN) -> Answer:
    """The answer of a comparison at the levels that its claims need.

    Args:
        verdict: on the comparison.
        needed: the level of each question, see `answers.needed_together`. A comparison that was looked at before has
            less of it left, see `looks`.
        margin: a difference no larger than this is of no practical consequence.

    Alone, and as the surest of five:

    >>> alone = judge(np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.000, 0.036, 0.012, 0.043]))
    >>> decided(alone), decided(alone, Levels(0.001, 0.001, 0.001))
    ('helps, size open', 'undecided')
    """
    if verdict.ends is None or verdict.has_few_trials:
        return UNDECIDED
    is_gain = verdict.difference > 0
    intervals = {}
    for question, level in zip(Levels._fields, needed, strict=True):
        intervals[question] = verdict.ends(level=1 - level_at(question, level, verdict.looks, is_gain, margin))
    # Its level is one where too little is known to claim that nothing differs.
    if answer_of(intervals["within"], margin) == SAME and verdict.levels.within < 1:
        return SAME
    size = answer_of(intervals["beyond"], margin)
    if size in ("helps", "hurts"):
        return size
    _, low, high = intervals["direction"]
    if low > 0:
        return "helps, size open"
    return "hurts, size open" if high < 0 else UNDECIDED


def answers_together(verdicts: Sequence[Verdict], margin: float = MARGIN, alpha: float = 1 - LEVEL) -> list[Answer]:
    """The answers that may be claimed together, after Holm's correction over all of them.

    >>> trials = np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.000, 0.036, 0.012, 0.043])
    >>> alone = judge(trials)
    >>> alone.answer, answers_together([alone] * 50)[0]
    ('helps, size open', 'undecided')
    """
    needed = needed_together([verdict.levels for verdict in verdicts], alpha)
    return [decided(verdict, its, margin) for verdict, its in zip(verdicts, needed, strict=True)]


def after_looks(verdict: Verdict, before: Sequence[Look], margin: float = MARGIN) -> Verdict:
    """A verdict whose levels, answer and interval hold after the looks that were taken before, see `looks`.

    >>> trials = np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, 0.036, 0.02, 0.031, 0.02])
    >>> found = judge(trials)
    >>> found.answer, after_looks(found, [Look(10)]).answer
    ('helps', 'helps, size open')
    """
    # Where nothing is claimed, a look costs nothing.
    if verdict.ends is None or verdict.has_few_trials:
        return verdict
    is_gain, trials = verdict.difference > 0, verdict.looked_at
    fewest = ENOUGH_TRIALS if verdict.claim == "this table" else 1
    # A look at more trials than these says nothing of what they may claim.
    earlier = sorted((look for look in before if fewest <= look.trials < trials), key=lambda look: look.trials)
    levels = levels_after(verdict.levels, trials, is_gain, margin, earlier)
    looked = replace(verdict, levels=levels, looks=(*earlier, Look(trials, levels, is_gain, margin)))
    return replace(looked, answer=decided(looked, margin=margin))


def no_verdict(differences: Floats, reason: str = "") -> Verdict:
    """The mean of paired differences ``(T,)`` on one table, without an interval. ``reason`` says why, unless there are
    too few trials."""
    n = len(differences)
    won, lost = _won(differences)
    return Verdict(
        answer=UNDECIDED,
        difference=float(differences.mean()) if n else math.nan,
        low=math.nan,
        high=math.nan,
        levels=Levels(),
        won=won,
        lost=lost,
        trials=n,
        datasets=int(n > 0),
        reason=reason,
    )


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


def rows_interval(
    parts: ErrorParts, bounds: tuple[float, float] = UNBOUNDED, *, is_share: bool = False, is_widened: bool = False
) -> Interval:
    """The 95 % interval of a mean over trials from rows and fits, within its bounds.

    Between two finite bounds the interval is Wilson's (1927, DOI 10.1080/01621459.1927.10502953) for as many rows as
    would give a share this error, which is how shares of samples that are not independent have one (Korn and Graubard
    1998, Survey Methodology 24, 193): the error is that of the value that is tried, and not of the mean, near whose
    bound it would vanish.

    Below an upper bound alone it is Student's for the logarithm of the distance from the bound: that of R2 is a sum of
    squares over another, whose errors are skewed.

    Args:
        parts: of the error.
        bounds: of the metric.
        is_share: true if each row is right or wrong, and counts the same. The rows' part of the error then follows from
            the mean, and few rows that are wrong leave it no less sure.
        is_widened: true if rows that no trial tested have a part in the error: the interval is then Student's.

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
    gap = highest - parts.mean
    if lowest == -math.inf and 0 < gap < math.inf:
        reach = student_quantile(freedom) * error / gap
        return Interval(parts.mean, highest - gap * math.exp(reach), highest - gap * math.exp(-reach))
    share = (parts.mean - lowest) / width if math.isfinite(width) else math.nan
    # A mean on a bound is no share of rows that has an error, and neither has one without bounds.
    if not 0 < share < 1 or not error or is_widened:
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
    ends: Ends,
    tails: Tails,
    margin: float,
    values: Floats,
    *,
    trials: int,
    basis: Basis,
    parts: ErrorParts | None = None,
    may_be_same: bool = True,
) -> Verdict:
    """A verdict from its interval of any coverage, and the levels at which the difference is found above and below any
    value.

    ``values`` are the differences of trials, or of tables. Without ``may_be_same`` it is not claimed that there is
    no practical difference.
    """
    interval = ends(level=LEVEL)
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
    is_known = basis != "none"
    verdict = Verdict(
        UNDECIDED,
        *interval,
        # Without an interval nothing may be claimed.
        levels if is_known else Levels(),
        *_won(values),
        trials,
        1,
        basis=basis,
        parts=parts,
        ends=ends if is_known else None,
    )
    return replace(verdict, answer=decided(verdict, margin=margin))


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
