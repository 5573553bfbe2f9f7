"""What pandas and pyarrow make of a file: the names of its columns, and its frame."""

import lzma
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import UsageError

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


def read_names(path: Path) -> list[str]:
    """The names of the columns as the file spells them, ``""`` where there is none. Reads no rows.

    Raises:
        UsageError: the file cannot be read, or a column is of a type that is neither numbers nor categories.
    """
    if _is_parquet(path):
        return [str(name) for name in _schema(path).names]
    with _refusing(path):
        # Read as a row: pandas would rename columns that have no name, or that of another.
        header = pd.read_csv(path, sep=_separator(path), header=None, nrows=1, dtype=str, keep_default_na=False)
    return [str(name) for name in header.iloc[0]]


def read_frame(path: Path) -> pd.DataFrame:
    """The whole table, with columns named as `read_names` does.

    Raises:
        UsageError: see `read_names`.
    """
    if _is_parquet(path):
        schema = _schema(path)
        # Not read_table, which makes columns of folders that are named as year=2024 is.
        with _refusing(path), pq.ParquetFile(path) as file:
            frame: pd.DataFrame = file.read().select(schema.names).cast(schema).to_pandas(ignore_metadata=True)
        return frame.astype(dict.fromkeys(_categories(schema), "category"))
    with _refusing(path), warnings.catch_warnings():
        # Rows with more values than the header has names: pandas would leave out the last ones.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(path, sep=_separator(path), index_col=False, low_memory=False)
    return frame.set_axis(read_names(path), axis=1)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _separator(path: Path) -> str:
    text = path if path.suffix.lower() in (".csv", ".tsv") else path.with_suffix("")  # without .gz and the like
    return "\t" if text.suffix.lower() == ".tsv" else ","


def _schema(path: Path) -> pa.Schema:
    """Names and types of a Parquet file's columns, without pandas' index, and decimals as the numbers they are."""
    with _refusing(path):
        schema = pq.read_schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    fields = [field for field in schema if field.name not in index]
    for field in fields:
        if not _is_usable(field.type):
            raise UsageError(
                f"column {field.name!r} of {path} is of type {field.type}, neither numbers nor categories; "
                "convert it, or drop it."
            )
    numbers = [field.with_type(pa.float64()) if pa.types.is_decimal(field.type) else field for field in fields]
    return pa.schema(numbers, metadata=schema.metadata)


def _categories(schema: pa.Schema) -> list[str]:
    """The columns that were categories in pandas: Parquet itself keeps only those whose categories are strings."""
    columns = (schema.pandas_metadata or {}).get("columns", [])
    known = {column["field_name"] for column in columns if column["pandas_type"] == "categorical"}
    return [name for name in schema.names if name in known]


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
    )
    return any(is_kind(kind) for is_kind in known)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What goes wrong in reading, as a sentence for the user."""
    try:
        yield
    except UNREADABLE as error:
        lines = str(error).splitlines() or [type(error).__name__]
        reason = lines[0].rpartition("C error: ")[2].partition(". ")[0].rstrip(".: ")
        raise UsageError(
            f"{path} cannot be read ({reason}); write it again as UTF-8 text with a name for every column, or as "
            "Parquet."
        ) from error
