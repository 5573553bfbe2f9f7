"""Files of tables: their text format, the names of their columns, and their rows as a frame."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import feather

from ...errors import UsageError, counted
from ..columns import are_whole
from ..reading.numbers import EXACT, are_codes
from .source import ENDING, KNOWN

ARROW = (".parquet", ".pq", ".feather")
"""Endings of files whose columns have types."""
SEPARATORS = (",", ";", "\t", "|")

LOOKED_AT = 1 << 16
"""Bytes of a text file in which its format is found; more if they hold no whole line."""

CHUNK = 1 << 20
"""Bytes of a text file that are searched at once."""

CELLS = 1 << 23
"""Cells of a Parquet file that are converted at once: the file's columns never exist twice as a whole."""
FLOATS = (pa.float32(), pa.float64())

UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    csv.Error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    pa.ArrowException,
    pd.errors.ParserWarning,
)
"""What the readers raise if a file is damaged, or has another format than its name says."""


@dataclass(frozen=True)
class TextFormat:
    """What pandas must know of a text file. With ``decimal`` None, numbers with a comma are read as text."""

    separator: str
    decimal: str | None = None
    encoding: str | None = None

    def options(self) -> dict[str, Any]:
        """Arguments of ``pandas.read_csv``."""
        return {"sep": self.separator, "decimal": self.decimal or ".", "encoding": self.encoding}


@dataclass(frozen=True)
class DataFile:
    """A file of a table.

    Attributes:
        text: the format of a text file; None for others.
        names: of the columns as the file spells them, ``""`` if a column has none.
        whole: the rows of a file that cannot be opened without reading them.
    """

    path: Path
    text: TextFormat | None
    names: list[str]
    whole: pd.DataFrame | None = field(default=None, repr=False, compare=False)

    @classmethod
    def open(cls, path: Path, option: str = "dataset.path", **asked: str | None) -> "DataFile":
        """Find the format of a file and read its header. Only of Excel and JSON lines are the rows read too.

        Args:
            option: names the file, for messages.
            asked: ``separator``, ``decimal`` and ``encoding`` of a text file, if they are known, see `text_format`.

        Raises:
            UsageError: there is no such file, it cannot be read, or a column's type is neither numbers nor categories
                nor dates.
        """
        if not path.is_file():
            raise UsageError(
                f"there is no file {path}; set {option} to a file of a table, relative to the folder that the "
                "command runs in."
            )
        if not ENDING.search(path.name):
            raise UsageError(f"{path} is of no known format; {option} takes {KNOWN}; write it again as one of these.")
        if path.suffix.lower() in ARROW:
            return cls(path, None, _columns(path)[0])
        endings = [suffix.lower() for suffix in path.suffixes[-2:]]
        if endings[-1] == ".xlsx" or ".jsonl" in endings:
            whole = _read_xlsx(path) if endings[-1] == ".xlsx" else _read_jsonl(path)
            return cls(path, None, list(whole.columns), whole)
        with _refusing(path):
            text = text_format(path, **asked)
            return cls(path, text, _header(path, text))

    def read(self, as_written: Collection[str] = ()) -> pd.DataFrame:
        """The rows, with columns named as in ``names``.

        Whole numbers that float64 would not tell apart, or that have leading zeros, stay text. So do the columns
        ``as_written`` of a text file.
        """
        if self.whole is not None:
            written = [name for name in self.names if name in as_written]
            return self.whole.assign(**{name: self.whole[name].map(str, na_action="ignore") for name in written})
        if self.text is None:
            return _read_arrow(self.path)
        with _refusing(self.path), warnings.catch_warnings():
            # Without the error, pandas would drop the last values of rows that are longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            options = self.text.options() | {"index_col": False}
            frame: pd.DataFrame = pd.read_csv(self.path, **options, low_memory=False)
            asked = {position for position, name in enumerate(self.names) if name in as_written}
            if looked_at := sorted(asked | self._may_be_codes(frame)):
                texts = pd.read_csv(self.path, **options, usecols=looked_at, dtype=str)
                for position, (_, column) in zip(looked_at, texts.items(), strict=True):
                    if position in asked or are_codes(column.dropna().str.strip().unique().tolist()):
                        frame.isetitem(position, column.to_numpy(dtype=object, na_value=None))
        frame.columns = pd.Index(self.names)
        return frame

    def odd_lines(self, rows: pd.DataFrame) -> list[str]:
        """Sentences on lines of a text file that may not be meant as they are read. Lines are looked at only if
        ``rows``, which `read` returned, have gaps at their end, or the file has quotes.

        Raises:
            UsageError: text follows the quote that ends a value.
        """
        if self.text is None or not (rows.iloc[:, -1].isna().any() or _has_quotes(self.path, self.text)):
            return []
        width = max(position for position, name in enumerate(self.names, start=1) if name or position == 1)
        short, long, last = [], [], 0
        with _refusing(self.path), _lines(self.path, self.text) as lines, ExitStack() as restore:
            restore.callback(csv.field_size_limit, csv.field_size_limit(sys.maxsize))
            reader = csv.reader(lines, delimiter=self.text.separator, strict=True)
            try:
                for row in reader:
                    if 0 < len(row) < width and any(row):
                        short.append(last + 1)
                    if reader.line_num > last + 1:
                        long.append(last + 1)
                    last = reader.line_num
            except csv.Error as error:
                raise UsageError(
                    f"line {last + 1} of {self.path} has text after the quote that ends a value, or a quote without "
                    "an end; double a quote that is part of a value, or remove it."
                ) from error
        notes = []
        if short:
            notes.append(
                f"{counted(len(short), 'line')} of {self.path} {'have' if short[1:] else 'has'} fewer values than the "
                f"header{_first(short)}; what is not there counts as missing."
            )
        if long:
            notes.append(
                f"{counted(len(long), 'row')} of {self.path} {'go' if long[1:] else 'goes'} over several lines"
                f"{_first(long)}; a stray quote does that too."
            )
        return notes

    def spelled_missing(self, column: str) -> list[str]:
        """The texts that are read as missing in a column of a text file, such as ``NA`` or ``None``."""
        if self.text is None:
            return []
        with _refusing(self.path):
            options = self.text.options() | {"index_col": False, "usecols": [self.names.index(column)], "dtype": str}
            texts = pd.read_csv(self.path, **options, keep_default_na=False)
            is_missing = pd.read_csv(self.path, **options).isna()
        return sorted(set(texts.to_numpy()[is_missing]) - {""})

    def _may_be_codes(self, frame: pd.DataFrame) -> set[int]:
        """Positions of columns of whole numbers whose text may say more than the numbers."""
        assert self.text is not None
        largest = {}
        for position, dtype in enumerate(frame.dtypes):
            if dtype.kind in "iuf":
                values = frame.iloc[:, position].to_numpy()
                known = values[~np.isnan(values)]
                if len(known) and are_whole(known):
                    largest[position] = max(abs(float(known.min())), abs(float(known.max())))
        if largest and has_leading_zeros(self.path, self.text):
            return set(largest)
        return {position for position, size in largest.items() if size >= EXACT}


def text_format(
    path: Path, *, separator: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> TextFormat:
    """The format of a text file: what is given, and for the rest what the file shows.

    Text is UTF-8, or UTF-16 by its mark or its zero bytes, or else cp1252. The separator is a tab in ``.tsv``, and
    elsewhere found in the first rows, see `_separator`.

    Raises:
        OSError, EOFError, ValueError: the file cannot be read.
    """
    with _opened(path) as file:
        beginning = file.read(LOOKED_AT)
        while len(beginning) % LOOKED_AT == 0 and beginning.count(b"\n") < 2 and (more := file.read(len(beginning))):
            beginning += more
        is_whole = not file.read(1)
    encoding = encoding or _encoding(beginning, is_whole=is_whole)
    if separator is None:
        lines = beginning.decode(encoding or "utf-8-sig", errors="replace").splitlines(keepends=True)
        plain = path if path.suffix.lower() in (".csv", ".tsv") else path.with_suffix("")  # without .gz and the like
        separator = "\t" if plain.suffix.lower() == ".tsv" else _separator(lines if is_whole else lines[:-1])
    return TextFormat(separator, decimal, encoding)


def _encoding(beginning: bytes, *, is_whole: bool) -> str | None:
    """An encoding other than UTF-8 that the beginning of a file shows; None if it shows none."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, halves in (("utf-16-le", beginning[1::2]), ("utf-16-be", beginning[::2])):
        if halves.count(0) > len(halves) / 2:
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning, final=is_whole)
        return None
    except UnicodeDecodeError:
        return "cp1252"


def has_leading_zeros(path: Path, text: TextFormat) -> bool:
    """Whether a field of a text file may be a whole number with leading zeros. Looking for two bytes is faster than
    reading all columns again as text."""
    if (text.encoding or "utf-8").lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        return True
    field = re.compile(rb'0\d+[\s"]*(?:[%b\r\n]|$)' % re.escape(text.separator.encode()))
    before = frozenset(b' \t\r\n"' + text.separator.encode())
    rest = b"\n"
    with _opened(path) as file:
        while chunk := file.read(CHUNK):
            data = rest + chunk
            rest = data[-64:]
            bytes_of = np.frombuffer(data, dtype=np.uint8)
            is_digit = bytes_of - np.uint8(48) < 10
            is_start = (bytes_of[1:-1] == 48) & is_digit[2:] & ~is_digit[:-2] & (bytes_of[:-2] != 46)
            for place in (np.flatnonzero(is_start) + 1).tolist():
                lead = data[max(place - 9, 0) : place].rstrip(b"+-")
                if (not lead or lead[-1] in before) and field.match(data, place):
                    return True
    return False


def _header(path: Path, text: TextFormat) -> list[str]:
    """The first row that is not empty. pandas would rename columns of the same name."""
    with _lines(path, text) as lines:
        for row in csv.reader(lines, delimiter=text.separator):
            if len(row) > 1 or (row and row[0].strip()):
                return row
    raise ValueError("No columns to parse from file")


@contextmanager
def _lines(path: Path, text: TextFormat) -> Iterator[io.TextIOWrapper]:
    """The text of a file, with line ends as they are and without a mark of its encoding."""
    encoding = text.encoding or "utf-8"
    with _opened(path) as file:
        yield io.TextIOWrapper(file, "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding, newline="")


def _has_quotes(path: Path, text: TextFormat) -> bool:
    quote = '"'.encode(text.encoding or "utf-8").strip(b"\0\xff\xfe")
    with _opened(path) as file:
        return any(quote in chunk for chunk in iter(lambda: file.read(CHUNK), b""))


def _first(lines: Sequence[int]) -> str:
    return f", first line {lines[0]}" if lines[1:] else f", line {lines[0]}"


def _separator(lines: Sequence[str]) -> str:
    """The only separator that splits all rows into equally many columns, or else a comma."""
    found = []
    for separator in SEPARATORS:
        with suppress(csv.Error):
            widths = {len(row) for row in csv.reader(lines, delimiter=separator) if row}
            if len(widths) == 1 and min(widths) > 1:
                found.append(separator)
    return found[0] if len(found) == 1 else ","


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a text file, decompressed."""
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            if len(archive.namelist()) != 1:
                raise ValueError(f"{'Multiple' if archive.namelist() else 'No'} files found in ZIP file")
            with archive.open(archive.namelist()[0]) as file:
                yield file
        return
    opened: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    with opened.get(path.suffix.lower(), open)(path, "rb") as file:
        yield file


def _read_xlsx(path: Path) -> pd.DataFrame:
    """The rows of the first sheet of an Excel file."""
    try:
        with _refusing(path):
            frame = pd.read_excel(path, dtype=object, engine="openpyxl")
    except ImportError as error:
        raise UsageError(f"{path} needs the package openpyxl: pip install 'scarf-lightning[xlsx]'.") from error
    return frame.set_axis([str(name) for name in frame.columns], axis=1).infer_objects()


def _read_jsonl(path: Path) -> pd.DataFrame:
    """The objects of a file, one a line. A key that an object lacks is missing there."""
    with _refusing(path):
        frame = pd.read_json(path, lines=True, dtype=False, convert_dates=False, precise_float=True)
    for name in frame.columns:
        if frame[name].map(lambda value: isinstance(value, list | dict)).any():
            raise UsageError(f"column {name!r} of {path} holds lists or objects; write their values into columns.")
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _read_arrow(path: Path) -> pd.DataFrame:
    names, categories = _columns(path)
    read = _feather if path.suffix.lower() == ".feather" else _parquet
    with _refusing(path):
        frames = [_exact(table).to_pandas(ignore_metadata=True, date_as_object=False) for table in read(path, names)]
    frame: pd.DataFrame = pd.concat(frames, axis=1)
    return frame.astype(dict.fromkeys(categories, "category"))


def _feather(path: Path, names: list[str]) -> Iterator[pa.Table]:
    table = feather.read_table(path, columns=names)
    table.validate(full=True)  # the format has no checksums, and a false place of a text ends the process
    yield table


def _parquet(path: Path, names: list[str]) -> Iterator[pa.Table]:
    """A few columns of a Parquet file at a time."""
    # Not pq.read_table, which makes columns of folders that are named as year=2024 is.
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        metadata = file.metadata
        places = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
        width = max(1, CELLS // max(1, metadata.num_rows))
        for start in range(0, max(1, len(names)), width):
            some = names[start : start + width]
            table = file.read(columns=some).select(some)
            for name, column in zip(table.column_names, table.columns, strict=True):
                if name in places and (pa.types.is_integer(column.type) or column.type in FLOATS):
                    _check_extremes(column, _extremes(metadata, places[name]), f"column {name!r} of {path}")
            yield table


def _check_extremes(column: pa.ChunkedArray, extremes: tuple[Any, Any] | None, what: str) -> None:
    """Compare numbers with the extremes in the file: few writers add checksums, nearly all add these."""
    found = pc.min_max(column).as_py()
    if extremes is None or None in found.values():
        return
    if not extremes[0] <= found["min"] <= found["max"] <= extremes[1]:
        raise UsageError(
            f"{what} holds a value outside the range that the file gives for it; the file is damaged, write it again."
        )


def _extremes(metadata: pq.FileMetaData, position: int) -> tuple[Any, Any] | None:
    """The extreme values of a column of numbers, if the file gives them for all of its parts.

    The column has been read before, which checks more of the metadata than this does: Arrow would end the process.
    """
    found = []
    for group in range(metadata.num_row_groups):
        column = metadata.row_group(group).column(position)
        if column.physical_type != metadata.schema.column(position).physical_type:  # this ends the process, too
            raise pa.ArrowInvalid(f"its column {column.path_in_schema!r} is of two types")
        noted = column.statistics
        if noted is None or not noted.has_min_max:
            return None
        found.append((noted.min, noted.max))
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _exact(table: pa.Table) -> pa.Table:
    """Columns that pandas can hold without loss: decimals as the nearest float64, large whole numbers as text."""
    columns = []
    for column in table.columns:
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.string()).cast(pa.float64())  # Arrow's own cast is one bit off in every fourth
        elif pa.types.is_integer(column.type):
            bounds = pc.min_max(column).as_py()
            if any(bound is not None and abs(bound) > EXACT for bound in bounds.values()):
                column = column.cast(pa.string())
        columns.append(column)
    return pa.Table.from_arrays(columns, names=table.column_names)


def _columns(path: Path) -> tuple[list[str], list[str]]:
    """The columns of a Parquet or Feather file without the index of pandas, and those that were categories in pandas:
    Parquet itself keeps only those whose categories are strings."""
    with _refusing(path):
        if path.suffix.lower() == ".feather":
            with pa.memory_map(str(path)) as file:
                schema = pa.ipc.open_file(file).schema
        else:
            schema = pq.read_schema(path)
    try:
        metadata = schema.pandas_metadata or {}
        kinds = {column["field_name"]: column["pandas_type"] for column in metadata.get("columns", [])}
        index = [name for name in metadata.get("index_columns", []) if name in schema.names]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{path} holds notes of pandas that are damaged ({type(error).__name__}: {error}); write it again from "
            "pandas, or without its metadata."
        ) from error
    columns = [column for column in schema if column.name not in index]
    for column in columns:
        if not _is_usable(column.type):
            raise UsageError(
                f"column {column.name!r} of {path} is of type {column.type}, which is neither numbers nor categories "
                "nor dates; convert it, or drop it."
            )
    names = [str(column.name) for column in columns]
    return names, [name for name in names if kinds.get(name) == "categorical"]


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
    """Turn an error of the readers into a sentence for the user."""
    try:
        yield
    except UsageError:
        raise
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


def read_rows(path: Path, *, as_written: Collection[str] = (), **text_format: str | None) -> pd.DataFrame:
    """The rows of a file. A warning names lines that may not be meant as they are read.

    Args:
        path: a file of one of the formats in `ENDING`.
        as_written: columns to read as text, whatever they look like in this file.
        text_format: see `DataFile.open`.

    Raises:
        UsageError: there is no such file, it cannot be read, or it has no rows.
    """
    file = DataFile.open(path, "rows", **text_format)
    rows = file.read(as_written)
    if len(rows) == 0:
        raise UsageError(f"{path} has no rows below its header.")
    for note in file.odd_lines(rows):
        warnings.warn(note, stacklevel=2)
    return rows
