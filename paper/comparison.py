"""Our cells beside the paper's published ones.

Only our error is known: the paper prints means of 30 trials without their spread. An interval here is that of our mean,
so with errors like ours in the paper's numbers a perfect reproduction would cover only about 83 % of them, not 95 %.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from scarf_lightning.errors import UsageError
from scarf_lightning.intervals import student_quantile
from scarf_lightning.verdicts import CELL, cell_means

SETTING = ["dataset_id", "regime", "method"]

COLUMNS = (
    "mean", "standard_error", "trials", "published", "difference", "low", "high", "gain", "published_gain", "epochs",
    "published_epochs", "at_chance",
)  # fmt: skip


def agreement(
    results: pd.DataFrame, accuracy: pd.DataFrame, epochs: pd.DataFrame, *, level: float = 0.95
) -> pd.DataFrame:
    """Each of our cells beside the paper's.

    Args:
        results: a row a trial, as `scarf_lightning.results.load` gives it: ``dataset_id, regime, pretrain, method,
            trial, accuracy, finetune_epochs``. Choose the rows with the paper's settings: they are taken as given.
        accuracy: `published_accuracy()`.
        epochs: `published_epochs()`.
        level: coverage of the intervals.

    Returns:
        A row a cell of ours: ``dataset_id, regime, pretrain, method``; ``mean, standard_error, trials`` of our
        accuracy; ``published``, the paper's, NaN where it prints none; ``difference``, ours less the paper's, with the
        ends of its t interval ``low, high``, NaN for fewer than two trials; ``gain`` and ``published_gain``, in percent
        relative to the same cell without pre-training, NaN where that is missing; ``epochs, published_epochs`` of
        fine-tuning; ``at_chance``, whether the paper's number stands at chance (`AT_CHANCE_IN_PAPER`).

    Raises:
        UsageError: results lack a column, are empty, or have two rows for a trial of a cell.
    """
    cells = cell_means(results)
    repeated = results.duplicated([*CELL, "trial"])
    if repeated.any():
        cell = ", ".join(f"{axis}={results.loc[repeated, axis].iloc[0]}" for axis in CELL)
        raise UsageError(f"The cell {cell} has two rows for one trial; select only the paper's setting of it.")
    ours = cell_means(results, "finetune_epochs").rename(columns={"mean": "epochs"})
    cells = cells.merge(ours[[*CELL, "epochs"]], on=list(CELL))
    for published, column, name in ((accuracy, "accuracy", "published"), (epochs, "epochs", "published_epochs")):
        named = published[[*CELL, column]].rename(columns={column: name})
        cells = cells.merge(named, on=list(CELL), how="left")
    chance = accuracy.loc[accuracy["at_chance"], [*CELL]].assign(at_chance=True)
    cells = cells.merge(chance, on=list(CELL), how="left")
    cells["at_chance"] = cells["at_chance"].notna()

    quantile = cells["trials"].map(lambda trials: student_quantile(trials - 1, (1 + level) / 2))
    cells["difference"] = cells["mean"] - cells["published"]
    cells["low"] = cells["difference"] - quantile * cells["standard_error"]
    cells["high"] = cells["difference"] + quantile * cells["standard_error"]
    cells["gain"] = _gain(cells, "mean")
    cells["published_gain"] = _gain(cells, "published")
    return cells[[*CELL, *COLUMNS]]


def agreement_summary(cells: pd.DataFrame, by: Sequence[str] = ("regime", "pretrain", "method")) -> pd.DataFrame:
    """How well our cells agree with the paper's. Cells at chance in the paper are left out, and counted.

    Args:
        cells: what `agreement` returns.
        by: columns of it that make groups; none for one row over all.

    Returns:
        A row a group, indexed by ``by``: ``cells`` compared; ``at_chance`` and ``unpublished``, how many are not;
        ``mean_difference`` and ``mean_absolute_difference`` of accuracies; ``inside``, the part of the intervals that
        hold zero; ``spearman`` of the accuracies and ``gain_spearman`` of the relative gains of pre-training over
        none, over ``gain_cells``; ``mean_epochs_difference``. NaN where there is nothing to average; a correlation
        needs three cells that are not all equal.
    """
    if not by:
        summary = agreement_summary(cells.assign(everything=""), ["everything"])
        return summary.reset_index(drop=True)
    groups = cells.groupby(list(by), dropna=False)
    rows = {key: _summary(group) for key, group in groups}
    index = pd.MultiIndex.from_tuples(list(rows), names=list(by))
    return pd.DataFrame(list(rows.values()), index=index)


def _gain(cells: pd.DataFrame, column: str) -> "pd.Series[float]":
    """Percent by which a cell's accuracy exceeds that of the same cell without pre-training."""
    reference = cells.loc[cells["pretrain"] == "none", [*SETTING, column]].rename(columns={column: "reference"})
    without = cells[SETTING].merge(reference, on=SETTING, how="left")["reference"].to_numpy()
    gain: pd.Series[float] = 100 * (cells[column] - without) / np.where(without == 0, np.nan, without)
    return gain.where(cells["pretrain"] != "none")


def _summary(group: pd.DataFrame) -> dict[str, float]:
    published = group[group["published"].notna()]
    compared = published[~published["at_chance"]]
    intervals = compared.dropna(subset=["low", "high"])
    gains = compared.dropna(subset=["gain", "published_gain"])
    return {
        "cells": len(compared),
        "at_chance": int(published["at_chance"].sum()),
        "unpublished": int(group["published"].isna().sum()),
        "mean_difference": compared["difference"].mean(),
        "mean_absolute_difference": compared["difference"].abs().mean(),
        "inside": ((intervals["low"] <= 0) & (intervals["high"] >= 0)).mean(),
        "spearman": _spearman(compared["mean"], compared["published"]),
        "gain_spearman": _spearman(gains["gain"], gains["published_gain"]),
        "gain_cells": len(gains),
        "mean_epochs_difference": (compared["epochs"] - compared["published_epochs"]).mean(),
    }


def _spearman(first: "pd.Series[float]", second: "pd.Series[float]") -> float:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(stats.spearmanr(first, second).statistic)
