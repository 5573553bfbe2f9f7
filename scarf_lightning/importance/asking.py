"""The columns of a table, asked in four ways: what do trained competitors, training and pre-training need?

All columns are permuted in the test rows first, because one training of each competitor serves all of them. Then come
the ways that train again, with the columns that matter most first. Columns that make no practical difference to any
competitor when they are permuted are not tried again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..verdicts.trials import RowsOfTrial
from .asked import Question, Task
from .competing import Competitor, Tested
from .judging import NO_DIFFERENCE, ColumnVerdict, Importance, Way, judge_column, name_of
from .kept import Kept

Launch = Callable[[Sequence[Task]], None]
"""Measures tasks, the first ones first, and keeps them, as far as there is time."""


@dataclass(frozen=True)
class Asked:
    """The answers on a table.

    Attributes:
        importance: the verdicts.
        names: of all columns.
        groups: columns that say nearly the same, which were also tried together.
        untried: columns that some way was not tried with, for want of time.
        settled: columns that were not left out of anything, because permuted they make no practical difference to any
            competitor.
    """

    importance: Importance
    names: Sequence[str]
    groups: Sequence[Sequence[str]]
    untried: Sequence[str]
    settled: Sequence[str]


def ask(kept: Kept, launch: Launch) -> Asked:
    """Ask which columns matter to competitors on one table.

    Args:
        kept: the question, and where its measurements are kept.
        launch: measures tasks.
    """
    question = kept.question
    launch(question.permuting)
    # All that is planned counts in the correction, whether there is time for it or not.
    planned = question.changing
    so_far = Importance(permuted_verdicts(kept), question.competitors[0].metric, question.margin, len(planned))
    wanted = open_tasks(question, so_far)
    launch(wanted)

    # What was not measured stays in the correction.
    verdicts = list(so_far.verdicts)
    untried: list[str] = []
    n_tried = 0
    for task in wanted:
        verdict = changed_verdict(kept, task)
        if verdict is None:
            untried.append(name_of(question.labels[_unit(task)]))
        else:
            verdicts.append(verdict)
            n_tried += 1
    importance = replace(so_far, verdicts=verdicts, n_untried=len(planned) - n_tried)
    # Nobody uses these when they are permuted.
    open_units = {task.unit for task in wanted}
    settled = [name for unit, name in enumerate(question.names) if unit not in open_units]
    groups = [[question.names[place] for place in group] for group in question.groups]
    return Asked(importance, question.names, groups, list(dict.fromkeys(untried)), settled)


def permuted_verdicts(kept: Kept) -> list[ColumnVerdict]:
    """The verdicts on permuted columns, and on what pre-trained competitors use beyond the labels."""
    question = kept.question
    verdicts: list[ColumnVerdict] = []
    first: Sequence[Tested] | None = None
    is_beside_labels = not question.competitors[0].is_pretrained
    for task, competitor in zip(question.permuting, question.competitors, strict=True):
        measurement = kept.read(task)
        if measurement is None:
            continue
        intact, *moved = measurement.tested
        # The first competitor has the labels alone, unless all are pre-trained.
        first = first or measurement.tested
        for place, label in enumerate(question.labels):
            verdicts += _judged(label, "permuted", competitor, intact, moved[place], question.margin)
            # Parts of two errors do not add up, so metrics without a largest value are not compared.
            if is_beside_labels and competitor.is_pretrained and not competitor.metric.is_relative:
                gains = _minus(intact, first[0])
                without = _minus(moved[place], first[1 + place])
                verdicts += _judged(label, "beyond the labels", competitor, gains, without, question.margin)
    return verdicts


def changed_verdict(kept: Kept, task: Task) -> ColumnVerdict | None:
    """The verdict on columns that a competitor was trained without; None if it was not, or in no trial."""
    question = kept.question
    changed = kept.read(task)
    intact = kept.read(Task("permuted", task.competitor))
    if changed is None or intact is None:
        return None
    competitor = question.competitors[task.competitor]
    label = question.labels[_unit(task)]
    verdicts = _judged(label, task.way, competitor, intact.tested[0], changed.tested[0], question.margin)
    return verdicts[0] if verdicts else None


def open_tasks(question: Question, so_far: Importance) -> list[Task]:
    """The trainings without columns that make a difference when permuted, or may make one; the most important first."""
    largest: dict[tuple[str, ...], float] = {}
    is_open: set[tuple[str, ...]] = set()
    for each, answer in so_far.answered:
        difference = float(np.nan_to_num(each.verdict.difference, nan=-np.inf))
        # Of the competitors that one counts that misses them most.
        largest[each.columns] = max(difference, largest.get(each.columns, -np.inf))
        if answer != NO_DIFFERENCE:
            is_open.add(each.columns)
    wanted = []
    for task in question.changing:
        if question.labels[_unit(task)] in is_open:
            wanted.append(task)
    return sorted(wanted, key=lambda task: -largest[question.labels[_unit(task)]])


def _unit(task: Task) -> int:
    assert task.unit is not None
    return task.unit


def _judged(
    columns: tuple[str, ...], way: Way, competitor: Competitor, intact: Tested, changed: Tested, margin: float
) -> list[ColumnVerdict]:
    """The verdict on columns; none without a common trial."""
    ones: list[RowsOfTrial] = []
    others: list[RowsOfTrial] = []
    for trial in sorted(intact.keys() & changed.keys()):
        ones.append(intact[trial])
        others.append(changed[trial])
    if not ones:
        return []
    metric, split = competitor.metric, competitor.split
    return [judge_column(columns, way, competitor.name, ones, others, metric, split, margin=margin)]


def _minus(first: Tested, second: Tested) -> Tested:
    """The differences of values on each test row. Rows that no trial showed may have any."""
    differences: Tested = {}
    for trial in first.keys() & second.keys():
        one, other = first[trial], second[trial]
        differences[trial] = replace(one, values=one.values - other.values, added=np.full_like(one.added, np.nan))
    return differences
