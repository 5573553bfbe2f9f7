"""The race for the second practical recipe and its confirmation as tables in Markdown, from study/second_recipe.csv.

    python -m study.second_recipe [results=FOLDER,FOLDER]

The file has a row for each table, label budget and competitor: means over trials. Folders with cells of
study/second_recipe.yaml, study/second_recipe_2.yaml and study/confirmation*.yaml make it anew.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import scarf_lightning
from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError
from scarf_lightning.report.blocks import table, to_markdown

FILE = Path(__file__).with_name("second_recipe.csv")
BASE: dict[str, Any] = {
    "finetune.monitor": "none",
    "finetune.max_steps": 300,
    "finetune.fixed_below": 0,
    "finetune.fixed_steps": 300,
    "finetune.min_steps": 0,
    "finetune.weight_decay": 0.01,
    "finetune.label_smoothing": 0.1,
    "finetune.schedule": "cosine",
    "finetune.optimizer": "adam",
    "network": "mlp",
    "network.encoder.width": 256,
    "scaling": "zscore",
    "method": "control",
    "pretrain.patience": 3,
    "pretrain.batch_size": 128,
    "corruption.rate": None,
}
"""The base of the first round. A candidate is called by the options in which it differs."""
RATES = {"scarf": 0.6, "vime": 0.3}
"""The corruption rate of each pre-training by default."""
NUMBERS = ("diabetes",)
"""Tables whose target is a number; their score is R2."""
CELL = ["round", "dataset", "labels", "method", "pretrain", "candidate"]


def main(arguments: Sequence[str]) -> None:
    """Print the tables.

    Raises:
        UsageError: an argument is unknown.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) - {"results"}:
        raise UsageError("Name folders of results, results=FOLDER,FOLDER; or give no argument.")
    if "results" in given:
        folders = [Path(each) for each in given["results"].split(",")]
        found = [cells(scarf_lightning.load(folder), folder.name) for folder in folders]
        pd.concat(found).to_csv(FILE, index=False, float_format="%.6g")
    sys.stdout.write(tables(pd.read_csv(FILE, dtype={"labels": str})))


def cells(trials: pd.DataFrame, name: str) -> pd.DataFrame:
    """Means over the trials of each cell.

    Args:
        trials: as `scarf_lightning.load` returns them.
        name: of the round.
    """
    scores = trials["accuracy"]
    if "r2" in trials:
        scores = scores.where(~trials["dataset"].isin(NUMBERS), trials["r2"])
    budget = trials["regime.labels"].where(trials["regime"] == "few") if "regime.labels" in trials else None
    labels = ["all"] * len(trials) if budget is None else ["all" if pd.isna(n) else str(int(n)) for n in budget]
    rows = trials.assign(
        round=name,
        labels=labels,
        score=scores,
        candidate=[candidate(row) for row in trials.to_dict("records")],
        one_class=trials["one_class"].astype("float"),
        seconds=trials["finetune_seconds"],
        pretrain_seconds=trials["pretrain_seconds"],
    )
    grouped = rows.groupby(CELL)
    found = grouped[["score", "one_class", "seconds", "pretrain_seconds"]].mean()
    return found.assign(trials=grouped.size()).reset_index()


def candidate(row: Mapping[Any, Any]) -> str:
    """The options of a network in which it differs from the base."""
    if row["method"] not in ("control", "dropout"):
        return str(row["method"])
    said = []
    for option, usual in BASE.items():
        value = row.get(option)
        if option == "corruption.rate":
            usual = RATES.get(row["pretrain"])
        if value is None or pd.isna(value) or value == "null" or str(value) == str(usual):
            continue
        try:
            is_usual = float(value) == float(usual)
        except (TypeError, ValueError):
            is_usual = False
        if not is_usual:
            said.append(f"{option.rpartition('.')[2]}={value}")
    return " ".join(said) or "base"


def competitor(row: Mapping[Any, Any]) -> str:
    """A cell of the confirmation in words."""
    if "network=realmlp" in row["candidate"]:
        return "recipe=realmlp"
    if row["method"] == "control":
        return f"recipe=practical pretrain={row['pretrain']}"
    return {"sklearn": "RealMLP-TD of pytabkit"}.get(row["method"], str(row["method"]))


def tables(found: pd.DataFrame) -> str:
    """The tables of study/recipe.md.

    Args:
        found: as `cells` returns them, of all rounds.
    """
    parts = []
    classes = found[~found["dataset"].isin(NUMBERS)]
    for name in found["round"].unique():
        if name.startswith("confirmation"):
            continue
        part = classes[classes["round"] == name]
        for budget in part["labels"].unique():
            parts.append(_means(part[part["labels"] == budget], f"Race, {name}, {budget} labels"))
    confirmed = classes[classes["round"].str.startswith("confirmation")]
    for budget in confirmed["labels"].unique():
        parts.append(_confirmed(confirmed[confirmed["labels"] == budget], budget))
    return "\n".join(parts)


def _means(part: pd.DataFrame, caption: str) -> str:
    """Each candidate's mean accuracy by pre-training, over tables."""
    wide = part.pivot_table(index="candidate", columns="pretrain", values="score") * 100
    shown = wide.assign(
        mean=wide.mean(axis=1),
        one_class=100 * part.groupby("candidate")["one_class"].mean(),
        seconds=part.groupby("candidate")["seconds"].mean(),
    ).sort_values("mean", ascending=False)
    formats = dict.fromkeys(shown.columns, ".2f")
    return to_markdown(table("means", f"{caption}: mean accuracy in percent.", shown.reset_index(), formats))


def _confirmed(part: pd.DataFrame, budget: str) -> str:
    """Each competitor's mean over the tables that all of them have, and how it does beside logistic regression."""
    part = part.assign(competitor=[competitor(row) for row in part.to_dict("records")])
    wide = part.pivot_table(index="dataset", columns="competitor", values="score").dropna()
    kept = part[part["dataset"].isin(wide.index)].groupby("competitor")
    below = (wide.sub(wide["logistic"], axis=0) < -0.05).sum()
    shown = pd.DataFrame(
        {
            "accuracy": 100 * wide.mean(),
            "rank": wide.rank(axis=1, ascending=False).mean(),
            "below": below,
            "one class": 100 * kept["one_class"].mean(),
            "seconds": kept["seconds"].mean() + kept["pretrain_seconds"].mean().fillna(0),
        }
    ).sort_values("accuracy", ascending=False)
    caption = (
        f"Confirmation, {budget} labels, {len(wide)} tables: mean accuracy in percent, mean rank, tables more than 5 "
        "points below logistic regression, percent of trials that predict one class, processor seconds a trial."
    )
    formats = {"accuracy": ".2f", "rank": ".2f", "below": ".0f", "one class": ".1f", "seconds": ".2f"}
    return to_markdown(table("confirmation", caption, shown.reset_index(), formats))


if __name__ == "__main__":
    sys.exit(answered(main))
