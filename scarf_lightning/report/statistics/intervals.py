"""Intervals of means over test rows that trials share, and over datasets."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ...intervals import FEWEST, Interval
from .scores import Floats

FEWEST_DATASETS = 25
"""Datasets below which their mean has no interval. No interval of a mean is right for all distributions (Bahadur and
Savage 1956, DOI 10.1214/aoms/1177728077): where one dataset in four gains, ten miss all of them too often."""
BLOCKS = 10
"""Blocks of rows in the order of time: rows in one block may depend on each other. Ten to thirty suffice (Schmeiser
1982, DOI 10.1287/opre.30.3.556); ten are the longest, and allow most dependence."""
DRAWS = 2000
"""Bootstrap draws of the mean over datasets; a tenth of them for a metric that is no mean over rows."""


def share_of_test(row_values: Floats) -> float:
    """The share of the variance of a trial's value that comes from its test rows.

    Args:
        row_values: a value per trial and test row, ``(T, n)``, each trial on test rows of its own.
    """
    of_rows = float(row_values.var(axis=1, ddof=1).mean()) / row_values.shape[1]
    spread = float(row_values.mean(axis=1).var(ddof=1)) if len(row_values) > 1 else 0.0
    return min(1.0, of_rows / spread) if spread else 1.0


def fixed_error(row_values: Floats, *, in_time: bool = False) -> tuple[float, float]:
    """Standard error of a mean over trials that share their test rows, and its degrees of freedom.

    The error of the test rows and that of the seeds add up. Neighbours in time may depend on each other, so the first
    is taken over blocks of them.

    Args:
        row_values: a value per trial and test row, ``(T, n)``, such as the difference of two correct predictions.
        in_time: whether rows are in the order of time.
    """
    trials, n = row_values.shape
    by_row = row_values.mean(axis=0)
    units = np.array([part.mean() for part in np.array_split(by_row, min(BLOCKS, n))]) if in_time else by_row
    of_rows = float(units.var(ddof=1)) / len(units)
    of_seeds = float(row_values.mean(axis=1).var(ddof=1)) / trials
    return _of_both(of_rows, len(units), of_seeds, trials)


def bootstrapped_error(
    value: Callable[[NDArray[np.int64]], Floats], n: int, *, in_time: bool = False
) -> tuple[float, float]:
    """As `fixed_error`, for a metric that is not a mean over rows: a bootstrap over the n rows, or over blocks of them.
    ``value`` gives the trials' values ``(T,)`` on the drawn rows."""
    random = np.random.default_rng(0)
    blocks = np.array_split(np.arange(n), min(BLOCKS, n) if in_time else n)
    drawn = [
        float(np.nanmean(value(np.concatenate([blocks[i] for i in random.integers(len(blocks), size=len(blocks))]))))
        for _ in range(DRAWS // 10)
    ]
    observed = value(np.arange(n))
    of_rows, of_seeds = float(np.nanvar(drawn, ddof=1)), float(observed.var(ddof=1)) / len(observed)
    return _of_both(of_rows, len(blocks), of_seeds, len(observed))


def _of_both(of_rows: float, n_units: int, of_seeds: float, n_trials: int) -> tuple[float, float]:
    """The standard error of a sum of two parts with these variances, and its degrees of freedom by Satterthwaite."""
    both = of_rows + of_seeds
    freedom = both**2 / (of_rows**2 / (n_units - 1) + of_seeds**2 / (n_trials - 1)) if both else math.inf
    return math.sqrt(both), freedom


def datasets_interval(means: Floats, *, level: float = 0.95) -> Interval:
    """The mean over datasets with its bootstrap-t interval, which follows skewed gains better than Student's t does.

    Efron and Tibshirani 1993, *An Introduction to the Bootstrap*, chapter 12.5.

    Args:
        means: one a dataset, ``(D,)``.
        level: coverage.
    """
    n, mean = len(means), float(means.mean())
    if n < FEWEST_DATASETS:
        return Interval(mean, math.nan, math.nan)
    spread = float(means.std(ddof=1))
    if spread == 0:
        return Interval(mean, mean, mean)
    error = spread / math.sqrt(n)
    student = float(stdtrit(n - 1, (1 + level) / 2))
    drawn = means[np.random.default_rng(0).integers(n, size=(DRAWS, n))]
    errors = np.maximum(drawn.std(axis=1, ddof=1), 0.1 * spread) / math.sqrt(n)  # a draw of near-ties has no scale
    low, high = np.quantile((drawn.mean(axis=1) - mean) / errors, [(1 - level) / 2, (1 + level) / 2])
    # Never narrower than Student's t, which is right where gains are symmetric.
    return Interval(mean, mean - max(float(high), student) * error, mean + max(-float(low), student) * error)


def outlying(means: Floats) -> NDArray[np.bool_]:
    """Which datasets lie outside: farther than 1.5 interquartile ranges from the quartiles (Tukey 1977)."""
    if len(means) < 2 * FEWEST:
        return np.zeros(len(means), dtype=bool)
    first, third = np.quantile(means, [0.25, 0.75])
    reach = 1.5 * (third - first)
    return np.asarray((means < first - reach) | (means > third + reach))
