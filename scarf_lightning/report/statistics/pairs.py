"""Pairs of competitors, tested on every dataset: Student's t in three forms, and Holm's correction."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from ...errors import UsageError
from ...intervals import TEST_TO_TRAIN
from .scores import Floats, Pair, ScoreArray, mean_of, score_array, variance_of

ROUNDING = 1e-12
"""A difference or standard error below this part of the means is rounding, and counts as zero."""


class TTest(NamedTuple):
    """A two-sided t-test: statistic, degrees of freedom, p-value. All NaN where no test is possible."""

    statistic: Floats
    df: Floats
    p: Floats


def welch_test(
    mean: ArrayLike, variance: ArrayLike, n: ArrayLike, mean2: ArrayLike, variance2: ArrayLike, n2: ArrayLike
) -> TTest:
    """Welch's t-test of two means with unequal variances, from summary statistics; the paper's test (section 4).

    B. L. Welch (1947), DOI 10.1093/biomet/34.1-2.28.

    Where both variances are zero, equal means have p = 1 and different ones p = 0. Where a sample has fewer than two
    trials there is no test.

    Args:
        mean: of the first sample; as the others, of any shapes that broadcast.
        variance: unbiased, of the first sample.
        n: trials in the first sample.
        mean2, variance2, n2: of the second sample.
    """
    m, v, k, m2, v2, k2 = (np.asarray(each, dtype=np.float64) for each in (mean, variance, n, mean2, variance2, n2))
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = v / k, v2 / k2
        df = (a + b) ** 2 / (a**2 / (k - 1) + b**2 / (k2 - 1))
    testable = (k > 1) & (k2 > 1)
    error = np.where(testable, np.sqrt(a + b), np.nan)
    return _student(m - m2, error, df, scale=np.maximum(np.abs(m), np.abs(m2)))


def paired_test(first: Floats, second: Floats, *, test_to_train: float = 0.0) -> TTest:
    """The paired t-test over the trials that both samples have; with a ratio, the corrected resampled t-test.

    Trials that draw their splits from one table overlap, so their differences are correlated and the plain test rejects
    too often. Nadeau and Bengio (2003), DOI 10.1023/A:1024068626366, replace the factor 1/n of the variance by
    1/n + n_test/n_train.

    Where all differences are equal, p is 1 if they are zero and else 0. Fewer than two common trials: no test.

    Args:
        first, second: ``(..., T)``, trials in the same order; NaN where there is none.
        test_to_train: n_test/n_train; zero is the plain paired test, `TEST_TO_TRAIN` the paper's splits.
    """
    differences = first - second
    n = np.isfinite(differences).sum(axis=-1)
    factor = np.where(n > 1, 1 / np.maximum(n, 1) + test_to_train, np.nan)
    error = np.sqrt(variance_of(differences) * factor)
    both = np.maximum(np.abs(first), np.abs(second))
    return _student(mean_of(differences), error, np.where(n > 1, n - 1.0, np.nan), scale=mean_of(both))


def _student(difference: Floats, error: Floats, df: Floats, scale: Floats) -> TTest:
    rounding = ROUNDING * scale
    equal, exact = np.abs(difference) <= rounding, error <= rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(equal, 0.0, difference) / np.where(exact, 0.0, error)
    statistic = np.where(exact & equal, 0.0, statistic)
    p = 2 * stdtr(df, -np.abs(statistic))
    p = np.where(exact, np.where(equal, 1.0, 0.0), p)
    return TTest(statistic, np.where(np.isnan(error), np.nan, df), p)


def holm(p: ArrayLike, axis: int = 0) -> Floats:
    """P-values adjusted by Holm's step-down procedure along an axis (Holm 1979, www.jstor.org/stable/4615733).

    NaN is no test: it stays NaN and does not count among those corrected for.
    """
    raw = np.moveaxis(np.asarray(p, dtype=np.float64), axis, -1)
    order = np.argsort(raw, axis=-1)
    ascending = np.take_along_axis(raw, order, axis=-1)
    tests = np.isfinite(raw).sum(axis=-1, keepdims=True)
    stepped = np.maximum.accumulate(ascending * (tests - np.arange(raw.shape[-1])), axis=-1)
    adjusted = np.empty_like(raw)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return np.moveaxis(adjusted, -1, axis)


Test = Literal["welch", "paired", "corrected"]

Indices = NDArray[np.int64]

Grid = Mapping[tuple[str, str], Pair]
"""What stands in a table's (row, column): a competitor against a reference."""


def against(reference: str, competitors: Iterable[str]) -> dict[tuple[str, str], Pair]:
    """A grid of one row: each competitor, in its own column, against the reference."""
    return {(reference, name): (name, reference) for name in competitors if name != reference}


def compare(
    scores: pd.DataFrame,
    pairs: Iterable[Pair],
    *,
    test: Test = "welch",
    adjust: bool = False,
) -> pd.DataFrame:
    """Tests each pair's difference of means on every dataset.

    Args:
        scores: ``dataset, competitor, trial, value``.
        pairs: (competitor, reference).
        test: ``welch`` is the paper's; ``paired`` and ``corrected`` (Nadeau and Bengio's) use the trials that both
            have.
        adjust: correct each pair's p-values over datasets by Holm's procedure.

    Returns:
        A row a pair and dataset, no dataset left out: ``dataset, competitor, reference``; ``mean, reference_mean,
        difference`` over the trials that the test uses, NaN without any; ``trials, reference_trials``, how many;
        ``p``, NaN where no test is possible: fewer than two trials.

    Raises:
        UsageError: unusable scores, an unknown competitor or test, or no pairs.
    """
    pairs = list(dict.fromkeys(pairs))
    if not pairs:
        raise UsageError("There are no pairs to compare; name two competitors or more.")
    array = score_array(scores, list(dict.fromkeys(name for pair in pairs for name in pair)))
    first, second = (np.array([array.competitors.index(pair[side]) for pair in pairs]) for side in (0, 1))
    mean, mean2, n, n2, p = _tested(array, first, second, test)
    if adjust:
        p = holm(p, axis=0)
    count = len(array.datasets)
    return pd.DataFrame(
        {
            "dataset": [dataset for dataset in array.datasets for _ in pairs],
            "competitor": [competitor for competitor, _ in pairs] * count,
            "reference": [reference for _, reference in pairs] * count,
            "mean": mean.ravel(),
            "reference_mean": mean2.ravel(),
            "difference": (mean - mean2).ravel(),
            "trials": n.ravel(),
            "reference_trials": n2.ravel(),
            "p": p.ravel(),
        }
    )


def _tested(
    array: ScoreArray, first: Indices, second: Indices, test: Test
) -> tuple[Floats, Floats, Indices, Indices, Floats]:
    """Both means, both numbers of trials and the p-values, each ``(D, pairs)``."""
    if test == "welch":
        m, v, n = array.means, array.variances, array.counts
        p = welch_test(m[:, first], v[:, first], n[:, first], m[:, second], v[:, second], n[:, second]).p
        return m[:, first], m[:, second], n[:, first], n[:, second], p
    if test not in get_args(Test):
        raise UsageError(f"test={test} is unknown; the options are: {', '.join(get_args(Test))}.")
    a, b = array.values[:, first], array.values[:, second]
    common = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(common, a, np.nan), np.where(common, b, np.nan)
    p = paired_test(a, b, test_to_train=TEST_TO_TRAIN if test == "corrected" else 0.0).p
    return mean_of(a), mean_of(b), common.sum(axis=-1), common.sum(axis=-1), p


def placed(compared: pd.DataFrame, grid: Grid) -> pd.DataFrame:
    """The comparisons by the ``row`` and ``column`` of the grid that they belong to, in the grid's order."""
    cells = pd.DataFrame(
        [(*cell, *pair) for cell, pair in grid.items()], columns=["row", "column", "competitor", "reference"]
    )
    return cells.merge(compared, on=["competitor", "reference"], how="left")
