"""Tables of any library and of files as pandas frames, in which a value has one form whatever it came in.

    frame = frame_of(polars_or_arrow_table)
    frame = frame.assign(age=plain_column(frame["age"]))

So a table as a frame of pandas, of polars or of Arrow gives the same features, bit for bit.
"""

import csv
import re
import warnings
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas as pd
import pyarrow as pa

from ...errors import UsageError, require
from ..columns import EXACT, are_whole, floats, is_numeric

CODE = re.compile(r"[+-]*(0\d+|9\d{15}|\d{17,})", re.ASCII)
"""Whole numbers with leading zeros, or so large that float64 rounds some."""

UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
"""What no file can hold: a NUL, at which other programs cut a text, and half a character."""
NULLABLE: dict[pa.DataType, Any] = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
"""The types of pandas that hold large whole numbers and gaps."""

SEPARATORS, BLANKS = (",", ";", "\t", "|"), r"\s+"
ARROW = (".parquet", ".pq", ".feather")
JSON = re.compile(r"\.(json|jsonl|ndjson)(\.\w+)?$")
LINE_OF_NAMES: dict[str, Any] = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
"""Arguments that read it alone, as it stands."""
IS_PANDAS_2 = pd.__version__.startswith("2.")
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if IS_PANDAS_2 else {}
"""Arguments by which a number is the float nearest to its text. In pandas 3 it always is."""
NO_DATES: dict[str, Any] = {"convert_dates": False} if IS_PANDAS_2 else {}
"""pandas 2 reads columns of names such as ``date`` as times, also where types are kept as they are."""


def frame_of(rows: Any) -> pd.DataFrame | None:
    """A table of any library as a pandas frame; None if it is no table with named columns, such as an array.

    It takes frames of pandas, and all that exports itself through ``__arrow_c_stream__``: polars, narwhals, Arrow,
    DuckDB, Ibis and others. The names of the columns become text in Unicode's form NFC.

    Raises:
        UsageError: the columns cannot be read, or a name cannot be written.
    """
    if isinstance(rows, pd.DataFrame):
        frame = rows
    elif hasattr(rows, "__arrow_c_stream__") and not isinstance(rows, pd.Series):
        frame = frame_of_arrow(rows)
    else:
        return None
    names = [normalize("NFC", str(name)) for name in frame.columns]
    if bad_names := list(filter(UNWRITABLE.search, names)):
        raise UsageError(f"The rows have a column {bad_names[0]!r}, a name that no file can hold; rename it.")
    return frame.set_axis(names, axis=1)


def path_or_frame(table: Any) -> str | pd.DataFrame:
    """A table as the path of its file, or as a frame.

    Raises:
        UsageError: it is neither, or `frame_of` refuses it.
    """
    if isinstance(table, (str, PathLike)):
        return str(fspath(table))
    frame = frame_of(table)
    if frame is None:
        raise UsageError(f"The table must be a file, or a frame whose columns have names, not {type(table).__name__}.")
    return frame


def frame_of_arrow(rows: Any) -> pd.DataFrame:
    """A table that exports itself to Arrow as a frame of pandas, exact in every bit.

    Raises:
        UsageError: it is none.
    """
    try:
        table = pa.table(rows)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"The rows are a {type(rows).__name__}, which is no table with columns: {error}.") from error
    frame: pd.DataFrame = table.to_pandas(types_mapper=NULLABLE.get, date_as_object=False, ignore_metadata=True)
    return frame


def plain_column(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """The values of a column in the one form that they have here.

    - Numbers of every type are float64, lengths of time their seconds; whole numbers that float64 does not tell apart
      are text.
    - Dates are datetime64, truth values boolean.
    - Categories stay categories.

    Raises:
        UsageError: the values are complex numbers or bytes.
    """
    if isinstance(column.dtype, pd.ArrowDtype):
        exported = frame_of_arrow({"values": column.array.__arrow_array__()})["values"]
        column = pd.Series(exported.array, column.index, name=column.name)
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("bytes", "complex"):
        raise UsageError(
            f"Column {str(column.name)!r} holds values of the type {kind}; convert them, or leave the column out."
        )
    values: Any = column
    # float64 would round large numbers.
    if kind == "integer" and column.dropna().abs().max() > EXACT:
        values = column.astype("string")
    elif kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        values = floats(column)
    elif kind.startswith("timedelta"):
        values = pd.to_timedelta(column).dt.total_seconds()
    elif kind in ("date", "datetime"):
        values = pd.to_datetime(column)
    elif kind == "boolean":
        values = column.astype("boolean")
    return pd.Series(values, column.index, name=column.name)


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
            with pd.ExcelFile(path, engine="openpyxl") as book:
                frame = _name_columns(pd.read_excel(book), pd.read_excel(book, **LINE_OF_NAMES))
        elif match := JSON.search(name):
            is_lines = match[1] != "json"
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
    # Most tables are no such files, and the imports take a fifteenth of a second.
    import pyarrow.feather
    import pyarrow.parquet

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
    return _name_columns(frame, _csv(path, **LINE_OF_NAMES, **options))


def _name_columns(frame: pd.DataFrame, line_of_names: pd.DataFrame) -> pd.DataFrame:
    """The columns by the names in their file: pandas calls a second ``y`` ``y.1``, which may be the target again."""
    return frame.set_axis([raw or name for raw, name in zip(line_of_names.iloc[0], frame, strict=True)], axis=1)


def _separator(path: Path, options: dict[str, Any]) -> str:
    """The separator that the line of names has most often; blanks if it has none."""
    # No text holds the sign that separates here, so the line is read whole.
    line = str(_csv(path, sep="\x01", quoting=csv.QUOTE_NONE, **LINE_OF_NAMES, **options).iloc[0, 0])
    best = max(SEPARATORS, key=line.count)
    return best if best in line else BLANKS


def _csv(path: Path, **options: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Of rows that are all longer than the line of names, pandas would drop the last values.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.DataFrame(pd.read_csv(path, **options))
