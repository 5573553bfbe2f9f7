"""Gains over tables: the median table and the mean over tables, each with an interval and a test of its own.

The two are different questions. Where three tables in four gain nothing and one gains much, the median table gains
nothing, and the mean gain is large. A test of one of them says nothing of the other.

- **The median table** has the exact interval of the sign test (Thompson 1936, DOI 10.1214/aoms/1177732502; Conover
  1999, *Practical Nonparametric Statistics*, chapter 3). It assumes nothing about how gains are distributed: each table
  lies above the median with a chance of at most one half.
- **The mean** has the interval of the bootstrap-t, which follows skewed gains better than Student's t does (Efron and
  Tibshirani 1993, *An Introduction to the Bootstrap*, chapter 12.5), and is never narrower than Student's. Its levels
  are taken times `UNSEEN`, for the tables that gain most may be missing among those that were tried.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..intervals import LEVEL, Interval, student_quantile
from .scores import Floats

FEWEST_TABLES = 6
"""Tables below which nothing is claimed over tables: five that all gain have a two-sided level of 2 / 2^5 = 6 %."""
FEWEST_DATASETS = 25
"""Datasets below which their mean has no interval. No interval of a mean is right for all distributions (Bahadur and
Savage 1956, DOI 10.1214/aoms/1177728077): where one dataset in four gains, ten miss all of them too often."""
DRAWS = 2000
"""Bootstrap draws of the mean over datasets."""
UNSEEN = 3
"""The factor of the mean's levels. In measured gains two tables of 34 make up half of the mean, and 13 % of the
samples of 34 hold neither of them. No sample shows that, so the bootstrap-t claims a false direction in 7.6 % of them
(1,000 draws); three times its level keeps 5 %."""
LEAST_SPREAD = 0.1
"""The least spread of a bootstrap draw, of that of the gains. A draw of near-ties has hardly any, and its statistic
would run away."""


def median_gain(gains: Floats, *, level: float = LEVEL) -> Interval:
    """The median gain, with the interval of all values that the sign test does not reject.

    Args:
        gains: one a table, ``(D,)``.
        level: coverage, which is reached with any distribution of gains. The ends are NaN with fewer tables than it
            needs: where all n of them gain, the level of the sign test is 2 / 2^n.

    Of seven tables the test rejects what all, or none, exceed, and of 17 what at most four, or all but four, do:

    >>> median_gain(np.arange(1.0, 8.0))
    Interval(mean=4.0, low=1.0, high=7.0)
    >>> median_gain(np.arange(1.0, 18.0))
    Interval(mean=9.0, low=5.0, high=13.0)
    """
    from scipy.special import bdtr

    n = len(gains)
    median = float(np.median(gains))
    rejected = (1 - level) / 2
    # The gain in this place, from either end, is the first that the test does not reject.
    place = 0
    while bdtr(place, n, 0.5) <= rejected:
        place += 1
    # At too strict a level no value is rejected, however far out it lies.
    if n < FEWEST_TABLES or not place:
        return Interval(median, math.nan, math.nan)
    ordered = np.sort(gains)
    return Interval(median, float(ordered[place - 1]), float(ordered[n - place]))


def median_levels(gains: Floats, value: float) -> tuple[float, float]:
    """The levels at which the median gain is found to be above a value, and below it.

    Gains that are equal to the value speak for neither side, so with many of them nothing is found.

    >>> median_levels(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.0)
    (0.015625, 1.0)
    >>> median_levels(np.array([0.0, 0.0, 0.0, 0.0, 5.0, 6.0]), 0.0)
    (0.890625, 1.0)
    """
    from scipy.special import bdtr

    n = len(gains)
    n_above = int((gains > value).sum())
    n_below = int((gains < value).sum())
    # If the median is not above the value, a table is above it with a chance of at most one half.
    return float(bdtr(n - n_above, n, 0.5)), float(bdtr(n - n_below, n, 0.5))


@dataclass(frozen=True)
class Resampled:
    """The bootstrap-t of a mean over tables.

    Attributes:
        mean: of the gains.
        error: its standard error.
        statistics: the distances of the draws' means from the mean in their own standard errors, sorted.
        freedom: degrees of freedom of Student's t, which is right where gains are symmetric.
    """

    mean: float
    error: float
    statistics: Floats
    freedom: int


def resampled(gains: Floats) -> Resampled:
    """The bootstrap-t of the mean of gains ``(D,)`` that are not all equal."""
    n = len(gains)
    spread = float(gains.std(ddof=1))
    # The seed is fixed, so a report that is made again shows the same interval.
    random = np.random.default_rng(0)
    drawn = gains[random.integers(n, size=(DRAWS, n))]
    spreads = np.maximum(drawn.std(axis=1, ddof=1), LEAST_SPREAD * spread)
    mean = float(gains.mean())
    statistics = (drawn.mean(axis=1) - mean) / (spreads / math.sqrt(n))
    return Resampled(mean, spread / math.sqrt(n), np.sort(statistics), n - 1)


def mean_gain(gains: Floats, *, level: float = LEVEL) -> Interval:
    """The mean over tables with its interval of the bootstrap-t, see the module.

    Args:
        gains: one a table, ``(D,)``.
        level: coverage. With fewer than `FEWEST_DATASETS` the ends are NaN.

    >>> mean_gain(np.array([0.01, 0.03]))
    Interval(mean=0.02, low=nan, high=nan)
    >>> mean, low, high = mean_gain(np.linspace(0.0, 0.04, 41))
    >>> round(low, 3), round(high, 3)
    (0.015, 0.025)
    """
    mean = float(gains.mean())
    if len(gains) < FEWEST_DATASETS:
        return Interval(mean, math.nan, math.nan)
    # Equal gains have no scale that a draw could be measured by.
    if not np.ptp(gains):
        return Interval(mean, mean, mean)
    bootstrap = resampled(gains)
    upper_tail = 1 - (1 - level) / 2 / UNSEEN
    low, high = np.quantile(bootstrap.statistics, [1 - upper_tail, upper_tail])
    student = student_quantile(bootstrap.freedom, upper_tail)
    # The statistic has the mean of the draw in it, so its upper quantile limits the true mean from below.
    below = max(float(high), student)
    above = max(-float(low), student)
    return Interval(mean, mean - below * bootstrap.error, mean + above * bootstrap.error)


def mean_levels(gains: Floats, value: float) -> tuple[float, float]:
    """The levels at which the mean is found to be above a value, and below it; 1 for fewer than `FEWEST_DATASETS`.

    >>> above, below = mean_levels(np.linspace(-0.01, 0.05, 41), 0.0)
    >>> above < 0.01, below > 0.99
    (True, True)
    """
    from scipy.special import stdtr

    if len(gains) < FEWEST_DATASETS:
        return 1.0, 1.0
    if not np.ptp(gains):
        mean = float(gains[0])
        return float(mean <= value), float(mean >= value)
    bootstrap = resampled(gains)
    distance = (bootstrap.mean - value) / bootstrap.error
    # The draws, and one more, that lie as far out: no level is zero.
    beyond = DRAWS - int(np.searchsorted(bootstrap.statistics, distance, side="left"))
    before = int(np.searchsorted(bootstrap.statistics, distance, side="right"))
    above = max((beyond + 1) / (DRAWS + 1), float(stdtr(bootstrap.freedom, -distance)))
    below = max((before + 1) / (DRAWS + 1), float(stdtr(bootstrap.freedom, distance)))
    return min(UNSEEN * above, 1.0), min(UNSEEN * below, 1.0)
