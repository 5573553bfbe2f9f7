"""Tables of any library as pandas frames, in which a value has one form whatever library and type it came in.

    frame = frame_of(polars_or_arrow_table)
    frame = frame.assign(age=plain_column(frame["age"]))

So a table as a frame of pandas, of polars or of Arrow gives the same features, bit for bit.
"""

from decimal import Decimal
from os import PathLike, fspath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.interchange import from_dataframe

from ...errors import UsageError
from .numbers import EXACT
from .pandas_two import IS_TWO, date_times

NUMBERS_AMONG_OBJECTS = ("integer", "floating", "mixed-integer-float", "decimal")
"""Results of `pandas.api.types.infer_dtype` for objects that are numbers, missing values apart."""


def frame_of(rows: Any) -> pd.DataFrame | None:
    """A table of any library as a pandas frame; None if it is no table with named columns, such as an array.

    It takes frames of pandas, what narwhals wraps, and all that exports itself through ``__arrow_c_stream__`` or
    ``__dataframe__``: polars, Arrow, DuckDB, Ibis, Modin and others. The names of the columns become text.

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
    elif hasattr(rows, "__dataframe__"):
        frame = _exchanged(rows)
    else:
        return None
    return frame.set_axis(list(map(_name, frame.columns)), axis=1)


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


def plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The values of a frame in the one form of `plain_column`. A column that has none stays as it is: it is refused
    where it is used, and may be left out."""
    columns: list[pd.Series[Any]] = []
    for _, column in frame.items():
        try:
            columns.append(plain_column(column))
        except UsageError:
            columns.append(column)
    return pd.DataFrame(dict(enumerate(columns)), index=frame.index).set_axis(frame.columns, axis=1)


def plain_column(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """The values of a column in the one form that they have here.

    - Numbers of every type are int64 or float64; whole numbers that float64 does not tell apart are text.
    - Dates are datetime64, periods their first moment, durations timedelta64, truth values bool.
    - Categories stay categories, and intervals become text.

    Raises:
        UsageError: the values are complex numbers, bytes, or lists, structs and maps of Arrow's.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(column), column.index, name=column.name)
    elif isinstance(dtype, pd.ArrowDtype):
        if pa.types.is_nested(dtype.pyarrow_dtype):
            raise UsageError(
                f"Column {str(column.name)!r} holds a {dtype.pyarrow_dtype} in each row; write its parts into columns "
                "of their own, or leave it out."
            )
        values = _arrow_column(pa.chunked_array(column.array.__arrow_array__()))
        column = pd.Series(values.array, column.index, name=column.name)
    elif isinstance(dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    elif isinstance(dtype, pd.IntervalDtype):
        column = column.astype("str").where(column.notna(), None)
    if column.dtype == object:
        column = _plain_objects(column)
    if pd.api.types.is_complex_dtype(column.dtype):
        raise UsageError(
            f"Column {str(column.name)!r} holds complex numbers; write their real and imaginary parts into columns of "
            "their own, or leave it out."
        )
    if pd.api.types.is_integer_dtype(column.dtype):
        column = _exact(column)
    return column


def _name(name: Any) -> str:
    text = str(name)
    if is_half_a_character(text):
        raise UsageError(
            f"The rows have a column {text!r}, a name with half a character, which no file can hold; rename it."
        )
    return text


def is_half_a_character(text: str) -> bool:
    """Tell whether a text has surrogates without their partner, which cannot be written as UTF-8."""
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _plain_objects(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Objects of one kind as a column of that kind; all others as they are."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    is_known = column.notna().to_numpy()
    # pandas would round large whole numbers beside a gap.
    if kind in NUMBERS_AMONG_OBJECTS and any(map(_is_inexact, column[is_known])):
        return column.astype("str").where(is_known, None)
    try:
        column = column.infer_objects()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"column {str(column.name)!r} holds half a character, in {error.object!r}; remove it, or drop the column."
        ) from error
    if column.dtype != object:
        return column
    if kind == "bytes":
        raise UsageError(f"Column {str(column.name)!r} holds bytes; decode them to text, or leave it out.")
    if kind == "date" or (IS_TWO and kind == "datetime"):
        return date_times(column)
    if kind not in NUMBERS_AMONG_OBJECTS:
        return column
    values = np.full(len(column), np.nan)
    values[is_known] = [float(number) for number in column[is_known]]
    return pd.Series(values, column.index, name=column.name)


def _is_inexact(number: Any) -> bool:
    """Tell whether float64 may take a whole number for another one."""
    return not isinstance(number, (float, np.floating, Decimal)) and abs(int(number)) > EXACT


def _exact(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Whole numbers as int64 or, with gaps, float64; as text if some are above 2^53."""
    known = column.dropna()
    if len(known) and max(int(known.max()), -int(known.min())) > EXACT:
        return column.astype("str").astype(object).where(column.notna(), None)
    if column.isna().any():
        return column.astype("float64")
    return column.astype("int64")


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


def _exchanged(rows: Any) -> pd.DataFrame:
    """A table that knows the older protocol alone."""
    try:
        return frame_of_arrow(from_dataframe(rows))
    except (TypeError, ValueError, NotImplementedError, RuntimeError, pa.ArrowException) as error:
        raise UsageError(f"The {type(rows).__name__} cannot be read: {error}; make it a frame of pandas.") from error


def _arrow_column(column: pa.ChunkedArray) -> "pd.Series[Any]":
    """A column of Arrow's as one of pandas', exact in every bit."""
    if pa.types.is_decimal(column.type):
        # Arrow's own cast to float64 is one bit off in every fourth.
        column = column.cast(pa.string()).cast(pa.float64())
    elif pa.types.is_integer(column.type) and column.null_count:
        # The usual way goes through float64, which rounds whole numbers above 2^53.
        return pd.Series(column.to_pandas(types_mapper=_nullable.get))
    elif pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        column = column.cast(pa.dictionary(column.type.index_type, pa.string(), column.type.ordered))
    return pd.Series(column.to_pandas(date_as_object=False))


_nullable: dict[pa.DataType, Any] = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
"""The types of pandas that hold whole numbers and gaps."""
