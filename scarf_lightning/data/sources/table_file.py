"""Files of tables, read by pandas."""

import csv
import re
import warnings
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas as pd
import pyarrow.feather
import pyarrow.parquet

from ...errors import UsageError
from ...importing import require
from ..columns import are_whole, is_numeric
from ..reading.frames import frame_of_arrow
from ..reading.values import CODE

SEPARATORS, BLANKS = (",", ";", "\t", "|"), r"\s+"
ARROW = (".parquet", ".pq", ".feather")
JSON = re.compile(r"\.(json|jsonl|ndjson)(\.\w+)?$")
IS_PANDAS_2 = pd.__version__.startswith("2.")
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if IS_PANDAS_2 else {}
"""Arguments by which a number is the float nearest to its text. In pandas 3 it always is."""
NO_DATES: dict[str, Any] = {"convert_dates": False} if IS_PANDAS_2 else {}
"""pandas 2 reads columns of names such as ``date`` as times, also where types are kept as they are."""


def read_file(
    path: Path,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """The columns of a file by their names in Unicode's form NFC.

    A column without a name is called ``Unnamed: 2`` by its place from 0. Whole numbers of a text file with leading
    zeros, or that float64 rounds, stay text.

    Args:
        separator, decimal, encoding: of a text file; None finds the separator, and takes a decimal point and UTF-8.

    Raises:
        UsageError: it cannot be read.
    """
    name = path.name.lower()
    try:
        if name.endswith(ARROW):
            frame = _arrow(path)
        elif name.endswith(".xlsx"):
            require("openpyxl", str(path))
            frame = pd.read_excel(path, engine="openpyxl")
        elif found := JSON.search(name):
            is_lines = found[1] != "json"
            frame = pd.read_json(path, lines=is_lines, dtype=False, precise_float=True, **NO_DATES)
        else:
            options = {"encoding": encoding or "utf-8-sig", "skipinitialspace": True, "index_col": False}
            frame = _text(path, decimal or ".", sep=separator or _separator(path, options), **options)
    except UsageError:
        raise
    # Whichever library raises it.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".: ")
        raise UsageError(
            f"{path} cannot be read ({reason}); write it again as UTF-8 text with a name for every column, or as "
            "Parquet, or name its encoding, as in dataset.encoding=cp1252."
        ) from error
    names = pd.Index([normalize("NFC", str(name)) for name in frame.columns])
    if names.has_duplicates:
        raise UsageError(f"{path} has more than one column {names[names.duplicated()][0]!r}; rename all but one.")
    return frame.set_axis(names, axis=1)


def _arrow(path: Path) -> pd.DataFrame:
    """Parquet and Feather. Columns that were the index of a frame are left out."""
    if path.suffix.lower() == ".feather":
        table = pyarrow.feather.read_table(path)
    else:
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True, partitioning=None)
    # Feather has no checksums, and a false place of a text ends the process.
    table.validate(full=True)
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return frame_of_arrow(table.select([name for name in table.column_names if name not in index]))


def _text(path: Path, decimal: str, **options: Any) -> pd.DataFrame:
    """CSV and its relatives, with a line of names."""
    frame = _csv(path, decimal=decimal, low_memory=False, **options, **EXACT_FLOATS)
    # Codes are seen in the text alone.
    numbers = [place for place, name in enumerate(frame) if is_numeric(frame[name])]
    if whole := [place for place in numbers if are_whole(frame.iloc[:, place].dropna().to_numpy())]:
        for name, text in _csv(path, usecols=whole, dtype=str, low_memory=False, **options).items():
            if text.str.match(CODE.pattern).any():
                frame[name] = text
    return frame


def _separator(path: Path, options: dict[str, Any]) -> str:
    """The separator that the line of names has most often; blanks if it has none."""
    # No text holds the sign that separates here, so the line is read whole.
    line = str(_csv(path, sep="\x01", quoting=csv.QUOTE_NONE, header=None, nrows=1, **options).iloc[0, 0])
    best = max(SEPARATORS, key=line.count)
    return best if best in line else BLANKS


def _csv(path: Path, **options: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Of rows that are all longer than the line of names, pandas would drop the last values.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.DataFrame(pd.read_csv(path, **options))
