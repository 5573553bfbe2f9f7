"""A table from a frame whose columns nobody has described, and the columns in it that give the target away."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from ..errors import UsageError
from .arguments import argument
from .columns import Advice, Coded, Column, ColumnReading, Floats, Ints, Note, about, declared_order
from .filled import filled_for_one_class
from .reading import Reader, ReadingOptions
from .reading.frames import plain_column
from .reading.inference import ID, ID_OR_TEXT, Read, read_column
from .spellings import mark_notes, spelling_notes
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
    columns: list[pd.Series[Any]] = []
    for name_of_column, column in frame.items():
        # A column that is left out may hold anything.
        is_dropped = str(name_of_column) in options.drop
        columns.append(column if is_dropped else plain_column(column))
    reads = {str(column.name): read_column(column, options) for column in columns}
    _check_that_some_are_left(reads, source, len(frame))
    table = Table.of(_described(columns, reads), target, name=name, source=source, split_by=split_by)
    readings: list[ColumnReading] = []
    notes = list(table.notes)
    for column in columns:
        read = reads[str(column.name)]
        readings.append(_reading(column, read))
        notes += _notes(str(column.name), read)
    if looks_for_leaks:
        categories = {}
        for name_of_column, read in reads.items():
            values = read.features[0].values if len(read.features) == 1 else None
            if isinstance(values, Coded):
                categories[name_of_column] = values
        notes += [*spelling_notes(table, categories), *mark_notes(categories)]
        widths = {name: len(read.features) for name, read in reads.items()}
        given_away = leaks(table, widths)
        named = {column for advice in given_away for column in advice.value}
        notes += [*given_away, *filled_for_one_class(table, frame, named)]
    rules = []
    for name_of_column, read in reads.items():
        if read.rule is not None:
            rules.append((name_of_column, read.rule))
    reader = Reader(tuple(rules), table.columns)
    return replace(table, reading=tuple(readings), notes=tuple(notes), reader=reader)


def _check_that_some_are_left(reads: Mapping[str, Read], source: str, n_rows: int) -> None:
    """Refuse a table of which no column is read."""
    # Of fewer rows the target says that they are too few.
    if not reads or n_rows < FEWEST_ROWS:
        return
    if any(read.features for read in reads.values()):
        return
    why = "; ".join(f"{column!r} is {read.done}" for column, read in list(reads.items())[:SHOWN])
    raise UsageError(f"{source} has no column with a value in it to learn from: {why}{_way_out(reads)}.")


def _way_out(reads: Mapping[str, Read]) -> str:
    """The option that keeps a column with a different value in every row, as the end of a sentence."""
    for column, read in reads.items():
        if read.done == ID:
            kind = "text" if read.kind == ID_OR_TEXT else "numeric"
            return f"; {argument(f'dataset.{kind}', [column])} keeps that column"
    return ""


def _described(columns: "Sequence[pd.Series[Any]]", reads: Mapping[str, Read]) -> Iterator[tuple[Column, Floats]]:
    """The columns of the table with their values ``(n,)``, one for each feature."""
    for column in columns:
        for feature in reads[str(column.name)].features:
            values = feature.values
            if isinstance(values, Coded):
                codes, categories = values.sorted_codes()
                order = declared_order(column, categories, is_stripped=True)
                yield Column(feature.name, categories, order), codes
            else:
                yield Column(feature.name), values


def _reading(column: "pd.Series[Any]", read: Read) -> ColumnReading:
    """Record of a column's reading, with the numbers of its missing and of its distinct values."""
    if read.counts is None:
        missing, distinct = int(column.isna().sum()), n_distinct(column)
    else:
        missing, distinct = read.counts
    # Texts among numbers or dates are read as missing, too.
    if read.features and not isinstance(read.features[0].values, Coded):
        missing = max(missing, int(read.features[0].is_missing.sum()))
    return ColumnReading(str(column.name), read.kind, missing, distinct, read.done, len(read.features))


def _notes(column: str, read: Read) -> list[Note]:
    """Notes on a column's reading, for the user."""
    notes: list[Note] = [about(column, note) for note in read.notes]
    if read.done != ID:
        return notes
    sentence = f"Column {column!r} has a different value in every row and is left out"
    # Numbers that are all different are ids, which no option of text helps.
    if read.kind == ID_OR_TEXT:
        notes.append(Advice(sentence, "dataset.text", [column], "reads it as text"))
    else:
        notes.append(f"{sentence}.")
    return notes


def n_distinct(column: "pd.Series[Any]") -> int:
    """The number of different values of a column, which may be lists."""
    try:
        return int(column.nunique())
    except TypeError:
        # Lists cannot be compared by their hashes, but by how they are written.
        written = column.dropna().map(repr)
        return int(written.nunique())


def leaks(table: Table, widths: Mapping[str, int]) -> list[Advice]:
    """A note on each column of a file from which alone a small tree predicts the target's strata almost without error.

    The strata of classes are the classes, those of numbers their tenths. Rows without a label are not used. ``widths``
    are the numbers of the table's columns that were made of each column of the file, in their order.
    """
    labels = table.strata
    labelled = np.flatnonzero(table.is_labelled)
    # A note only: no result depends on these rows.
    random = np.random.default_rng(0)
    rows = random.permutation(labelled)[:MOST_ROWS]
    n_fitted = int(0.7 * len(rows))
    fitted, held_out = rows[:n_fitted], rows[n_fitted:]
    n_classes = len(np.unique(labels[fitted]))
    if len(held_out) < FEWEST_HELD_OUT or not 2 <= n_classes <= len(fitted) / 2:
        return []
    n_strata = int(labels.max()) + 1
    # The best order for the bound of `_may_leak`: equal values then change their label as rarely as they can.
    rows_by_label = fitted[np.argsort(labels[fitted], kind="stable")]
    notes = []
    end = 0
    for name, width in widths.items():
        end += width
        columns = range(end - width, end)
        if width == 0:
            continue
        if width == 1 and not _may_leak(table, columns[0], rows_by_label, n_strata):
            continue
        score = _score(table, columns, fitted, held_out, n_strata)
        if score > SUSPICIOUS:
            claim = f"Column {name!r} predicts the target almost alone (balanced accuracy {score:.3f} on held-out rows)"
            effect = "leaves it out, if it is known only once the target is"
            notes.append(Advice(claim, "dataset.drop", [name], effect))
    return notes


def _score(table: Table, made: Sequence[int], fitted: Ints, held_out: Ints, n_strata: int) -> float:
    """The balanced accuracy on held-out rows of a small tree on the table's columns at these positions."""
    labels = table.strata
    encoded = []
    for m in made:
        encoded.append(tree_input(table.values[:, m], table.columns[m]))
    values = np.concatenate(encoded, axis=1)
    # So small a tree that a number that only sorts the rows predicts nothing.
    tree = DecisionTreeClassifier(max_leaf_nodes=_leaves(n_strata), min_samples_leaf=2, random_state=0)
    tree.fit(values[fitted], labels[fitted])
    true = labels[held_out]
    is_right = tree.predict(values[held_out]) == true
    shares = [is_right[true == label].mean() for label in np.unique(true)]
    return float(np.mean(shares))


def _may_leak(table: Table, m: int, rows: Ints, n_strata: int) -> bool:
    """Tell whether column m may predict the target: two cheap bounds that spare most columns the tree.

    A tree with L leaves cuts a column of numbers into L intervals (a gap may make two more). In the order of their
    values, equal ones in the order of their labels as in ``rows``, at most L - 1 neighbours then have different labels
    for the cuts, and two for each row that is predicted wrongly. And of rows with equal values, those without the most
    frequent label are always predicted wrongly.
    """
    labels = table.strata[rows]
    # In float32, as a tree compares them.
    values = _clipped(table.values[rows, m]).astype(np.float32)
    share_wrong = min(1.0, WRONG + WRONG_A_STRATUM * n_strata)
    wrong = share_wrong * len(rows)
    if not table.columns[m].is_categorical:
        sorted_labels = labels[np.argsort(values, kind="stable")]
        n_changes = (sorted_labels[1:] != sorted_labels[:-1]).sum()
        if n_changes > 2 * wrong + _leaves(n_strata) + 1:
            return False
    distinct, codes = np.unique(values, return_inverse=True)
    # A cell for each value and label.
    cells = np.bincount(codes * n_strata + labels, minlength=len(distinct) * n_strata)
    most_frequent = cells.reshape(-1, n_strata).max(axis=1)
    return bool(most_frequent.sum() >= len(rows) - wrong)


def _leaves(n_strata: int) -> int:
    return 4 * n_strata


def _clipped(values: Floats) -> Floats:
    # A tree compares in float32, whose largest number is 3e38.
    return np.clip(values, -1e30, 1e30)


def tree_input(values: Floats, column: Column) -> Floats:
    """A column for a tree: numbers ``(n, 1)``, or an indicator for each category ``(n, C)``."""
    if column.categories is None:
        return _clipped(values)[:, None]
    codes = np.arange(len(column.categories))
    return np.equal(values[:, None], codes).astype(np.float64)
