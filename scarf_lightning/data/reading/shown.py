"""The reading of a user's file, as a table and sentences."""

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as Shown

from ...errors import counted

if TYPE_CHECKING:
    from ..table import Table

LONGEST = 40
"""Columns that are shown a line each; of more, those of which something else is done than to take them as they are."""


def reading_report(table: "Table") -> list[str | Shown]:
    """The report on reading that is printed before training, as sentences and a table of columns.

    A table whose columns have declared types has sentences alone.
    """
    parts: list[str | Shown] = []
    if table.reading:
        # Columns that are left out make no feature.
        features = counted(sum(each.n_features > 0 for each in table.reading), "feature")
        columns = f"{counted(len(table.columns), 'column')}, {table.n_encoded:,} after one-hot encoding"
        parts.append(f"{table.source}: {table.n_rows:,} rows, {features} ({columns}) for {table.target.in_words}")
        parts.append(_columns(table))
    if table.n_unlabelled:
        parts.append(
            f"{table.n_labelled:,} of {table.n_rows:,} rows of {table.name} have a label; the others are for "
            "pre-training and for methods that use unlabelled rows."
        )
    if table.n_copies:
        parts.append(
            f"{table.n_copies:,} labelled rows of {table.name} equal an earlier one in every column; "
            "split.copies=together keeps equal rows in one part of a random split, apart does not."
        )
    return [*parts, *table.notes]


def _columns(table: "Table") -> Shown:
    """A line for each column, or for those of many with which something is done."""
    shown = Shown(box=box.SIMPLE_HEAD)
    for heading in ("column", "kind", "missing", "distinct", "what is done"):
        # Counts are compared digit by digit.
        shown.add_column(heading, justify="right" if heading in ("missing", "distinct") else "left")
    for reading in table.reading:
        # In a wide table the columns that are read otherwise would not be seen.
        if len(table.reading) <= LONGEST or reading.done != "as they are":
            counts = f"{reading.missing:,}", f"{reading.distinct:,}"
            shown.add_row(reading.column, reading.kind, *counts, reading.done)
    return shown
