"""Advice on the columns of a table, in sentences."""

from collections.abc import Sequence

from ..verdicts.answers import HELPING, HURTING, Answer
from .asking import Asked
from .judging import NO_DIFFERENCE, Importance

MOST_NAMES = 8
"""Columns that a sentence names."""


def advice(asked: Asked) -> list[str]:
    """Advice on the columns: which can go and which must stay, which pre-training lives on, which stand in for each
    other."""
    importance = asked.importance
    sentences = []
    # To do without a column comes first, because it saves work.
    can_go = columns_that_can_go(asked)
    if can_go:
        sentences.append(
            f"{_counted(can_go)} can go: without {_it(can_go)} no competitor is worse by more than the margin."
        )
    must_stay = columns_that_must_stay(asked)
    if must_stay:
        any_of = "it" if len(must_stay) == 1 else "any one of them"
        sentences.append(f"Keep {_listed(must_stay)}: trained without {any_of}, every competitor is worse.")
    # Which columns pre-training lives on, by each of its ways.
    needed = importance.helping("left out of pre-training")
    if needed:
        sentences.append(f"The gains of pre-training need {_listed(needed)}: without {_it(needed)} it is worse.")
    corrupted = importance.helping("left out of corruption")
    if corrupted:
        sentences.append(f"Pre-training is better if it corrupts {_listed(corrupted)}.")
    beyond = importance.helping("beyond the labels")
    if beyond:
        sentences.append(f"Pre-trained networks use {_listed(beyond)} more than networks that see the labels alone.")
    # A group of which each column alone can go is no contradiction.
    for group in asked.groups:
        if _is_redundant(importance, group):
            sentences.append(
                f"{' and '.join(group)} say the same: together they are needed, and each one alone can go."
            )
    return sentences


def on_use(found: Importance, competitor: str) -> str:
    """A sentence on the columns that a competitor uses: those that it misses when they are permuted."""
    used = found.helping("permuted", competitor)
    return f"{competitor}: it uses {_listed(used) or 'none that we can tell'}."


def on_untried(asked: Asked) -> list[str]:
    """A sentence on the columns that were not tried in every way; none if all were."""
    if not asked.untried:
        return []
    return [
        f"The time was over before all trainings without these columns were done: {_listed(asked.untried)}. The same "
        "command with a longer time_limit goes on."
    ]


def columns_that_can_go(asked: Asked) -> list[str]:
    """Columns that every competitor does without, by more than chance.

    Trained without them it is no worse by more than the margin. Or permuted they make no practical difference to any:
    these very networks are as good without knowing them.
    """
    importance = asked.importance
    answers: dict[str, list[Answer]] = {}
    for each, answer in importance.of("left out"):
        if len(each.columns) == 1:
            answers.setdefault(each.name, []).append(answer)
    can_go = []
    for name, its in answers.items():
        # With one competitor untried nobody can tell.
        if len(its) == len(importance.competitors) and all(map(_is_needless, its)):
            can_go.append(name)
    return can_go + list(asked.settled)


def columns_that_must_stay(asked: Asked) -> list[str]:
    """Columns, and groups of them, without which every competitor is trained to be worse; most important first."""
    importance = asked.importance
    needed = [set(importance.helping("left out", name)) for name in importance.competitors]
    by_all = set.intersection(*needed) if needed else set()
    return [name for name in importance.helping("left out") if name in by_all]


def _is_needless(answer: Answer) -> bool:
    return answer == NO_DIFFERENCE or answer in HURTING


def _is_redundant(found: Importance, group: Sequence[str]) -> bool:
    """True if a group helps some competitor that does without each of its columns."""
    for competitor in found.competitors:
        its = {each.columns: answer for each, answer in found.of("left out", competitor)}
        # Untried columns have no answer.
        is_needed = its.get(tuple(group)) in HELPING
        alone = {its.get((name,)) for name in group}
        if is_needed and alone == {NO_DIFFERENCE}:
            return True
    return False


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: some of them, and how many more there are."""
    more = len(names) - MOST_NAMES
    # One more name takes no more room than its number.
    if more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {more} more"


def _counted(names: Sequence[str]) -> str:
    """Names at the beginning of a sentence, with their number."""
    if len(names) == 1:
        return f"The column {names[0]}"
    return f"{len(names)} columns ({_listed(names)})"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
