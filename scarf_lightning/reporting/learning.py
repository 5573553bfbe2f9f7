"""A rule of sanity: cells that have learnt nothing are broken, not weak, so no comparison counts against them."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from ..data.targets import Target
from ..errors import counted
from ..intervals import TESTS_OF_A_TABLE
from ..results.store import FLAGS

FEWEST_CONSTANT = 1 / 3
"""The share of trials that predict one class for every test row, from which on a cell has not learnt; and of those with
bad probabilities, from which on they are named."""
LABEL_CLASSES = "n_label_classes"
"""The column of the classes among a trial's labels."""
EVIDENCE = (*FLAGS, "r2", "balanced_accuracy", "n_test", LABEL_CLASSES)
"""The columns of a trial that show whether it has learnt, and whether its probabilities are worth anything."""
LEARNS_NOTHING = "constant"
"""The method that is to learn nothing."""
MOST_NAMED = 3
"""Cells that a sentence names."""
GUESSES = 2.0
"""Standard errors above the balanced accuracy of guesses up to which a cell is no better than they are."""


def not_learnt(rows: Sequence[Mapping[str, Any]], target: Target | None) -> str:
    """The sign that a cell has learnt nothing, as a phrase that says what it does; empty if there is none.

    A cell has not learnt if at least a third of its trials predict one class for every test row. Neither has it if its
    mean balanced accuracy is that of guesses, 1 / C, within two standard errors, or if its mean R2 is not above zero. A
    guess of each class with probability 1 / C has a variance of (1 - 1 / C) / C over n test rows of balanced classes;
    trials count as long as they can test different rows. Of rare classes the error is larger, so some cells at
    chance are missed, and no other is accused.

    A cell whose probabilities are better than the class frequencies in most trials has learnt: where the signal is
    weak and one class is frequent, that class is the likeliest one for every row. Trials whose labels are of one class
    do not count: every method then predicts that class.

    Args:
        rows: of the cell's trials, those of `EVIDENCE` that it has.
        target: what they predict; None if it is unknown, and with it the number of classes.
    """
    rows = [row for row in rows if row.get(LABEL_CLASSES) != 1]
    are_worse = _values_of(rows, "worse_than_frequencies")
    if are_worse and fmean(are_worse) < 1 / 2:
        return ""
    # The plainest sign comes first, and is the one that a user can check by eye.
    flags = _values_of(rows, "one_class")
    n_constant = sum(map(bool, flags))
    if n_constant and n_constant >= FEWEST_CONSTANT * len(flags):
        return f"predicts one class for every test row in {n_constant} of {counted(len(flags), 'trial')}"
    # Of numbers the guess is their mean, whose R2 is zero.
    r2_values = _values_of(rows, "r2")
    if r2_values and fmean(r2_values) <= 0:
        return f"predicts no better than the mean (R² {fmean(r2_values):.2f})"
    accuracies = _values_of(rows, "balanced_accuracy")
    sizes = _values_of(rows, "n_test")
    if not accuracies or not sizes or target is None or not target.has_classes:
        return ""
    chance = 1 / target.n_outputs
    # Trials test the same rows of the table over and over, so many of them are worth a few.
    n_tested = min(len(accuracies), TESTS_OF_A_TABLE) * median(sizes)
    # The standard error of the mean balanced accuracy of guesses.
    noise = math.sqrt(chance * (1 - chance) / n_tested)
    mean = fmean(accuracies)
    if mean > chance + GUESSES * noise:
        return ""
    return f"is no better than guesses (balanced accuracy {mean:.3f}, guesses {chance:.3f})"


def not_learnt_note(signs: Mapping[str, str], n_cells: int) -> list[str]:
    """A sentence on the cells that have learnt nothing, if there are any.

    Args:
        signs: of each of them by its name, as `not_learnt` gives it.
        n_cells: how many cells were to learn something.
    """
    if not signs:
        return []
    subject = "It has" if n_cells == 1 else f"{len(signs)} of {n_cells} cells have"
    return [
        f"{_join_clauses([f'{name} {sign}' for name, sign in signs.items()])}. {subject} not learnt, which says "
        "nothing about the method: train longer, stop by another metric, or show more labels."
    ]


def probability_note(cells: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """A sentence on the cells whose probabilities are worse than the class frequencies of their labels, by log-loss.

    They are so in a third of a cell's trials or more; rows of older versions lack the column. It is no sign that a cell
    has not learnt: an overconfident network may rank and classify well.

    Args:
        cells: the rows of the trials of each, by its name.
    """
    clauses = []
    for name, rows in cells.items():
        flags = _values_of(rows, "worse_than_frequencies")
        n_worse = sum(map(bool, flags))
        if n_worse and n_worse >= FEWEST_CONSTANT * len(flags):
            clauses.append(f"{name} in {n_worse} of {counted(len(flags), 'trial')}")
    if not clauses:
        return []
    return [
        f"Probabilities are worse than the class frequencies, by log-loss: {_join_clauses(clauses)}. Classes and ranks "
        "may be right, but do not use these probabilities."
    ]


def _join_clauses(clauses: Sequence[str]) -> str:
    """The first clauses, and the number of the others."""
    others = [counted(len(clauses) - MOST_NAMED, "other")] if len(clauses) > MOST_NAMED else []
    return "; ".join([*clauses[:MOST_NAMED], *others])


def _values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """The values of a column that are there."""
    # Only NaN, the metric of a trial that diverged, is not equal to itself.
    return [value for value in (row.get(name) for row in rows) if value is not None and value == value]
