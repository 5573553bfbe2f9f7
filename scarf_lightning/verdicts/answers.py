"""The six answers, and how an interval, its corrected levels and a margin give one.

Two questions are asked of a difference, and each has its own error rate:

- **Direction**: is there a difference at all? It is claimed if the interval excludes zero.
- **Size**: is the difference larger than the margin, or smaller? It is claimed if the interval lies beyond the margin,
  or within it.

Where several comparisons are answered together, the levels of each question are corrected over all of them (Holm 1979,
www.jstor.org/stable/4615733). In at most 5 % of such families is any direction false, and in at most 5 % any size.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..intervals import LEVEL, Interval
from .pairs import holm

Answer = Literal[
    "helps", "helps, size open", "no practical difference", "hurts, size open", "hurts", "cannot tell"
]  # fmt: skip
ANSWERS: tuple[Answer, ...] = get_args(Answer)
CANNOT_TELL: Answer = "cannot tell"
HELPING: tuple[Answer, ...] = ("helps", "helps, size open")
"""The answers that claim an improvement."""
HURTING: tuple[Answer, ...] = ("hurts", "hurts, size open")
"""The answers that claim a loss."""

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


class Needed(NamedTuple):
    """The levels that a comparison must reach by itself to be claimed among those it is answered with.

    Attributes:
        direction: of a difference that is not zero.
        within: of a difference within the margin.
    """

    direction: float = 1 - LEVEL
    within: float = 1 - LEVEL


ALONE = Needed()
"""The levels that a comparison needs which is answered alone."""


def needed_together(levels: Sequence[Levels], alpha: float = 1 - LEVEL) -> Needed:
    """The levels that the next claims need, by Holm's procedure: ``alpha`` over the comparisons that are still open.

    Of four comparisons one has a direction, so three share what is left:

    >>> needed_together([Levels(0.001), Levels(0.5), Levels(0.2), Levels(0.6)], alpha=0.06)
    Needed(direction=0.02, within=0.015)
    """
    together = corrected(levels)
    # Holm's procedure shares the level among the claims that are not made yet, so claims that are made cost nothing.
    open_direction = sum(each.direction > alpha for each in together)
    open_within = sum(each.within > alpha for each in together)
    return Needed(alpha / max(open_direction, 1), alpha / max(open_within, 1))


def answer_of(interval: Interval, levels: Levels, margin: float = MARGIN, alpha: float = 1 - LEVEL) -> Answer:
    """The answer that an interval of a difference gives, higher being better.

    Args:
        interval: the difference and the ends of its interval; NaN where there is none.
        levels: corrected over all comparisons that are answered together.
        margin: a difference no larger than this is of no practical consequence.
        alpha: a level above this claims nothing.

    >>> sure = Levels(0.001, 0.001, 0.001)
    >>> answer_of(Interval(0.03, 0.02, 0.04), sure)
    'helps'
    >>> answer_of(Interval(0.02, 0.005, 0.035), sure)
    'helps, size open'
    >>> answer_of(Interval(0.004, 0.001, 0.007), sure)
    'no practical difference'
    >>> answer_of(Interval(0.02, -0.005, 0.045), sure)
    'cannot tell'
    >>> answer_of(Interval(0.03, 0.02, 0.04), Levels(0.06, 0.08, 1.0))  # nothing is left after the correction
    'cannot tell'
    """
    _, low, high = interval
    # First, because a sure gain of 0.4 points has a direction, and yet makes no practical difference.
    if levels.within <= alpha and -margin <= low and high <= margin:
        return "no practical difference"
    # A corrected level may fail where the interval, which is not corrected, is free of zero.
    if levels.direction <= alpha and low > 0:
        is_larger = levels.beyond <= alpha and low > margin
        return "helps" if is_larger else "helps, size open"
    if levels.direction <= alpha and high < 0:
        is_larger = levels.beyond <= alpha and high < -margin
        return "hurts" if is_larger else "hurts, size open"
    return CANNOT_TELL


def corrected(levels: Sequence[Levels]) -> list[Levels]:
    """The levels of comparisons that are answered together, by Holm's procedure over all of them for each question.

    >>> corrected([Levels(0.01, 0.5, 1.0), Levels(0.04, 0.02, 1.0)])
    [Levels(direction=0.02, beyond=0.5, within=1.0), Levels(direction=0.04, beyond=0.04, within=1.0)]
    """
    if not levels:
        return []
    # Each question is a family of its own: a page has 5 % for its directions and 5 % for its sizes.
    each_question = holm(np.array(levels, dtype=np.float64), axis=0)
    return [Levels(*map(float, row)) for row in each_question]
