"""What the candidates of the race reach: ``python -m study.race.choose`` prints the tables of recipe.md."""

from pathlib import Path

import pandas as pd

KEY = ["table", "labels", "competitor", "trial"]
READINGS = {"": "fold_loss", ", mixed": "fold_loss", ", mixed by steps": "mixed_fold_loss"}
"""What is added to the name of a candidate, and the column that chooses its number of steps."""
MEASURES = ["log_loss", "auroc", "accuracy", "one_class"]
SPLIT = ["table", "labels", "trial"]


def read_choices(trials: pd.DataFrame) -> pd.DataFrame:
    """A row for each competitor, reading and trial: the chosen steps, and the measures on the test rows."""
    folded = trials[trials.fold_loss.notna()].reset_index(drop=True)
    found = [trials[trials.fold_loss.isna()]]
    for suffix, criterion in READINGS.items():
        best = folded.loc[folded.groupby(KEY)[criterion].idxmin()]
        if suffix:
            best = best.assign(**{name: best[f"mixed_{name}"] for name in MEASURES})
        found.append(best.assign(competitor=best.competitor + suffix))
    return pd.concat(found, ignore_index=True)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over tables and trials, with log-loss as it is and all else in percent.

    ``worse`` counts the trials with a higher log-loss than the class frequencies, ``one_class`` those in which all rows
    get one class although logistic regression predicts several.
    """
    constant = rows[rows.competitor == "frequencies"].set_index(SPLIT).log_loss.rename("constant")
    linear = rows[rows.competitor == "logistic regression"].set_index(SPLIT).one_class.rename("linear")
    rows = rows.join(constant, on=SPLIT).join(linear, on=SPLIT)
    rows["worse"] = rows.log_loss > rows.constant + 1e-9
    rows["one_class"] = rows.one_class.astype(bool) & ~rows.linear.astype(bool)
    columns = ["auroc", "accuracy", "log_loss", "worse", "one_class", "steps"]
    means = rows.groupby(["labels", "competitor"])[columns].mean()
    means[["auroc", "accuracy", "worse", "one_class"]] *= 100
    return means


if __name__ == "__main__":
    for file in ("trials.parquet", "caution.parquet"):
        choices = read_choices(pd.read_parquet(Path(__file__).parent / file))
        for title, rows in (("all tables", choices), ("strong ones", choices[choices.signal == "strong"])):
            print(f"{file}, {title}\n{summarise(rows).round(2).to_string()}")  # noqa: T201
