"""A table from a frame whose columns nobody has described."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import UsageError
from .arguments import argument
from .columns import Advice, Coded, Column, ColumnReading, Floats, Note, about, declared_order
from .reading import Reader, ReadingOptions
from .reading.frames import plain_column
from .reading.inference import ID, ID_OR_TEXT, Read, read_column
from .table import FEWEST_ROWS, Table
from .targets import ReadTarget

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
) -> Table:
    """Read every column of a frame.

    Args:
        frame: n rows, without the target; every column has a name of its own.
        target: the labels of the rows, see `Table.from_frame`.
        options: what a user set of the columns.
        name, source, split_by: see `Table`.

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
