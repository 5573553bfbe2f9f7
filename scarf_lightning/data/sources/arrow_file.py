"""Parquet and Feather files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from ...errors import UsageError
from ..reading.frames import frame_of_arrow, plain_frame
from .data_file import DataFile
from .file_access import refusing

CELLS = 1 << 23
"""Cells of a Parquet file that are converted at once: the file's columns never exist twice as a whole."""

WITHOUT_A_NAME = "__index_level_"
"""How pandas begins the name of a column that was an index without a name."""


@dataclass(frozen=True, kw_only=True)
class ArrowFile(DataFile):
    """A file whose columns have types.

    Attributes:
        categories: the names of those columns that were categories in pandas: Parquet itself keeps only those whose
            categories are strings.
    """

    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq", ".feather")

    categories: Sequence[str] = ()

    @classmethod
    def open(cls, path: Path, **_: str | None) -> "ArrowFile":
        """Read the schema. The formats need no options."""
        with refusing(path):
            schema = _schema(path)
        try:
            metadata = schema.pandas_metadata or {}
            kinds = {}
            for column in metadata.get("columns", []):
                kinds[column["field_name"]] = column["pandas_type"]
            index = [name for name in metadata.get("index_columns", []) if name in schema.names]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{path} holds notes of pandas that are damaged ({type(error).__name__}: {error}); write it again from "
                "pandas, or without its metadata."
            ) from error
        names, unusable, categories = [], {}, []
        for column in schema:
            name = str(column.name)
            # An index without a name only numbers or names the rows.
            if name in index and name.startswith(WITHOUT_A_NAME):
                continue
            names.append(name)
            if not _is_usable(column.type):
                unusable[name] = str(column.type)
            if kinds.get(name) == "categorical":
                categories.append(name)
        return cls(path=path, names=names, index=index, unusable=unusable, categories=categories)

    def read(self) -> pd.DataFrame:
        names = [name for name in self.names if name not in self.unusable]
        is_feather = self.path.suffix.lower() == ".feather"
        tables = _feather(self.path, names) if is_feather else _parquet(self.path, names)
        frames = []
        with refusing(self.path):
            for table in tables:
                frames.append(plain_frame(frame_of_arrow(table)))
        frame: pd.DataFrame = pd.concat(frames, axis=1)
        declared = set(names).intersection(self.categories)
        return frame.astype(dict.fromkeys(declared, "category"))


def _schema(path: Path) -> pa.Schema:
    if path.suffix.lower() != ".feather":
        return pq.read_schema(path)
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).schema


def _feather(path: Path, names: list[str]) -> Iterator[pa.Table]:
    table = feather.read_table(path, columns=names)
    # The format has no checksums, and a false place of a text ends the process.
    table.validate(full=True)
    yield table


def _parquet(path: Path, names: list[str]) -> Iterator[pa.Table]:
    """A few columns of a Parquet file at a time."""
    # Not pq.read_table, which makes columns of folders that are named as year=2024 is.
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        width = max(1, CELLS // max(1, file.metadata.num_rows))
        for start in range(0, max(1, len(names)), width):
            some = names[start : start + width]
            yield file.read(columns=some).select(some)


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
        types.is_time,
        types.is_duration,
    )
    return any(is_kind(kind) for is_kind in known)
