"""The evidence of a difference: its interval, the levels at which something would be claimed of it, and the answer.

- **One table, with its predictions**: the error of the mean difference is that of the rows and of the fits, see
  `rows_and_fits`. The claim is about this table.
- **One table, without predictions**: the corrected resampled t-test (Nadeau and Bengio 2003, DOI
  10.1023/A:1024068626366), which is also the posterior of the Bayesian correlated t-test (Corani and Benavoli 2015, DOI
  10.1007/s10994-015-5486-z). Its interval is about a third wider than the one from predictions.
- **Several tables**: the exact interval of the sign test (Thompson 1936, DOI 10.1214/aoms/1177732502; Conover 1999,
  *Practical Nonparametric Statistics*, chapter 3), which assumes nothing about how gains are distributed: each table
  lies above the median with a chance of at most one half. The claim is about the median one of tables like these. The
  mean over tables hangs on the few that gain most, and has no claim.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
from .answers import ALONE, ENOUGH_TRIALS, MARGIN, SAME, UNDECIDED, Answer, Floats, Levels, answer_of
from .looks import Look, levels_after, needed_at
from .rows_and_fits import NOTHING, ErrorParts, Integers, error_of_unseen, error_parts, rows_error

Claim = Literal["this table", "tables like these"]
Basis = Literal["rows and fits", "resampled t-test", "sign test", "none"]
DECIMALS = 12
"""Decimals of a difference; what is behind them is rounding."""


@dataclass(frozen=True)
class Verdict:
    """The evidence of a difference. All differences are improvements, on the metric's own scale.

    Attributes:
        difference: the mean over trials, or the gain of the median table.
        low, high: the ends of its 95 % interval; NaN where there are too few trials or tables for one.
        won, lost: trials of the one table, or tables by their mean difference; the others are equal.
        trials: common trials of the one table, or of the table with fewest.
        datasets: tables with a common trial.
        average: the mean over trials, or over tables.
        levels: of what can be claimed.
        basis: where the interval is from; ``none`` if there is none.
        margin: a difference no larger than this is of no practical consequence.
        parts: of the error on one table, if its predictions are known.
        reason: why there is no answer, if it is another than too few trials.
        looks: that were taken at this comparison, this one with them, by their trials; none if nobody counts them.
    """

    difference: float
    low: float
    high: float
    won: int
    lost: int
    trials: int
    datasets: int
    average: float
    levels: Levels = Levels()
    basis: Basis = "none"
    margin: float = MARGIN
    parts: ErrorParts | None = None
    reason: str = ""
    looks: tuple[Look, ...] = ()

    @property
    def interval(self) -> Interval:
        """The difference and the ends of its interval."""
        return Interval(self.difference, self.low, self.high)

    @property
    def claim(self) -> Claim:
        """What an answer is about."""
        return "tables like these" if self.datasets > 1 else "this table"

    @property
    def has_few_trials(self) -> bool:
        """True for too few trials of one table to claim anything."""
        return self.datasets < 2 and self.trials < ENOUGH_TRIALS

    @property
    def looked_at(self) -> int:
        """The trials that a look at this verdict is of, on all tables together."""
        return self.trials * self.datasets

    @property
    def answer(self) -> Answer:
        """The answer of this comparison alone."""
        return decided(self)


def decided(verdict: Verdict, needed: Levels = ALONE) -> Answer:
    """The answer of a comparison at the levels that its claims need, see `answers.needed_together`.

    Alone, and as the surest of five:

    >>> alone = judge(np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.000, 0.036, 0.012, 0.043]))
    >>> decided(alone), decided(alone, Levels(0.001, 0.001, 0.001))
    ('helps, size open', 'undecided')
    """
    if verdict.basis == "none" or verdict.has_few_trials:
        return UNDECIDED
    direction, beyond, within = (own <= its for own, its in zip(verdict.levels, needed, strict=True))
    # An earlier look may have claimed what the interval does not show any longer.
    shown = answer_of(verdict.interval, verdict.margin)
    if shown == SAME and within:
        return SAME
    if shown in ("helps", "hurts") and beyond:
        return shown
    if direction and verdict.low > 0:
        return "helps, size open"
    return "hurts, size open" if direction and verdict.high < 0 else UNDECIDED


def after_looks(verdict: Verdict, before: Sequence[Look]) -> Verdict:
    """A verdict whose levels, and so its answer, hold after the looks that were taken before, see `looks`.

    >>> trials = np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, 0.036, 0.02, 0.031, 0.02])
    >>> found = judge(trials)
    >>> found.answer, after_looks(found, [Look(10)]).answer
    ('helps', 'helps, size open')
    """
    # Where nothing is claimed, a look costs nothing.
    if verdict.basis == "none" or verdict.has_few_trials:
        return verdict
    is_gain, trials = verdict.difference > 0, verdict.looked_at
    fewest = ENOUGH_TRIALS if verdict.datasets < 2 else 1
    # A look at more trials than these says nothing of what they may claim.
    earlier = sorted((look for look in before if fewest <= look.trials < trials), key=lambda look: look.trials)
    levels = levels_after(verdict.levels, trials, is_gain, verdict.margin, earlier)
    return replace(verdict, levels=levels, looks=(*earlier, Look(trials, levels, is_gain, verdict.margin)))


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
        error = error_of_unseen(unseen_share(n_test, n), n - 1, min(max(bounds), 1.0))
    return _students(differences, mean, error, n - 1, margin, bounds, "resampled t-test")


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
    return replace(_students(means, parts.mean, error, freedom, margin, bounds, "rows and fits"), parts=parts)


def _students(
    values: Floats,
    mean: float,
    error: float,
    freedom: float,
    margin: float,
    bounds: tuple[float, float],
    basis: Basis,
) -> Verdict:
    """The verdict on the differences of trials by Student's t distribution around their mean."""
    from scipy.special import stdtr

    def tail(distance: float) -> float:
        """The chance of an estimate so far from the truth; without an error there is none."""
        return float(stdtr(freedom, -distance / error)) if error else float(distance <= 0)

    _, low, high = student_interval(mean, error, freedom, bounds)
    size = abs(mean)
    levels = _levels(tail(size), tail(size - margin), tail(margin - size))
    plain = no_verdict(values)
    return replace(plain, difference=mean, low=low, high=high, levels=levels, basis=basis, margin=margin)


def _levels(*tails: float) -> Levels:
    """Levels from their tails: either side might have been found, so a level is twice the tail."""
    return Levels(*(min(1.0, 2 * tail) for tail in tails))


def judge_tables(differences: Sequence[Floats], *, margin: float = MARGIN) -> Verdict:
    """The verdict over several tables.

    Args:
        differences: of paired trials of each table, ``(T,)``, higher is better.
        margin: as in `judge`.

    >>> found = judge_tables([np.array([gain]) for gain in np.linspace(0.02, 0.05, 12)])
    >>> found.answer, found.claim
    ('helps', 'tables like these')
    """
    from scipy.special import bdtr

    gains = np.round([each.mean() for each in differences], DECIMALS)
    n = len(gains)
    median, low, high = median_gain(gains)
    plain = replace(no_verdict(gains), difference=median, low=low, high=high, margin=margin)
    plain = replace(plain, trials=min(map(len, differences)), datasets=n)
    if n < FEWEST_TABLES:
        return replace(plain, reason=f"an answer over tables needs {FEWEST_TABLES} or more")

    def tail(is_beyond: NDArray[np.bool_]) -> float:
        """The chance of so many tables beyond a value, if the median does not lie there. Tables that are equal to it
        speak for neither side."""
        return float(bdtr(n - int(is_beyond.sum()), n, 0.5))

    towards = gains if median > 0 else -gains
    # A few tables that gain much may lift the mean, although the median one gains nothing.
    within = max(tail(gains < margin), tail(gains > -margin)) if abs(plain.average) <= margin else 1.0
    levels = _levels(tail(towards > 0), tail(towards > margin), within)
    return replace(plain, levels=levels, basis="sign test")


def no_verdict(differences: Floats, reason: str = "") -> Verdict:
    """The mean of paired differences ``(T,)`` on one table, without an interval. ``reason`` says why, unless there are
    too few trials."""
    mean = float(differences.mean()) if len(differences) else math.nan
    # What cancels but for rounding is neither: 0.3 - 0.1 - 0.2 is -3e-17.
    signs = np.sign(np.round(differences, DECIMALS))
    won, lost = int((signs > 0).sum()), int((signs < 0).sum())
    n = len(differences)
    return Verdict(mean, math.nan, math.nan, won, lost, n, int(n > 0), mean, reason=reason)


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


def chance_of_answer(verdict: Verdict, trials: int, needed: Levels = ALONE) -> float:
    """The chance that an open comparison has a direction after so many trials, or that it lies within the margin.

    A difference does not stay as it was measured. The true one lies around it by its error. What is measured later lies
    around the true one by a smaller error, and shares what was measured before. So it moves by the difference of both
    variances.

    Args:
        verdict: on one table, whose predictions are known.
        trials: in all.
        needed: levels that the comparison must reach, see `answers.needed_together`.
    """
    from scipy.special import stdtr

    now = verdict.parts
    assert now is not None, "without predictions nobody knows how the error falls"
    later = now.expected(trials)
    # A direction needs a difference beyond the first, and no practical difference one below the second.
    direction = _half(needed.direction, trials, verdict.looks, later)
    within = verdict.margin - _half(needed.within, trials, verdict.looks, later)
    # Where both kinds of answers overlap, every difference has one.
    if direction <= within:
        return 1.0
    # An estimate moves by the error that it loses.
    spread = math.sqrt(max(now.error**2 - later.error**2, 0.0))

    def below(bound: float) -> float:
        """The chance of a difference below the bound."""
        if not spread:
            return float(verdict.difference <= bound)
        return float(stdtr(now.freedom, (bound - verdict.difference) / spread))

    # Neither farther from zero than a direction needs, nor near enough to it.
    left_open = below(direction) - below(-direction)
    if within > 0:
        left_open -= below(within) - below(-within)
    return 1 - left_open


def _half(level: float, trials: int, looks: Sequence[Look], later: ErrorParts) -> float:
    """How far an interval reaches to each side with a later error, at the level that the looks so far leave."""
    left = needed_at(trials, [look.trials for look in looks], level) if looks and level else level
    # No interval is wide enough for a level of zero.
    if not left:
        return math.inf
    return student_quantile(later.freedom, 1 - left / 2) * later.error
