"""A table from a frame whose columns nobody has described, and the columns in it that give the target away."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError
from .columns import Advice, Coded, Column, Floats, Ints
from .reading import ColumnsRead, Reader, ReadingOptions, read_columns
from .table import FEWEST_ROWS, Table
from .targets import ReadTarget

SUSPICIOUS = 0.98
"""Balanced accuracy on held-out rows above which a column predicts the target almost alone."""

MOST_ROWS = 5000
FEWEST_HELD_OUT = 20
WRONG, WRONG_A_STRATUM = 0.05, 0.02
"""A column that predicts more than this share of the fitted rows wrongly at its best needs no tree. The score allows
one stratum to be wrong the more often the more of them there are."""

AT_A_TIME = 1000
"""Columns that are sorted at once."""

SHOWN = 30
"""The most columns that a message names."""


def read_table(
    frame: pd.DataFrame,
    target: "pd.Series[Any] | ReadTarget",
    options: ReadingOptions,
    *,
    name: str,
    source: str,
    split_by: Floats | None = None,
    looks_for_leaks: bool = True,
) -> Table:
    """Read every column of a frame, and name those that give the target away.

    Args:
        frame: n rows, without the target; every column has a name of its own.
        target: the labels of the rows, see `Table.of`.
        options: what a user set of the columns.
        name, source, split_by: see `Table`.
        looks_for_leaks: whether to look for columns that give the target away.

    Raises:
        UsageError: see `read_columns` and `Table.of`; or no column is left.
    """
    found = read_columns(frame, options)
    if found.readings and not found.features and len(frame) >= FEWEST_ROWS:
        why = "; ".join(f"{reading.column!r} is {reading.done}" for reading in found.readings[:SHOWN])
        raise UsageError(f"{source} has no column with a value in it to learn from: {why}.")
    table = Table.of(_columns(found), target, name=name, source=source, split_by=split_by)
    leaking = leaks(table, list(map(str, frame.columns)), found.positions) if looks_for_leaks else ()
    notes = (*table.notes, *found.notes, *leaking)
    reader = Reader(tuple(found.rules), table.columns)
    return replace(table, reading=tuple(found.readings), notes=notes, reader=reader)


def _columns(found: ColumnsRead) -> Iterator[tuple[Column, Floats]]:
    for feature in found.features:
        if isinstance(feature.values, Coded):
            codes, categories = feature.values.in_order()
            yield Column(feature.name, categories, feature.declared), codes
        else:
            yield Column(feature.name), feature.values


def leaks(table: Table, names: Sequence[str], positions: Sequence[Sequence[int]]) -> list[Advice]:
    """A note on each column from which alone a small tree predicts the target's strata almost without error.

    The strata of classes are the classes, those of numbers their tenths.

    Args:
        table: the data. Rows without a label are not used.
        names: the columns of the file.
        positions: for each of them the positions of the table's columns that were made of it.
    """
    labelled = np.flatnonzero(table.is_labelled)
    rows = np.random.default_rng(0).permutation(labelled)[:MOST_ROWS]  # a note only: no result depends on these rows
    fitted, held_out = np.split(rows, [int(0.7 * len(rows))])
    n_strata = len(np.unique(table.strata[fitted]))
    if len(held_out) < FEWEST_HELD_OUT or not 2 <= n_strata <= len(fitted) / 2:
        return []
    found = []
    may_leak = _may_leak(table, fitted)
    for name, made in zip(names, positions, strict=True):
        if not made or (len(made) == 1 and not may_leak[made[0]]):
            continue
        score = _score(table, list(made), fitted, held_out)
        if score > SUSPICIOUS:
            said = f"Column {name!r} predicts the target almost alone (balanced accuracy {score:.3f} on held-out rows)"
            found.append(Advice(said, "dataset.drop", [name], "leaves it out, if it is known only once the target is"))
    return found


def _may_leak(table: Table, rows: Ints) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which columns alone may predict the target, ``(M,)``: two cheap bounds that spare most columns the tree.

    A tree with L leaves cuts a column of numbers into L intervals (a gap may make two more). Of rows in the order of
    their values, equal ones in the order of their labels, at most L - 1 neighbours then have different labels for the
    cuts, and two for each row that is predicted wrongly. And of rows with equal values, those without the most frequent
    label are always predicted wrongly.
    """
    rows = rows[np.argsort(table.strata[rows], kind="stable")]
    labels, n_strata = table.strata[rows], _n_strata(table)
    wrong = min(1.0, WRONG + WRONG_A_STRATUM * n_strata) * len(rows)
    may = np.empty(len(table.columns), dtype=np.bool_)
    for start in range(0, len(table.columns), AT_A_TIME):
        some = slice(start, start + AT_A_TIME)
        of_rows = labels[np.argsort(_as_float32(table.values[rows, some]), axis=0, kind="stable")]
        may[some] = (of_rows[1:] != of_rows[:-1]).sum(axis=0) <= 2 * wrong + _leaves(table) + 1
    for m in np.flatnonzero(may | table.is_categorical):
        distinct, codes = np.unique(_as_float32(table.values[rows, m]), return_inverse=True)
        counts = np.bincount(codes * n_strata + labels, minlength=len(distinct) * n_strata)
        may[m] = counts.reshape(-1, n_strata).max(axis=1).sum() >= len(rows) - wrong
    return may


def _score(table: Table, made: list[int], fitted: Ints, held_out: Ints) -> float:
    """Balanced accuracy of a tree so small that a number that only sorts the rows has none."""
    from sklearn.tree import DecisionTreeClassifier

    columns = [table.columns[position] for position in made]
    values = np.concatenate([_encoded(table.values[:, m], c.categories) for m, c in zip(made, columns, strict=True)], 1)
    tree = DecisionTreeClassifier(max_leaf_nodes=_leaves(table), min_samples_leaf=2, random_state=0)
    tree.fit(values[fitted], table.strata[fitted])
    is_right = tree.predict(values[held_out]) == table.strata[held_out]
    return float(np.mean([is_right[table.strata[held_out] == label].mean() for label in set(table.strata[held_out])]))


def _leaves(table: Table) -> int:
    return 4 * _n_strata(table)


def _n_strata(table: Table) -> int:
    return int(table.strata.max()) + 1


def _as_float32(values: Floats) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    """Values as a tree of scikit-learn compares them."""
    return np.clip(values, -1e30, 1e30).astype(np.float32)


def _encoded(values: Floats, categories: Sequence[str] | None) -> Floats:
    """A column for a tree: numbers ``(n, 1)``, or an indicator for each category ``(n, C)``."""
    if categories is None:
        return np.clip(values, -1e30, 1e30)[:, None]
    return np.equal(values[:, None], np.arange(len(categories))).astype(np.float64)
