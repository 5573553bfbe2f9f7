"""Results as scores, and the means of their cells."""

from collections.abc import Iterable, Sequence

import pandas as pd

from ...errors import UsageError
from ...metrics import metric_named
from .comparisons import Pair

CELL = ("dataset_id", "regime", "pretrain", "method")


def competitor_name(pretrain: str, method: str) -> str:
    """A competitor of the paper as `scores_of` names it."""
    return f"{pretrain}+{method}"


NOT_USED = "not used"
"""What names a column that a cell does not use, which an option called none is not."""


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
        competitor: the columns that tell competitors apart, joined by ``+`` in their names; null is ``not used``.

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
            "value": metric_named(value).sign * results[value],
        }
    )


def pretraining_grid(methods: Iterable[str], pretrains: Iterable[str]) -> dict[tuple[str, str], Pair]:
    """In (method, pre-training), the method with it against the method without any; the names are `scores_of`'s."""
    pretrains = list(pretrains)
    return {
        (method, pretrain): (competitor_name(pretrain, method), competitor_name("none", method))
        for method in methods
        for pretrain in pretrains
    }


def cell_means(results: pd.DataFrame, value: str = "accuracy", by: Sequence[str] = CELL) -> pd.DataFrame:
    """Mean of a column over the trials of each cell.

    Args:
        results: a row a trial.
        value: any column of numbers, such as ``accuracy`` or ``finetune_epochs``.
        by: the columns that tell cells apart; null is a value of its own.

    Returns:
        A row a cell: the columns of ``by``; ``mean``; ``standard_error`` of it, NaN for fewer than two trials;
        ``trials``, those with a number. ``pivot`` turns it into a table of datasets and competitors.

    Raises:
        UsageError: there are no results, or a column is missing.
    """
    _need(results, [*by, value])
    values = results[[*by]].assign(value=results[value].astype("float64"))
    grouped = values.groupby(list(by), dropna=False)["value"]
    return grouped.agg(mean="mean", standard_error="sem", trials="count").reset_index()


def _need(results: pd.DataFrame, columns: Sequence[str]) -> None:
    if results.empty:
        raise UsageError("There are no results here; train a cell first, or select other results.")
    absent = [column for column in columns if column not in results.columns]
    if absent:
        raise UsageError(f"The results lack the column {absent[0]}; give the frame that `results.load` returns.")
