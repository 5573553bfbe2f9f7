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
    name, target = table.name, table.target
    if table.reading:
        columns = counted(len(table.columns), "column")
        if table.n_encoded != len(table.columns):
            columns += f", {table.n_encoded:,} after one-hot encoding"
        # Columns that are left out make no feature.
        features = counted(sum(each.n_features > 0 for each in table.reading), "feature")
        parts.append(f"{table.source}: {table.n_rows:,} rows, {features} ({columns}) for {target.in_words}")
        parts.append(_columns(table))
    if table.n_unlabelled:
        labelled = f"{table.n_labelled:,} of {table.n_rows:,} rows of {name} have a label"
        parts.append(f"{labelled}; the others are for pre-training and for methods that use unlabelled rows.")
    if table.n_copies:
        rows = f"{counted(table.n_labelled, 'row')} of {name}{' with a label' if table.n_unlabelled else ''}"
        parts.append(
            f"{table.n_copies:,} of the {rows} equal an earlier row in every column; split.copies=together "
            "keeps equal rows in one part of a random split, apart does not."
        )
    # Such as balanced accuracy, where one class is rare.
    if target.metric != target.usual_metric:
        leading, other = target.metric.replace("_", " "), target.usual_metric
        # The paper's sweeps name accuracy, whatever the imbalance, and several datasets may lead with another metric.
        parts.append(
            f"Results of {name} alone lead with {leading}, unless a metric is asked for; metric={other} leads with "
            f"{other.replace('_', ' ')}."
        )
    return [*parts, *table.notes]


def _columns(table: "Table") -> Shown:
    """A line for each column, or for those of many with which something is done."""
    readings = list(table.reading)
    # In a wide table the columns that are read otherwise would not be seen.
    if len(readings) > LONGEST:
        readings = [reading for reading in readings if reading.done != "as they are"]
    shown = Shown(box=box.SIMPLE_HEAD)
    for heading in ("column", "kind", "missing", "distinct", "what is done"):
        # Counts are compared digit by digit.
        shown.add_column(heading, justify="right" if heading in ("missing", "distinct") else "left")
    for reading in readings:
        shown.add_row(reading.column, reading.kind, f"{reading.missing:,}", f"{reading.distinct:,}", reading.done)
    if n_others := len(table.reading) - len(readings):
        shown.add_row(f"{n_others:,} {'more' if readings else 'columns'}", "numbers", "", "", "as they are")
    return shown
