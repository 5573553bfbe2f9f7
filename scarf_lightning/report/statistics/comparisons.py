"""Pairs of competitors, tested on every dataset; rows and columns of such pairs."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import UsageError
from .scores import Floats, ScoreArray, mean_of, score_array
from .significance import TEST_TO_TRAIN, holm, paired_test, welch_test

Test = Literal["welch", "paired", "corrected"]

Indices = NDArray[np.int64]

Pair = tuple[str, str]
"""A competitor and the reference that it is compared with."""

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
    test_to_train: float = TEST_TO_TRAIN,
) -> pd.DataFrame:
    """Tests each pair's difference of means on every dataset.

    Args:
        scores: ``dataset, competitor, trial, value``.
        pairs: (competitor, reference).
        test: ``welch`` is the paper's; ``paired`` and ``corrected`` (Nadeau and Bengio's) use the trials that both
            have.
        adjust: correct each pair's p-values over datasets by Holm's procedure.
        test_to_train: n_test/n_train of the corrected test.

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
    mean, mean2, n, n2, p = _tested(array, first, second, test, test_to_train)
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
    array: ScoreArray, first: Indices, second: Indices, test: Test, test_to_train: float
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
    p = paired_test(a, b, test_to_train=test_to_train if test == "corrected" else 0.0).p
    return mean_of(a), mean_of(b), common.sum(axis=-1), common.sum(axis=-1), p


def placed(compared: pd.DataFrame, grid: Grid) -> pd.DataFrame:
    """The comparisons by the ``row`` and ``column`` of the grid that they belong to, in the grid's order."""
    cells = pd.DataFrame(
        [(*cell, *pair) for cell, pair in grid.items()], columns=["row", "column", "competitor", "reference"]
    )
    return cells.merge(compared, on=["competitor", "reference"], how="left")
