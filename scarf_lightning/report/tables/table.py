"""A table: what is shown of each value, and the values themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

Format = str | Callable[[Any], str]

NOTHING = "–"


class Shown(NamedTuple):
    """One entry: its text, what it is sorted by (None goes last), and whether it is the best of its row."""

    text: str
    sort: float | str | None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table for reading, beside its data.

    Attributes:
        name: of its files.
        caption: what it shows.
        columns: their headings.
        rows: entries, as many as there are columns.
        data: the numbers in full, for CSV; they may be laid out in another way.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Shown, ...], ...]
    data: pd.DataFrame

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds nothing but numbers, and dashes in the place of those that are missing."""
        return not any(isinstance(row[column].sort, str) for row in self.rows)


def table(
    name: str,
    caption: str,
    data: pd.DataFrame,
    formats: Mapping[str, Format] | None = None,
    headings: Mapping[str, str] | None = None,
) -> Table:
    """A frame as a table: a column a column.

    Args:
        name, caption, data: as `Table`'s; the index is not shown.
        formats: of columns, a format specification or a function of a value; whole numbers and text need none.
        headings: of columns, where it is not their own name with spaces for underscores.
    """
    formats, headings = formats or {}, headings or {}
    columns = [str(column) for column in data.columns]
    of_column = [[shown(value, formats.get(column)) for value in data[column]] for column in columns]
    rows = tuple(zip(*of_column, strict=True))
    return Table(name, caption, tuple(headings.get(c, c.replace("_", " ")) for c in columns), rows, data)


def shown(value: Any, format: Format | None = None) -> Shown:
    """One value; what is missing is a dash."""
    if value is None or pd.isna(value):
        return Shown(NOTHING, None)
    if isinstance(value, (bool, str)):
        text = str(value) if isinstance(value, str) else {True: "yes", False: "no"}[value]
        return Shown(format(value) if callable(format) else text, text)
    text = format(value) if callable(format) else number(value, format or "")
    return Shown(text, float(value))


def number(value: float, format: str) -> str:
    """A number with a minus sign in the place of a hyphen."""
    text = f"{value:{format}}"
    if text.startswith("-") and float(text) == 0:
        text = f"{0.0:{format}}"
    return f"−{text[1:]}" if text.startswith("-") else text
