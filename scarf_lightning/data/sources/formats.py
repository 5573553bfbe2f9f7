"""Files of tables by their format."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from ...errors import UsageError
from .arrow_file import ArrowFile
from .data_file import DataFile
from .documents import ArffFile, ExcelFile, JsonFile
from .file_access import without_compression
from .source import ENDING, KNOWN, check_is_file
from .text_file import TextFile, taken_for_missing

FORMATS = (TextFile, JsonFile, ArffFile, ArrowFile, ExcelFile)


def open_file(path: Path, option: str = "dataset.path", **asked: str | None) -> DataFile:
    """Find the format of a file and read its header. Of Excel, JSON and ARFF the rows are read too.

    Args:
        option: names the file, for messages.
        asked: ``separator``, ``decimal`` and ``encoding`` of a text file and the ``sheet`` of an Excel file, if
            they are known.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """
    check_is_file(path, option)
    if not ENDING.search(path.name):
        raise UsageError(f"{path} is of no known format; {option} takes {KNOWN}; write it again as one of these.")
    ending = without_compression(path).suffix.lower()
    kind = next(kind for kind in FORMATS if ending in kind.endings)
    if asked.get("sheet") and kind is not ExcelFile:
        raise UsageError(f"dataset.sheet names a sheet of an Excel file, and {path} is none; leave dataset.sheet out.")
    return kind.open(path, **asked)


def read_rows(
    path: Path,
    *,
    as_written: Collection[str] = (),
    categories: Mapping[str, Sequence[str]] = MappingProxyType({}),
    **asked: str | None,
) -> pd.DataFrame:
    """The rows of a file. A warning names lines that may not be meant as they are read.

    Args:
        path: a file of one of the formats in `ENDING`.
        as_written: columns to read as text, whatever they look like in this file.
        categories: those of columns: a word such as ``NA`` that is a category is no gap in its column.
        asked: see `open_file`.

    Raises:
        UsageError: there is no such file, it cannot be read, or it has no rows.
    """
    file = open_file(path, "rows", **asked)
    rows = file.read(as_written)
    if len(rows) == 0:
        raise UsageError(f"{path} has no rows below its header.")
    kept = {name: taken_for_missing(texts) for name, texts in categories.items() if file.names.count(name) == 1}
    for name, column in file.words([name for name, words in kept.items() if words]).items():
        is_category = rows[name].isna() & column.isin(kept[name])
        rows[name] = rows[name].astype(object).mask(is_category, column)
    for note in file.odd_lines(rows):
        warnings.warn(note, stacklevel=2)
    return rows
