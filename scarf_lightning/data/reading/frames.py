"""Tables of any library as pandas frames, in which a value has one form whatever library and type it came in.

    frame = frame_of(polars_or_arrow_table)
    frame = frame.assign(age=plain_column(frame["age"]))

So a table as a frame of pandas, of polars or of Arrow gives the same features, bit for bit.
"""

import re
from os import PathLike, fspath
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa

from ...errors import UsageError
from ..columns import EXACT, floats

UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
"""What no file can hold: a NUL, at which other programs cut a text, and half a character."""
NULLABLE: dict[pa.DataType, Any] = {
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
"""The types of pandas that hold large whole numbers and gaps."""


def frame_of(rows: Any) -> pd.DataFrame | None:
    """A table of any library as a pandas frame; None if it is no table with named columns, such as an array.

    It takes frames of pandas, what narwhals wraps, and all that exports itself through ``__arrow_c_stream__``: polars,
    Arrow, DuckDB, Ibis and others. The names of the columns become text in Unicode's form NFC.

    Raises:
        UsageError: the table is not computed yet, its columns cannot be read, or a name cannot be written.
    """
    if type(rows).__name__ == "LazyFrame":
        raise UsageError("The rows are a LazyFrame, which is not computed yet; collect() it first.")
    if hasattr(rows, "__narwhals_dataframe__"):
        rows = rows.to_native()
    if isinstance(rows, pd.Series):
        return None
    if isinstance(rows, pd.DataFrame):
        frame = rows
    elif hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        frame = frame_of_arrow(rows)
    else:
        return None
    names = [normalize("NFC", str(name)) for name in frame.columns]
    if odd := [name for name in names if UNWRITABLE.search(name)]:
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
    columns = dict(enumerate(map(_arrow_column, table.columns)))
    frame = pd.DataFrame(columns, index=range(table.num_rows))
    return frame.set_axis(table.column_names, axis=1)


def plain_column(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """The values of a column in the one form that they have here.

    - Numbers of every type are int64 or float64, lengths of time their seconds; whole numbers that float64 does not
      tell apart are text.
    - Dates are datetime64, periods their first moment, truth values bool.
    - Categories stay categories.

    Raises:
        UsageError: the values are complex numbers or bytes.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        column = _with(column, np.asarray(column))
    elif isinstance(dtype, pd.ArrowDtype):
        column = _with(column, _arrow_column(pa.chunked_array(column.array.__arrow_array__())).array)
    elif isinstance(dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("bytes", "complex"):
        raise UsageError(
            f"Column {str(column.name)!r} holds values of the type {kind}; convert them, or leave the column out."
        )
    if kind == "integer":
        known = column.dropna()
        # To go through float64 would round them.
        if max(int(known.max()), -int(known.min())) > EXACT:
            return column.astype("str").astype(object).where(column.notna(), None)
        return column.astype("int64") if len(known) == len(column) else _with(column, floats(column))
    if column.dtype != object:
        return _with(column, column.dt.total_seconds()) if kind.startswith("timedelta") else column
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return _with(column, floats(column))
    if kind in ("date", "datetime"):
        return _with(column, pd.to_datetime(column))
    if kind == "timedelta":
        return _with(column, pd.to_timedelta(column).dt.total_seconds())
    return column.astype("boolean") if kind == "boolean" else column


def _with(column: "pd.Series[Any]", values: Any) -> "pd.Series[Any]":
    return pd.Series(values, column.index, name=column.name)


def _arrow_column(column: pa.ChunkedArray) -> "pd.Series[Any]":
    """A column of Arrow's as one of pandas', exact in every bit."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        column = column.cast(pa.dictionary(column.type.index_type, pa.string(), column.type.ordered))
    # The usual way goes through float64, which rounds whole numbers above 2^53.
    return pd.Series(column.to_pandas(date_as_object=False, types_mapper=NULLABLE.get))
