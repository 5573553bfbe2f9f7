"""Files of tables, read by pandas."""

import lzma
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import UsageError, unknown_name
from ...importing import require
from ..columns import EXACT, are_whole, listed
from ..reading.frames import frame_of_arrow
from .source import ENDING, KNOWN, check_is_file

NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)*")
"""The name that pandas gives a column without one, and keeps when it writes the frame again."""
SEPARATORS, BLANKS = (",", ";", "\t", "|"), r"\s+"
UTF_8 = "utf-8-sig"
ROWS_LOOKED_AT = 50
"""Rows by which the separator of a text file is found."""
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.partition(".")[0]) < 3 else {}
"""Arguments by which a number is the float nearest to its text. In pandas 3 it always is."""
UNREADABLE = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, AttributeError),
    *(pd.errors.ParserWarning, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException),
)
"""What the readers raise if a file is damaged, or has another format than its name says."""
PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class TableFile:
    """A file of a table whose columns are known.

    Attributes:
        names: of the columns, in Unicode's form NFC. One without a name is called ``Unnamed: 2`` by its place from 0.
        rows: reads the columns at these places.
        notes: sentences on how the file was opened.
    """

    path: Path
    names: list[str]
    rows: Callable[[list[int]], pd.DataFrame]
    notes: list[str] = field(default_factory=list)

    def read(self, names: Collection[str] | None = None) -> pd.DataFrame:
        """The rows, of the columns with these names or of all.

        Whole numbers with leading zeros, or that float64 rounds, stay text.
        """
        wanted = set(self.names if names is None else names)
        places = [place for place, name in enumerate(self.names) if name in wanted]
        with _refusing(self.path):
            frame = self.rows(places)
        return frame.reset_index(drop=True).set_axis([self.names[place] for place in places], axis=1)


def matching(path: Path, option: str) -> list[Path]:
    """The files that a path names, which may be a pattern such as ``parts/*.parquet``.

    Raises:
        UsageError: there is none; ``option`` names the path.
    """
    paths = [path]
    if PATTERN.search(str(path)) and not path.exists():
        paths = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        if not paths:
            raise UsageError(f"no file is like {path}; set {option} to a file or a pattern, such as 'parts/*.csv'.")
    for each in paths:
        check_is_file(each, option)
        if not ENDING.search(each.name):
            raise UsageError(f"{each} is of no known format; {option} takes {KNOWN}; write it again as one of these.")
    return paths


def open_file(
    path: Path,
    option: str = "dataset.path",
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> TableFile:
    """Read the names of the columns of a file. Excel and JSON are read whole.

    Args:
        option: names the file, for messages.
        separator, decimal, encoding: of a text file; None finds the separator, a decimal point, and UTF-8 or cp1252.
        sheet: of an Excel file; None takes the first one.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """
    matching(path, option)
    ending = path.with_suffix("").suffix.lower() if path.suffix.lower() in COMPRESSED else path.suffix.lower()
    if sheet and ending != ".xlsx":
        raise UsageError(f"dataset.sheet names a sheet of an Excel file, and {path} is none; leave dataset.sheet out.")
    with _refusing(path):
        if ending in (".parquet", ".pq", ".feather"):
            file = _arrow_file(path)
        elif ending == ".xlsx":
            file = _excel_file(path, sheet)
        elif ending in (".json", ".jsonl", ".ndjson"):
            lines = ending != ".json"
            with warnings.catch_warnings():
                # Before pandas 3, dtype=False alone would make dates of columns by their names.
                warnings.simplefilter("ignore", DeprecationWarning)
                frame = pd.read_json(path, lines=lines, dtype=False, convert_dates=False, precise_float=True)
            file = _whole(path, frame)
        else:
            file = _text_file(path, separator, decimal, encoding)
    # An index that was written twice has no name twice.
    counts = Counter(name for name in file.names if not NAMELESS.fullmatch(name))
    name, count = max(counts.items(), key=lambda each: each[1], default=("", 0))
    if count > 1:
        raise UsageError(f"{path} has more than one column {name!r}; rename all but one.")
    return file


def _whole(path: Path, frame: pd.DataFrame, notes: Sequence[str] = ()) -> TableFile:
    """A file that was read whole."""
    return TableFile(path, _plain_names(frame.columns), lambda places: frame.iloc[:, places], list(notes))


def _plain_names(names: Iterable[Any]) -> list[str]:
    return [normalize("NFC", str(name)) for name in names]


def _arrow_file(path: Path) -> TableFile:
    """Parquet and Feather. Columns that were the index of a frame are left out."""
    schema = pq.read_schema(path) if path.suffix.lower() != ".feather" else _feather(path).schema
    metadata = schema.pandas_metadata or {}
    index = metadata.get("index_columns", [])
    names = [name for name in schema.names if name not in index]
    # Parquet itself keeps only categories that are strings.
    declared = {each["field_name"] for each in metadata.get("columns", []) if each["pandas_type"] == "categorical"}

    def rows(places: list[int]) -> pd.DataFrame:
        chosen = [names[place] for place in places]
        if path.suffix.lower() == ".feather":
            table = _feather(path).select(chosen)
        else:
            # Not pq.read_table, which makes columns of folders that are named as year=2024 is.
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                table = file.read(columns=chosen).select(chosen)
        return frame_of_arrow(table).astype(dict.fromkeys(declared.intersection(chosen), "category"))

    return TableFile(path, _plain_names(names), rows)


def _feather(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    # The format has no checksums, and a false place of a text ends the process.
    table.validate(full=True)
    return table


def _excel_file(path: Path, sheet: str | None) -> TableFile:
    """The first sheet of an Excel file, or the one that is named, with a header in its first row."""
    require("openpyxl", str(path))
    with warnings.catch_warnings():
        # It warns of styles and extensions, which hold no values.
        warnings.filterwarnings("ignore", module="openpyxl")
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = list(map(str, book.sheet_names))
            if sheet is not None and sheet not in sheets:
                fault = f"dataset.sheet names {sheet!r}, which is not a sheet of {path}"
                raise UsageError(unknown_name(fault, sheet, sheets, "its sheets", shown=repr))
            frame = pd.read_excel(book, sheet_name=sheet or 0)
    notes = []
    if sheets[1:] and sheet is None:
        others = listed(sheets[1:], 10)
        notes.append(f"The sheet {sheets[0]!r} of {path} is read; dataset.sheet reads another: {others}.")
    return _whole(path, frame, notes)


def _text_file(path: Path, separator: str | None, decimal: str | None, encoding: str | None) -> TableFile:
    """CSV and its relatives, with a line of names."""
    notes = []
    if encoding is None:
        encoding = _encoding(path)
        if encoding != UTF_8:
            notes.append(f"{path} is read as {encoding} text; dataset.encoding sets another encoding.")
    options: dict[str, Any] = {"encoding": encoding, "skipinitialspace": True, "index_col": False}
    separator = separator or _separator(path, options)
    options["sep"] = BLANKS if separator == " " else separator
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0]
    names = [name or f"Unnamed: {place}" for place, name in enumerate(_plain_names(header))]
    options["low_memory"] = False

    def rows(places: list[int]) -> pd.DataFrame:
        with _strict():
            # All columns, for only then pandas refuses rows that are too long.
            whole_frame = pd.read_csv(path, decimal=decimal or ".", **options, **EXACT_FLOATS)
        frame: pd.DataFrame = whole_frame.set_axis(range(len(names)), axis=1)[places]
        whole = [place for place in places if _is_whole(frame[place])]
        if whole and _may_have_codes(path, options):
            texts = pd.read_csv(path, usecols=whole, dtype=str, **options).set_axis(sorted(whole), axis=1)
            for place, text in texts.items():
                if text.str.match(r"\s*[+-]?0\d").any() or _is_large(frame[place]):
                    frame[place] = text.astype(object).where(text.notna(), None)
        return frame

    return TableFile(path, names, rows, notes)


def _encoding(path: Path) -> str:
    """UTF-8, UTF-16 by its mark, or else cp1252, by the first rows."""
    for encoding in (UTF_8, "utf-16"):
        # Another error than one of the encoding is raised when the file is read.
        with suppress(pd.errors.ParserError, pd.errors.EmptyDataError):
            try:
                pd.read_csv(path, encoding=encoding, nrows=ROWS_LOOKED_AT, sep=",")
            except UnicodeError:
                continue
        return encoding
    return "cp1252"


def _separator(path: Path, options: dict[str, Any]) -> str:
    """The separator by which the first rows have most columns, as many as the first line has names; else a comma."""
    widths = {}
    for separator in (*SEPARATORS, BLANKS):
        widths[separator] = 1
        with suppress(pd.errors.ParserError, pd.errors.ParserWarning), _strict():
            widths[separator] = pd.read_csv(path, sep=separator, nrows=ROWS_LOOKED_AT, dtype=str, **options).shape[1]
    best = max(SEPARATORS, key=widths.__getitem__)
    # Words are separated by blanks, too.
    return BLANKS if widths[best] == 1 < widths[BLANKS] else best


def _is_whole(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds whole numbers, of which a gap makes floats."""
    if column.dtype.kind not in "iuf":
        return False
    known = column.dropna().to_numpy()
    return len(known) > 0 and bool(np.isfinite(known).all()) and are_whole(known)


def _is_large(column: "pd.Series[Any]") -> bool:
    return bool(max(column.max(), -column.min()) >= EXACT)


def _may_have_codes(path: Path, options: Mapping[str, Any]) -> bool:
    """Tell whether a value of a text file may be a whole number with leading zeros, or one that float64 rounds. To look
    for the digits is faster than to read all columns again as text."""
    if path.suffix.lower() in COMPRESSED or str(options["encoding"]).lower().startswith(("utf-16", "utf-32")):
        return True
    data = path.read_bytes()
    edges = {*(sign.encode() for sign in '\n" \t'), str(options["sep"])[-1:].encode()}
    return any(re.search(re.escape(edge) + rb"0\d", data) for edge in edges) or bool(re.search(rb"[1-9]\d{15}", data))


@contextmanager
def _strict() -> Iterator[None]:
    """Make an error of rows that are all longer than the line of names, of which pandas would drop the last values."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        yield


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
        # pandas puts the cause behind "C error: ", and a hint for programmers behind the first sentence.
        reason = lines[0].rpartition("C error: ")[2].partition(". ")[0].rstrip(".: ")
        raise UsageError(
            f"{path} cannot be read ({reason}); write it again as UTF-8 text with a name for every column, or as "
            "Parquet."
        ) from error
