"""The findings of the study in sentences, by the rules of its protocol."""

from collections.abc import Mapping, Sequence

from scarf_lightning.errors import capitalised, enumeration

from .comparisons import Compared, Rows
from .trials import BUDGETS


def headline_of(pretrainings: Rows) -> str | None:
    """The pre-training with the most budgets answered by *yes*; of several, that of the largest mean difference."""

    def rank(name: str) -> tuple[int, float]:
        compared = pretrainings[name]
        return sum(each.answer == "yes" for each in compared), sum(each.interval.mean for each in compared)

    best = max(pretrainings, key=rank)
    return best if rank(best)[0] else None


def findings(metric: str, pretrainings: Rows, without: Rows) -> list[str]:
    """Sentences on what was found: the headline, and the answers on the other pre-trainings.

    Args:
        metric: as a sentence calls it.
        pretrainings: each over no pre-training.
        without: the same without the three tables that weigh most.
    """
    best = headline_of(pretrainings)
    changes, named = {}, []
    for name, compared in pretrainings.items():
        pairs = list(zip(BUDGETS, compared, without[name], strict=True))
        told = {labels: each for labels, each, _ in pairs if each.answer != "cannot tell"}
        changed = {labels: fewer for labels, each, fewer in pairs if fewer.answer != each.answer}
        changes[name] = _describe(changed) or "no answer changes"
        if name != best and told:
            named.append(f"{name}: {_describe(told)}{f' (without three tables: {changes[name]})' if changed else ''}.")
    if best is None:
        return [f"No pre-training was found to raise {metric}.", " ".join(named) or "None was found to hurt."]
    compared = pretrainings[best]
    n_gains = enumeration([str(each.n_gains) for each in compared])
    means = ", ".join(f"{each.without:+.1f}" for each in compared)
    return [
        f"Does {best} raise {metric}? {answers(compared)}.",
        f"{n_gains} of {max(each.n for each in compared)} tables gain; without the three that weigh most: "
        f"{changes[best]} (means {means}).",
        " ".join(named) or "No other was found to help or to hurt.",
    ]


def answers(compared: Sequence[Compared]) -> str:
    """The answers with their budgets and means: ``Yes with 20 and 50 labels (+0.9, +0.7 points); cannot tell ...``."""
    return capitalised(_describe(dict(zip(BUDGETS, compared, strict=True)), " ({} points)"))


def _describe(by_budget: Mapping[int, Compared], means: str = "") -> str:
    """Each answer with its budgets, and with its means in the form that is given: ``yes with 20 and 50 labels``."""
    parts = []
    for answer in dict.fromkeys(each.answer for each in by_budget.values()):
        points = {str(n): f"{each.interval.mean:+.1f}" for n, each in by_budget.items() if each.answer == answer}
        parts.append(f"{answer} with {enumeration(list(points))} labels{means.format(', '.join(points.values()))}")
    return "; ".join(parts)
