"""A table from a frame whose columns nobody has described."""

from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import UsageError
from .columns import Coded, Column, ColumnReading, Floats, declared_order
from .reading import Reader, ReadingOptions
from .reading.frames import plain_column
from .reading.kinds import read_column
from .reading.rules import Rule
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
    rules: list[tuple[str, Rule]] = []
    readings, notes = list[ColumnReading](), list[str]()
    for name_of_column, given in frame.items():
        column_name = str(name_of_column)
        if column_name in options.drop:
            readings.append(left_out(column_name, "left out by dataset.drop"))
            continue
        column = plain_column(given)
        read = read_column(column, options)
        described += [_described(column, feature, values) for feature, values in read.features.items()]
        readings.append(read.reading)
        notes += [f"Column {column_name!r}: {note}." for note in read.notes]
        if read.rule is not None:
            rules.append((column_name, read.rule))
    # Of fewer rows the target says that they are too few.
    if readings and not described and len(frame) >= FEWEST_ROWS:
        why = [f"{each.column!r} is {each.done}" for each in readings[:SHOWN]]
        # The first note, on an id, ends with the option that keeps it.
        keeps = [note.rstrip(".").rpartition("; ")[2] for note in notes[:1]]
        raise UsageError(f"{source} has no column with a value in it to learn from: {'; '.join(why + keeps)}.")
    table = Table.of(described, target, name=name, source=source, split_by=split_by)
    reader = Reader(tuple(rules), table.columns)
    return replace(table, reading=tuple(readings), notes=(*table.notes, *notes), reader=reader)


def left_out(column: str, why: str) -> ColumnReading:
    """Record of a column that is not looked at."""
    return ColumnReading(column, kind="not looked at", missing=0, distinct=0, done=why)


def _described(column: "pd.Series[Any]", name: str, values: Coded | Floats) -> tuple[Column, Floats]:
    """A column of the table, with its values ``(n,)``, that is a feature of a column of the frame."""
    if not isinstance(values, Coded):
        return Column(name), values
    codes, categories = values.sorted_codes()
    return Column(name, categories, declared_order(column, categories, is_stripped=True)), codes
