"""The evidence of a difference: its interval, the levels at which something would be claimed of it, and the answer.

- **One table**: Student's interval around the mean of its trials, with the error that `trials` estimates. The claim is
  about this table.
- **Several tables**: the exact interval of the sign test (Thompson 1936, DOI 10.1214/aoms/1177732502; Conover 1999,
  *Practical Nonparametric Statistics*, chapter 3), which assumes nothing about how gains are distributed: each table
  lies above the median with a chance of at most one half. The claim is about the median one of tables like these. The
  mean over tables hangs on the few that gain most, and has no claim.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..intervals import FEWEST_TABLES, LEVEL, Interval, student_interval, student_quantile
from ..metrics import Floats, Metric
from .answers import ALONE, ENOUGH_TRIALS, MARGIN, SAME, UNDECIDED, Answer, Levels, answer_of
from .looks import Look, level_after, needed_at
from .rows_and_fits import ErrorParts
from .trials import Basis, Trials

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
    def claim(self) -> str:
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


def judge(tables: Sequence[Trials], metric: Metric, margin: float = MARGIN, *, is_interaction: bool = False) -> Verdict:
    """The verdict on differences of a metric.

    Args:
        tables: the differences on each table that has any, higher is better, see `trials.difference_of`.
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
    # What is never below zero cannot fall by more than all of the reference's value.
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

    >>> found = judge_tables([np.array([gain]) for gain in np.linspace(0.02, 0.05, 12)])
    >>> found.answer, found.claim
    ('helps', 'tables like these')
    """
    from scipy.special import bdtr

    gains = np.round([each.mean() for each in differences], DECIMALS)
    n, average = len(gains), float(gains.mean())
    interval = median, *_ = median_gain(gains)
    known = *interval, *_won_and_lost(gains), min(map(len, differences)), n, average
    if n < FEWEST_TABLES:
        return Verdict(*known, margin=margin, reason=f"an answer over tables needs {FEWEST_TABLES} or more")

    def level(is_beyond: NDArray[np.bool_]) -> float:
        """Twice the chance of so many tables beyond a value, if the median does not lie there. Tables that are equal to
        it speak for neither side."""
        return min(1.0, 2 * float(bdtr(n - int(is_beyond.sum()), n, 0.5)))

    towards = gains if median > 0 else -gains
    # A few tables that gain much may lift the mean, although the median one gains nothing.
    within = max(level(gains < margin), level(gains > -margin)) if abs(average) <= margin else 1.0
    return Verdict(*known, Levels(level(towards > 0), level(towards > margin), within), "sign test", margin)


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


def decided(verdict: Verdict, needed: Levels = ALONE) -> Answer:
    """The answer of a comparison at the levels that its claims need, see `answers.needed_together`.

    Alone, and as the surest of five:

    >>> from scarf_lightning.metrics import metric_named
    >>> gains = [0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.000, 0.036, 0.012, 0.043]
    >>> alone = judge([Trials(dict(enumerate(gains)))], metric_named("accuracy"))
    >>> decided(alone), decided(alone, Levels(0.001, 0.001, 0.001))
    ('helps, size open', 'undecided')
    """
    if verdict.basis == "none" or verdict.has_few_trials or verdict.reason:
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

    What a look has claimed stands, if the difference still has the same sign:

    >>> from scarf_lightning.metrics import metric_named
    >>> gains = [0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, 0.036, 0.02, 0.031, 0.02]
    >>> found = judge([Trials(dict(enumerate(gains)))], metric_named("accuracy"))
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
    numbers = [*(look.trials for look in earlier), trials]
    direction, beyond, within = (level_after(level, numbers) for level in verdict.levels)
    for look in earlier:
        if look.is_gain == is_gain:
            direction = min(direction, look.levels.direction)
        if look.margin == verdict.margin:
            within = min(within, look.levels.within)
            beyond = min(beyond, look.levels.beyond) if look.is_gain == is_gain else beyond
    levels = Levels(direction, beyond, within)
    return replace(verdict, levels=levels, looks=(*earlier, Look(trials, levels, is_gain, verdict.margin)))


def chance_of_answer(verdict: Verdict, trials: int, needed: Levels = ALONE) -> float:
    """The chance that an open comparison has the direction of its difference after so many trials.

    A difference does not stay as it was measured. The true one lies around it by its error. What is measured later lies
    around the true one by a smaller error, and shares what was measured before. So it moves by the difference of both
    variances.

    Args:
        verdict: on one table, whose predictions are known.
        trials: in all.
        needed: levels that the comparison must reach, see `answers.needed_together`.
    """
    from scipy.special import stdtr

    now, level = verdict.parts, needed.direction
    assert now is not None, "without predictions nobody knows how the error falls"
    later = now.expected(trials)
    if verdict.looks:
        level = needed_at(trials, [look.trials for look in verdict.looks], level)
    beyond = abs(verdict.difference) - student_quantile(later.freedom, 1 - level / 2) * later.error
    # An estimate moves by the error that it loses.
    spread = math.sqrt(max(now.error**2 - later.error**2, 0.0))
    return float(stdtr(now.freedom, beyond / spread) if spread else beyond > 0)
