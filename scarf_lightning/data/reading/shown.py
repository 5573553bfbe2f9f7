"""How a user's file was read, as a table and sentences."""

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as Shown

from ...errors import counted

if TYPE_CHECKING:
    from ..table import Table

LONGEST = 40
"""Columns that are shown a line each; of more, those of which something else is done than to take them as they are."""


def reading_report(table: "Table") -> list[str | Shown]:
    """What to print of a table before it is trained on: nothing of one that was not found out about."""
    said: list[str | Shown] = []
    if table.reading:
        made = f"{counted(len(table.columns), 'column')} for {table.target.in_words}"
        beside = f"{counted(len(table.reading), 'column')} beside the target"
        said.append(f"{table.source}: {table.n_rows:,} rows, {beside}, {made}")
        said.append(_columns(table))
    if table.n_unlabelled:
        known = f"{table.n_labelled:,} of {table.n_rows:,} rows of {table.name} have a label"
        said.append(f"{known}; the others are for pre-training and for methods that use unlabelled rows.")
    if table.n_copies:
        said.append(_on_copies(table))
    if table.target.metric != (usual := table.target.usual_metric):
        leading = table.target.metric.replace("_", " ")
        said.append(f"Tables lead with {leading}; metric={usual} leads with {usual.replace('_', ' ')}.")
    return [*said, *map(str, table.notes)]


def _on_copies(table: "Table") -> str:
    copies = f"{table.n_copies:,} of the {counted(table.n_labelled, 'row')} of {table.name}"
    copies += " with a label" if table.n_unlabelled else ""
    n_others = table.n_copies_of_other_targets
    targets = f"{n_others:,} of them with another target" if n_others else "with the same target"
    return (
        f"{copies} equal an earlier row in every column, {targets}; split.copies=together keeps equal rows in one part "
        "of a random split, apart does not."
    )


def _columns(table: "Table") -> Shown:
    readings = list(table.reading)
    if len(readings) > LONGEST:
        readings = [reading for reading in readings if reading.done != "as they are"]
    shown = Shown(box=box.SIMPLE_HEAD)
    for heading in ("column", "kind", "missing", "distinct", "what is done"):
        shown.add_column(heading, justify="right" if heading in ("missing", "distinct") else "left")
    for reading in readings:
        shown.add_row(reading.column, reading.kind, f"{reading.missing:,}", f"{reading.distinct:,}", reading.done)
    left_out = len(table.reading) - len(readings)
    if left_out:
        shown.add_row(f"{left_out:,} {'more' if readings else 'columns'}", "numbers", "", "", "as they are")
    return shown
