"""One table object, and the formats that it is written in."""

from .formats import to_csv, to_latex, to_markdown
from .table import Shown, Table, number, shown, table

__all__ = ["Shown", "Table", "number", "shown", "table", "to_csv", "to_latex", "to_markdown"]
