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
from typing import Literal, NamedTuple, Protocol

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
from .answers import ALONE, CANNOT_TELL, MARGIN, SAME, Answer, Levels, answer_of, needed_together
from .centres import FEWEST_TABLES, mean_gain, mean_levels, median_gain, median_levels
from .looks import Look, level_at, levels_after
from .rows_and_fits import NOTHING, ErrorParts, Integers, error_parts
from .scores import Floats, mean_of, variance_of

Claim = Literal["this table", "tables like these"]
Tails = Callable[[float], tuple[float, float]]
"""The levels at which a difference is found to be above a value, and below it."""


class Ends(Protocol):
    """The interval of a difference by its coverage."""

    def __call__(self, *, level: float) -> Interval: ...


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
        low, high: the ends of the interval that the answer was read from; NaN where there are too few trials or tables
            for one.
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
        reason: why there is no answer, if it is another than too few trials or tables.
        coverage: of the interval. Beyond 95 % where comparisons are answered together, or were looked at before, so
            that answer and interval say the same.
        ends: the interval of any other coverage; None without an interval.
        looks: that were taken at this comparison, this one with them, by their trials; none if nobody counts them.
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
    reason: str = ""
    coverage: float = LEVEL
    ends: Ends | None = field(default=None, compare=False, repr=False)
    looks: tuple[Look, ...] = ()

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
    mean, error = _resampled(paired, test_to_train, n_test, width)
    return _verdict(
        partial(student_interval, mean, error, n - 1, (-width, width)),
        _student(mean, error, n - 1),
        margin,
        paired,
        trials=n,
        basis="resampled t-test",
        may_be_same=n >= FEWEST_FOR_SAME,
    )


def error_on_table(
    paired: Floats, *, test_to_train: float = TEST_TO_TRAIN, n_test: float = math.inf, width: float = math.inf
) -> float:
    """The `error_of` the verdict that `judge` gives on the paired differences ``(T,)`` of one table.

    Over hundreds of tables nobody reads the verdict on each.

    >>> trials = np.array([0.021, 0.034, 0.030, 0.028])
    >>> error_on_table(trials) == error_of(judge(trials[None]))
    True
    """
    paired = paired[np.isfinite(paired)]
    if len(paired) < FEWEST:
        return math.nan
    mean, error = _resampled(paired, test_to_train, n_test, width)
    _, low, high = student_interval(mean, error, len(paired) - 1, (-width, width))
    return (high - low) / 2 / NORMAL_END


def _resampled(paired: Floats, test_to_train: float, n_test: float, width: float) -> tuple[float, float]:
    """The mean of paired differences, and its standard error in the corrected resampled t-test."""
    n = len(paired)
    error = float(resampled_errors(paired[None], test_to_train)[0])
    # Trials that agree have no spread, and yet rows that none of them tested may differ.
    if are_equal(paired):
        error = _error_of_unseen(unseen_share(n_test, n), n - 1, min(width, 1.0))
    return float(paired.mean()), error


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
    return judge_parts(error_parts(values, units, n_trained, unseen), means, margin=margin, width=width)


def judge_parts(parts: ErrorParts, means: Floats, *, margin: float = MARGIN, width: float = math.inf) -> Verdict:
    """The verdict on one table from the error of its mean difference and the means of its trials, ``(T,)``.

    ``margin`` and ``width`` are as in `judge`.
    """
    error, freedom = rows_error(parts, width)
    return _verdict(
        partial(student_interval, parts.mean, error, freedom, (-width, width)),
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
    >>> found.answer, found.claim
    ('helps', 'tables like these')
    """
    # Trials that cancel but for rounding gain nothing: 0.3 - 0.1 - 0.2 is -3e-17.
    gains = np.round(mean_of(differences), DECIMALS)
    average = mean_gain(gains)
    is_known = len(gains) >= FEWEST_TABLES
    # A few tables that gain much may lift the mean, although the median one gains nothing.
    may_be_same = -margin <= average.low and average.high <= margin
    verdict = _verdict(
        partial(median_gain, gains),
        partial(median_levels, gains),
        margin,
        gains,
        trials=int(np.isfinite(differences).sum(axis=1).min()),
        basis="sign test" if is_known else "none",
        may_be_same=may_be_same,
    )
    return replace(
        verdict,
        datasets=len(gains),
        claim="tables like these",
        average=average,
        p_average=min(1.0, 2 * min(mean_levels(gains, 0.0))),
        reason="" if is_known else f"an answer over tables needs {FEWEST_TABLES} or more",
    )


class Decision(NamedTuple):
    """An answer that may be claimed, and the interval that it was read from.

    Attributes:
        answer: to the comparison.
        interval: that the answer was read from: it excludes zero where a direction is claimed, lies beyond the margin
            where a size is, and within it where there is no practical difference.
        coverage: of the interval.
        needed: the levels that its claims needed to reach, see `answers.needed_together`.
    """

    answer: Answer
    interval: Interval
    coverage: float
    needed: Levels = ALONE


def decided(verdict: Verdict, needed: Levels = ALONE, margin: float = MARGIN) -> Decision:
    """The answer of a comparison at the levels that its claims need, with its interval.

    Args:
        verdict: on the comparison.
        needed: the level of each question, see `answers.needed_together`. A comparison that was looked at before has
            less of it left, see `looks`.
        margin: a difference no larger than this is of no practical consequence.

    Alone, and as the surest of five:

    >>> alone = judge(np.array([[0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025]]))
    >>> decided(alone).answer, round(decided(alone).interval.low, 3)
    ('helps, size open', 0.01)
    >>> of_five = decided(alone, Levels(0.01, 0.01, 0.01))
    >>> of_five.answer, round(of_five.interval.low, 3), of_five.coverage
    ('cannot tell', -0.001, 0.99)
    """
    if verdict.ends is None:
        return Decision(CANNOT_TELL, verdict.interval, LEVEL)
    is_gain = verdict.difference > 0
    read = {}
    for question, level in zip(Levels._fields, needed, strict=True):
        coverage = 1 - level_at(question, level, verdict.looks, is_gain, margin)
        interval = verdict.ends(level=coverage)
        read[question] = Decision(answer_of(interval, margin), interval, coverage)
    # Its level is one where too little is known to claim that nothing differs.
    if read["within"].answer == SAME and verdict.levels.within < 1:
        return read["within"]
    if read["beyond"].answer in ("helps", "hurts"):
        return read["beyond"]
    direction = read["direction"]
    if direction.interval.low > 0:
        return direction._replace(answer="helps, size open")
    if direction.interval.high < 0:
        return direction._replace(answer="hurts, size open")
    # Neither question has an answer, and the wider of both intervals shows that.
    widest = max(direction, read["within"], key=lambda each: each.coverage)
    return widest._replace(answer=CANNOT_TELL)


def decided_together(verdicts: Sequence[Verdict], margin: float = MARGIN, alpha: float = 1 - LEVEL) -> list[Decision]:
    """The answers that may be claimed together, after Holm's correction over all of them, with their intervals.

    >>> trials = np.array([[0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025]])
    >>> alone = judge(trials)
    >>> alone.answer, decided_together([alone] * 5)[0].answer
    ('helps, size open', 'cannot tell')
    """
    levels = [verdict.levels for verdict in verdicts]
    decisions = []
    for verdict, needed in zip(verdicts, needed_together(levels, alpha), strict=True):
        decisions.append(decided(verdict, needed, margin)._replace(needed=needed))
    return decisions


def answers_together(verdicts: Sequence[Verdict], margin: float = MARGIN, alpha: float = 1 - LEVEL) -> list[Answer]:
    """The answers of `decided_together`."""
    return [each.answer for each in decided_together(verdicts, margin, alpha)]


def after_looks(verdict: Verdict, before: Sequence[Look], margin: float = MARGIN) -> Verdict:
    """A verdict whose levels, answer and interval hold after the looks that were taken before, see `looks`.

    >>> trials = np.array([[0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, 0.036, 0.02, 0.031]])
    >>> found = judge(trials)
    >>> found.answer, after_looks(found, [Look(5)]).answer
    ('helps', 'helps, size open')
    """
    # Nothing is claimed without an interval.
    if verdict.ends is None:
        return verdict
    is_gain, trials = verdict.difference > 0, verdict.looked_at
    # A look at more trials than these says nothing of what they may claim.
    earlier = sorted((look for look in before if look.trials < trials), key=lambda look: look.trials)
    levels = levels_after(verdict.levels, trials, is_gain, margin, earlier)
    looked = replace(verdict, levels=levels, looks=(*earlier, Look(trials, levels, is_gain, margin)))
    alone = decided(looked, margin=margin)
    return replace(with_interval(looked, alone), answer=alone.answer)


def with_interval(verdict: Verdict, decision: Decision) -> Verdict:
    """The verdict with the interval of a decision; its own answer stays that of this comparison alone."""
    _, low, high = decision.interval
    return replace(verdict, low=low, high=high, coverage=decision.coverage)


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
    better = _chance(above_zero, below_zero)
    helps = _chance(above_margin, below_margin)
    hurts = _chance(below_loss, above_loss)
    is_known = basis != "none"
    verdict = Verdict(
        CANNOT_TELL,
        *interval,
        # Without an interval nothing may be claimed.
        levels if is_known else Levels(),
        better,
        helps,
        max(1 - helps - hurts, 0.0),
        hurts,
        *_won(values),
        trials,
        1,
        basis=basis,
        parts=parts,
        ends=ends if is_known else None,
    )
    return replace(verdict, answer=decided(verdict, margin=margin).answer)


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
