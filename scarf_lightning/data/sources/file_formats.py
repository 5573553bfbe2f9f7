"""What pandas and pyarrow make of a file: the names of its columns, and its frame."""

import lzma
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import UsageError
from ..reading.numbers import EXACT, are_codes
from .text_format import TextFormat, text_format

UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    pa.ArrowException,
    pd.errors.ParserWarning,
)
"""What the readers raise for a file that is damaged, or of another format than its ending says."""


def read_names(path: Path, text: TextFormat) -> list[str]:
    """The names of the columns as the file spells them, ``""`` where there is none. Reads no rows.

    Raises:
        UsageError: the file cannot be read, or a column is of a type that is neither numbers nor categories.
    """
    if is_parquet(path):
        return [str(name) for name in _schema(path).names]
    with _refusing(path):
        # Read as a row: pandas would rename columns that have no name, or that of another.
        header = pd.read_csv(path, **text.options(), header=None, nrows=1, dtype=str, keep_default_na=False)
    return [str(name) for name in header.iloc[0]]


def read_frame(path: Path, text: TextFormat, as_written: Collection[str] = ()) -> pd.DataFrame:
    """The whole table, with columns named as `read_names` does.

    Whole numbers that float64 would not tell apart, or that have zeros before them, stay the text that they are; of a
    text file also what is in the columns ``as_written``.

    Raises:
        UsageError: see `read_names`.
    """
    if is_parquet(path):
        schema = _schema(path)
        # Not read_table, which makes columns of folders that are named as year=2024 is.
        with _refusing(path), pq.ParquetFile(path) as file:
            table = _exact(file.read().select(schema.names))
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, date_as_object=False)
        return frame.astype(dict.fromkeys(_categories(schema, path), "category"))
    with _refusing(path), warnings.catch_warnings():
        # Rows with more values than the header has names: pandas would leave out the last ones.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(path, **text.options(), index_col=False, low_memory=False)
        names = read_names(path, text)
        asked = [position for position, name in enumerate(names) if name in as_written]
        whole = [position for position in range(frame.shape[1]) if _may_hide_codes(frame.iloc[:, position])]
        if looked_at := sorted({*whole, *asked}):
            texts = pd.read_csv(path, **text.options(), index_col=False, usecols=looked_at, dtype=str)
            for position, (_, column) in zip(looked_at, texts.items(), strict=True):
                if position in asked or are_codes(column.dropna().str.strip().unique().tolist()):
                    frame.isetitem(position, column.to_numpy(dtype=object, na_value=None))
    return frame.set_axis(names, axis=1)


def spelled_missing(path: Path, text: TextFormat, column: str) -> list[str]:
    """What a column of a text file says where it is read as missing, beside nothing: ``NA``, ``None`` and the like."""
    if is_parquet(path):
        return []
    with _refusing(path):
        position = [read_names(path, text).index(column)]
        options = text.options() | {"index_col": False, "usecols": position, "dtype": str}
        read = pd.read_csv(path, **options).iloc[:, 0]
        said = pd.read_csv(path, **options, keep_default_na=False).iloc[:, 0]
    return sorted(set(said[read.isna()]) - {""})


def format_of(path: Path, *, separator: str | None, decimal: str | None, encoding: str | None) -> TextFormat:
    """See `text_format`; of a Parquet file nothing need be known.

    Raises:
        UsageError: the file cannot be read.
    """
    if is_parquet(path):
        return TextFormat(",")
    with _refusing(path):
        return text_format(path, separator=separator, decimal=decimal, encoding=encoding)


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _may_hide_codes(column: "pd.Series[Any]") -> bool:
    """Whether numbers may have been written otherwise than as the whole numbers they were read as."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    known = column.dropna()
    return bool(len(known)) and not (known % 1).any()


def _exact(table: pa.Table) -> pa.Table:
    """Columns that pandas takes without a loss: decimals as the nearest float64, large whole numbers as text."""
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if pa.types.is_decimal(field.type):
            column = column.cast(pa.string()).cast(pa.float64())  # Arrow's own cast is one bit off in every fourth
        elif pa.types.is_integer(field.type) and _is_large(column):
            column = column.cast(pa.string())
        table = table.set_column(position, field.name, column)
    return table


def _is_large(column: pa.ChunkedArray) -> bool:
    bounds = pc.min_max(column).as_py()
    return any(bound is not None and abs(bound) > EXACT for bound in bounds.values())


def _schema(path: Path) -> pa.Schema:
    """Names and types of a Parquet file's columns, without pandas' index."""
    with _refusing(path):
        schema = pq.read_schema(path)
    index = _pandas_metadata(schema, path).get("index_columns", [])
    fields = [field for field in schema if field.name not in index]
    for field in fields:
        if not _is_usable(field.type):
            raise UsageError(
                f"column {field.name!r} of {path} is of type {field.type}, which is neither numbers nor categories nor "
                "dates; convert it, or drop it."
            )
    return pa.schema(fields, metadata=schema.metadata)


def _categories(schema: pa.Schema, path: Path) -> list[str]:
    """The columns that were categories in pandas: Parquet itself keeps only those whose categories are strings."""
    columns = _pandas_metadata(schema, path).get("columns", [])
    known = {column["field_name"] for column in columns if column["pandas_type"] == "categorical"}
    return [name for name in schema.names if name in known]


def _pandas_metadata(schema: pa.Schema, path: Path) -> dict[str, Any]:
    """What pandas has noted in a Parquet file of its index and categories.

    Raises:
        UsageError: it is not as pandas writes it.
    """
    try:
        metadata = schema.pandas_metadata or {}
        for column in metadata.get("columns", []):
            _ = column["field_name"], column["pandas_type"]
        _ = [name for name in metadata.get("index_columns", []) if name in schema.names]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{path} holds notes of pandas that are damaged ({type(error).__name__}: {error}); write it again from "
            "pandas, or without its metadata."
        ) from error
    return metadata


def _is_usable(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_usable(kind.value_type)
    known = (
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_null,
        types.is_timestamp,
        types.is_date,
    )
    return any(is_kind(kind) for is_kind in known)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What goes wrong in reading, as a sentence for the user."""
    try:
        yield
    except UnicodeError as error:
        raise UsageError(
            f"{path} cannot be read ({str(error).partition(': ')[0]}); write it again as UTF-8 text, or name its "
            "encoding, as in dataset.encoding=cp1252."
        ) from error
    except UNREADABLE as error:
        lines = str(error).splitlines() or [type(error).__name__]
        reason = lines[0].rpartition("C error: ")[2].partition(". ")[0].rstrip(".: ")
        raise UsageError(
            f"{path} cannot be read ({reason}); write it again as UTF-8 text with a name for every column, or as "
            "Parquet."
        ) from error
