"""Gains over tables: the typical gain and its direction, and what to expect of the next table.

**The typical gain** is the centre of the gains by signed normal scores: the value around which the normal scores of the
distances of both sides add up to the same (Fraser 1957, *Nonparametric Methods in Statistics*; Hodges and Lehmann 1963,
DOI 10.1214/aoms/1177704172). Its test is at least as powerful as Student's t in large samples, whatever symmetric
distribution the gains have (Chernoff and Savage 1958, DOI 10.1214/aoms/1177706436), and one table far out hardly moves
it.

**The next table** is predicted by a hierarchical model: tables' true gains have Student's t distribution around a
centre, and each measured gain has the noise of its own trials (after Corani, Benavoli, Demšar, Mangili and Zaffalon
2017, DOI 10.1007/s10994-017-5641-9). Its posterior is computed on a grid.
"""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..intervals import LEVEL, Interval
from ..metrics import ranks
from .scores import Floats

FEWEST_TABLES = 6
"""Tables below which nothing is claimed over tables: five that all gain have a two-sided level of 2 / 2^5 = 6 %."""
MOST_COUNTED = 12
"""Tables up to which a level is counted over all 2^n signs. For more, the sum of scores is taken as normal."""
ROUNDING = 1e-9

CENTRES, SPREADS = 41, 24
"""Points of the grid for the centre of the true gains and for their spread."""
TAILS = (1.0, 2.0, 4.0, 8.0, 50.0)
"""Degrees of freedom of the true gains on the grid, from some tables far out to a normal distribution."""
COMMON_NOISE = 0.25
"""The part of a table's noise that is taken from all tables, because a few trials show their own badly. Of the parts 0,
0.1, 0.25 and 0.5 it predicted the tables of the study best, each from the others."""
NORMALS = 15
"""Normal distributions of different width that add up to Student's t."""


@dataclass(frozen=True)
class NextTable:
    """Estimate of the true gain on the next table, from the gains of some tables.

    Attributes:
        gains, same, loses: probabilities that it gains more than the margin, differs by no more, and loses more.
        shrunk: the gain of each known table, moved towards the others by its noise, ``(D,)``.
        n_gain, n_same, n_lose: how many known tables gain more than the margin, differ by no more, and lose more, by
            their shrunk gains.
    """

    gains: float
    same: float
    loses: float
    shrunk: tuple[float, ...]
    n_gain: int
    n_same: int
    n_lose: int


def typical_gain(gains: Floats, *, level: float = LEVEL) -> Interval:
    """The typical gain, with the interval of all values that the test of signed normal scores does not reject.

    Args:
        gains: one a table, ``(D,)``.
        level: coverage. With fewer than `FEWEST_TABLES` the ends are NaN.

    >>> typical_gain(np.array([0.01, 0.02, 0.03]))
    Interval(mean=0.02, low=nan, high=nan)
    >>> typical_gain(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
    Interval(mean=4.0, low=2.0, high=6.0)
    """
    # The sum of scores falls as the value grows, by steps at the means of two gains (Hodges and Lehmann).
    first, second = np.triu_indices(len(gains))
    steps = np.unique((gains[first] + gains[second]) / 2)
    # All values between two steps give one sum, because ranks change at steps alone: their middle is tried.
    middles = (steps[1:] + steps[:-1]) / 2
    between = np.concatenate([[steps[0] - 1], middles, [steps[-1] + 1]])

    def sum_of_scores(value: float) -> float:
        return float(_scores(gains - value).sum())

    def first_place(holds: Callable[[float], bool]) -> int:
        # All conditions hold from one value on, so a search by halves needs few of the D^2 / 2 sums.
        return bisect.bisect_left(between, True, key=holds)

    # The sum may be zero between several steps; the centre is the middle of that stretch, as of a median.
    not_above = first_place(lambda value: sum_of_scores(value) <= ROUNDING)
    below = first_place(lambda value: sum_of_scores(value) < -ROUNDING)
    centre = float(steps[not_above - 1] + steps[below - 1]) / 2
    # Five tables cannot reject any value at 5 %, so they have no interval.
    if len(gains) < FEWEST_TABLES:
        return Interval(centre, math.nan, math.nan)

    rejected = (1 - level) / 2

    def is_kept_from_below(value: float) -> bool:
        level_above, _ = one_sided_levels(gains, value)
        return level_above > rejected

    def is_too_high(value: float) -> bool:
        _, level_below = one_sided_levels(gains, value)
        return level_below <= rejected

    # Ends lie on steps, and the step before a value's place is the one below it.
    low = float(steps[first_place(is_kept_from_below) - 1])
    high = float(steps[first_place(is_too_high) - 1])
    return Interval(centre, low, high)


def one_sided_levels(gains: Floats, value: float) -> tuple[float, float]:
    """The levels at which the typical gain is found to be above a value, and below it.

    They are counted over all signs up to `MOST_COUNTED` tables, and are those of a normal distribution beyond. Gains
    that are equal to the value count for neither side, but take part in the ranks (Pratt 1959, DOI
    10.1080/01621459.1959.10501526).

    >>> one_sided_levels(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.0)
    (0.015625, 1.0)
    """
    from scipy.special import ndtr

    scores = _scores(gains - value)
    observed = float(scores.sum())
    if len(gains) <= MOST_COUNTED:
        # If the value is the centre, each sign is as likely as the other, whatever the distances.
        possible = _signs(len(gains)) @ np.abs(scores)
        above = (possible >= observed - ROUNDING).mean()
        below = (possible <= observed + ROUNDING).mean()
        return float(above), float(below)
    # A sum of independent signs times scores has the sum of the squared scores as its variance.
    spread = math.sqrt(float((scores**2).sum()))
    # All gains are equal to the value.
    if spread == 0:
        return 1.0, 1.0
    return float(ndtr(-observed / spread)), float(ndtr(observed / spread))


def next_table(gains: Floats, errors: Floats, margin: float) -> NextTable:
    """Estimate the true gain on a table like these.

    The prior is flat for the centre of the true gains, half-Cauchy for their spread (Gelman 2006, DOI
    10.1214/06-BA117A) with the spread of the measured gains as its scale, and even over `TAILS`.

    Args:
        gains: measured, one a table, ``(D,)``.
        errors: their standard errors, ``(D,)``.
        margin: a difference no larger than this is of no practical consequence.

    Sure gains of one to three points: the next table will most likely gain more than a point, too.

    >>> found = next_table(np.linspace(0.01, 0.03, 9), np.full(9, 1e-4), margin=0.01)
    >>> round(found.gains, 1), round(found.loses, 2)
    (0.9, 0.01)
    """
    from scipy.special import ndtr

    scale = max(float(gains.std(ddof=1)), ROUNDING)
    # Six standard errors of the mean to either side hold nearly all of the posterior of the centre.
    reach = 6 * scale / math.sqrt(len(gains))
    centres = gains.mean() + np.linspace(-reach, reach, CENTRES)
    # True gains may differ far less than measured ones, whose spread has the noise of trials in it.
    spreads = scale * np.geomspace(0.02, 5, SPREADS)
    centre = centres[:, None, None]
    spread = spreads[None, :, None]

    log_posteriors = []
    shrunk_by_tail = []
    for tail in TAILS:
        deviations = spread * _stretches(tail)[:, None, None, None]
        likelihood, shrunk = _likelihoods(gains, errors, centre, deviations)
        # Tables are independent, so their likelihoods are multiplied.
        log_posteriors.append(np.log(likelihood).sum(axis=-1))
        shrunk_by_tail.append(shrunk)

    # Points of the grid are spaced by the logarithm of the spread, so its density is multiplied by the spread.
    prior = spreads / (1 + (spreads / scale) ** 2)
    log_posterior = np.array(log_posteriors) + np.log(prior)
    # The largest is taken out first: products of many densities are beyond the range of floats.
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()

    # Each point of the grid predicts the next gain by the same mixture of normal distributions.
    above, not_below = 0.0, 0.0
    for weights, tail in zip(posterior, TAILS, strict=True):
        for stretch in _stretches(tail):
            deviation = spreads * stretch
            exceeds = ndtr((centres[:, None] - margin) / deviation)
            reaches = ndtr((centres[:, None] + margin) / deviation)
            above += float((weights * exceeds).sum()) / NORMALS
            not_below += float((weights * reaches).sum()) / NORMALS

    # Each known table's gain, averaged over tails, centres and spreads by their posterior.
    true_gains = np.einsum("tcs,tcsd->d", posterior, np.array(shrunk_by_tail))
    n_gain = int((true_gains > margin).sum())
    n_lose = int((true_gains < -margin).sum())
    return NextTable(
        gains=above,
        same=not_below - above,
        loses=1 - not_below,
        shrunk=tuple(true_gains.tolist()),
        n_gain=n_gain,
        n_same=len(gains) - n_gain - n_lose,
        n_lose=n_lose,
    )


def _likelihoods(gains: Floats, errors: Floats, centre: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """The likelihood of each table's gain, and its gain moved towards the centre, at each point of the grid.

    Args:
        gains, errors: of D tables, ``(D,)``.
        centre: of the true gains, ``(centres, 1, 1)``.
        deviations: standard deviations of the mixed normal distributions, ``(NORMALS, 1, spreads, 1)``.

    Returns:
        Both ``(centres, spreads, D)``.
    """
    likelihood: Floats = np.zeros(())
    weighted: Floats = np.zeros(())
    within = errors**2
    for deviation in deviations:
        between = deviation**2
        variance = between + within
        squares = (gains - centre) ** 2
        # A constant factor of all densities cancels in the posterior.
        density = np.exp(-squares / variance / 2) / np.sqrt(variance) / NORMALS
        # The part of its distance that a gain keeps is the part of the variance that lies between tables.
        moved = (gains * between + centre * within) / variance
        likelihood = likelihood + density
        weighted = weighted + density * moved
    # A gain far from a narrow grid point has a density of zero, which has no logarithm.
    likelihood = np.maximum(likelihood, np.finfo(np.float64).tiny)
    return likelihood, weighted / likelihood


def steadied(errors: Floats) -> Floats:
    """Standard errors of tables, each moved towards that of all by `COMMON_NOISE` of its square; unknown ones are that
    of all.

    >>> steadied(np.array([0.01, 0.03, np.nan])).round(3)
    array([0.014, 0.028, 0.022])
    """
    variances = errors**2
    is_known = np.isfinite(variances)
    # Without any error, as of single trials, gains count as measured exactly.
    common = float(variances[is_known].mean()) if is_known.any() else 0.0
    own = np.where(is_known, variances, common)
    return np.sqrt(COMMON_NOISE * common + (1 - COMMON_NOISE) * own)


def _scores(distances: Floats) -> Floats:
    """Signed normal scores: the quantile of half a normal distribution at the rank of the distance from zero."""
    from scipy.special import ndtri

    # Over n + 1, so that the farthest one has a finite score.
    shares = ranks(np.abs(distances)) / (len(distances) + 1)
    return np.asarray(np.sign(distances) * ndtri(0.5 + shares / 2))


@cache
def _signs(n: int) -> Floats:
    """All combinations of n signs, ``(2^n, n)``."""
    # The bits of the numbers below 2^n are all combinations.
    numbers = np.arange(2**n)[:, None]
    bits = numbers >> np.arange(n) & 1
    return np.asarray(1 - 2 * bits, dtype=np.float64)


@cache
def _stretches(tail: float) -> Floats:
    """Widths of normal distributions that add up to Student's t with these degrees of freedom, ``(NORMALS,)``: inverse
    roots of evenly spaced quantiles of a gamma distribution."""
    from scipy.special import gammaincinv

    quantiles = (np.arange(NORMALS) + 0.5) / NORMALS
    # Student's t is a normal distribution whose precision is drawn from a gamma distribution of mean one.
    shape = tail / 2
    precisions = gammaincinv(shape, quantiles) / shape
    return np.asarray(1 / np.sqrt(precisions))
