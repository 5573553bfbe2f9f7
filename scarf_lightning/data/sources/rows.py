"""Rows that come later, in a file."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from .file import ENDING

if TYPE_CHECKING:
    import pandas as pd


def read_rows(
    path: Path,
    *,
    as_written: Collection[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> "pd.DataFrame":
    """The rows of a CSV or Parquet file, one or more.

    Args:
        path: where it is.
        as_written: columns that are text, whatever they look like in this file.
        separator, decimal, encoding: of a text file; None takes what is seen in it.

    Raises:
        UsageError: there is no such file, it cannot be read, or it has no rows.
    """
    from .file_formats import format_of, read_frame

    if not path.is_file():
        raise UsageError(f"there is no file {path}.")
    if not ENDING.search(path.name):
        raise UsageError(
            f"{path} is of no known format; name a .csv or .tsv file (also with .gz, .bz2, .xz or .zip), a .parquet or "
            "a .pq one."
        )
    text = format_of(path, separator=separator, decimal=decimal, encoding=encoding)
    rows = read_frame(path, text, as_written)
    if len(rows) == 0:
        raise UsageError(f"{path} has no rows below its header.")
    return rows
