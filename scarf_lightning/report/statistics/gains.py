"""Relative gains over a reference (the paper's section 4, "Box plots", and its Table 1)."""

import numpy as np
import pandas as pd

from .comparisons import Grid, Test, compare, placed
from .significance import TEST_TO_TRAIN


def relative_gains(
    scores: pd.DataFrame,
    grid: Grid,
    *,
    alpha: float = 0.20,
    test: Test = "welch",
    test_to_train: float = TEST_TO_TRAIN,
) -> pd.DataFrame:
    """The relative gain 100 (a - b) / |b| of the means, in percent, on every dataset; a point of the paper's box plots.

    Args:
        scores: ``dataset, competitor, trial, value``.
        grid: (row, column) to (competitor a, reference b): see `against` for one reference.
        alpha: the paper keeps datasets on which the means differ at p < 0.20.
        test, test_to_train: as in `compare`.

    Returns:
        A row a grid cell and dataset: ``row, column, competitor, reference, dataset``; ``gain``, in percent, NaN where
        either has no trial or the reference's mean is zero; ``p``, NaN where no test is possible; ``kept``, whether the
        paper's filter keeps it.

    Raises:
        UsageError: as `compare`.
    """
    compared = compare(scores, grid.values(), test=test, test_to_train=test_to_train)
    compared["gain"] = 100 * compared["difference"] / compared["reference_mean"].abs().replace(0, np.nan)
    compared["kept"] = (compared["p"] < alpha) & compared["gain"].notna()
    columns = ["row", "column", "competitor", "reference", "dataset", "gain", "p", "kept"]
    return placed(compared, grid)[columns]


def gain_table(gains: pd.DataFrame) -> pd.DataFrame:
    """Average relative gains; ``gain_table(gains)["kept_mean"].unstack()`` is the paper's Table 1.

    The filter keeps the datasets on which something happened, so its mean overstates the gain to be expected on the
    next dataset; the mean over all stands beside it.

    Args:
        gains: what `relative_gains` returns.

    Returns:
        A row a grid cell, indexed by ``row, column``: ``kept_mean`` over ``kept_datasets``; ``mean`` and ``median``
        over ``datasets``, all those with a gain; ``missing``, datasets without one. Means over no dataset are NaN.
    """
    keys = [pd.Categorical(gains[side], categories=list(dict.fromkeys(gains[side]))) for side in ("row", "column")]
    values = pd.DataFrame(
        {
            "row": keys[0],
            "column": keys[1],
            "kept": gains["gain"].where(gains["kept"]),
            "gain": gains["gain"],
            "missing": gains["gain"].isna(),
        }
    )
    return values.groupby(["row", "column"], observed=True).agg(
        kept_mean=("kept", "mean"),
        kept_datasets=("kept", "count"),
        mean=("gain", "mean"),
        median=("gain", "median"),
        datasets=("gain", "count"),
        missing=("missing", "sum"),
    )
