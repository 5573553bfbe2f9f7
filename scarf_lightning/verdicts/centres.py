"""Gains over tables: the median table, with an interval and a test.

It has the exact interval of the sign test (Thompson 1936, DOI 10.1214/aoms/1177732502; Conover 1999, *Practical
Nonparametric Statistics*, chapter 3), which assumes nothing about how gains are distributed: each table lies above the
median with a chance of at most one half. The mean over tables hangs on the few that gain most, and has no test.
"""

import math

import numpy as np

from ..intervals import FEWEST_TABLES, LEVEL, Interval
from .answers import Floats


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
