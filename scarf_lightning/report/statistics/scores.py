"""Scores as one array, and which cells of it are incomplete."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import UsageError

COLUMNS = ("dataset", "competitor", "trial", "value")

DECIMALS = 12
"""Means and differences are rounded to so many decimals before they are ranked: equal accuracies summed in another
order differ in the last bits, and would not tie."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreArray:
    """Scores by dataset, competitor and trial.

    Attributes:
        values: ``(D, C, T)``, NaN where there is no score.
        datasets: D labels, sorted.
        competitors: C names.
    """

    values: Floats
    datasets: tuple[Hashable, ...]
    competitors: tuple[str, ...]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Trials with a score, ``(D, C)``."""
        return np.asarray(np.isfinite(self.values).sum(axis=2))

    @property
    def means(self) -> Floats:
        """Means over trials, ``(D, C)``; NaN where a cell has none."""
        return mean_of(self.values)

    @property
    def variances(self) -> Floats:
        """Unbiased variances over trials, ``(D, C)``; NaN where a cell has fewer than two."""
        return variance_of(self.values)

    @property
    def incomplete(self) -> pd.DataFrame:
        """Cells with fewer trials than the fullest one: columns ``dataset, competitor, trials, expected``."""
        counts = self.counts
        expected = int(counts.max())
        rows = [
            (self.datasets[d], self.competitors[c], int(counts[d, c]), expected)
            for d, c in np.argwhere(counts < expected)
        ]
        return pd.DataFrame(rows, columns=["dataset", "competitor", "trials", "expected"])


def score_array(scores: pd.DataFrame, competitors: Sequence[str] | None = None) -> ScoreArray:
    """A long frame of scores as an array.

    Args:
        scores: a row a trial: ``dataset`` (any hashable that sorts), ``competitor``, ``trial``, ``value`` (higher is
            better; NaN and absent rows are trials without a score).
        competitors: which ones, in this order; all of them by name if not given. Datasets on which none of them has a
            score stay in the array.

    Raises:
        UsageError: a column is missing, no value is there, a value is infinite, a trial has two values, a label is
            null, or a competitor has no rows.
    """
    absent = [column for column in COLUMNS if column not in scores.columns]
    if absent:
        raise UsageError(f"The scores lack the column {absent[0]}; give a frame with {', '.join(COLUMNS)}.")
    if scores[["dataset", "competitor", "trial"]].isna().any(axis=None):
        raise UsageError("The scores have rows without a dataset, competitor or trial; fill or drop these rows.")
    values = scores["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise UsageError("The scores hold infinite values; mark a trial without a score by NaN.")
    if np.isnan(values).all():
        raise UsageError("The scores hold no values; train a cell first, or select other results.")
    dataset, datasets = pd.factorize(scores["dataset"], sort=True)
    competitor, names = pd.factorize(scores["competitor"], sort=True)
    trial, trials = pd.factorize(scores["trial"], sort=True)
    _refuse_repeated_trials(scores)

    array = np.full((len(datasets), len(names), len(trials)), np.nan)
    array[dataset, competitor, trial] = values
    known = [str(name) for name in names]
    wanted = known if competitors is None else list(dict.fromkeys(competitors))
    _check_known(wanted, known)
    return ScoreArray(array[:, [known.index(name) for name in wanted]], tuple(datasets.tolist()), tuple(wanted))


def on_complete_datasets(array: ScoreArray) -> ScoreArray:
    """The datasets on which all competitors have a score.

    Raises:
        UsageError: there is none.
    """
    complete = np.asarray((array.counts > 0).all(axis=1))
    if not complete.any():
        raise UsageError(
            "No dataset has scores of all competitors; train the missing cells, or name fewer competitors."
        )
    datasets = tuple(name for name, there in zip(array.datasets, complete, strict=True) if there)
    return ScoreArray(array.values[complete], datasets, array.competitors)


def _check_known(wanted: Sequence[str], known: Sequence[str]) -> None:
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"The scores have no competitor {unknown[0]}; they have: {', '.join(known)}.")
    if not wanted:
        raise UsageError(f"No competitor was named; name some of: {', '.join(known)}.")


def _refuse_repeated_trials(scores: pd.DataFrame) -> None:
    repeated = scores.duplicated(["dataset", "competitor", "trial"])
    if repeated.any():
        row = scores[repeated].iloc[0]
        raise UsageError(
            f"Competitor {row['competitor']} has two values for trial {row['trial']} on dataset {row['dataset']}; "
            "select one setting of it, or name its settings differently."
        )


def mean_of(values: Floats) -> Floats:
    """Means of the numbers along the last axis; NaN where there are none."""
    n = np.isfinite(values).sum(axis=-1)
    return np.where(n > 0, np.nansum(values, axis=-1) / np.maximum(n, 1), np.nan)


def variance_of(values: Floats) -> Floats:
    """Unbiased variances of the numbers along the last axis; NaN where there are fewer than two."""
    n = np.isfinite(values).sum(axis=-1)
    squares = np.nansum((values - mean_of(values)[..., None]) ** 2, axis=-1)
    return np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)
