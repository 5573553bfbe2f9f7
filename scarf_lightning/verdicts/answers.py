"""The six answers, and how an interval, its corrected levels and a margin give one.

Two questions are asked of a difference, and each has its own error rate:

- **Direction**: is there a difference at all? It is claimed if the interval excludes zero.
- **Size**: is the difference larger than the margin, or smaller? It is claimed if the interval lies beyond the margin,
  or within it.

Where several comparisons are answered together, the levels of each question are corrected over all of them (Holm 1979,
www.jstor.org/stable/4615733). In at most 5 % of such families is any direction false, and in at most 5 % any size.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..intervals import LEVEL, Interval
from ..metrics import Floats

Answer = Literal[
    "helps", "helps, size open", "no practical difference", "hurts, size open", "hurts", "undecided"
]  # fmt: skip
UNDECIDED: Answer = "undecided"
SAME: Answer = "no practical difference"

ENOUGH_TRIALS = 10
"""Trials of one table from which on something is claimed of it. The spread of fewer shows the error of fits badly."""
MARGIN = 0.01
"""A difference no larger than this is of no practical consequence."""


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
"""The levels that each claim on a comparison needs which is answered alone."""


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
        n_open -= int(is_claimed)
    return [float(step) for step in steps]


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
