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
        columns = counted(len(table.columns), "column")
        if table.n_encoded != len(table.columns):
            columns += f", {table.n_encoded:,} after one-hot encoding"
        features = counted(len(table.reading), "feature")
        parts.append(f"{table.source}: {table.n_rows:,} rows, {features} ({columns}) for {table.target.in_words}")
        parts.append(_columns(table))
    if table.n_unlabelled:
        labelled = f"{table.n_labelled:,} of {table.n_rows:,} rows of {table.name} have a label"
        parts.append(f"{labelled}; the others are for pre-training and for methods that use unlabelled rows.")
    if table.n_copies:
        parts.append(_copies_sentence(table))
    # Such as balanced accuracy, where one class is rare.
    metric, usual = table.target.metric, table.target.usual_metric
    if metric != usual:
        leading = metric.replace("_", " ")
        other = usual.replace("_", " ")
        # The paper's sweeps name accuracy, whatever the imbalance, and several datasets may lead with another metric.
        parts.append(
            f"Results of {table.name} alone lead with {leading}, unless a metric is asked for; metric={usual} leads "
            f"with {other}."
        )
    parts += map(str, table.notes)
    return parts


def _copies_sentence(table: "Table") -> str:
    """A sentence on labelled rows that equal another one."""
    copies = f"{table.n_copies:,} of the {counted(table.n_labelled, 'row')} of {table.name}"
    if table.n_unlabelled:
        copies += " with a label"
    return (
        f"{copies} equal an earlier row in every column; split.copies=together keeps equal rows in one part of a "
        "random split, apart does not."
    )


def _columns(table: "Table") -> Shown:
    """A line for each column, or for those of many with which something is done."""
    readings = list(table.reading)
    # In a wide table the columns that are read otherwise would not be seen.
    if len(readings) > LONGEST:
        readings = [reading for reading in readings if reading.done != "as they are"]
    shown = Shown(box=box.SIMPLE_HEAD)
    shown.add_column("column")
    shown.add_column("kind")
    # Counts are compared digit by digit.
    shown.add_column("missing", justify="right")
    shown.add_column("distinct", justify="right")
    shown.add_column("what is done")
    for reading in readings:
        shown.add_row(reading.column, reading.kind, f"{reading.missing:,}", f"{reading.distinct:,}", reading.done)
    n_others = len(table.reading) - len(readings)
    if n_others:
        noun = "more" if readings else "columns"
        shown.add_row(f"{n_others:,} {noun}", "numbers", "", "", "as they are")
    return shown
