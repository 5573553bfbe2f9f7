"""Files that are read whole when they are opened: Excel, JSON and ARFF."""

import io
import json
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ...errors import UsageError
from ...importing import require
from ..columns import listed
from ..reading.numbers import EXACT
from .data_file import DataFile
from .opening import opened, refusing, without_compression
from .text_format import header_place

MOST_SHEETS = 10
"""The most sheets that a message names."""

ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]++)\s*(\S.*?)\s*$""", re.IGNORECASE)
ARFF_VALUE = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")
NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True, kw_only=True)
class Document(DataFile):
    """A file that cannot be opened without reading its ``rows``."""

    rows: pd.DataFrame

    def read(self, as_written: Collection[str] = ()) -> pd.DataFrame:
        # Numbers that a model has learnt as text.
        written = {}
        for name, column in self.rows.items():
            if name in as_written:
                written[str(name)] = column.map(str, na_action="ignore")
        return self.rows.assign(**written)

    @property
    def hint(self) -> str:
        if not self.others:
            return ""
        others = listed(self.others, MOST_SHEETS)
        return f"; dataset.sheet reads another of its sheets: {others}"


class ExcelFile(Document):
    """A sheet of an Excel file."""

    endings: ClassVar[tuple[str, ...]] = (".xlsx",)

    @classmethod
    def open(cls, path: Path, sheet: str | None = None, **_: str | None) -> "ExcelFile":
        """Read the first sheet, or the one that is named.

        Raises:
            UsageError: there is no such sheet, or the package that reads it is not installed.
        """
        with refusing(path), warnings.catch_warnings():
            # It warns of styles and extensions, which hold no values.
            warnings.filterwarnings("ignore", module="openpyxl")
            with _book(path) as book:
                sheets = list(map(str, book.sheet_names))
                if sheet is not None and sheet not in sheets:
                    known = listed(sheets, MOST_SHEETS)
                    raise UsageError(f"dataset.sheet names {sheet!r}, and the sheets of {path} are: {known}.")
                chosen = sheet or sheets[0]
                rows, place = _sheet(book, chosen)
        # What a user may not expect.
        notes = []
        if place:
            left_out = "row above it is" if place == 1 else f"{place} rows above it are"
            notes.append(f"The header of {path} is row {place + 1}; the {left_out} left out.")
        others = [name for name in sheets if name != chosen]
        if others and sheet is None:
            known = listed(others, MOST_SHEETS)
            notes.append(f"The sheet {chosen!r} of {path} is read; dataset.sheet reads another: {known}.")
        return cls(path=path, names=list(rows.columns), rows=rows, notes=notes, others=others)


def _book(path: Path) -> pd.ExcelFile:
    require("openpyxl", str(path))
    return pd.ExcelFile(path, engine="openpyxl")


def _sheet(book: pd.ExcelFile, sheet: str) -> tuple[pd.DataFrame, int]:
    """The rows of a sheet, and the number of rows above its header."""
    frame = pd.read_excel(book, sheet_name=sheet, dtype=object)
    place = 0
    # pandas calls the columns so that have no name in the first row.
    if any(str(name).startswith("Unnamed: ") for name in frame.columns):
        cells = pd.read_excel(book, sheet_name=sheet, dtype=str, header=None, keep_default_na=False)
        place = _place_of_header(cells)
        if place:
            frame = pd.read_excel(book, sheet_name=sheet, dtype=object, header=place)
    names = list(map(str, frame.columns))
    return _exact(frame.set_axis(names, axis=1).infer_objects()), place


def _place_of_header(cells: pd.DataFrame) -> int:
    """The number of rows above the header, empty ones too."""
    filled, numbers = [], []
    for number, row in enumerate(cells.to_numpy()):
        values = list(map(str, row))
        while values and not values[-1].strip():
            values.pop()
        if values:
            filled.append(values)
            numbers.append(number)
    if not filled:
        return 0
    return numbers[header_place(filled)]


class JsonFile(Document):
    """Objects, one for each row: one a line, or in a list. So is an object of columns, as pandas writes it."""

    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")

    @classmethod
    def open(cls, path: Path, **_: str | None) -> "JsonFile":
        """Read all objects. A key that an object lacks is missing there.

        Raises:
            UsageError: the file holds something else.
        """
        with refusing(path), opened(path) as file:
            text = file.read().decode("utf-8-sig")
            # Only a file of this ending may hold anything but lines.
            is_whole = without_compression(path).suffix.lower() == ".json"
            records = _records(text) if is_whole else _lines(text)
            if not records or not all(isinstance(record, dict) for record in records):
                raise UsageError(
                    f"{path} holds no records; write an object for each row, as DataFrame.to_json(orient='records') "
                    "does."
                )
        # As objects first: pandas would round large whole numbers beside a gap.
        whole = _exact(pd.DataFrame(records, dtype=object))
        usable, unusable = {}, {}
        for name, column in whole.items():
            values = column.tolist()
            if any(isinstance(value, list | dict) for value in values):
                unusable[str(name)] = "lists or objects"
            else:
                usable[str(name)] = _series(values)
        return cls(path=path, names=list(map(str, whole.columns)), rows=pd.DataFrame(usable), unusable=unusable)


def _series(values: list[Any]) -> "pd.Series[Any]":
    try:
        return pd.Series(values)
    except UnicodeEncodeError:
        # JSON may escape half of a character; the column is refused if it is used.
        return pd.Series(values, dtype=object)


def _lines(text: str) -> list[Any]:
    """The objects of JSON lines."""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _records(text: str) -> list[Any]:
    """The objects in a JSON file, whose form its content shows; none if it has another one."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return _lines(text)
    # A list of objects is a row each.
    if isinstance(whole, list):
        return whole
    if not isinstance(whole, dict):
        return []
    # DataFrame.to_json writes an object for each column, with the row's name before each value.
    if all(isinstance(column, dict) for column in whole.values()):
        return _rows_of_objects(whole)
    if all(isinstance(column, list) for column in whole.values()):
        return _rows_of_lists(whole)
    # One line of JSON lines.
    return [whole]


def _rows_of_objects(columns: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for name, column in columns.items():
        for row, value in column.items():
            rows.setdefault(row, {})[name] = value
    return list(rows.values())


def _rows_of_lists(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """A row for each place in the lists; none if they differ in length."""
    lengths = set(map(len, columns.values()))
    if len(lengths) != 1:
        return []
    rows = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    return rows


class ArffFile(Document):
    """Weka's format: the header says what each column holds."""

    endings: ClassVar[tuple[str, ...]] = (".arff",)

    @classmethod
    def open(cls, path: Path, encoding: str | None = None, **_: str | None) -> "ArffFile":
        """Read the header and all rows; ``?`` is a missing value.

        Raises:
            UsageError: the file is not as the format says.
        """
        with refusing(path), opened(path) as file, io.TextIOWrapper(file, encoding or "utf-8-sig") as lines:
            kinds = dict(_attributes(lines, path))
            rows = list(_arff_rows(lines, len(kinds), path))
        made = {}
        # Rows are turned into columns.
        for place, (name, kind) in enumerate(kinds.items()):
            values = [row[place] for row in rows]
            made[name] = _arff_column(values, kind, f"column {name!r} of {path}")
        return cls(path=path, names=list(kinds), rows=pd.DataFrame(made))


def _attributes(lines: Iterator[str], path: Path) -> Iterator[tuple[str, str]]:
    """The name and the type of each column, up to the line ``@data``."""
    names = set()
    for line in lines:
        text = line.strip()
        if text.lower().startswith("@data"):
            return
        if not text.lower().startswith("@attribute"):
            continue
        match = ATTRIBUTE.match(text)
        if match is None:
            raise UsageError(f"{path} has the line {text[:60]!r}, which is no attribute; give it a name and a type.")
        name = _unquoted(match[1])
        if name in names:
            raise UsageError(f"{path} has more than one column {name!r}; rename all but one.")
        names.add(name)
        kind = match[2]
        yield name, kind
    raise UsageError(f"{path} has no line @data; write it as ARFF, or give it the ending of its format.")


def _arff_rows(lines: Iterator[str], width: int, path: Path) -> Iterator[list[str | None]]:
    """The values of each row below the header, None where one is missing."""
    for line in lines:
        row = line.strip()
        if not row or row.startswith("%"):
            continue
        if row.startswith("{"):
            raise UsageError(f"{path} holds sparse rows; write it again with a value for each column, as in CSV.")
        # The last is what follows the row.
        values = ARFF_VALUE.findall(row)[:-1]
        if len(values) != width:
            raise UsageError(
                f"{path} has the row {row[:60]!r} with {len(values)} values for {width} columns; correct it."
            )
        # A question mark in quotes is a text.
        yield [None if value == "?" else _unquoted(value) for value in values]


def _arff_column(values: list[Any], kind: str, where: str) -> "pd.Series[Any]":
    """A column as its attribute declares it; ``where`` it is, for messages."""
    if kind.startswith("{"):
        found = ARFF_VALUE.findall(kind.strip("{} \t"))
        declared = dict.fromkeys(map(_unquoted, filter(None, found)))
        for value in values:
            if value is not None and value not in declared:
                raise UsageError(f"{where} holds {value!r}, which its header lacks; add it there.")
        return pd.Series(values, dtype=pd.CategoricalDtype(list(declared)))
    word = kind.split()[0].lower()
    # Dates are found in text, as in any other file.
    if word not in NUMERIC:
        return pd.Series(values, dtype="str")
    try:
        return pd.Series(values, dtype=object).astype("float64")
    except ValueError as error:
        raise UsageError(f"{where} is numeric and holds something else ({error}); correct it.") from error


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    if not is_quoted:
        return text
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _exact(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with whole numbers that float64 does not tell apart as text."""
    large = {}
    for name, column in frame.items():
        whole: list[int] = []
        if column.dtype == object:
            whole = [value for value in column if isinstance(value, int)]
        elif column.dtype.kind in "iu" and len(column):
            whole = [int(column.min()), int(column.max())]
        largest = max(map(abs, whole), default=0)
        if largest > EXACT:
            large[str(name)] = column.map(str, na_action="ignore")
    return frame.assign(**large)
