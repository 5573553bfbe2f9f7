"""The interval of a mean over tables, and the tables that lie outside the others."""

import math

import numpy as np
from numpy.typing import NDArray

from ..intervals import FEWEST, Interval, student_quantile
from .scores import Floats

FEWEST_DATASETS = 25
"""Datasets below which their mean has no interval. No interval of a mean is right for all distributions (Bahadur and
Savage 1956, DOI 10.1214/aoms/1177728077): where one dataset in four gains, ten miss all of them too often."""
DRAWS = 2000
"""Bootstrap draws of the mean over datasets."""


def datasets_interval(means: Floats, *, level: float = 0.95) -> Interval:
    """The mean over datasets with its bootstrap-t interval, which follows skewed gains better than Student's t does.

    Efron and Tibshirani 1993, *An Introduction to the Bootstrap*, chapter 12.5.

    Args:
        means: one a dataset, ``(D,)``.
        level: coverage.

    >>> datasets_interval(np.array([0.01, 0.03]))
    Interval(mean=0.02, low=nan, high=nan)
    >>> mean, low, high = datasets_interval(np.linspace(0.0, 0.04, 41))
    >>> round(low, 3), round(high, 3)
    (0.016, 0.024)
    """
    n = len(means)
    mean = float(means.mean())
    if n < FEWEST_DATASETS:
        return Interval(mean, math.nan, math.nan)
    spread = float(means.std(ddof=1))
    # Equal gains have no scale that a draw could be measured by.
    if spread == 0:
        return Interval(mean, mean, mean)
    error = spread / math.sqrt(n)

    # The seed is fixed, so a report that is made again shows the same interval.
    random = np.random.default_rng(0)
    drawn = means[random.integers(n, size=(DRAWS, n))]
    # A draw of near-ties has hardly any spread, and its statistic would run away.
    spreads = np.maximum(drawn.std(axis=1, ddof=1), 0.1 * spread)
    errors = spreads / math.sqrt(n)
    statistics = (drawn.mean(axis=1) - mean) / errors
    lower_tail = (1 - level) / 2
    upper_tail = (1 + level) / 2
    low, high = np.quantile(statistics, [lower_tail, upper_tail])

    # Never narrower than Student's t, which is right where gains are symmetric.
    student = student_quantile(n - 1, upper_tail)
    # The statistic has the mean of the draw in it, so its upper quantile limits the true mean from below.
    below = max(float(high), student)
    above = max(-float(low), student)
    return Interval(mean, mean - below * error, mean + above * error)


def outlying(means: Floats) -> NDArray[np.bool_]:
    """Outlying datasets: farther than 1.5 interquartile ranges from the quartiles (Tukey 1977).

    >>> outlying(np.array([0.01, 0.02, 0.02, 0.03, 0.03, 0.2]))
    array([False, False, False, False, False,  True])
    """
    # Of fewer datasets the quartiles are those of one or two.
    if len(means) < 2 * FEWEST:
        return np.zeros(len(means), dtype=bool)
    first, third = np.quantile(means, [0.25, 0.75])
    reach = 1.5 * (third - first)
    is_low = means < first - reach
    is_high = means > third + reach
    return np.asarray(is_low | is_high)
