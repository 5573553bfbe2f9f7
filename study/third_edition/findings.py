"""The three findings of the third edition, by the rules of its protocol."""

from collections.abc import Sequence

import pandas as pd

from scarf_lightning.errors import enumeration

from ..results import NONE, SCARF
from .comparisons import BUDGETS, Compared, compare, means_of, tables_of, worth

AUROC = "auroc"
CATBOOST, LINEAR = "CatBoost", "logistic regression"


def findings(trials: pd.DataFrame, families: pd.Series) -> list[str]:
    """Three sentences: whether SCARF is worth labels, how many, and what other models are worth.

    Args:
        trials: of classes, with the columns of `study.results.KEY` and ``auroc``.
        families: of the tables, by their names.
    """
    means = means_of(trials, AUROC)

    def worths(competitor: str) -> str:
        found = [worth(means, families, competitor, labels) for labels in BUDGETS]
        return enumeration(["unknown" if each is None else f"{each.mean:.1f}" for each in found])

    scarf = [tables_of(means, families, SCARF, NONE, labels) for labels in BUDGETS]
    return [
        f"Does SCARF raise AUROC? {answers(compare(scarf))}.",
        f"SCARF is worth {worths(SCARF)} times the labels at {enumeration([*map(str, BUDGETS)])}.",
        f"In place of the network, CatBoost is worth {worths(CATBOOST)} times the labels, logistic regression "
        f"{worths(LINEAR)}.",
    ]


def answers(several: Sequence[Compared]) -> str:
    """The answers with their budgets and means: ``Yes with 20 and 50 labels (+0.9, +0.7 points); cannot tell ...``."""
    by_answer: dict[str, list[tuple[int, float]]] = {}
    for labels, each in zip(BUDGETS, several, strict=True):
        by_answer.setdefault(each.answer, []).append((labels, each.interval.mean))
    parts = []
    for answer, its in by_answer.items():
        budgets = enumeration([f"{labels}" for labels, _ in its])
        means = ", ".join(f"{mean:+.1f}" for _, mean in its)
        parts.append(f"{answer} with {budgets} ({means})")
    first, *others = parts
    # The first one says what the numbers are.
    first = first.replace(" (", " labels (").replace(")", " points)")
    return "; ".join([first[0].upper() + first[1:], *others])
