"""Files that are read whole when they are opened: Excel, JSON and ARFF."""

import io
import json
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...errors import UsageError
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
        written = [name for name in self.names if name in as_written and name not in self.unusable]
        return self.rows.assign(**{name: self.rows[name].map(str, na_action="ignore") for name in written})

    @property
    def hint(self) -> str:
        if not self.others:
            return ""
        return f"; dataset.sheet reads another of its sheets: {listed(self.others, MOST_SHEETS)}"


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
            warnings.filterwarnings("ignore", module="openpyxl")  # of styles and extensions that hold no values
            try:
                book = pd.ExcelFile(path, engine="openpyxl")
            except ImportError as error:
                raise UsageError(f"{path} needs the package openpyxl: pip install 'scarf-lightning[xlsx]'.") from error
            with book:
                sheets = list(map(str, book.sheet_names))
                if sheet is not None and sheet not in sheets:
                    known = listed(sheets, MOST_SHEETS)
                    raise UsageError(f"dataset.sheet names {sheet!r}, and the sheets of {path} are: {known}.")
                chosen = sheet or sheets[0]
                rows, place = _sheet(book, chosen)
        others = [name for name in sheets if name != chosen]
        notes = []
        if place:
            left_out = "row above it is" if place == 1 else f"{place} rows above it are"
            notes.append(f"The header of {path} is row {place + 1}; the {left_out} left out.")
        if others and sheet is None:
            notes.append(
                f"The sheet {chosen!r} of {path} is read; dataset.sheet reads another: {listed(others, MOST_SHEETS)}."
            )
        return cls(path=path, names=list(rows.columns), rows=rows, notes=notes, others=others)


def _sheet(book: pd.ExcelFile, sheet: str) -> tuple[pd.DataFrame, int]:
    """The rows of a sheet, and the number of rows above its header."""
    frame, place = book.parse(sheet, dtype=object), 0
    if any(str(name).startswith("Unnamed: ") for name in frame.columns):
        cells = book.parse(sheet, dtype=str, header=None, keep_default_na=False)
        rows = [[str(value) for value in row] for row in cells.to_numpy()]
        filled = [_filled(row) for row in rows]
        numbers = [number for number, row in enumerate(filled) if row]
        place = numbers[header_place([filled[number] for number in numbers])] if numbers else 0
        if place:
            frame = book.parse(sheet, dtype=object, header=place)
    return _exact(frame.set_axis([str(name) for name in frame.columns], axis=1).infer_objects()), place


def _filled(row: Sequence[str]) -> list[str]:
    """The values of a row without empty ones at its end."""
    last = max((place for place, value in enumerate(row, start=1) if value.strip()), default=0)
    return list(row[:last])


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
            is_lines = without_compression(path).suffix.lower() != ".json"
            records = _lines(text) if is_lines else _records(text)
            if not records or not all(isinstance(record, dict) for record in records):
                raise UsageError(
                    f"{path} holds no records; write an object for each row, as DataFrame.to_json(orient='records') "
                    "does."
                )
        # As objects first: pandas would round large whole numbers beside a gap.
        whole = _exact(pd.DataFrame(records, dtype=object))
        names = list(map(str, whole.columns))
        usable, unusable = {}, {}
        for name, column in zip(names, whole.columns, strict=True):
            values = whole[column].tolist()
            if any(isinstance(value, list | dict) for value in values):
                unusable[name] = "lists or objects"
            else:
                usable[name] = pd.Series(values)
        return cls(path=path, names=names, rows=pd.DataFrame(usable), unusable=unusable)


def _lines(text: str) -> list[Any]:
    """The objects of JSON lines."""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _records(text: str) -> list[Any]:
    """The objects in a JSON file, whose form its content shows."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return _lines(text)
    if isinstance(whole, list):
        return whole
    columns = list(whole.values()) if isinstance(whole, dict) else []
    if columns and all(isinstance(column, dict) for column in columns):
        rows = dict.fromkeys(row for column in columns for row in column)
        return [{name: column.get(row) for name, column in whole.items()} for row in rows]
    if columns and all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) == 1:
        return [dict(zip(whole, values, strict=True)) for values in zip(*columns, strict=True)]
    return [whole] if columns and not any(isinstance(column, list | dict) for column in columns) else []


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
        columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
        made = {
            name: _arff_column(values, kind, name, path)
            for (name, kind), values in zip(kinds.items(), columns, strict=True)
        }
        return cls(path=path, names=list(kinds), rows=pd.DataFrame(made))


def _attributes(lines: Iterator[str], path: Path) -> Iterator[tuple[str, str]]:
    """The name and the type of each column, up to the line ``@data``."""
    names = set()
    for line in lines:
        word = line.strip()
        if word.lower().startswith("@data"):
            return
        if not word.lower().startswith("@attribute"):
            continue
        found = ATTRIBUTE.match(word)
        if found is None:
            raise UsageError(f"{path} has the line {word[:60]!r}, which is no attribute; give it a name and a type.")
        name = _unquoted(found[1])
        if name in names:
            raise UsageError(f"{path} has more than one column {name!r}; rename all but one.")
        names.add(name)
        yield name, found[2]
    raise UsageError(f"{path} has no line @data; write it as ARFF, or give it the ending of its format.")


def _arff_rows(lines: Iterator[str], width: int, path: Path) -> Iterator[list[str | None]]:
    for line in lines:
        row = line.strip()
        if not row or row.startswith("%"):
            continue
        if row.startswith("{"):
            raise UsageError(f"{path} holds sparse rows; write it again with a value for each column, as in CSV.")
        values = ARFF_VALUE.findall(row)[:-1]  # the last is what follows the row
        if len(values) != width:
            raise UsageError(
                f"{path} has the row {row[:60]!r} with {len(values)} values for {width} columns; correct it."
            )
        yield [None if value == "?" else _unquoted(value) for value in values]


def _arff_column(values: Sequence[str | None], kind: str, name: str, path: Path) -> "pd.Series[Any]":
    if kind.startswith("{"):
        declared = [_unquoted(value) for value in ARFF_VALUE.findall(kind.strip("{} \t")) if value]
        unknown = [value for value in values if value is not None and value not in declared]
        if unknown:
            raise UsageError(f"column {name!r} of {path} holds {unknown[0]!r}, which its header lacks; add it there.")
        return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(declared))))
    if kind.split(" ")[0].lower() not in NUMERIC:
        return pd.Series(values, dtype="str")
    try:
        return pd.Series([np.nan if value is None else float(value) for value in values], dtype="float64")
    except ValueError as error:
        raise UsageError(
            f"column {name!r} of {path} is numeric and holds something else ({error}); correct it."
        ) from error


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _exact(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with whole numbers that float64 does not tell apart as text."""
    large = {}
    for name, column in frame.items():
        whole = [value for value in column if isinstance(value, int)] if column.dtype == object else column
        if (column.dtype == object or column.dtype.kind in "iu") and len(whole) and max(map(abs, whole)) > EXACT:
            large[name] = column.map(str, na_action="ignore")
    return frame.assign(**large)
