"""How the verdict on a difference becomes an answer: by its interval, and by the levels that its claims need.

There are two questions about a difference, and each has its own error rate:

- **Direction**: is there a difference at all? It is claimed if the interval excludes zero.
- **Size**: is the difference larger than the margin, or smaller? It is claimed if the interval lies beyond the margin,
  or within it.

Where several comparisons are answered together, the levels of each question are corrected over all of them (Holm 1979,
www.jstor.org/stable/4615733). In at most 5 % of such families is any direction false, and in at most 5 % any size.

**However often one looks**, answers stay true, because the level is spent over the looks that were taken. The
differences after several numbers of trials are a group-sequential test: who looks after each trial, and stops at the
first claim, has as many chances to be wrong as looks. Here each look may claim with what a spending function leaves it
(Lan and DeMets 1983, DOI 10.1093/biomet/70.3.659), so that in at most 5 % of all sequences of looks any direction is
false. The level of a look is its repeated p-value: the level at which the look would just claim (Jennison and Turnbull
1989, DOI 10.1111/j.2517-6161.1989.tb01433.x). Repeated p-values are corrected over comparisons as others are.

- **What the first look spends** depends on its number of trials alone, which nobody chose by the results. With many
  trials it is `FIRST` of the level, so a single look costs next to nothing; with five, those of a first command, it is
  a third. With three it is least, because their spread shows the error of fits badly.
- **Later looks** share what is left by their number of trials: `SOON` of it goes to those at about ten, and the rest to
  those at twenty and thirty, where most differences are found.
- **How alike two looks are**: the difference after s trials and that after n have a correlation of the root of s / n if
  trials have nothing in common. Trials of one table share its rows, which makes looks more alike, and any further look
  cheaper. So this is the safe side, and the bounds need no estimate of the error's parts, which few trials show badly.

An answer that a look has claimed holds at later looks as long as their 95 % interval still shows it. seqbench (an R
package for benchmarks of machine learning) has the same promise by betting; its bounds hold for any number of looks
without remembering them, and find less.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from ..errors import counted
from ..intervals import LEVEL, Interval, student_quantile
from ..metrics import Floats
from .rows_and_fits import ErrorParts

Answer = Literal[
    "helps", "helps, size open", "no practical difference", "hurts, size open", "hurts", "undecided"
]  # fmt: skip
Basis = Literal["rows and fits", "resampled t-test", "sign test", "none"]
"""Where an interval is from."""
UNDECIDED: Answer = "undecided"
SAME: Answer = "no practical difference"

ENOUGH_TRIALS = 10
"""Trials of one table from which on something is claimed of it. The spread of fewer shows the error of fits badly."""
MARGIN = 0.01
"""A difference no larger than this is of no practical consequence."""
FIRST = 0.92
"""The part of the level that a first look at many trials spends."""
HALF_OF_FIRST = 5.4
"""Trials at which a first look spends half of `FIRST`."""
SOON = 0.1
"""The part of what the first look leaves that goes to looks which come soon."""
HALF_OF_SOON, HALF_OF_LATE = 9.0, 23.0
"""Trials at which half of it is spent by looks that come soon, and half of the rest by those that come late."""
STEEPNESS_OF_FIRST, STEEPNESS_OF_REST = 8, 10
"""How steeply the spending rises there: the power p of trials^p / (trials^p + half^p)."""
NODES = 96
"""Points of Gauss and Legendre at which the density of a difference that is still open is known."""
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Levels whose bounds are computed; between them bounds are interpolated."""
MOST = 12.0
"""Standard errors beyond which no bound lies."""


class Levels(NamedTuple):
    """The levels at which something would just be claimed of a difference, two-sided; 1 without an interval.

    Attributes:
        direction: that it is not zero.
        beyond: that it lies beyond the margin, on the side that the estimate is on.
        within: that it lies within the margin, on both sides.
    """

    direction: float = 1.0
    beyond: float = 1.0
    within: float = 1.0


ALONE = Levels(1 - LEVEL, 1 - LEVEL, 1 - LEVEL)
"""The levels that the claims on a comparison need if it is answered alone."""


@dataclass(frozen=True)
class Look:
    """A look at a comparison.

    Attributes:
        trials: the number of trials at the look; over tables, of all tables together.
        levels: of its claims, after the looks before.
        is_gain: true if the difference was an improvement.
        margin: that the levels beyond and within are about.
    """

    trials: int
    levels: Levels = Levels()
    is_gain: bool = True
    margin: float = math.nan


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
        reason: why there is no answer, unless there are too few trials.
        looks: at this comparison, ascending in trials, with this one; none if looks are not counted.
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


class Claim(NamedTuple):
    """The answer of a comparison together with those of its family.

    Attributes:
        verdict: after the looks that were taken before.
        claimed: the answer.
        needed: the levels that it must reach, see `needed_together`.
        why: what a claim lacks that its 95 % interval would make, or any claim with few trials: ``4 comparisons``,
            ``looked at before``, ``5 trials``.
    """

    verdict: Verdict
    claimed: Answer
    needed: Levels
    why: str


def claimed_together(verdicts: Sequence[Verdict], looks: Sequence[Sequence[Look]]) -> list[Claim]:
    """What each comparison of a family may claim, after the earlier looks at it."""
    adjusted_verdicts = [after_looks(verdict, before) for verdict, before in zip(verdicts, looks, strict=True)]
    levels = needed_together([verdict.levels for verdict in adjusted_verdicts])
    claims = []
    for verdict, needed in zip(adjusted_verdicts, levels, strict=True):
        answer, why = decided(verdict, needed), ""
        if answer == UNDECIDED and verdict.basis != "none" and not verdict.reason:
            if verdict.has_few_trials:
                why = counted(verdict.trials, "trial")
            elif verdict.answer != UNDECIDED:
                why = f"{len(adjusted_verdicts)} comparisons"
            elif answer_of(verdict.interval, verdict.margin) != UNDECIDED:
                why = "looked at before" if len(verdict.looks) > 1 else "level kept for later looks"
        claims.append(Claim(verdict, answer, needed, why))
    return claims


def decided(verdict: Verdict, needed: Levels = ALONE) -> Answer:
    """The answer of a comparison at the levels that its claims need, see `needed_together`.

    Alone, and as the surest of five:

    >>> from scarf_lightning.metrics import metric_named
    >>> from scarf_lightning.verdicts import Trials, judge
    >>> gains = [0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.000, 0.036, 0.012, 0.043]
    >>> alone = judge([Trials(dict(enumerate(gains)))], metric_named("accuracy"))
    >>> decided(alone), decided(alone, Levels(0.001, 0.001, 0.001))
    ('helps, size open', 'undecided')
    """
    if verdict.has_few_trials or verdict.reason:
        return UNDECIDED
    direction, beyond, within = (level <= limit for level, limit in zip(verdict.levels, needed, strict=True))
    # An earlier look may have claimed an answer that the interval does not show.
    answer = answer_of(verdict.interval, verdict.margin)
    if answer == SAME and within:
        return SAME
    if answer in ("helps", "hurts") and beyond:
        return answer
    if direction and verdict.low > 0:
        return "helps, size open"
    return "hurts, size open" if direction and verdict.high < 0 else UNDECIDED


def answer_of(interval: Interval, margin: float = MARGIN) -> Answer:
    """The answer that an interval of a difference shows, higher being better.

    Args:
        interval: the difference and the ends of its interval; NaN where there is none.
        margin: a difference no larger than this is of no practical consequence.

    >>> answer_of(Interval(0.03, 0.02, 0.04))
    'helps'
    >>> answer_of(Interval(0.02, 0.005, 0.035))
    'helps, size open'
    >>> answer_of(Interval(0.004, 0.001, 0.007))
    'no practical difference'
    >>> answer_of(Interval(0.02, -0.005, 0.045))
    'undecided'
    """
    _, low, high = interval
    # First, because a sure gain of 0.4 points has a direction, and yet makes no practical difference.
    if -margin <= low and high <= margin:
        return SAME
    if low > 0:
        return "helps" if low > margin else "helps, size open"
    if high < 0:
        return "hurts" if high < -margin else "hurts, size open"
    return UNDECIDED


def needed_together(levels: Sequence[Levels], alpha: float = 1 - LEVEL) -> list[Levels]:
    """The levels at which each of several comparisons is answered, by Holm's procedure for each question.

    The surest of m comparisons is held against ``alpha / m``, the next one against ``alpha / (m - 1)``, up to the first
    that misses its level; this level is that of all which are left. So the answer to a question is that of an interval
    of this level, and more of the same evidence is enough if it reaches it.

    Of three directions one is claimed, so the two others share what is left:

    >>> [each.direction for each in needed_together([Levels(0.001), Levels(0.5), Levels(0.2)], alpha=0.06)]
    [0.02, 0.03, 0.03]
    """
    question_steps = [_steps(question_levels, alpha) for question_levels in np.array(levels, dtype=np.float64).T]
    return [Levels(*each) for each in zip(*question_steps, strict=True)]


def _steps(levels: Floats, alpha: float) -> list[float]:
    """The level that Holm's procedure holds each comparison's own level against."""
    steps = np.empty(len(levels))
    n_open = len(levels)
    is_claimed = True
    for place in np.argsort(levels, kind="stable"):
        steps[place] = alpha / n_open
        # After the first that is not claimed no further one is, and the share of each stays.
        is_claimed = is_claimed and levels[place] <= steps[place]
        n_open -= is_claimed
    return steps.tolist()


def after_looks(verdict: Verdict, before: Sequence[Look]) -> Verdict:
    """A verdict whose levels, and so its answer, hold after the looks that were taken before.

    What a look has claimed holds at later looks if the difference still has the same sign:

    >>> from scarf_lightning.metrics import metric_named
    >>> from scarf_lightning.verdicts import Trials, judge
    >>> gains = [0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, 0.036, 0.02, 0.031, 0.02]
    >>> verdict = judge([Trials(dict(enumerate(gains)))], metric_named("accuracy"))
    >>> verdict.answer, after_looks(verdict, [Look(10)]).answer
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

    A measured difference changes with more trials. The true difference lies around it by its error. A later measurement
    lies around the true difference by a smaller error, and shares the trials before. So it moves by the difference of
    both variances.

    Args:
        verdict: on one table, whose predictions are known.
        trials: in all.
        needed: levels that the comparison must reach, see `needed_together`.
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


def level_after(p: float, trials: Iterable[int]) -> float:
    """The repeated p-value of the last of several looks: the level at which it would just claim.

    Args:
        p: two-sided level of the look by itself.
        trials: of all looks that were taken, this one with them; in any order.

    One look costs next to nothing, and the second of two costs more:

    >>> round(level_after(0.044, [10]), 3), round(level_after(0.044, [10, 20]), 2)
    (0.048, 0.37)
    """
    from scipy.special import ndtri

    looks = tuple(sorted(set(trials)))
    if len(looks) == 1:
        return min(1.0, p / float(spent(looks)[0]))
    levels = _levels_needed(looks)
    if p >= levels[-1]:
        return 1.0
    # By standard errors, in which bounds bend least.
    distance = float(-ndtri(max(p, 1e-300) / 2))
    distances = -ndtri(np.array(levels) / 2)
    # Beyond the strictest bound that is computed, levels are to each other as they are there.
    if distance >= distances[0]:
        return ALPHAS[0] * p / levels[0]
    return float(np.exp(np.interp(-distance, -distances, np.log(ALPHAS))))


@cache
def _levels_needed(looks: tuple[int, ...]) -> list[float]:
    """The level that the last look needs by itself to claim at each of `ALPHAS`."""
    return [needed_at(looks[-1], looks, alpha) for alpha in ALPHAS]


def needed_at(trials: int, looks: Iterable[int], level: float) -> float:
    """The two-sided level that a further look needs by itself to claim at a level.

    >>> round(needed_at(30, [10], 0.05), 4)
    0.0065
    """
    from scipy.special import ndtr

    return float(2 * ndtr(-_open_differences(tuple(sorted({*looks, trials})), level).bound))


def spent(trials: Sequence[int], alpha: float = 1.0) -> Floats:
    """The level that looks at these numbers of trials may have spent, each with those before, ``(K,)``.

    >>> [float(spent([n])[0].round(2)) for n in (3, 5, 10, 30)]
    [0.01, 0.32, 0.91, 0.92]
    >>> spent([5, 10, 20, 30], alpha=0.05).round(4)
    array([0.0161, 0.0186, 0.0256, 0.048 ])
    """
    n = np.asarray(trials, dtype=np.float64)
    first = FIRST / (1 + (HALF_OF_FIRST / n[0]) ** STEEPNESS_OF_FIRST)
    # Parts of thousands of trials are one but for rounding, so it is what they leave that is divided.
    soon, late = (1 / (1 + (n / half) ** STEEPNESS_OF_REST) for half in (HALF_OF_SOON, HALF_OF_LATE))
    remainder = SOON * soon + (1 - SOON) * late
    # The level that the first look leaves, by the part of it that these trials may spend.
    later = 1 - remainder / remainder[0]
    return np.asarray(alpha * (first + (1 - first) * later))


class _Open(NamedTuple):
    """The differences that no look so far has claimed.

    Attributes:
        bound: of the last look.
        at: differences after it in standard errors, those of Gauss and Legendre within its bound.
        density: of a difference there, times its weight.
    """

    bound: float
    at: Floats
    density: Floats


@cache
def _open_differences(trials: tuple[int, ...], alpha: float) -> _Open:
    """The differences that looks at these numbers of trials, in rising order, leave open. Each look goes on from those
    before it.

    Looks claim together with a chance of what they have `spent`, if nothing differs and trials have nothing in common
    (Armitage, McPherson and Rowe 1969, DOI 10.2307/2343787).
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    # Without a trial all that is known is that nothing differs.
    if not trials:
        return _Open(0.0, np.zeros(1), np.ones(1))
    previous = _open_differences(trials[:-1], alpha)
    *_, spent_before, spent_now = [0.0, *spent(trials, alpha)]
    share = spent_now - spent_before
    correlation = math.sqrt(trials[-2] / trials[-1]) if len(trials) > 1 else 0.0
    deviation = math.sqrt(1 - correlation**2)
    # What a difference that was open at the look before becomes at this one.
    centres = correlation * previous.at

    def chance_beyond(bound: float) -> float:
        chances = ndtr((-bound - centres) / deviation) + ndtr((centres - bound) / deviation)
        return float((previous.density * chances).sum())

    # A look can claim nothing if its share of the level is less than the chance beyond all bounds.
    bound = MOST
    if chance_beyond(MOST) < share:
        bound = float(brentq(lambda value: chance_beyond(value) - share, 0.0, MOST))
    points, weights = np.polynomial.legendre.leggauss(NODES)
    at = points * bound
    steps = (at[:, None] - centres) / deviation
    kernel = np.exp(-(steps**2) / 2) / (deviation * math.sqrt(2 * math.pi))
    return _Open(bound, at, kernel @ previous.density * weights * bound)
