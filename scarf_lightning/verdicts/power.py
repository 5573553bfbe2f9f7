"""The chance that more trials of one table decide a comparison that is open.

A difference does not stay as it was measured: with more trials it moves by the error that they take away, see
`rows_and_fits.ErrorParts.expected`.
"""

import math
from collections.abc import Sequence

from ..intervals import student_quantile
from .answers import ALONE, MARGIN, Levels
from .looks import needed_at
from .rows_and_fits import ErrorParts


def chance_of_answer(
    trials: int,
    difference: float,
    parts: ErrorParts,
    margin: float = MARGIN,
    needed: Levels = ALONE,
    looks: Sequence[int] = (),
) -> float:
    """The chance that a difference has an answer after so many trials: a direction, or that it lies within the margin.

    The true difference lies around the measured one by its error. What is measured later lies around the true one by
    a smaller error, and shares what was measured before. So it moves by the difference of both variances.

    Args:
        trials: in all.
        difference: as measured.
        parts: of its error.
        margin: a difference no larger than this is of no practical consequence.
        needed: levels that the comparison must reach, see `answers.needed_together`.
        looks: the numbers of trials after which it was looked at, which make a further look stricter.

    >>> parts = ErrorParts(0.02, 0.0, 1e-4, 9, 10, 500, 120, 0.2, True)
    >>> [round(chance_of_answer(trials, 0.02, parts), 2) for trials in (11, 20, 40)]
    [0.34, 0.76, 0.86]
    """
    from scipy.special import stdtr

    later = parts.expected(trials)
    # A direction needs a difference beyond the first, and no practical difference one below the second.
    direction = _half(needed.direction, trials, looks, later)
    within = margin - _half(needed.within, trials, looks, later)
    # Where both kinds of answers overlap, every difference has one.
    if direction <= within:
        return 1.0
    # An estimate moves by the error that it loses.
    spread = math.sqrt(max(parts.error**2 - later.error**2, 0.0))

    def below(bound: float) -> float:
        """The chance of a difference below the bound."""
        if not spread:
            return float(difference <= bound)
        return float(stdtr(parts.freedom, (bound - difference) / spread))

    # Neither farther from zero than a direction needs, nor near enough to it.
    left_open = below(direction) - below(-direction)
    if within > 0:
        left_open -= below(within) - below(-within)
    return 1 - left_open


def _half(level: float, trials: int, looks: Sequence[int], later: ErrorParts) -> float:
    """How far an interval reaches to each side with a later error, at the level that the looks so far leave."""
    left = needed_at(trials, looks, level) if looks and level else level
    # No interval is wide enough for a level of zero.
    if not left:
        return math.inf
    return student_quantile(later.freedom, 1 - left / 2) * later.error
