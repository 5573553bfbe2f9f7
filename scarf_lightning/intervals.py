"""The interval of a mean over trials on one table. The console, the loggers and the report show the same one."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TEST_TO_TRAIN = 2 / 7
"""Test rows over training rows in the paper's splits of 70 % / 10 % / 20 % (section 4)."""
FEWEST = 3
"""Trials below which there is no interval: the spread of two says nothing."""
FEWEST_TABLES = 6
"""Tables below which nothing is claimed over tables: five that all gain have a two-sided level of 2 / 2^5 = 6 %."""
LEVEL = 0.95
UPPER_END = (1 + LEVEL) / 2
"""The probability that a value lies below the upper end of an interval of `LEVEL`."""
TESTS_OF_A_TABLE = 5
"""Splits of the paper's size whose test rows, a fifth each, can all be different ones."""
ROUNDING = 1e-12
SIZES = ("n_test", "n_train", "n_labelled")
"""The columns of results with the rows of a split."""
UNBOUNDED = (-math.inf, math.inf)
FIXED_SPLITS = ("time", "column", "files")
"""Splits in which all trials share their test rows. Their spread does not show the error of these rows."""


class Interval(NamedTuple):
    """A mean and the ends of its interval; NaN where there are too few values for one."""

    mean: float
    low: float
    high: float


def are_few_tables(competitors: Iterable[tuple[str, str]]) -> bool:
    """Tell whether tables are several, and too few for a claim over them. With one competitor a table compares nothing.

    Args:
        competitors: a table and a competitor on it each, in any order.

    >>> are_few_tables([("iris", "scarf"), ("iris", "none"), ("wine", "scarf"), ("wine", "none"), ("wdbc", "none")])
    True
    """
    n_competitors = Counter(table for table, _ in set(competitors))
    return 1 < sum(n > 1 for n in n_competitors.values()) < FEWEST_TABLES


def student_quantile(freedom: float, probability: float = UPPER_END) -> float:
    """The value that Student's t stays below with a probability.

    By default these are the standard errors by which an interval of 95 % reaches to each side of its estimate.

    Args:
        freedom: degrees of freedom, not always a whole number.
        probability: between 0 and 1.

    >>> round(student_quantile(4), 3)
    2.776
    >>> round(student_quantile(4, 0.8), 3)
    0.941
    """
    # The import takes longer than all else that a finished run imports.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def student_interval(
    mean: float,
    error: float,
    freedom: float,
    bounds: tuple[float, float] = UNBOUNDED,
) -> Interval:
    """The interval of Student's t of 95 % around a mean with a standard error, cut at the bounds.

    >>> mean, low, high = student_interval(0.9, 0.05, 4, bounds=(0.0, 1.0))
    >>> round(low, 3), high
    (0.761, 1.0)
    """
    half = student_quantile(freedom) * error
    return Interval(mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def level_interval(mean: float, error: float, freedom: float, bounds: tuple[float, float] = UNBOUNDED) -> Interval:
    """The 95 % interval of a level within its bounds.

    Between two finite bounds it is Wilson's (1927, DOI 10.1080/01621459.1927.10502953) for as many rows as would give a
    share this error, which is how shares of samples that are not independent have one (Korn and Graubard 1998, Survey
    Methodology 24, 193): the error is that of the value that is tried, and not of the mean, near whose bound it would
    vanish. Student's otherwise.

    Nine of ten independent rows are right:

    >>> mean, low, high = level_interval(0.9, math.sqrt(0.9 * 0.1 / 10), math.inf, bounds=(0.0, 1.0))
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    lowest, highest = bounds
    width = highest - lowest
    share = (mean - lowest) / width if math.isfinite(width) else math.nan
    # Wilson's interval needs two finite bounds, a mean strictly between them and a positive error.
    if not 0 < share < 1 or not error > 0:
        return student_interval(mean, error, freedom, bounds)
    n_rows = share * (1 - share) / (error / width) ** 2
    # The values whose distance from the share is the quantile times their own error: Wilson's two roots.
    squared = student_quantile(freedom) ** 2 / n_rows
    middle = (share + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    return Interval(mean, lowest + width * (middle - half), lowest + width * (middle + half))


def overlap_ratio(n_test: float, n_train: float, n_labelled: float | None = None, test_share: float = 1.0) -> float:
    """The part of a trial's variance that more trials do not average away, over the part that they do.

    Trials draw their rows from one table, so they are correlated, and the variance of the mean of T trials is
    s^2 (1 / T + ratio), not s^2 / T. With all labels the ratio is n_test / n_train (Nadeau and Bengio 2003, DOI
    10.1023/A:1024068626366). With few labels, training sets hardly overlap: two random sets of n out of N rows have a
    share n / N in common. The correlation is then that share of the test rows for the part of the variance that comes
    from test rows, and that share of the labelled rows for the rest.

    Args:
        n_test, n_train: rows of a split; training rows with and without a label.
        n_labelled: training rows with a label; all if not given.
        test_share: the part of a trial's variance that comes from its test rows; 1 if unknown.
    """
    if n_labelled is None or n_labelled >= n_train:
        return n_test / n_train
    rows = n_test + n_train
    correlation = (test_share * n_test + (1 - test_share) * n_labelled) / rows
    # Fewer labels never make trials more alike than all labels do.
    return min(correlation / (1 - correlation), n_test / n_train)


def unseen_share(n_test: float, trials: int) -> float:
    """The largest share, with 95 % confidence, of a kind of rows that no trial tested: 1 - 0.05^(1/m) for m different
    test rows, the rule of three (Hanley and Lippman-Hand 1983, DOI 10.1001/jama.1983.03330370053031).

    If all trials have the same value, their spread is zero and says nothing about the rows that none of them tested. An
    interval is at least this wide then. ``n_test`` are the test rows of a trial; infinite if unknown, which gives 0.

    >>> round(unseen_share(n_test=100, trials=1), 3)
    0.03
    """
    # More than five trials test the same rows again.
    n_different = n_test * min(trials, TESTS_OF_A_TABLE)
    # 1 - 0.05^(1/m) is a difference of nearly equal numbers for large m, which expm1 keeps exact.
    return -math.expm1(math.log1p(-LEVEL) / n_different)


def are_equal(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """True where all values ``(..., N)`` along the last axis are the same but for rounding, ``(...)``."""
    return np.asarray(np.ptp(values, axis=-1) <= ROUNDING * np.abs(values).max(axis=-1))


def median_sizes(sizes: Mapping[str, Sequence[float | None]]) -> tuple[float, float, float | None]:
    """Test, training and labelled training rows of the median trial, as `overlap_ratio` takes them, from the columns of
    these names; those of the paper's splits if no trial has one."""
    # Rows of an earlier version have None, NaN or no such column.
    columns = [[size for size in sizes.get(name, ()) if size and size > 0] for name in SIZES]
    if not all(columns):
        return TEST_TO_TRAIN, 1.0, None
    n_test, n_train, n_labelled = map(median, columns)
    return n_test, n_train, n_labelled
