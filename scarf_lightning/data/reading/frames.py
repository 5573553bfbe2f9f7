"""Tables of any library as pandas frames, in which a value has one form whatever library and type it came in.

    frame = frame_of(polars_or_arrow_table)
    frame = frame.assign(age=plain_column(frame["age"]))

So a table as a frame of pandas, of polars or of Arrow gives the same features, bit for bit.
"""

from os import PathLike, fspath
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa

from ...errors import UsageError
from ..columns import EXACT, floats

NUMBERS_AMONG_OBJECTS = ("integer", "floating", "mixed-integer-float", "decimal")
"""Results of `pandas.api.types.infer_dtype` for objects that are numbers, missing values apart."""


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
        column = pd.Series(np.asarray(column), column.index, name=column.name)
    elif isinstance(dtype, pd.ArrowDtype):
        arrow = _arrow_column(pa.chunked_array(column.array.__arrow_array__()))
        column = pd.Series(arrow.array, column.index, name=column.name)
    elif isinstance(dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if column.dtype == object:
        column = _plain_objects(column)
    if pd.api.types.is_complex_dtype(column.dtype):
        raise UsageError(
            f"Column {str(column.name)!r} holds complex numbers; write their real and imaginary parts into columns of "
            "their own, or leave it out."
        )
    if pd.api.types.is_timedelta64_dtype(column):
        return pd.Series(column.dt.total_seconds())
    if pd.api.types.is_integer_dtype(column.dtype):
        return _exact(column)
    return column


def is_half_a_character(text: str) -> bool:
    """Tell whether a text has surrogates without their partner, which cannot be written as UTF-8."""
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _name(name: Any) -> str:
    text = str(name)
    if is_half_a_character(text):
        raise UsageError(
            f"The rows have a column {text!r}, a name with half a character, which no file can hold; rename it."
        )
    return normalize("NFC", text)


def _plain_objects(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Objects of one kind as a column of that kind; all others as they are."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind == "bytes":
        raise UsageError(f"Column {str(column.name)!r} holds bytes; decode them to text, or leave it out.")
    if kind in NUMBERS_AMONG_OBJECTS:
        known = column.dropna()
        # pandas would round large whole numbers beside a gap.
        if any(isinstance(number, int) and abs(number) > EXACT for number in known):
            return column.astype("str").where(column.notna(), None)
        if kind == "decimal":
            return pd.Series(floats(column), column.index, name=column.name)
    if kind == "boolean":
        return column.astype("boolean")
    if kind in ("date", "datetime"):
        return pd.Series(pd.to_datetime(column), name=column.name)
    try:
        return column.infer_objects()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"column {str(column.name)!r} holds half a character, in {error.object!r}; remove it, or drop the column."
        ) from error


def _exact(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Whole numbers as int64 or, with gaps, float64; as text if some are above 2^53."""
    known = column.dropna()
    if len(known) and max(int(known.max()), -int(known.min())) > EXACT:
        return column.astype("str").astype(object).where(column.notna(), None)
    return column.astype("float64" if len(known) < len(column) else "int64")


def _arrow_column(column: pa.ChunkedArray) -> "pd.Series[Any]":
    """A column of Arrow's as one of pandas', exact in every bit."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        column = column.cast(pa.dictionary(column.type.index_type, pa.string(), column.type.ordered))
    # The usual way goes through float64, which rounds whole numbers above 2^53.
    return pd.Series(column.to_pandas(date_as_object=False, types_mapper=_nullable.get))


_nullable: dict[pa.DataType, Any] = {
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
"""The types of pandas that hold large whole numbers and gaps."""
