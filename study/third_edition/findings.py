"""The three findings of the third edition, by the rules of its protocol."""

from collections.abc import Sequence

import pandas as pd

from scarf_lightning.errors import enumeration

from ..results import NONE, SCARF
from .comparisons import DRAWS, Compared, WorthAt, compare, means_of, tables_of, worth

BUDGETS = (20, 50, 100, 500)
NUMBERS = [f"{labels}" for labels in BUDGETS]
AUROC = "auroc"
CATBOOST, LINEAR = "CatBoost", "logistic regression"
LONGEST = 25
"""Words of a finding."""


def findings(trials: pd.DataFrame, families: pd.Series, n_draws: int = DRAWS) -> list[str]:
    """Three sentences: whether SCARF is worth labels, how many, and what other models are worth.

    Args:
        trials: of classes, with the columns of `comparisons.TRIALS` and ``auroc``.
        families: of the tables, by their names.
        n_draws: of the bootstrap.
    """
    means = means_of(trials, AUROC)

    def worths(competitor: str) -> str:
        return multiples([worth(means, families, competitor, NONE, each, BUDGETS, n_draws) for each in BUDGETS])

    scarf = [tables_of(means, families, SCARF, NONE, labels) for labels in BUDGETS]
    return [
        f"Does SCARF raise AUROC? {answers(compare(scarf, BUDGETS, n_draws))}.",
        f"SCARF is worth {worths(SCARF)} times the labels at {enumeration(NUMBERS)}.",
        f"In place of the network, CatBoost is worth {worths(CATBOOST)} times the labels, logistic regression "
        f"{worths(LINEAR)}.",
    ]


def answers(several: Sequence[Compared]) -> str:
    """The answers with their budgets and means: ``Yes with 20 and 50 labels (+0.9, +0.7 points); cannot tell ...``."""
    by_answer: dict[str, list[Compared]] = {}
    for each in several:
        by_answer.setdefault(each.answer, []).append(each)
    parts = []
    for answer, its in by_answer.items():
        budgets = enumeration([f"{each.labels}" for each in its])
        means = ", ".join(f"{each.mean:+.1f}" for each in its)
        parts.append(f"{answer} with {budgets} ({means})")
    first, *others = parts
    # The first one says what the numbers are.
    first = first.replace(" (", " labels (").replace(")", " points)")
    return "; ".join([first[0].upper() + first[1:], *others])


def multiples(several: Sequence[WorthAt | None]) -> str:
    """The worths at the budgets: ``1.1, 1.2, 1.1 and 1.0``."""
    return enumeration(["unknown" if each is None else f"{each.factor:.1f}" for each in several])
