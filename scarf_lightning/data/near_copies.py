"""The share of rows that nearly equal another row, such as repeated measurements of one thing.

A row nearly equals another if that one is far nearer than the density of the table explains. Distances are the largest
difference of two rows in any number, in standard deviations; rows that differ in a category or a gap are not compared.
Around a row of a table whose rows fill `d` dimensions evenly, the nearest of k neighbours is within a share r of the
distance to the k-th one with probability 1 - (1 - r^d)^k. What lies above it is no chance.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from .columns import Floats
from .table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEIGHBOURS = 20
"""k: the neighbour whose distance says how dense the table is. Of up to 20 copies the 20th neighbour is another row."""
NEAR = 0.1
"""r: how much nearer than that neighbour a near copy is."""
FEWEST_ROWS = 10 * NEIGHBOURS
MOST_ROWS = 20_000
MOST_JUDGED = 1_000
"""Rows whose neighbours are looked up. The standard error of their share is at most 0.016."""
FEWEST_COMPARED = 0.5
"""The share of the judged rows that must have neighbours with the same categories and gaps."""
FAR = 1e6
"""The distance that a category or a gap makes, in standard deviations."""


def share_of_near_copies(table: Table) -> float:
    """The share of the rows that nearly equal another, beyond what the density of the table explains. Rows that are
    equal count as one row. It is 0 for a table of few rows, and for one whose rows have few neighbours with the same
    categories."""
    numeric = np.array([not column.is_categorical for column in table.columns])
    if not numeric.any():
        return 0.0
    is_distinct = table.is_labelled.copy()
    is_distinct[table.copies[0]] = False
    rows = table.values[is_distinct]
    if len(rows) < FEWEST_ROWS:
        return 0.0
    # The same rows are judged each time, whatever else is drawn.
    random = np.random.default_rng(0)
    places = _places(rows[random.permutation(len(rows))[:MOST_ROWS]], numeric)
    nearest, kth, twice = _distances(places, places[:MOST_JUDGED])
    is_compared = twice < FAR / 2
    if is_compared.mean() < FEWEST_COMPARED:
        return 0.0
    dimension = _dimension(kth[is_compared], twice[is_compared])
    by_chance: float = 1 - (1 - NEAR**dimension) ** NEIGHBOURS
    is_near = nearest[is_compared] <= NEAR * kth[is_compared]
    return max(0.0, float(is_near.mean()) - by_chance)


def _places(rows: Floats, numeric: "NDArray[np.bool_]") -> Floats:
    """Rows ``(n, M)`` as points: numbers in standard deviations, other values and gaps far from each other."""
    places = np.empty_like(rows)
    for m, column in enumerate(rows.T):
        is_gap = np.isnan(column)
        if numeric[m] and not is_gap.all():
            # A constant has no deviation to divide by.
            spread = np.nanstd(column) or 1.0
            places[:, m] = (column - np.nanmean(column)) / spread
        else:
            places[:, m] = column * FAR
        places[is_gap, m] = -FAR
    return places


def _distances(places: Floats, judged: Floats) -> tuple[Floats, Floats, Floats]:
    """Distances ``(n_judged,)`` to the nearest, the k-th and the 2k-th neighbour of each judged point."""
    from scipy.spatial import KDTree

    # The nearest point is the judged one itself.
    ranks = [2, NEIGHBOURS + 1, 2 * NEIGHBOURS + 1]
    distances, _ = KDTree(places).query(judged, k=ranks, p=np.inf)
    nearest, kth, twice = distances.T
    return nearest, kth, twice


def _dimension(kth: Floats, twice: Floats) -> float:
    """The dimensions that the rows fill: twice as many neighbours lie within 2**(1 / d) times the distance."""
    growth = float(np.median(twice / np.maximum(kth, 1e-300)))
    # No distance grows between rows that are all equally far from each other.
    if growth <= 1:
        return math.inf
    return math.log(2) / math.log(growth)
