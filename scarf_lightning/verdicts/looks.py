"""Answers that stay true however often one looks, because the level is spent over the looks that were taken.

The differences after several numbers of trials are a group-sequential test: who looks after each trial, and stops at
the first claim, has as many chances to be wrong as looks. Here each look may claim with what a spending function leaves
it (Lan and DeMets 1983, DOI 10.1093/biomet/70.3.659), so that in at most 5 % of all sequences of looks any direction is
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

An answer that a look has claimed stands at later ones as long as their interval of 95 % still shows it. seqbench (an R
package for benchmarks of machine learning) has the same promise by betting; its bounds hold for any number of looks
without remembering them, and find less.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from ..metrics import Floats
from .answers import Levels

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


@dataclass(frozen=True)
class Look:
    """A look at a comparison.

    Attributes:
        trials: at which it was taken; over tables, of all tables together.
        levels: as they were claimed, after the looks before.
        is_gain: true if the difference was an improvement.
        margin: that the levels beyond and within are about.
    """

    trials: int
    levels: Levels = Levels()
    is_gain: bool = True
    margin: float = math.nan


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
    left = SOON * soon + (1 - SOON) * late
    # What is left after the first look, by the part of it that these trials are due.
    later = 1 - left / left[0]
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
def _left_open(trials: tuple[int, ...], alpha: float) -> _Open:
    """What looks at these numbers of trials, in rising order, leave open. Each look goes on from those before it.

    Looks claim together with a chance of what they have `spent`, if nothing differs and trials have nothing in common
    (Armitage, McPherson and Rowe 1969, DOI 10.2307/2343787).
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    # Without a trial all that is known is that nothing differs.
    if not trials:
        return _Open(0.0, np.zeros(1), np.ones(1))
    before = _left_open(trials[:-1], alpha)
    *_, spent_before, spent_now = [0.0, *spent(trials, alpha)]
    due = spent_now - spent_before
    alike = math.sqrt(trials[-2] / trials[-1]) if len(trials) > 1 else 0.0
    apart = math.sqrt(1 - alike**2)
    # What a difference that was open at the look before becomes at this one.
    centres = alike * before.at

    def crossed(bound: float) -> float:
        beyond = ndtr((-bound - centres) / apart) + ndtr((centres - bound) / apart)
        return float((before.density * beyond).sum())

    # Nothing is left to be claimed by a look whose due is less than what lies beyond all bounds.
    bound = MOST
    if crossed(MOST) < due:
        bound = float(brentq(lambda value: crossed(value) - due, 0.0, MOST))
    points, weights = np.polynomial.legendre.leggauss(NODES)
    at = points * bound
    steps = (at[:, None] - centres) / apart
    kernel = np.exp(-(steps**2) / 2) / (apart * math.sqrt(2 * math.pi))
    return _Open(bound, at, kernel @ before.density * weights * bound)


def needed_at(trials: int, looks: Iterable[int], level: float) -> float:
    """The two-sided level that a further look needs by itself to claim at a level.

    >>> round(needed_at(30, [10], 0.05), 4)
    0.0065
    """
    from scipy.special import ndtr

    return float(2 * ndtr(-_left_open(tuple(sorted({*looks, trials})), level).bound))


@cache
def _needed(looks: tuple[int, ...]) -> list[float]:
    """The level that the last look needs by itself to claim at each of `ALPHAS`."""
    return [needed_at(looks[-1], looks, alpha) for alpha in ALPHAS]


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
    needed = _needed(looks)
    if p >= needed[-1]:
        return 1.0
    # By standard errors, in which bounds bend least.
    distance = float(-ndtri(max(p, 1e-300) / 2))
    distances = -ndtri(np.array(needed) / 2)
    # Beyond the strictest bound that is computed, levels are to each other as they are there.
    if distance >= distances[0]:
        return ALPHAS[0] * p / needed[0]
    return float(np.exp(np.interp(-distance, -distances, np.log(ALPHAS))))
