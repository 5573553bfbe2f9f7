"""Scores of competitors by dataset and trial: made from results, as one array, and the means of cells."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import UsageError, unknown_name
from ..metrics import metric_named

COLUMNS = ("dataset", "competitor", "trial", "value")

Floats = NDArray[np.float64]

Pair = tuple[str, str]
"""A competitor and the reference that it is compared with."""


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
    def incomplete(self) -> pd.DataFrame:
        """Cells with fewer trials than the fullest one: columns ``dataset, competitor, trials, expected``."""
        counts = self.counts
        expected = int(counts.max())
        rows = []
        for d, c in np.argwhere(counts < expected):
            cell = self.datasets[d], self.competitors[c]
            rows.append((*cell, int(counts[d, c]), expected))
        return pd.DataFrame(rows, columns=["dataset", "competitor", "trials", "expected"])


def score_array(scores: pd.DataFrame, competitors: Sequence[str] | None = None) -> ScoreArray:
    """A long frame of scores as an array.

    Args:
        scores: a row a trial: ``dataset`` (any hashable that sorts), ``competitor``, ``trial``, ``value`` (higher is
            better; NaN and absent rows are trials without a score).
        competitors: which ones, in this order; all of them by name if not given. Datasets without a score of any of
            them stay in the array.

    Raises:
        UsageError: a column is missing, no value is there, a value is infinite, a trial has two values, a label is
            null, or a competitor has no rows.

    >>> rows = [("iris", "scarf", 0, 0.9), ("iris", "scarf", 1, 0.8), ("iris", "none", 1, 0.7)]
    >>> array = score_array(pd.DataFrame(rows, columns=list(COLUMNS)))
    >>> array.competitors
    ('none', 'scarf')
    >>> array.values
    array([[[nan, 0.7],
            [0.9, 0.8]]])
    """
    values = _checked_values(scores)
    dataset, datasets = pd.factorize(scores["dataset"], sort=True)
    competitor, names = pd.factorize(scores["competitor"], sort=True)
    trial, trials = pd.factorize(scores["trial"], sort=True)
    # Numbers of trials differ between datasets; NaN fills up the shorter ones.
    array = np.full((len(datasets), len(names), len(trials)), np.nan)
    array[dataset, competitor, trial] = values

    known = list(map(str, names))
    # Named twice, a competitor would take part twice, and be compared with itself.
    wanted = known if competitors is None else list(dict.fromkeys(competitors))
    if not wanted:
        raise UsageError(f"No competitor was named; name some of: {', '.join(known)}.")
    for name in wanted:
        if name not in known:
            raise UsageError(unknown_name(f"The scores have no competitor {name}", name, known, "their competitors"))
    positions = [known.index(name) for name in wanted]
    return ScoreArray(array[:, positions], tuple(datasets.tolist()), tuple(wanted))


def _checked_values(scores: pd.DataFrame) -> Floats:
    """The values of a frame of scores; a UsageError says what makes a frame unusable."""
    for column in COLUMNS:
        if column not in scores.columns:
            raise UsageError(f"The scores lack the column {column}; give a frame with {', '.join(COLUMNS)}.")
    keys = ["dataset", "competitor", "trial"]
    if scores[keys].isna().any(axis=None):
        raise UsageError("The scores have rows without a dataset, competitor or trial; fill or drop these rows.")
    values = scores["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise UsageError("The scores hold infinite values; mark a trial without a score by NaN.")
    if np.isnan(values).all():
        raise UsageError("The scores hold no values; train a cell first, or select other results.")
    # Two settings under one name would overwrite each other in the array, unnoticed.
    repeated = scores[scores.duplicated(keys)]
    if len(repeated):
        row = repeated.iloc[0]
        raise UsageError(
            f"Competitor {row['competitor']} has two values for trial {row['trial']} on dataset {row['dataset']}; "
            "select one setting of it, or name its settings differently."
        )
    return values


def mean_of(values: Floats) -> Floats:
    """Means of the numbers along the last axis; NaN where there are none."""
    n = np.isfinite(values).sum(axis=-1)
    # The mean of no numbers would be a warning of numpy's.
    means = np.nansum(values, axis=-1) / np.maximum(n, 1)
    return np.where(n > 0, means, np.nan)


def variance_of(values: Floats) -> Floats:
    """Unbiased variances of the numbers along the last axis; NaN where there are fewer than two."""
    n = np.isfinite(values).sum(axis=-1)
    squares = np.nansum((values - mean_of(values)[..., None]) ** 2, axis=-1)
    return np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)


CELL = ("dataset_id", "regime", "pretrain", "method")


NOT_USED = "not used"
"""Placeholder in a competitor's name for an unused column; not "none", which is an option's name."""


def scores_of(
    results: pd.DataFrame,
    value: str = "accuracy",
    *,
    dataset: str = "dataset",
    competitor: Sequence[str] = ("pretrain", "method"),
) -> pd.DataFrame:
    """Results as scores: ``dataset, competitor, trial, value``, what all statistics take.

    Args:
        results: a row a trial, as `scarf_lightning.results.load` gives it, of one regime; ``trial`` may be absent from
            published means, which are then one trial.
        value: a metric; a loss is turned into its negative, so that higher is better.
        dataset: the column that names datasets; ``dataset_id`` for the paper's numbers.
        competitor: the columns that distinguish competitors, joined by ``+`` in their names; null is ``not used``.

    Raises:
        UsageError: there are no results, or a column is missing.
    """
    _need(results, [dataset, value, *competitor])
    names = results[list(competitor)].astype(object).fillna(NOT_USED).astype(str)
    return pd.DataFrame(
        {
            "dataset": results[dataset],
            "competitor": names.iloc[:, 0].str.cat(names.iloc[:, 1:], sep="+"),
            "trial": results["trial"] if "trial" in results.columns else 0,
            # A loss is turned round, so that higher is better for every statistic.
            "value": metric_named(value).sign * results[value],
        }
    )


def pretraining_grid(methods: Iterable[str], pretrains: Iterable[str]) -> dict[tuple[str, str], Pair]:
    """In (method, pre-training), the method with it against the method without any; the names are `scores_of`'s."""
    grid = {}
    for method, pretrain in product(methods, pretrains):
        grid[method, pretrain] = (f"{pretrain}+{method}", f"none+{method}")
    return grid


def cell_means(results: pd.DataFrame, value: str = "accuracy", by: Sequence[str] = CELL) -> pd.DataFrame:
    """Mean of a column over the trials of each cell.

    Args:
        results: a row a trial.
        value: any column of numbers, such as ``accuracy`` or ``finetune_epochs``.
        by: the columns that distinguish cells; null is a value of its own.

    Returns:
        A row a cell: the columns of ``by``; ``mean``; ``standard_error`` of it, NaN for fewer than two trials;
        ``trials``, those with a number. ``pivot`` turns it into a table of datasets and competitors.

    Raises:
        UsageError: there are no results, or a column is missing.
    """
    _need(results, [*by, value])
    # A column that holds None may be one of objects, of which pandas makes no mean.
    values = results[[*by]].assign(value=results[value].astype("float64"))
    grouped = values.groupby(list(by), dropna=False)["value"]
    return grouped.agg(mean="mean", standard_error="sem", trials="count").reset_index()


def _need(results: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise UsageError if there are no results, or if they lack one of these columns."""
    if results.empty:
        raise UsageError("There are no results here; train a cell first, or select other results.")
    for column in columns:
        if column not in results.columns:
            raise UsageError(f"The results lack the column {column}; give the frame that `results.load` returns.")
