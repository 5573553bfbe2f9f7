"""Files of tables, read by pandas."""

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas as pd
import pyarrow.dataset as ds

from ...errors import UsageError, unknown_name
from ...importing import require
from ...options.paths import open_regular
from ..columns import are_whole, listed
from ..reading.frames import frame_of_arrow
from ..reading.values import CODE
from .source import ENDING, KNOWN

SEPARATORS, BLANKS = (",", ";", "\t", "|"), r"\s+"
UTF_8 = "utf-8-sig"
ROWS_LOOKED_AT = 50
"""Rows by which the encoding and the separator of a text file are found."""
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
"""Endings of compressed text, and the names that pandas has for them."""
EXACT_FLOATS: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.partition(".")[0]) < 3 else {}
"""Arguments by which a number is the float nearest to its text. In pandas 3 it always is."""
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
        UsageError: there is none, or one is of no known format; ``option`` names the path.
    """
    paths = [path]
    if PATTERN.search(str(path)) and not path.exists():
        paths = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    if not paths or not all(each.is_file() for each in paths):
        raise UsageError(
            f"there is no file {path}; set {option} to a file of a table, or to a pattern such as 'parts/*.csv', "
            "relative to the folder that the command runs in."
        )
    for each in paths:
        if not ENDING.search(each.name):
            raise UsageError(f"{each} is of no known format; {option} takes {KNOWN}; write it again as one of these.")
    return paths


def open_file(
    path: Path,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> TableFile:
    """Read the names of the columns of a file. Excel and JSON are read whole.

    Args:
        separator, decimal, encoding: of a text file; None finds the separator, a decimal point, and UTF-8 or cp1252.
        sheet: of an Excel file; None takes the first one.

    Raises:
        UsageError: it cannot be read.
    """
    ending = (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()
    if sheet and ending != ".xlsx":
        raise UsageError(f"dataset.sheet names a sheet of an Excel file, and {path} is none; leave dataset.sheet out.")
    with _refusing(path):
        if ending in (".parquet", ".pq", ".feather"):
            file = _arrow_file(path)
        elif ending == ".xlsx":
            file = _excel_file(path, sheet)
        elif "json" in ending:
            with warnings.catch_warnings():
                # Before pandas 3, dtype=False alone would make dates of columns by their names.
                warnings.simplefilter("ignore", DeprecationWarning)
                options = {"dtype": False, "convert_dates": False, "precise_float": True}
                file = _whole(path, _read(pd.read_json, path, lines=ending != ".json", **options))
        else:
            file = _text_file(path, separator, decimal, encoding)
    names = pd.Index(file.names)
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise UsageError(f"{path} has more than one column {twice!r}; rename all but one.")
    return file


def _read(read: Callable[..., pd.DataFrame], path: Path, **options: Any) -> pd.DataFrame:
    """Text, which may be compressed, by a function of pandas."""
    with open_regular(path) as file:
        return read(file, compression=COMPRESSED.get(path.suffix.lower()), **options)


def _whole(path: Path, frame: pd.DataFrame, notes: Collection[str] = ()) -> TableFile:
    """A file that was read whole."""
    names = [normalize("NFC", str(name)) for name in frame.columns]
    return TableFile(path, names, lambda places: frame.iloc[:, places], list(notes))


def _arrow_file(path: Path) -> TableFile:
    """Parquet and Feather. Columns that were the index of a frame are left out."""
    form: Any = ds.IpcFileFormat()
    if path.suffix.lower() != ".feather":
        options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        form = ds.ParquetFileFormat(default_fragment_scan_options=options)
    with open_regular(path) as file:
        schema = form.make_fragment(file).physical_schema
    metadata = schema.pandas_metadata or {}
    names = [name for name in schema.names if name not in metadata.get("index_columns", [])]
    # Parquet itself keeps only categories that are strings.
    declared = {each["field_name"] for each in metadata.get("columns", []) if each["pandas_type"] == "categorical"}

    def rows(places: list[int]) -> pd.DataFrame:
        chosen = [names[place] for place in places]
        with open_regular(path) as file:
            table = form.make_fragment(file).to_table(columns=chosen)
        # Feather has no checksums, and a false place of a text ends the process.
        table.validate(full=True)
        return frame_of_arrow(table).astype(dict.fromkeys(declared.intersection(chosen), "category"))

    return TableFile(path, [normalize("NFC", name) for name in names], rows)


def _excel_file(path: Path, sheet: str | None) -> TableFile:
    """The first sheet of an Excel file, or the one that is named, with a header in its first row."""
    require("openpyxl", str(path))
    with warnings.catch_warnings(), open_regular(path) as file:
        # It warns of styles and extensions, which hold no values.
        warnings.filterwarnings("ignore", module="openpyxl")
        frames = pd.read_excel(file, sheet_name=None, engine="openpyxl")
    first, *others = map(str, frames)
    if sheet is not None and sheet not in frames:
        fault = f"dataset.sheet names {sheet!r}, which is not a sheet of {path}"
        raise UsageError(unknown_name(fault, sheet, [first, *others], "its sheets", shown=repr))
    note = f"The sheet {first!r} of {path} is read; dataset.sheet reads another: {listed(others, 10)}."
    return _whole(path, frames[sheet or first], [note] if others and sheet is None else [])


def _text_file(path: Path, separator: str | None, decimal: str | None, encoding: str | None) -> TableFile:
    """CSV and its relatives, with a line of names."""
    found = encoding or _encoding(path)
    notes = [f"{path} is read as {found} text; dataset.encoding sets another encoding."]
    options: dict[str, Any] = {"encoding": found, "skipinitialspace": True, "index_col": False}
    separator = separator or _separator(path, options)
    options |= {"sep": BLANKS if separator == " " else separator, "low_memory": False}
    header = _read(pd.read_csv, path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0]
    names = [normalize("NFC", name) or f"Unnamed: {place}" for place, name in enumerate(header)]

    def rows(places: list[int]) -> pd.DataFrame:
        with _strict():
            # All columns, for only then pandas refuses rows that are too long.
            every = _read(pd.read_csv, path, decimal=decimal or ".", **options, **EXACT_FLOATS)
        frame = every.set_axis(range(len(names)), axis=1)[places]
        # Codes are seen in the text alone.
        if whole := [place for place in places if _is_whole(frame[place])]:
            texts = _read(pd.read_csv, path, usecols=whole, dtype=str, **options)
            for place, (_, text) in zip(sorted(whole), texts.items(), strict=True):
                if text.str.match(CODE.pattern).any():
                    frame[place] = text.astype(object).where(text.notna(), None)
        return frame

    return TableFile(path, names, rows, [] if encoding or found == UTF_8 else notes)


def _encoding(path: Path) -> str:
    """UTF-8, UTF-16 by its mark, or else cp1252, by the first rows."""
    for encoding in (UTF_8, "utf-16"):
        # Another error than one of the encoding is raised when the file is read.
        with suppress(pd.errors.ParserError, pd.errors.EmptyDataError):
            try:
                _read(pd.read_csv, path, encoding=encoding, nrows=ROWS_LOOKED_AT, sep=",")
            except UnicodeError:
                continue
        return encoding
    return "cp1252"


def _separator(path: Path, options: dict[str, Any]) -> str:
    """The separator by which the first rows have most columns; else a comma.

    Words are separated by blanks too, so these count only where another separator leaves columns empty.
    """
    widths = dict.fromkeys((*SEPARATORS, BLANKS), 1)
    filled = dict(widths)
    for separator in widths:
        with suppress(pd.errors.ParserError, pd.errors.ParserWarning), _strict():
            rows = _read(pd.read_csv, path, sep=separator, nrows=ROWS_LOOKED_AT, dtype=str, **options)
            widths[separator], filled[separator] = rows.shape[1], int(rows.notna().any().sum())
    best = max(SEPARATORS, key=widths.__getitem__)
    # pandas fills rows that are too short.
    is_cut = filled[best] < max(2, widths[best])
    return BLANKS if is_cut and filled[BLANKS] > filled[best] else best


def _is_whole(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds whole numbers, of which a gap makes floats."""
    known = column.dropna().to_numpy()
    return column.dtype.kind in "iuf" and len(known) > 0 and are_whole(known)


@contextmanager
def _strict() -> Iterator[None]:
    """Make an error of rows that are all longer than the line of names, of which pandas would drop the last values."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        yield


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn an error of the readers, whichever library raises it, into a sentence for the user."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        # pandas puts the cause behind "C error: ", and a hint for programmers behind the first sentence.
        first = (str(error).splitlines() or [type(error).__name__])[0]
        reason = first.rpartition("C error: ")[2].partition(". ")[0].rstrip(".: ")
        remedy = " with a name for every column, or as Parquet"
        if isinstance(error, UnicodeError):
            reason = reason.partition(": ")[0]
            remedy = ", or name its encoding, as in dataset.encoding=cp1252"
        raise UsageError(f"{path} cannot be read ({reason}); write it again as UTF-8 text{remedy}.") from error
