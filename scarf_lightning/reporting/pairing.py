"""Pairs of cells that are compared: each cell with the reference of its dataset, at the same number of labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import UsageError, did_you_mean, unknown_name
from ..verdicts.effects import unequal_axes
from .cell_results import CellResults
from .names import NO_PRETRAINING, text_of


class Pair(NamedTuple):
    """Two cells of one dataset and context that are compared.

    Attributes:
        cell, reference: their labels in `CellResults.cells`.
        against: the reference in a sentence, where ``pretrain=none`` stands for that of each method.
    """

    cell: int
    reference: int
    against: str


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
    references = _references(results, reference)
    pairs = _paired(results, references)
    if reference is not None:
        _refuse_ambiguous(reference, results, references.cells, pairs)
        return pairs
    answered = {label for pair in pairs for label in (pair.cell, pair.reference)}
    if references.free is not None and answered < results.rows.keys():
        # What is otherwise alike with nothing still has a line of its own, beside the nearest reference.
        others = _paired(results, References(references.cells))
        pairs = sorted([*pairs, *(pair for pair in others if pair.cell not in answered)])
    return pairs


def _paired(results: CellResults, references: References) -> list[Pair]:
    """Each cell with the nearest of the references of its dataset and context."""
    competing = results.competition
    # A cell meets a reference of its dataset and its number of labels, so neither of them makes the difference.
    places = {label: (row["dataset"], competing.contexts[label]) for label, row in results.rows.items()}
    by_place: dict[tuple[str, str], list[int]] = {}
    for label in references.cells:
        by_place.setdefault(places[label], []).append(label)
    pairs = []
    for label in results.rows:
        there = by_place.get(places[label], [])
        # A reference is compared with nothing.
        other = None if label in there else _nearest(results, label, there, references.free)
        if other is not None:
            pairs.append(Pair(label, other, references.against or competing.names[other]))
    return pairs


def _refuse_ambiguous(reference: str, results: CellResults, fitting: Sequence[int], pairs: Sequence[Pair]) -> None:
    """Refuse a reference that fits several competitors of which one would be in no comparison."""
    names = results.competition.names
    fits = list(dict.fromkeys(names[label] for label in fitting))
    used = {names[pair.reference] for pair in pairs}
    # In a product each value of the other axes has a reference of its own, and all are used.
    if len(fits) > 1 and not set(fits) <= used:
        raise UsageError(
            f"reference={reference} fits {len(fits)} of {len(set(names.values()))} competitors: {'; '.join(fits)}. "
            f"Name one of them: reference='{fits[0]}'."
        )


def _references(results: CellResults, reference: str | None) -> References:
    names, rows = results.competition.names, results.rows
    if reference is not None:
        return References(_usual_first(results, named_reference(results, reference)))
    pretrained = {row["method"] for row in rows.values() if row["pretrain"] != "none"}
    without = []
    for label, row in rows.items():
        # A method that is never pre-trained is compared with the network, and is no reference.
        is_network = row["method"] == "control" or row["method"] in pretrained
        if row["pretrain"] == "none" and is_network:
            without.append(label)
    if pretrained and without:
        # Each method beside itself without pre-training: a pair may differ in nothing else.
        return References(_usual_first(results, without), frozenset({"pretrain"}), NO_PRETRAINING)
    # Without pre-training to compare, one competitor is the reference of all others.
    most_usual, *_ = _usual_first(results, list(rows))
    usual = names[most_usual]
    return References([label for label, name in names.items() if name == usual])


def named_reference(results: CellResults, reference: str) -> list[int]:
    """The cells of the reference that the user names.

    Raises:
        UsageError: it is no competitor, and no value of an option.
    """
    competing = results.competition
    wanted, names = reference.strip(), competing.names
    # Names come first: what a report calls a competitor is what a reader will type.
    texts = [names]
    for column in results.axes if "=" in wanted else competing.compared:
        values = {label: text_of(row[column]) for label, row in results.rows.items()}
        texts += [values, {label: f"{column}={value}" for label, value in values.items()}]
    for by_label in texts:
        if matching := [label for label, text in by_label.items() if text == wanted]:
            return matching
    possible = [text for by_label in texts for text in by_label.values()]
    way_out = (
        f"Name a competitor, or a value of an option in which they differ ({', '.join(competing.compared) or 'none'})."
    )
    hint = " ".join(filter(None, (did_you_mean(wanted, possible), way_out)))
    fault = f"reference={reference} is no competitor of these results"
    raise UsageError(unknown_name(fault, wanted, names.values(), "the competitors", hint=hint, shown=repr))


def _usual_first(results: CellResults, labels: Sequence[int]) -> list[int]:
    """These cells by how many of the compared columns have a value that is not the usual one."""

    def unusual(label: int) -> int:
        row = results.rows[label]
        return sum(row.get(column) != results.usual.get(column) for column in results.competition.compared)

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
        unequal = unequal_axes(cell, results.rows[other], results.axes)
        if free is None or unequal <= free:
            distances[other] = len(unequal)
    # Of two that are equally near, the first is the more usual one.
    return min(distances, key=lambda other: distances[other], default=None)
