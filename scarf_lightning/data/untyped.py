"""A table from a frame whose columns nobody has described, and the columns in it that give the target away."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError
from .columns import Advice, Coded, Column, ColumnReading, Floats, Ints, about
from .reading import Reader, ReadingOptions
from .reading.inference import A_VALUE_A_ROW, ID_OR_TEXT, read_column
from .reading.rules import Feature
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
        UsageError: see `read_column` and `Table.of`; or no column is left.
    """
    reads = {str(name): read_column(column, options) for name, column in frame.items()}
    if reads and not any(read.features for read in reads.values()) and len(frame) >= FEWEST_ROWS:
        why = "; ".join(f"{column!r} is {read.done}" for column, read in list(reads.items())[:SHOWN])
        raise UsageError(f"{source} has no column with a value in it to learn from: {why}.")
    columns = (_column(feature) for read in reads.values() for feature in read.features)
    table = Table.of(columns, target, name=name, source=source, split_by=split_by)
    readings, notes = [], list(table.notes)
    for (column, read), (_, values) in zip(reads.items(), frame.items(), strict=True):
        missing, distinct = read.counts or (int(values.isna().sum()), int(values.nunique()))
        readings.append(ColumnReading(column, read.kind, missing, distinct, read.done))
        notes += [about(column, note) for note in read.notes]
        if read.done == A_VALUE_A_ROW:
            said = f"Column {column!r} has a different value in every row and is left out"
            may_be_text = read.kind == ID_OR_TEXT
            notes.append(Advice(said, "dataset.text", [column], "reads it as text") if may_be_text else f"{said}.")
    if looks_for_leaks:
        notes += leaks(table, {column: len(read.features) for column, read in reads.items()})
    rules = tuple((column, read.rule) for column, read in reads.items() if read.rule is not None)
    return replace(table, reading=tuple(readings), notes=tuple(notes), reader=Reader(rules, table.columns))


def _column(feature: Feature) -> tuple[Column, Floats]:
    if not isinstance(feature.values, Coded):
        return Column(feature.name), feature.values
    codes, categories = feature.values.in_order()
    return Column(feature.name, categories, feature.declared), codes


def leaks(table: Table, widths: Mapping[str, int]) -> list[Advice]:
    """A note on each column from which alone a small tree predicts the target's strata almost without error.

    The strata of classes are the classes, those of numbers their tenths.

    Args:
        table: the data. Rows without a label are not used.
        widths: for each column of the file, the number of the table's columns that were made of it, in their order.
    """
    labelled = np.flatnonzero(table.is_labelled)
    rows = np.random.default_rng(0).permutation(labelled)[:MOST_ROWS]  # a note only: no result depends on these rows
    fitted, held_out = np.split(rows, [int(0.7 * len(rows))])
    n_strata = len(np.unique(table.strata[fitted]))
    if len(held_out) < FEWEST_HELD_OUT or not 2 <= n_strata <= len(fitted) / 2:
        return []
    found, end = [], 0
    may_leak = _may_leak(table, fitted)
    for name, width in widths.items():
        end += width
        if width == 0 or (width == 1 and not may_leak[end - 1]):
            continue
        score = _score(table, list(range(end - width, end)), fitted, held_out)
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
