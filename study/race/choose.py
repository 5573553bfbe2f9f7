"""What each candidate of the race reaches: ``python -m study.race.choose`` prints the tables of study/recipe.md."""

import sys
from pathlib import Path

import pandas as pd

from study.race.race import CANDIDATES, KEY, RIVALS

FILE = Path(__file__).parent / "trials.parquet"
READINGS = {"": "fold_loss", "mixed": "fold_loss", "mixed, chosen mixed": "mixed_fold_loss"}
"""How a candidate is read: what predicts on the test rows, and what chooses the number of steps."""
MEASURES = ["log_loss", "auroc", "accuracy", "one_class"]


def chosen(trials: pd.DataFrame) -> pd.DataFrame:
    """A row for each competitor, reading and trial: its measures on the test rows, and the steps that it took."""
    fixed = trials[trials.fold_loss.isna()]
    found = [fixed]
    for reading, criterion in READINGS.items():
        folded = trials[trials.fold_loss.notna()]
        best = folded.loc[folded.reset_index(drop=True).groupby(KEY)[criterion].idxmin().pipe(lambda i: folded.index[i])]
        if reading:
            best = best.assign(**{name: best[f"mixed_{name}"] for name in MEASURES})
        found.append(best.assign(competitor=best.competitor + (f", {reading}" if reading else "")))
    return pd.concat(found, ignore_index=True)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over tables and trials: AUROC, accuracy and log-loss, worse than the frequencies, and one class, in percent."""
    keys = ["table", "labels", "trial"]
    constant = rows[rows.competitor == "frequencies"].set_index(keys).log_loss
    linear = rows[rows.competitor == "logistic regression"].set_index(keys).one_class
    rows = rows.join(constant.rename("constant"), on=keys).join(linear.rename("linear"), on=keys)
    rows = rows.assign(worse=rows.log_loss > rows.constant + 1e-9, alone=(rows.one_class == True) & (rows.linear == False))
    means = rows.groupby(["labels", "competitor"])[["auroc", "accuracy", "log_loss", "worse", "alone", "steps"]].mean()
    means[["auroc", "accuracy", "worse", "alone"]] *= 100
    return means
