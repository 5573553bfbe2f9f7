"""A table from a frame whose columns nobody has described."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import UsageError
from .arguments import argument
from .columns import Advice, Coded, Column, ColumnReading, Floats, Note, about, declared_order
from .reading import Reader, ReadingOptions
from .reading.frames import plain_column
from .reading.kinds import ID, ID_OR_TEXT, Read, read_column
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
    described: list[tuple[Column, Floats]] = []
    readings: list[ColumnReading] = []
    notes: list[Note] = []
    reads: dict[str, Read] = {}
    for name_of_column, given in frame.items():
        column_name = str(name_of_column)
        if column_name in options.drop:
            readings.append(left_out(column_name, "left out by dataset.drop"))
            continue
        column = plain_column(given)
        read = reads[column_name] = read_column(column, options)
        described += _described(column, read)
        readings.append(_reading(column, read))
        notes += _notes(column_name, read)
    _check_that_some_are_left(reads, source, len(frame))
    table = Table.of(described, target, name=name, source=source, split_by=split_by)
    rules = [(column_name, read.rule) for column_name, read in reads.items() if read.rule is not None]
    reader = Reader(tuple(rules), table.columns)
    return replace(table, reading=tuple(readings), notes=(*table.notes, *notes), reader=reader)


def left_out(column: str, why: str) -> ColumnReading:
    """Record of a column that is not looked at."""
    return ColumnReading(column, kind="not looked at", missing=0, distinct=0, done=why)


def _check_that_some_are_left(reads: Mapping[str, Read], source: str, n_rows: int) -> None:
    """Refuse a table of which no column is read."""
    # Of fewer rows the target says that they are too few.
    if not reads or n_rows < FEWEST_ROWS or any(read.features for read in reads.values()):
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


def _described(column: "pd.Series[Any]", read: Read) -> list[tuple[Column, Floats]]:
    """The columns of the table that a column becomes, with their values ``(n,)``."""
    described = []
    for feature in read.features:
        values = feature.values
        if isinstance(values, Coded):
            codes, categories = values.sorted_codes()
            order = declared_order(column, categories, is_stripped=True)
            described.append((Column(feature.name, categories, order), codes))
        else:
            described.append((Column(feature.name), values))
    return described


def _reading(column: "pd.Series[Any]", read: Read) -> ColumnReading:
    """Record of a column's reading, with the numbers of its missing and of its distinct values."""
    missing, distinct = read.counts or (int(column.isna().sum()), int(column.nunique()))
    # Texts that stand for no value are missing, too.
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
        return [*notes, Advice(sentence, "dataset.text", [column], "reads it as text")]
    return [*notes, f"{sentence}."]
