"""Pairs of cells that are compared: each cell with the reference of its dataset, at the same number of labels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import UsageError, did_you_mean
from .competitors import named_by
from .loading import CellResults
from .names import BUDGET, NO_PRETRAINING, labels_in_words, text_of


class Pair(NamedTuple):
    """Two cells of one dataset that are compared.

    Attributes:
        cell, reference: their labels in `CellResults.cells`.
        context: the number of labels or the seed that both share, in words; empty if cells do not differ in it.
        name, reference_name: of the two among the competitors.
        against: the reference in a sentence, where "no pre-training" stands for that of each method.
        labels: how many labels training sees, infinity for all; None if cells do not differ in it, or in more.
    """

    cell: int
    reference: int
    context: str
    name: str
    reference_name: str
    against: str
    labels: float | None = None


@dataclass(frozen=True)
class References:
    """The cells that others are compared with, the most usual first.

    Attributes:
        cells: their labels.
        free: the columns in which a cell may differ from its reference; None for all.
        against: one phrase for all references; None for the name of each.
    """

    cells: Sequence[int]
    free: frozenset[str] | None = None
    against: str | None = None


@dataclass(frozen=True)
class Competition:
    """The cells of a report as competitors.

    Attributes:
        names: of the cells by label, made of the columns in which competitors differ.
        contexts: of the cells, in words.
        budgets: how many labels each cell trains with, if they differ in it and compete at each number; else None.
    """

    names: Mapping[int, str]
    contexts: Mapping[int, str]
    budgets: Mapping[int, float] | None = None


def competition(results: CellResults) -> Competition:
    """The cells as competitors. A number of labels is no competitor: two cells meet at the same one."""
    compared, contexts = results.compared, results.contexts
    budgets = label_budgets(results)
    if not compared and budgets is None:
        # Seeds, or regimes that are no number of labels, are all that the user varied.
        compared, contexts = contexts, []
    names = _by_label(results, compared or ["pretrain", "method"])
    if budgets is not None:
        in_words = {label: labels_in_words(budget) for label, budget in budgets.items()}
        return Competition(names, in_words, budgets)
    if not contexts:
        return Competition(names, dict.fromkeys(names, ""))
    return Competition(names, _by_label(results, contexts))


def _by_label(results: CellResults, columns: Sequence[str]) -> dict[int, str]:
    """The names of all cells by label."""
    return dict(
        zip(results.rows, named_by(results, results.cells, columns), strict=True)
    )


def label_budgets(results: CellResults) -> dict[int, float] | None:
    """The number of labels that each cell trains with, infinity for all, a share below one; None unless cells differ
    in it, and in no other context."""
    others = set(results.contexts) - {"regime", *BUDGET}
    if others:
        return None
    budgets = {label: _budget(row) for label, row in results.rows.items()}
    if any(map(math.isnan, budgets.values())) or len(set(budgets.values())) < 2:
        return None
    return budgets


def _budget(row: dict[str, Any]) -> float:
    """The number of labels that a cell trains with; NaN if its regime does anything else to labels."""
    if row.get("regime") == "full":
        return math.inf
    for column in BUDGET:
        if row.get(column) is not None:
            return float(row[column])
    return math.nan


def pairs_of(results: CellResults, reference: str | None = None) -> list[Pair]:
    """The cells that are compared, each with its reference.

    Args:
        results: of the report.
        reference: a competitor that all others are compared with, by its name or by a value of an option, such as
            ``scarf`` or ``corruption=mean``. If none is given: no pre-training for each pre-training, and for methods
            that are never pre-trained; without one the most usual competitor.

    Raises:
        UsageError: no competitor is the reference.
    """
    competing = competition(results)
    references = _references(results, competing, reference)
    places = {
        label: (row["dataset"], competing.contexts[label])
        for label, row in results.rows.items()
    }
    by_place: dict[tuple[str, str], list[int]] = {}
    for label in references.cells:
        by_place.setdefault(places[label], []).append(label)
    pairs = []
    for label in results.rows:
        there = by_place.get(places[label], [])
        # A reference is compared with nothing.
        if label in there:
            continue
        other = _nearest(results, label, there, references.free)
        if other is None:
            continue
        budget = None
        if competing.budgets is not None:
            budget = competing.budgets[label]
        pair = Pair(
            cell=label,
            reference=other,
            context=competing.contexts[label],
            name=competing.names[label],
            reference_name=competing.names[other],
            against=references.against or competing.names[other],
            labels=budget,
        )
        pairs.append(pair)
    return pairs


def _references(
    results: CellResults, competing: Competition, reference: str | None
) -> References:
    names, rows = competing.names, results.rows
    if reference is not None:
        return References(_usual_first(results, _asked_for(results, names, reference)))
    pretrained = set[str]()
    for row in rows.values():
        if row["pretrain"] != "none":
            pretrained.add(row["method"])
    without = []
    for label, row in rows.items():
        # A method that is never pre-trained is compared with the network, and is no reference.
        is_network = row["method"] == "control" or row["method"] in pretrained
        if row["pretrain"] == "none" and is_network:
            without.append(label)
    if pretrained and without:
        return References(
            _usual_first(results, without), frozenset({"pretrain"}), NO_PRETRAINING
        )
    usual = names[_usual_first(results, list(rows))[0]]
    return References([label for label, name in names.items() if name == usual])


def _asked_for(
    results: CellResults, names: Mapping[int, str], reference: str
) -> list[int]:
    """The cells of the reference that the user names."""
    wanted, columns = reference, results.compared
    candidates = [names]
    if "=" in reference and reference.partition("=")[0] in results.axes:
        column, _, wanted = reference.partition("=")
        candidates, columns = [], [column]
    for column in columns:
        candidates.append(
            {label: text_of(row[column]) for label, row in results.rows.items()}
        )
    for texts in candidates:
        found = [
            label
            for label, text in texts.items()
            if text.lower() == wanted.strip().lower()
        ]
        if found:
            return found
    known = list(dict.fromkeys(names.values()))
    raise UsageError(
        f"reference={reference} is no competitor of these results; they are: {'; '.join(known)}. Name one of them, or "
        f"a value of an option in which they differ ({', '.join(results.compared) or 'none'})."
        f"{did_you_mean(wanted, [text for texts in candidates for text in texts.values()])}"
    )


def _usual_first(results: CellResults, labels: Sequence[int]) -> list[int]:
    """These cells by how many of the columns in which cells differ have a value that is not the usual one."""

    def unusual(label: int) -> int:
        row, count = results.rows[label], 0
        for column in results.compared:
            count += row.get(column) != results.usual.get(column)
        return count

    # The sort is stable: cells that are equally usual keep their order.
    return sorted(labels, key=unusual)


def _nearest(
    results: CellResults, label: int, others: Sequence[int], free: frozenset[str] | None
) -> int | None:
    """The reference that differs least from a cell; None if each differs in a column that is not ``free``."""
    cell = results.rows[label]
    if free is not None and cell["pretrain"] == "none":
        # A method that is never pre-trained differs from the network in the method.
        free |= {"method"}
    found: dict[int, int] = {}
    for other in others:
        unequal = _unequal(cell, results.rows[other], results.axes)
        if free is None or unequal <= free:
            found[other] = len(unequal)
    # Of two that are equally near, the first is the more usual one.
    return min(found, key=lambda other: found[other], default=None)


def _unequal(
    cell: dict[str, Any], other: dict[str, Any], columns: Sequence[str]
) -> set[str]:
    """The columns that both cells use, with different values."""
    found = set()
    for column in columns:
        values = (cell.get(column), other.get(column))
        if None not in values and values[0] != values[1]:
            found.add(column)
    return found
