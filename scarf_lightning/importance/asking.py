"""The columns of a table, asked in four ways: what do trained competitors, training and pre-training need?

All columns are permuted in the test rows first, because one training of each competitor serves all of them. Then the
others ways, each of which trains again, go on with the columns that matter most and those of which we cannot tell,
until all are tried or the time is over.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..report.statistics.answers import MARGIN
from ..report.statistics.trials import RowsOfTrial
from .competing import Competitor, Tested
from .judging import NO_DIFFERENCE, ColumnVerdict, Importance, Way, judge_column, name_of

Say = Callable[[str], None]
REPEATS = 5
"""Permutations of each column in each trial."""


@dataclass(frozen=True)
class Asked:
    """The answers on a table.

    Attributes:
        importance: the verdicts.
        names: of all columns.
        groups: columns that say nearly the same, which were also tried together.
        untried: columns that some way was not tried with, for want of time.
    """

    importance: Importance
    names: Sequence[str]
    groups: Sequence[Sequence[str]]
    untried: Sequence[str]


class Task(NamedTuple):
    """A training with columns changed.

    Attributes:
        unit: the place of the columns among those that are tried together.
        way: what is done to them.
        competitor: the place of the competitor.
    """

    unit: int
    way: Way
    competitor: int


def ask(
    competitors: Sequence[Competitor],
    groups: Sequence[Sequence[int]] = (),
    *,
    repeats: int = REPEATS,
    seed: int = 0,
    margin: float = MARGIN,
    seconds: float = np.inf,
    say: Say = lambda sentence: None,
) -> Asked:
    """Ask which columns matter to competitors on one table.

    Args:
        competitors: those on which columns are tried; the first one has no pre-training.
        groups: places of columns that are also tried together.
        repeats, seed: permutations of each column in each trial, and their seed.
        margin: a difference no larger than this is of no practical consequence.
        seconds: after which no training begins.
        say: shows progress.
    """
    ends = time.monotonic() + seconds
    table, metric = competitors[0].table, competitors[0].metric
    names = [column.name for column in table.columns]
    units = [[place] for place in range(len(names))] + [list(group) for group in groups]
    labels = [tuple(names[place] for place in unit) for unit in units]

    took: list[float] = []
    intact: list[Tested] = []
    verdicts: list[ColumnVerdict] = []
    first: tuple[Tested, list[Tested]] | None = None
    for competitor in competitors:
        say(f"{competitor.name}: training, and {len(units)} columns and groups permuted in the test rows")
        started = time.monotonic()
        # One training serves the columns as they are and all permutations.
        own, moved = competitor.as_they_are(units, repeats, seed)
        took.append(time.monotonic() - started)
        intact.append(own)
        first = first or (own, moved)
        for label, changed in zip(labels, moved, strict=True):
            verdicts += _judged(label, "permuted", competitor, own, changed, margin)
        if competitor.is_pretrained:
            for place, label in enumerate(labels):
                verdicts += _beyond_the_labels(label, competitor, (own, moved[place]), (first[0], first[1][place]),
                                               margin)  # fmt: skip

    # What is planned counts in the correction, whether there is time for it or not.
    planned = list(_tasks(len(units), competitors))
    n_planned = len(planned)
    tried: set[Task] = set()
    so_far = Importance(tuple(verdicts), metric, margin, n_planned)
    order = _most_wanted(so_far, labels)
    for task in sorted(planned, key=lambda each: order.index(each.unit)):
        if not _is_open(so_far, labels[task.unit]):
            continue
        # A training that would end too late does not begin.
        if time.monotonic() + took[task.competitor] > ends:
            continue
        competitor = competitors[task.competitor]
        say(f"{competitor.name}: {name_of(labels[task.unit])} {task.way}")
        changed = _changed(competitor, task.way, units[task.unit])
        verdicts += _judged(labels[task.unit], task.way, competitor, intact[task.competitor], changed, margin)
        tried.add(task)
    left = [task for task in planned if task not in tried and _is_open(so_far, labels[task.unit])]
    untried = list(dict.fromkeys(name_of(labels[task.unit]) for task in left))
    found = Importance(verdicts, metric, margin, n_planned - len(tried))
    return Asked(found, names, [[names[place] for place in group] for group in groups], untried)


def _tasks(n_units: int, competitors: Sequence[Competitor]) -> Iterator[Task]:
    """All trainings with columns changed."""
    for unit in range(n_units):
        for place, competitor in enumerate(competitors):
            yield Task(unit, "left out", place)
            if competitor.is_pretrained:
                yield Task(unit, "left out of pre-training", place)
            if competitor.is_pretrained and competitor.is_corrupted:
                yield Task(unit, "left out of corruption", place)


def _changed(competitor: Competitor, way: Way, places: Sequence[int]) -> Tested:
    """The test rows of a competitor that is trained with columns changed."""
    if way == "left out":
        return competitor.without(places)
    if way == "left out of pre-training":
        return competitor.hidden_from_pretraining(places)
    return competitor.spared_by_corruption(places)


def _most_wanted(so_far: Importance, labels: Sequence[tuple[str, ...]]) -> list[int]:
    """The places of the columns, those first that any competitor misses most."""
    largest = []
    for label in labels:
        its = [each.verdict.difference for each in so_far.verdicts if each.columns == label]
        largest.append(max(its, default=-np.inf))
    return sorted(range(len(labels)), key=lambda place: -largest[place])


def _is_open(so_far: Importance, label: tuple[str, ...]) -> bool:
    """True if permuting the columns made a difference to any competitor, or may have made one."""
    answers = [answer for each, answer in so_far.answered if each.columns == label]
    return any(answer != NO_DIFFERENCE for answer in answers)


def _common(first: Tested, second: Tested) -> list[tuple[RowsOfTrial, RowsOfTrial]]:
    """The trials that both have."""
    return [(first[trial], second[trial]) for trial in sorted(first.keys() & second.keys())]


def _judged(
    columns: tuple[str, ...], way: Way, competitor: Competitor, intact: Tested, changed: Tested, margin: float
) -> list[ColumnVerdict]:
    """The verdict on columns; none without a common trial."""
    both = _common(intact, changed)
    if not both:
        return []
    ones, others = map(list, zip(*both, strict=True))
    return [
        judge_column(columns, way, competitor.name, ones, others, competitor.metric, competitor.split, margin=margin)
    ]


def _beyond_the_labels(
    columns: tuple[str, ...],
    competitor: Competitor,
    own: tuple[Tested, Tested],
    other: tuple[Tested, Tested],
    margin: float,
) -> list[ColumnVerdict]:
    """By how much more a pre-trained competitor needs columns than the first one does: the difference of differences.

    Of metrics without a largest value there is none, because the parts of two values do not add up.
    """
    if competitor.metric.is_relative:
        return []
    gains = _minus(own[0], other[0])
    without = _minus(own[1], other[1])
    return _judged(columns, "beyond the labels", competitor, gains, without, margin)


def _minus(first: Tested, second: Tested) -> Tested:
    """The differences of values on each test row. Rows that no trial showed may have any."""
    found: Tested = {}
    for trial in first.keys() & second.keys():
        one, other = first[trial], second[trial]
        found[trial] = replace(one, values=one.values - other.values, added=np.full_like(one.added, np.nan))
    return found


def advice(asked: Asked) -> list[str]:
    """Advice on the columns, in sentences."""
    found = asked.importance
    sentences = []
    can_go = _can_go(found)
    if can_go:
        sentences.append(
            f"{_counted(can_go)} can go: no competitor is better with {_it(can_go)} by more than the margin."
        )
    used = found.helping("left out of pre-training")
    if used:
        sentences.append(f"The gains of pre-training need {', '.join(used)}: without {_it(used)} it is worse.")
    corrupted = found.helping("left out of corruption")
    if corrupted:
        sentences.append(f"Pre-training is better if it corrupts {', '.join(corrupted)}.")
    beyond = found.helping("beyond the labels")
    if beyond:
        sentences.append(f"Pre-trained networks use {', '.join(beyond)} more than networks that see the labels alone.")
    for group in asked.groups:
        if _is_redundant(found, group):
            sentences.append(
                f"{' and '.join(group)} say the same: together they are needed, and each one alone can go."
            )
    if asked.untried:
        sentences.append(
            f"The time was over before training without {len(asked.untried)} columns or groups was tried; a longer "
            "time_limit tries them."
        )
    return sentences


def _counted(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{len(names)} columns ({shown})" if len(names) > 1 else f"The column {shown}"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _can_go(found: Importance) -> list[str]:
    """Columns that every competitor does without, by more than chance: no practical difference, or worse with them."""
    answers: dict[str, list[str]] = {}
    for each, answer in found.of("left out"):
        if len(each.columns) == 1:
            answers.setdefault(each.name, []).append(answer)
    n_competitors = len({each.competitor for each in found.verdicts})
    can_go = []
    for name, its in answers.items():
        if len(its) == n_competitors and all(a == NO_DIFFERENCE or a.startswith("hurts") for a in its):
            can_go.append(name)
    return can_go


def _is_redundant(found: Importance, group: Sequence[str]) -> bool:
    """True if a group helps some competitor that does without each of its columns."""
    for competitor in found.competitors:
        its = {each.columns: answer for each, answer in found.of("left out", competitor)}
        together = its.get(tuple(group), "")
        alone = [its.get((name,), "") for name in group]
        if together.startswith("helps") and all(answer == NO_DIFFERENCE for answer in alone):
            return True
    return False
