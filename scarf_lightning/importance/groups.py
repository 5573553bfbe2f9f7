"""Columns that say the same, which are also tried together."""

from collections.abc import Sequence

import numpy as np

from ..data.table import Table
from .permuting import Floats

ALIKE = 0.9
"""Columns are in one group if their association is at least this."""


def groups_of(table: Table, least: float = ALIKE) -> list[list[int]]:
    """Groups of two columns or more that say nearly the same: their places, in order.

    Two numbers are compared by Spearman's rank correlation, two categories by Cramér's V (1946), each on the rows that
    know both. A column that is like any column of a group is in it.

    Args:
        table: of the columns.
        least: association, 0 to 1, from which columns are in one group.
    """
    n_columns = len(table.columns)
    group_of = list(range(n_columns))
    for first in range(n_columns):
        for second in range(first):
            if group_of[first] == group_of[second]:
                continue
            # The group of one column takes in that of the other.
            if _association(table, first, second) >= least:
                joined, left = group_of[second], group_of[first]
                group_of = [joined if each == left else each for each in group_of]
    members: dict[int, list[int]] = {}
    for place, group in enumerate(group_of):
        members.setdefault(group, []).append(place)
    return [its for its in members.values() if len(its) > 1]


def _association(table: Table, first: int, second: int) -> float:
    """The association of two columns of one kind, 0 to 1; 0 of a number and a category."""
    kinds = table.is_categorical[[first, second]]
    if kinds[0] != kinds[1]:
        return 0.0
    both = table.values[:, [first, second]]
    both = both[~np.isnan(both).any(axis=1)]
    # Nothing varies together with a constant.
    if len(both) < 3 or (np.ptp(both, axis=0) == 0).any():
        return 0.0
    if kinds[0]:
        return _cramers_v(both)
    return _rank_correlation(both)


def _rank_correlation(both: Floats) -> float:
    from scipy.stats import rankdata

    ranks = rankdata(both, axis=0)
    return float(abs(np.corrcoef(ranks.T)[0, 1]))


def _cramers_v(both: Floats) -> float:
    """The square root of chi-squared over its largest value, n (min(rows, columns) - 1)."""
    _, first = np.unique(both[:, 0], return_inverse=True)
    _, second = np.unique(both[:, 1], return_inverse=True)
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / len(both)
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_squared / len(both) / (min(counts.shape) - 1)))


def named_groups(table: Table, groups: Sequence[Sequence[str]]) -> list[list[int]]:
    """Groups of columns by their names, as their places.

    Raises:
        UsageError: a group names no column.
    """
    from ..errors import UsageError, did_you_mean

    names = [column.name for column in table.columns]
    found = []
    for group in groups:
        for name in group:
            if name not in names:
                raise UsageError(f"groups names {name!r}, which is no column.{did_you_mean(name, names)}")
        found.append([names.index(name) for name in group])
    return found
