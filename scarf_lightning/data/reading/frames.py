"""Tables of any library as pandas frames, in which a value has one form whatever library and type it came in.

    frame = frame_of(polars_or_arrow_table)
    frame = frame.assign(age=plain_column(frame["age"]))

So a table as a frame of pandas, of polars or of Arrow gives the same features, bit for bit.
"""

import re
from os import PathLike, fspath
from typing import Any
from unicodedata import normalize

import pandas as pd
import pyarrow as pa

from ...errors import UsageError
from ..columns import EXACT, floats

UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
"""What no file can hold: a NUL, at which other programs cut a text, and half a character."""
NULLABLE: dict[pa.DataType, Any] = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
"""The types of pandas that hold large whole numbers and gaps."""


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
    if odd := list(filter(UNWRITABLE.search, names)):
        raise UsageError(f"The rows have a column {odd[0]!r}, a name that no file can hold; rename it.")
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
