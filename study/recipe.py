"""The candidates for the practical recipe, compared: the tables of study/recipe.md, in Markdown.

    python -m study.recipe [results=FOLDER]

The trials are those of study/recipe.parquet. Those of a folder with cells of study/recipe.yaml and study/race.yaml are
added to that file. A mean is over the tables that have every candidate of its round.
"""

import sys
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import scarf_lightning
from scarf_lightning.cli.commands import answered
from scarf_lightning.errors import UsageError, counted
from scarf_lightning.reporting.blocks import table, to_markdown

FILE = Path(__file__).with_name("recipe.parquet")
KEPT = [
    "dataset", "regime", "regime.labels", "method", "pretrain", "finetune.monitor", "finetune.min_steps",
    "finetune.patience", "finetune.weight_decay", "pretrain.patience", "trial", "accuracy", "finetune_seconds",
    "fingerprint",
]  # fmt: skip
TRIAL = ["fingerprint", "trial"]
PAIR = ["dataset", "labels"]
FINALISTS = [
    "monitor=error min_steps=0 patience=3",
    "monitor=loss min_steps=100 patience=10",
    "monitor=loss min_steps=100 patience=10 weight_decay=0.01",
]
"""The candidates of the second round, study/race.yaml."""
TRIED_LATER = " weight_decay=0.1"
OPTIONS = {"monitor": "finetune.monitor", "min_steps": "finetune.min_steps", "patience": "finetune.patience"}


def main(arguments: Sequence[str]) -> None:
    """Print the tables.

    Raises:
        UsageError: an argument is unknown.
    """
    given = dict(each.partition("=")[::2] for each in arguments)
    if set(given) - {"results"}:
        raise UsageError("Name the folder with the cells of study/recipe.yaml: results=FOLDER; or give no argument.")
    if "results" in given:
        kept, found = pd.read_parquet(FILE), scarf_lightning.load(Path(given["results"]))
        both = pd.concat([kept, found.reindex(columns=KEPT).astype(kept.dtypes)])
        both.drop_duplicates(TRIAL, keep="last").to_parquet(FILE, index=False, compression="zstd")
    sys.stdout.write(tables(pd.read_parquet(FILE)))


def tables(trials: pd.DataFrame) -> str:
    """Each candidate's mean accuracy and time, and where the networks stay below logistic regression.

    Args:
        trials: of the cells of study/recipe.yaml, as `scarf_lightning.load` returns them.
    """
    trials = trials.assign(
        labels=_budget(trials).map(lambda n: "all" if pd.isna(n) else str(int(n))),
        candidate=[_candidate(row) for row in trials.to_dict("records")],
    )
    networks = trials[trials["method"] == "control"]
    parts = []
    for which, is_tried in (("First", _is_first), ("Second", _is_finalist), ("Second", _is_last)):
        for budget in ("20", "100", "all"):
            tried = [is_tried(name, budget) for name in networks["candidate"]]
            part = networks[pd.Series(tried, networks.index) & (networks["labels"] == budget)]
            if len(part):
                parts.append(_means(part, f"{which} round, {budget}"))
    parts += [_below(trials, candidate) for candidate in FINALISTS]
    return "\n".join(parts)


def _is_first(candidate: str, budget: str) -> bool:
    """The first round tried the strongest decay with few labels alone, and not with a longer pre-training."""
    strongest = FINALISTS[2] in candidate
    return TRIED_LATER not in candidate and not (strongest and (budget == "all" or candidate != FINALISTS[2]))


def _is_finalist(candidate: str, budget: str) -> bool:
    return candidate in FINALISTS


def _is_last(candidate: str, budget: str) -> bool:
    return candidate in [*FINALISTS, FINALISTS[1] + TRIED_LATER]


def _budget(trials: pd.DataFrame) -> "pd.Series[float]":
    return trials["regime.labels"].where(trials["regime"] == "few")


def _candidate(row: Mapping[Hashable, Any]) -> str:
    if row["method"] != "control":
        return str(row["method"])
    said = [f"{name}={row[column]}" for name, column in OPTIONS.items()]
    said += [f"weight_decay={row['finetune.weight_decay']:g}"] if row["finetune.weight_decay"] else []
    said += ["pretrain.patience=10"] if row.get("pretrain.patience") == 10 else []
    return " ".join(said)


def _means(part: pd.DataFrame, budgets: str) -> str:
    """Means over the tables that have all candidates, and the seconds of the supervised phase."""
    cells = part.pivot_table(index="dataset", columns=["candidate", "labels", "pretrain"], values="accuracy")
    whole = cells.dropna().index
    kept = part[part["dataset"].isin(whole)]
    means = kept.pivot_table(index="candidate", columns="pretrain", values="accuracy")
    means["both"] = means.mean(axis=1, skipna=False)
    means["seconds"] = kept.groupby("candidate")["finetune_seconds"].mean()
    shown = (100 * means.drop(columns="seconds")).assign(seconds=means["seconds"]).sort_values("both", ascending=False)
    caption = (
        f"{budgets} labels, {counted(len(whole), 'table')}: mean accuracy in percent, seconds of fine-tuning a trial."
    )
    formats = dict.fromkeys(["none", "scarf", "both"], ".2f") | {"seconds": ".2f"}
    return to_markdown(table("means", caption, shown.reset_index(), formats))


def _below(trials: pd.DataFrame, candidate: str) -> str:
    """Where the better network is below logistic regression by more than two standard errors."""
    values = trials[trials["candidate"].isin([candidate, "logistic"])]
    wide = values.pivot_table(index=[*PAIR, "trial"], columns=["candidate", "pretrain"], values="accuracy")
    names = [column for column in wide.columns if column[0] == candidate]
    logistic = [column for column in wide.columns if column[0] == "logistic"]
    if len(names) < 2 or not logistic:
        return ""
    grouped = wide.dropna().groupby(PAIR)
    best = grouped[names].mean().idxmax(axis=1)
    better = dict(zip(best.index, best, strict=True))
    lines = []
    for pair, part in grouped:
        difference = (part[better[pair]] - part[logistic[0]]).dropna()
        if len(difference) > 1 and difference.mean() < -2 * difference.std(ddof=1) / np.sqrt(len(difference)):
            lines.append(f"{pair[0]} {pair[1]} ({100 * difference.mean():+.1f})")
    return f"{candidate}: below logistic regression in {len(lines)} of {len(better)} pairs: {', '.join(lines)}\n"


if __name__ == "__main__":
    sys.exit(answered(main))
