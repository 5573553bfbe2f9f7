"""Groups of columns with nearly the same information, which are also permuted and left out together."""

from collections.abc import Sequence

import numpy as np

from ..data.table import Table
from ..errors import UsageError, did_you_mean
from ..metrics import ranks
from .permuting import Floats

ALIKE = 0.9
"""Columns are in one group if their association is at least this."""
FEWEST_ROWS = 3
"""Rows that know both columns, below which their association is unknown."""


def groups_of(table: Table, least: float = ALIKE) -> list[list[int]]:
    """Groups of two columns or more with nearly the same information: their places, in order.

    Two numbers are compared by Spearman's rank correlation, two categories by Cramér's V (1946), each on the rows that
    know both. A column that is like any column of a group is in it.

    Args:
        table: of the columns.
        least: association, 0 to 1, from which columns are in one group.
    """
    # Each column begins in a group of its own.
    group_of = np.arange(len(table.columns))
    for first in range(len(table.columns)):
        for second in range(first):
            # Columns that are joined by a third one need not be compared.
            if group_of[first] == group_of[second]:
                continue
            if _association(table, first, second) < least:
                continue
            # The group of one column takes in that of the other.
            is_of_first = group_of == group_of[first]
            group_of[is_of_first] = group_of[second]
    groups = []
    # In the order of their first columns.
    for group in dict.fromkeys(group_of.tolist()):
        is_member = group_of == group
        members = np.flatnonzero(is_member).tolist()
        if len(members) > 1:
            groups.append(members)
    return groups


def _association(table: Table, first: int, second: int) -> float:
    """The association of two columns of one kind, 0 to 1; 0 of a number and a category."""
    is_category, other = table.is_categorical[[first, second]]
    # No one coefficient measures both kinds, and 0 leaves the columns apart.
    if is_category != other:
        return 0.0
    both = table.values[:, [first, second]]
    is_known = ~np.isnan(both).any(axis=1)
    both = both[is_known]
    if len(both) < FEWEST_ROWS:
        return 0.0
    # Nothing varies together with a constant.
    ranges = np.ptp(both, axis=0)
    if np.any(ranges == 0):
        return 0.0
    if is_category:
        return _cramers_v(both)
    return _rank_correlation(both)


def _rank_correlation(both: Floats) -> float:
    correlations = np.asarray(np.corrcoef(ranks(both).T))
    # A column that falls as the other one rises carries the same information.
    return float(abs(correlations[0, 1]))


def _cramers_v(both: Floats) -> float:
    """The square root of chi-squared over its largest value, n (min(rows, columns) - 1)."""
    n = len(both)
    # Codes without gaps, so that no category is empty.
    _, first = np.unique(both[:, 0], return_inverse=True)
    _, second = np.unique(both[:, 1], return_inverse=True)
    n_first = first.max() + 1
    n_second = second.max() + 1
    counts = np.zeros((n_first, n_second))
    np.add.at(counts, (first, second), 1)
    # What independent columns with these shares would have.
    of_first = counts.sum(axis=1, keepdims=True)
    of_second = counts.sum(axis=0, keepdims=True)
    expected = of_first * of_second / n
    squares = (counts - expected) ** 2
    chi_squared = np.sum(squares / expected)
    largest = n * (min(n_first, n_second) - 1)
    return float(np.sqrt(chi_squared / largest))


def named_groups(table: Table, groups: Sequence[Sequence[str]]) -> list[list[int]]:
    """Groups of columns by their names, as their places.

    Raises:
        UsageError: a group names no column.
    """
    names = [column.name for column in table.columns]
    groups_of_places = []
    for group in groups:
        places = []
        for name in group:
            if name not in names:
                advice = did_you_mean(name, names)
                raise UsageError(f"groups names {name!r}, which is no column.{advice}")
            places.append(names.index(name))
        groups_of_places.append(places)
    return groups_of_places
