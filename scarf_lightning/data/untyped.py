"""A table from a frame whose columns nobody has described, and the columns in it that give the target away."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from ..errors import UsageError
from .columns import Advice, Coded, Column, ColumnReading, Floats, Ints, about, declared_order
from .groups import hints
from .reading import Reader, ReadingOptions
from .reading.frames import plain_column
from .reading.inference import A_VALUE_A_ROW, ID_OR_TEXT, Read, read_column
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
    """Read every column of a frame.

    Args:
        frame: n rows, without the target; every column has a name of its own.
        target: the labels of the rows, see `Table.from_frame`.
        options: what a user set of the columns.
        name, source, split_by: see `Table`.
        looks_for_leaks: whether notes name the columns that give the target away.

    Raises:
        UsageError: see `read_column` and `Table.of`; or no column is left.
    """
    columns = [column if str(name) in options.drop else plain_column(column) for name, column in frame.items()]
    reads = {str(column.name): read_column(column, options) for column in columns}
    if reads and not any(read.features for read in reads.values()) and len(frame) >= FEWEST_ROWS:
        why = "; ".join(f"{column!r} is {read.done}" for column, read in list(reads.items())[:SHOWN])
        raise UsageError(f"{source} has no column with a value in it to learn from: {why}{_way_out(reads)}.")
    described = (
        _column(feature, column)
        for read, column in zip(reads.values(), columns, strict=True)
        for feature in read.features
    )
    table = Table.of(described, target, name=name, source=source, split_by=split_by)
    readings, notes = [], list(table.notes)
    for (column, read), values in zip(reads.items(), columns, strict=True):
        missing, distinct = read.counts or (int(values.isna().sum()), n_distinct(values))
        readings.append(ColumnReading(column, read.kind, missing, distinct, read.done))
        notes += [about(column, note) for note in read.notes]
        if read.done == A_VALUE_A_ROW:
            said = f"Column {column!r} has a different value in every row and is left out"
            may_be_text = read.kind == ID_OR_TEXT
            notes.append(Advice(said, "dataset.text", [column], "reads it as text") if may_be_text else f"{said}.")
    if looks_for_leaks:
        widths = {column: len(read.features) for column, read in reads.items()}
        notes += leaks(table, widths)
        notes += hints(table, frame, {column: read.kind for column, read in reads.items()}, widths)
    rules = tuple((column, read.rule) for column, read in reads.items() if read.rule is not None)
    return replace(table, reading=tuple(readings), notes=tuple(notes), reader=Reader(rules, table.columns))


def _way_out(reads: Mapping[str, Read]) -> str:
    """The option that keeps a column with a different value in every row, as the end of a sentence."""
    for column, read in reads.items():
        if read.done == A_VALUE_A_ROW:
            kind = "text" if read.kind == ID_OR_TEXT else "numeric"
            return f"; dataset.{kind}=[{column}] keeps that column"
    return ""


def n_distinct(column: "pd.Series[Any]") -> int:
    """The number of different values of a column, which may be lists."""
    try:
        return int(column.nunique())
    except TypeError:
        return int(column.dropna().map(repr).nunique())


def _column(feature: Feature, column: "pd.Series[Any]") -> tuple[Column, Floats]:
    if not isinstance(feature.values, Coded):
        return Column(feature.name), feature.values
    codes, categories = feature.values.in_order()
    return Column(feature.name, categories, declared_order(column, categories, is_stripped=True)), codes


def leaks(table: Table, widths: Mapping[str, int]) -> list[Advice]:
    """A note on each column of a file from which alone a small tree predicts the target's strata almost without error.

    The strata of classes are the classes, those of numbers their tenths. Rows without a label are not used. ``widths``
    are the numbers of the table's columns that were made of each column of the file, in their order.
    """
    labelled = np.flatnonzero(table.is_labelled)
    rows = np.random.default_rng(0).permutation(labelled)[:MOST_ROWS]  # a note only: no result depends on these rows
    fitted, held_out = np.split(rows, [int(0.7 * len(rows))])
    labels = table.strata
    if len(held_out) < FEWEST_HELD_OUT or not 2 <= len(np.unique(labels[fitted])) <= len(fitted) / 2:
        return []
    n_strata = int(labels.max()) + 1
    by_label = fitted[np.argsort(labels[fitted], kind="stable")]
    found, end = [], 0
    for name, width in widths.items():
        end += width
        made = range(end - width, end)
        if width == 0 or (width == 1 and not _may_leak(table, made[0], by_label, n_strata)):
            continue
        # So small a tree that a number that only sorts the rows predicts nothing.
        tree = DecisionTreeClassifier(max_leaf_nodes=_leaves(n_strata), min_samples_leaf=2, random_state=0)
        values = np.concatenate([_encoded(table.values[:, m], table.columns[m]) for m in made], axis=1)
        is_right = tree.fit(values[fitted], labels[fitted]).predict(values[held_out]) == labels[held_out]
        score = np.mean([is_right[labels[held_out] == label].mean() for label in set(labels[held_out])])
        if score > SUSPICIOUS:
            said = f"Column {name!r} predicts the target almost alone (balanced accuracy {score:.3f} on held-out rows)"
            found.append(Advice(said, "dataset.drop", [name], "leaves it out, if it is known only once the target is"))
    return found


def _may_leak(table: Table, m: int, rows: Ints, n_strata: int) -> bool:
    """Whether column m may predict the target: two cheap bounds that spare most columns the tree.

    A tree with L leaves cuts a column of numbers into L intervals (a gap may make two more). In the order of their
    values, equal ones in the order of their labels as in ``rows``, at most L - 1 neighbours then have different labels
    for the cuts, and two for each row that is predicted wrongly. And of rows with equal values, those without the most
    frequent label are always predicted wrongly.
    """
    labels, values = table.strata[rows], _clipped(table.values[rows, m]).astype(np.float32)  # as a tree compares them
    wrong = min(1.0, WRONG + WRONG_A_STRATUM * n_strata) * len(rows)
    if not table.columns[m].is_categorical:
        in_order = labels[np.argsort(values, kind="stable")]
        if (in_order[1:] != in_order[:-1]).sum() > 2 * wrong + _leaves(n_strata) + 1:
            return False
    distinct, codes = np.unique(values, return_inverse=True)
    counts = np.bincount(codes * n_strata + labels, minlength=len(distinct) * n_strata).reshape(-1, n_strata)
    return bool(counts.max(axis=1).sum() >= len(rows) - wrong)


def _leaves(n_strata: int) -> int:
    return 4 * n_strata


def _clipped(values: Floats) -> Floats:
    return np.clip(values, -1e30, 1e30)


def _encoded(values: Floats, column: Column) -> Floats:
    """A column for a tree: numbers ``(n, 1)``, or an indicator for each category ``(n, C)``."""
    if column.categories is None:
        return _clipped(values)[:, None]
    return np.equal(values[:, None], np.arange(len(column.categories))).astype(np.float64)
