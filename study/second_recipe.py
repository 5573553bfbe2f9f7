"""The race for the second practical recipe and its confirmation as tables in Markdown, from study/second_recipe.csv.

    python -m study.second_recipe [results=FOLDER,FOLDER]

The file has a row for each table, label budget and competitor: means over trials. Folders with cells of
study/second_recipe*.yaml and study/confirmation*.yaml make it anew. Bags of networks (study/bagging_confirmation.yaml)
are among the ten trials, and columns of a forest (study/features.yaml) in the confirmation with all labels.
"""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import scarf_lightning
from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.reporting.blocks import table, to_markdown

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
    "method.rate": 0.2,
    "pretrain.patience": 3,
    "pretrain.batch_size": 128,
    "corruption.rate": None,
}
"""The base of the first round. A candidate is called by the options in which it differs."""
PRACTICAL = ("monitor=error", "fixed_below=1000", "min_steps=300")
"""The options in which the practical recipe differs from the base: with 1,000 labels and more it stops early."""
OF_OURS = ("control", "dropout", "bagging")
"""Methods whose candidates are called by options of networks."""
RATES = {"scarf": 0.6, "vime": 0.3}
"""The corruption rate of each pre-training by default."""
NUMBERS = ("diabetes",)
"""Tables whose target is a number; their score is R2."""
CELL = ["round", "dataset", "labels", "method", "pretrain", "candidate"]
BUDGETS = ("20", "100", "all")
CONFIRMED = (
    "mean accuracy in percent, mean rank, difference to logistic regression in points with its standard error over "
    "tables, tables more than 5 points below logistic regression, percent of trials that predict one class, processor "
    "seconds a trial."
)


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
        one_class_labels=_of_one_class(trials),
        seconds=trials["finetune_seconds"],
        pretrain_seconds=trials["pretrain_seconds"],
    )
    grouped = rows.groupby(CELL)
    found = grouped[["score", "one_class", "one_class_labels", "seconds", "pretrain_seconds"]].mean()
    return found.assign(trials=grouped.size()).reset_index()


def _of_one_class(trials: pd.DataFrame) -> "pd.Series[float]":
    """1 for a trial whose labels are of one class, 0 for others; NaN for records of versions that did not count."""
    if "n_label_classes" not in trials:
        return pd.Series(math.nan, trials.index)
    known = trials["n_label_classes"].astype("float")
    return known.eq(1).astype("float").where(known.notna())


def candidate(row: Mapping[Any, Any]) -> str:
    """The options of a network in which it differs from the base; RealMLP's recipes are called by their names."""
    if row["method"] not in OF_OURS:
        return f"{row['method']}{_features(row)}"
    if row.get("network") == "realmlp" and row.get("finetune.optimizer") == "adamw":
        recipe = "recipe=realmlp" if row["network.encoder.embeds_numbers"] else "recipe=realmlp_s"
        recipe += "" if _is_usual(row["finetune.fixed_below"], 0) else " fixed_below=1000"
        return recipe + _features(row)
    said = []
    for option, usual in BASE.items():
        if option == "finetune.label_smoothing" and row["dataset"] in NUMBERS:
            continue  # numbers have none
        if option == "corruption.rate":
            usual = RATES.get(row["pretrain"])
        value = row.get(option)
        if not _is_usual(value, usual):
            said.append(f"{option.rpartition('.')[2]}={value}")
    return (" ".join(said) or "base") + _features(row)


def _features(row: Mapping[Any, Any]) -> str:
    """The ending of a candidate that does not see all columns."""
    features = row.get("features")
    return "" if _is_usual(features, "all") else f" features={features}"


def _is_usual(value: Any, usual: Any) -> bool:
    """Compare an option of a record with that of the base; one that has no effect in a cell is missing there."""
    if value is None or pd.isna(value) or value == "null" or str(value) == str(usual):
        return True
    try:
        return float(value) == float(usual)
    except (TypeError, ValueError):
        return False


def competitor(row: Mapping[Any, Any]) -> str:
    """A cell of the confirmation in words."""
    if row["candidate"].startswith("recipe=") or "features=" in row["candidate"]:
        return str(row["candidate"])
    if row["method"] == "control":
        return f"recipe=practical pretrain={row['pretrain']}"
    if row["method"] == "bagging":
        # Some tables come with a scaling of their own.
        own = re.sub(r"scaling=\w+ ", "", _beside_practical(row["candidate"]))
        return f"{own} pretrain={row['pretrain']}"
    return {"sklearn": "RealMLP-TD of pytabkit"}.get(row["method"], str(row["method"]))


def tables(found: pd.DataFrame) -> str:
    """The tables of study/recipe.md.

    Args:
        found: as `cells` returns them, of all rounds.
    """
    is_number = found["dataset"].isin(NUMBERS)
    classes, numbers = found[~is_number], found[is_number]
    is_confirmation = classes["round"].str.startswith("confirmation")
    is_repeated = classes["round"] == "ten_trials"
    is_variant = classes["round"] == "variants"
    of_features = classes["round"] == "features"
    raced = classes[~is_confirmation & ~is_repeated & ~is_variant & ~of_features]
    confirmed = classes[is_confirmation]
    parts = []
    for name in raced["round"].unique():
        for budget in BUDGETS:
            part = raced[(raced["round"] == name) & (raced["labels"] == budget)]
            if len(part):
                parts.append(_means(part, f"Race, {name}, {budget} labels: mean accuracy in percent."))
    for budget in BUDGETS:
        part = numbers[numbers["labels"] == budget]
        if len(part):
            parts.append(_means(part, f"Race, diabetes, {budget} labels: R2 in percent."))
    for budget in BUDGETS:
        part = confirmed[confirmed["labels"] == budget]
        if len(part):
            parts += _confirmed(part, budget, "Confirmation")
    for budget in BUDGETS:
        part = classes[is_repeated & (classes["labels"] == budget)]
        if len(part):
            parts += _confirmed(part, budget, "Ten trials")
    for budget in BUDGETS:
        part = classes[is_variant & (classes["labels"] == budget)]
        if len(part):
            parts.append(_variants(part, budget))
    part = classes[of_features]
    if len(part):
        n_tables = counted(part["dataset"].nunique(), "table")
        parts.append(_means(part, f"Columns of a forest, all labels, {n_tables}: mean accuracy in percent."))
    return "\n".join(parts)


def _means(part: pd.DataFrame, caption: str) -> str:
    """Each candidate's mean score by pre-training, over tables."""
    wide = part.pivot_table(index="candidate", columns="pretrain", values="score") * 100
    grouped = part.groupby("candidate")
    shown = wide.assign(mean=wide.mean(axis=1))
    if part["one_class"].notna().any():
        shown["one_class"] = 100 * grouped["one_class"].mean()
    shown["seconds"] = grouped["seconds"].mean()
    shown = shown.sort_values("mean", ascending=False)
    formats = dict.fromkeys(shown.columns, ".2f")
    return to_markdown(table("means", caption, shown.reset_index(), formats))


def _variants(part: pd.DataFrame, budget: str) -> str:
    """Each candidate's mean score on every table, and the trials that predict one class."""
    wide = part.pivot_table(index="candidate", columns="dataset", values=["score", "one_class"]) * 100
    datasets = sorted(part["dataset"].unique())
    shown = pd.DataFrame(index=wide.index)
    for dataset in datasets:
        shown[dataset] = wide["score", dataset]
    for dataset in datasets:
        shown[f"{dataset}, one class"] = wide["one_class", dataset]
    shown = shown.sort_values(datasets[0], ascending=False)
    shown.index = pd.Index([_beside_practical(candidate) for candidate in shown.index], name="candidate")
    caption = (
        f"Variants, {budget} labels, ten trials: mean accuracy in percent, percent of trials that predict one class."
    )
    formats = dict.fromkeys(shown.columns, ".1f")
    return to_markdown(table("variants", caption, shown.reset_index(), formats))


def _beside_practical(candidate: str) -> str:
    """A candidate by what it changes of the practical recipe, not of the race's base."""
    words = [word for word in candidate.split() if word not in PRACTICAL]
    return " ".join(words) or "practical"


def _confirmed(part: pd.DataFrame, budget: str, name: str) -> list[str]:
    """Tables of competitors on the same datasets: those that have all datasets, and all on the datasets they share."""
    part = part.assign(competitor=[competitor(row) for row in part.to_dict("records")])
    wide = part.pivot_table(index="dataset", columns="competitor", values="score")
    wide = wide[wide["logistic"].notna()]
    made = []
    for fewest in sorted(set(wide.count()), reverse=True):
        compared = wide.loc[:, wide.count() >= fewest].dropna()
        kept = part[part["dataset"].isin(compared.index) & part["competitor"].isin(compared.columns)]
        made.append(_beside_logistic(compared, kept, f"{name}, {budget} labels"))
    return made


def _beside_logistic(wide: pd.DataFrame, part: pd.DataFrame, name: str) -> str:
    """One table of the confirmation.

    Args:
        wide: scores of competitors, the columns, on the same datasets.
        part: their cells.
        name: of the round and budget.
    """
    differences = wide.sub(wide["logistic"], axis=0)
    beside = {name: mean_and_error(100 * differences[name]) for name in wide.columns}
    beside["logistic"] = ""
    grouped = part.groupby("competitor")
    shown = pd.DataFrame(
        {
            "accuracy": 100 * wide.mean(),
            "rank": wide.rank(axis=1, ascending=False).mean(),
            "to logistic": pd.Series(beside),
            "below": (differences < -0.05).sum(),
            "one class": 100 * grouped["one_class"].mean(),
            "seconds": grouped["seconds"].mean() + grouped["pretrain_seconds"].mean().fillna(0),
        }
    ).sort_values("accuracy", ascending=False)
    formats = {"accuracy": ".2f", "rank": ".2f", "below": ".0f", "one class": ".1f", "seconds": ".2f"}
    caption = f"{name}, {counted(len(wide), 'table')}: {CONFIRMED}"
    if part["one_class_labels"].notna().all():
        shown.insert(5, "one class of two", _though_two(part))
        formats["one class of two"] = ".1f"
        caption = f"{caption.removesuffix('.')}; the same of trials whose labels are of more than one class."
    return to_markdown(table("confirmation", caption, shown.rename_axis("competitor").reset_index(), formats))


def _though_two(part: pd.DataFrame) -> "pd.Series[float]":
    """Percent of trials of each competitor that predict one class though their labels are of more."""
    # Every method predicts one class where its labels have no other.
    n_constant = (part["one_class"] - part["one_class_labels"]) * part["trials"]
    n_able = (1 - part["one_class_labels"]) * part["trials"]
    by_competitor = part["competitor"]
    return 100 * n_constant.groupby(by_competitor).sum() / n_able.groupby(by_competitor).sum()


def mean_and_error(values: "pd.Series[float]", digits: int = 1) -> str:
    """The mean and its standard error, which one value does not have."""
    mean = f"{values.mean():+.{digits}f}".replace("-", "−")
    if len(values) == 1:
        return mean
    return f"{mean} ± {values.std(ddof=1) / math.sqrt(len(values)):.{digits}f}"


if __name__ == "__main__":
    sys.exit(answered(main))
