"""Pairs of cells that are compared: each cell with the reference of its dataset, at the same number of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import UsageError, did_you_mean, unknown_name
from .cell_results import CellResults
from .names import NO_PRETRAINING, Competition, text_of

BASE = "the base"
"""The reference of a star in a sentence."""


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
    competing = results.competition
    if star := star_of(results, reference):
        return star
    references = _references(results, competing, reference)
    pairs = _paired(results, competing, references)
    if reference is not None:
        _refuse_ambiguous(reference, competing.names, references.cells, pairs)
        return pairs
    answered = {label for pair in pairs for label in (pair.cell, pair.reference)}
    if references.free is not None and answered < results.rows.keys():
        # What is otherwise alike with nothing still has a line of its own, beside the nearest reference.
        others = _paired(results, competing, References(references.cells))
        pairs = sorted([*pairs, *(pair for pair in others if pair.cell not in answered)])
    return pairs


def _paired(results: CellResults, competing: Competition, references: References) -> list[Pair]:
    """Each cell with the nearest of the references of its dataset and context."""
    # A cell meets a reference of its dataset and its number of labels, so neither of them makes the difference.
    places: dict[int, tuple[str, str]] = {}
    for label, row in results.rows.items():
        places[label] = row["dataset"], competing.contexts[label]
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


def star_of(results: CellResults, reference: str | None = None) -> list[Pair]:
    """Each change beside the base, if the cells are a star: all cells but those of one competitor, the base, differ
    from it in exactly one axis, and not all in the same one. Empty otherwise, and where the reference is another one.

    A change is called by its override, such as ``scaling=minmax``.
    """
    competing = results.competition
    by_name: dict[str, list[int]] = {}
    for label, name in competing.names.items():
        by_name.setdefault(name, []).append(label)
    wanted = list(by_name.values())
    if reference is not None:
        wanted = [sorted(_asked_for(results, competing, reference))]
    stars = [star for base in wanted if (star := _changes(results, competing, base))]
    return stars[0] if len(stars) == 1 and competing.budgets is None else []


def _changes(results: CellResults, competing: Competition, base: Sequence[int]) -> list[Pair]:
    """Each other cell beside that of the base; none if a cell differs from it in more than one axis."""
    places = {label: (row["dataset"], competing.contexts[label]) for label, row in results.rows.items()}
    base_of = {places[label]: label for label in base}
    changed: dict[int, str] = {}
    for label, row in results.rows.items():
        if label in base:
            continue
        other = base_of.get(places[label])
        # A rival has no network to change, and is asked another question.
        if other is None or row.get("network") is None:
            return []
        axes = _unequal(row, results.rows[other], results.axes)
        # The options of another network come with it.
        axes = {axis for axis in axes if axis.partition(".")[0] not in axes - {axis}}
        if len(axes) != 1:
            return []
        (changed[label],) = axes
    used = [axis for axis in results.axes if axis in changed.values()]
    if len(used) < 2:
        return []
    pairs = []
    for label, axis in changed.items():
        other = base_of[places[label]]
        base_name = ", ".join(f"{each}={text_of(results.rows[other].get(each))}" for each in used)
        name = f"{axis}={text_of(results.rows[label][axis])}"
        pairs.append(Pair(label, other, competing.contexts[label], name, base_name, BASE))
    return pairs


def _refuse_ambiguous(reference: str, names: Mapping[int, str], fitting: Sequence[int], pairs: Sequence[Pair]) -> None:
    """Refuse a reference that fits several competitors of which one would be in no comparison."""
    fits = list(dict.fromkeys(names[label] for label in fitting))
    used = {pair.reference_name for pair in pairs}
    # In a product each value of the other axes has a reference of its own, and all are used.
    if len(fits) > 1 and not set(fits) <= used:
        n_all = len(set(names.values()))
        raise UsageError(
            f"reference={reference} fits {len(fits)} of {n_all} competitors: {'; '.join(fits)}. Name one of them: "
            f"reference='{fits[0]}'."
        )


def _references(results: CellResults, competing: Competition, reference: str | None) -> References:
    names, rows = competing.names, results.rows
    if reference is not None:
        wanted = _asked_for(results, competing, reference)
        return References(_usual_first(results, competing.compared, wanted))
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
        # Each method beside itself without pre-training: a pair may differ in nothing else.
        references = _usual_first(results, competing.compared, without)
        return References(references, frozenset({"pretrain"}), NO_PRETRAINING)
    # Without pre-training to compare, one competitor is the reference of all others.
    most_usual, *_ = _usual_first(results, competing.compared, list(rows))
    usual = names[most_usual]
    return References([label for label, name in names.items() if name == usual])


def _asked_for(results: CellResults, competing: Competition, reference: str) -> list[int]:
    """The cells of the reference that the user names."""
    wanted, columns, names = reference, competing.compared, competing.names
    # Names come first: what a report calls a competitor is what a reader will type.
    candidates = [names]
    if "=" in reference and reference.partition("=")[0] in results.axes:
        column, _, wanted = reference.partition("=")
        candidates, columns = [], [column]
    for column in columns:
        values: dict[int, str] = {}
        for label, row in results.rows.items():
            values[label] = text_of(row[column])
        candidates.append(values)
    name = wanted.strip().lower()
    possible: list[str] = []
    for texts in candidates:
        possible += texts.values()
        matching = [label for label, text in texts.items() if text.lower() == name]
        if matching:
            return matching
    way_out = (
        f"Name a competitor, or a value of an option in which they differ ({', '.join(competing.compared) or 'none'})."
    )
    hint = " ".join(filter(None, (did_you_mean(wanted, possible), way_out)))
    fault = f"reference={reference} is no competitor of these results"
    raise UsageError(unknown_name(fault, wanted, names.values(), "the competitors", hint=hint, shown=repr))


def _usual_first(results: CellResults, compared: Sequence[str], labels: Sequence[int]) -> list[int]:
    """These cells by how many of the ``compared`` columns have a value that is not the usual one."""

    def unusual(label: int) -> int:
        row, count = results.rows[label], 0
        for column in compared:
            count += row.get(column) != results.usual.get(column)
        return count

    # The sort is stable: cells that are equally usual keep their order.
    return sorted(labels, key=unusual)


def _nearest(results: CellResults, label: int, others: Sequence[int], free: frozenset[str] | None) -> int | None:
    """The reference that differs least from a cell; None if each differs in a column that is not ``free``."""
    cell = results.rows[label]
    if free is not None and cell["pretrain"] == "none":
        # A method that is never pre-trained differs from the network in the method.
        free |= {"method"}
    distances: dict[int, int] = {}
    for other in others:
        unequal = _unequal(cell, results.rows[other], results.axes)
        if free is None or unequal <= free:
            distances[other] = len(unequal)
    # Of two that are equally near, the first is the more usual one.
    return min(distances, key=lambda other: distances[other], default=None)


def _unequal(cell: dict[str, Any], other: dict[str, Any], columns: Sequence[str]) -> set[str]:
    """The columns that both cells use, with different values."""
    unequal = set()
    for column in columns:
        own, others = cell.get(column), other.get(column)
        # What one side does not use follows from another difference, such as the depth from the method.
        if own is None or others is None:
            continue
        if own != others:
            unequal.add(column)
    return unequal
