"""The findings of the second edition and its advice, in three sentences."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scarf_lightning.reporting.blocks import number

from ..results import ALL, NONE, SCARF
from ..writing import budgets_of, named_in_turn
from .comparisons import (
    ACCURACY,
    AUROC,
    BEST,
    HALF,
    LINEAR,
    NETWORKS,
    PARTS,
    PRETRAININGS,
    REALMLP,
    Comparison,
    compare,
    confirming,
    levels,
)
from .tables import shown


def findings(trials: pd.DataFrame) -> str:
    """The findings and the advice, in three sentences that the README shows too. They are the page's second paragraph.

    Args:
        trials: as `prepared` returns them.
    """
    budgets = [labels for labels in budgets_of(trials) if labels != ALL]
    scarf = compare(trials, ACCURACY, SCARF, NONE, budgets)
    realmlp = compare(trials, ACCURACY, f"{REALMLP} with {SCARF}", REALMLP, budgets)
    linear = compare(trials, ACCURACY, BEST, LINEAR, budgets)
    trees = compare(trials, ACCURACY, BEST, "CatBoost", budgets)
    auroc = compare(trials, AUROC, SCARF, NONE, budgets)
    n_tables = max(len(each.gains) for each in scarf)
    others = compare(trials, ACCURACY, BEST, LINEAR, budgets, confirming(trials))
    on_others = (
        f"; over a linear model, without the tables that confirmed its recipe: {_told(others)}" if others else ""
    )
    alike = as_good(trials, PRETRAININGS, budgets)
    exchanged = as_good(trials, [f"{SCARF}, {part}" for part in PARTS], budgets)
    names = [name.replace(HALF, f"{SCARF} at rate 0.3") for name in alike]
    if exchanged:
        parts = " or ".join(f"`{name.removeprefix(f'{SCARF}, ')}`" for name in exchanged)
        names.append(f"{SCARF} with {parts}")
    no_difference = f"; {named_in_turn(names)} make no practical difference to SCARF" if names else ""
    return (
        f"- **Does SCARF help a network?** In points on the median of {n_tables} tables, by number of labels, in "
        f"accuracy: {_told(scarf)}; on RealMLP: {_told(realmlp)}; in AUROC: {_told(auroc)}{no_difference}.\n"
        "- **Does the best network beat others?** In points of accuracy, over a linear model: "
        f"{_told(linear)}; over CatBoost: {_told(trees)}{on_others}.\n"
        f"- **What to do:** {advice(trials, budgets, [SCARF, *alike])}"
    )


def advice(trials: pd.DataFrame, budgets: Sequence[str], alike: Sequence[str]) -> str:
    """The advice: what labels add, and what a pre-training does.

    Args:
        alike: the pre-trainings to choose from.
    """
    means, _ = levels(trials, ACCURACY)
    fewest, more = budgets[:2]
    of_few, of_more = means.loc[NONE, [fewest, more]].to_numpy(dtype=np.float64)
    added = number(of_more - of_few, ".1f")
    fastest = str(seconds_of_pretraining(trials)[list(alike)].idxmin())
    (gain,) = compare(trials, ACCURACY, fastest, NONE, [fewest])
    return (
        f"Label more rows, if you can: {more} labels in place of {fewest} add {added} points of accuracy to the mean "
        f"of networks without pre-training; if you cannot, pre-train with {fastest}, which takes least time of these, "
        f"expect {shown(gain.median)} points on the median table with {fewest} labels, and compare with a linear model "
        "and CatBoost before you keep the network."
    )


def as_good(trials: pd.DataFrame, names: Sequence[str], budgets: Sequence[str]) -> list[str]:
    """The networks of these names that make no practical difference to SCARF at any budget."""
    alike = []
    for name in names:
        compared = compare(trials, ACCURACY, name, SCARF, budgets) if name != SCARF else []
        if compared and all(each.claimed == "no practical difference" for each in compared):
            alike.append(name)
    return alike


def seconds_of_pretraining(trials: pd.DataFrame) -> pd.Series:
    """The mean seconds of a pre-training of each network, shortest first."""
    means = pretrained_once(trials).groupby("competitor")["pretrain_seconds"].mean()
    return means.reindex(NETWORKS).dropna().sort_values()


def pretrained_once(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials without those that share the pre-training of a trial at another budget, whose seconds they show."""
    return trials.drop_duplicates(["dataset", "competitor", "trial", "pretrain_seconds"])


def _told(compared: Sequence[Comparison]) -> str:
    """The answers with their budgets and median gains."""
    answers: dict[str, list[Comparison]] = {}
    for each in compared:
        answers.setdefault(each.claimed, []).append(each)
    parts = []
    for answer, its in answers.items():
        budgets = named_in_turn([each.labels for each in its])
        gains = named_in_turn([number(each.median.mean, "+.1f") for each in its])
        parts.append(f"*{answer}* with {budgets} ({gains})")
    return ", ".join(parts)
