"""Columns that give the target away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..table import Table

SUSPICIOUS = 0.98
"""Balanced accuracy on held-out rows above which a column predicts the target almost alone."""

MOST_ROWS = 5000
FEWEST_HELD_OUT = 20


def leaks(table: Table, names: Sequence[str], positions: Sequence[Sequence[int]]) -> list[str]:
    """A sentence on each column from which alone a small tree predicts the target almost without error.

    Args:
        table: the data; rows without a label are not looked at.
        names: of the columns of the file.
        positions: of the table's columns that were made of each.
    """
    labelled = np.flatnonzero(table.labels >= 0)
    rows = np.random.default_rng(0).permutation(labelled)[:MOST_ROWS]  # any rows; the numbers of no cell depend on it
    fitted, held_out = np.split(rows, [int(0.7 * len(rows))])
    n_classes = len(np.unique(table.labels[fitted]))
    if len(held_out) < FEWEST_HELD_OUT or not 2 <= n_classes <= len(fitted) / 2:
        return []
    found = []
    for name, made in zip(names, positions, strict=True):
        score = _score(table, list(made), fitted, held_out) if made else 0.0
        if score > SUSPICIOUS:
            found.append(
                f"Column {name!r} predicts the target almost alone (balanced accuracy {score:.3f} on held-out rows); "
                f"if it is known only once the class is, leave it out with dataset.drop=[{name}]."
            )
    return found


def _score(table: Table, made: list[int], fitted: NDArray[np.int64], held_out: NDArray[np.int64]) -> float:
    """Balanced accuracy of a tree with at most four leaves a class, of which a number that only sorts rows has none."""
    from sklearn.tree import DecisionTreeClassifier

    columns = [table.columns[position] for position in made]
    values = np.concatenate([_encoded(table.values[:, m], c.categories) for m, c in zip(made, columns, strict=True)], 1)
    tree = DecisionTreeClassifier(max_leaf_nodes=4 * table.n_classes, min_samples_leaf=2, random_state=0)
    tree.fit(values[fitted], table.labels[fitted])
    is_right = tree.predict(values[held_out]) == table.labels[held_out]
    return float(np.mean([is_right[table.labels[held_out] == label].mean() for label in set(table.labels[held_out])]))


def _encoded(values: NDArray[np.float64], categories: Sequence[str] | None) -> NDArray[np.float64]:
    """A column for a tree, ``(n, 1)``, or ``(n, C)`` with a column a category; float32 holds no more."""
    if categories is None:
        return np.clip(values, -1e30, 1e30)[:, None]
    return np.equal(values[:, None], np.arange(len(categories))).astype(np.float64)
