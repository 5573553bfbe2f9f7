"""Files that are read whole when they are opened: Excel, JSON and ARFF."""

import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ...errors import UsageError, unknown_name
from ...importing import require
from ..columns import listed
from ..reading.frames import plain_frame
from .data_file import DataFile
from .file_access import opened, refusing, without_compression

MOST_SHEETS = 10
"""The most sheets that a message names."""
LONGEST = 100
"""Characters of an error that a message shows."""

WHOLE_NUMBERS = re.compile(r"(\s*@attribute\s.*\s)integer\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Document(DataFile):
    """A file that cannot be opened without reading its ``rows``."""

    rows: pd.DataFrame

    def read(self) -> pd.DataFrame:
        return self.rows.copy(deep=False)

    @property
    def hint(self) -> str:
        if self.others:
            others = listed(self.others, MOST_SHEETS)
            return f"; dataset.sheet reads another of its sheets: {others}"
        return super().hint


@dataclass(frozen=True, kw_only=True)
class ExcelFile(Document):
    """A ``sheet`` of an Excel file, with a header in its first row."""

    sheet: str

    endings: ClassVar[tuple[str, ...]] = (".xlsx",)

    @classmethod
    def open(cls, path: Path, sheet: str | None = None, **_: str | None) -> "ExcelFile":
        """Read the first sheet, or the one that is named.

        Raises:
            UsageError: there is no such sheet, or the package that reads it is not installed.
        """
        require("openpyxl", str(path))
        with _book(path) as book:
            sheets = list(map(str, book.sheet_names))
            if sheet is not None and sheet not in sheets:
                fault = f"dataset.sheet names {sheet!r}, which is not a sheet of {path}"
                raise UsageError(unknown_name(fault, sheet, sheets, "its sheets", shown=repr))
            chosen = sheet or sheets[0]
            # As objects first: pandas would round large whole numbers beside a gap.
            frame = pd.read_excel(book, sheet_name=chosen, dtype=object)
        # What a user may not expect.
        notes = []
        others = [name for name in sheets if name != chosen]
        if others and sheet is None:
            known = listed(others, MOST_SHEETS)
            notes.append(f"The sheet {chosen!r} of {path} is read; dataset.sheet reads another: {known}.")
        names = list(map(str, frame.columns))
        rows = plain_frame(frame.set_axis(names, axis=1))
        return cls(path=path, names=names, rows=rows, notes=notes, others=others, sheet=chosen)


@contextmanager
def _book(path: Path) -> Iterator[pd.ExcelFile]:
    with refusing(path), warnings.catch_warnings():
        # It warns of styles and extensions, which hold no values.
        warnings.filterwarnings("ignore", module="openpyxl")
        with pd.ExcelFile(path, engine="openpyxl") as book:
            yield book


class JsonFile(Document):
    """Objects, one for each row: one a line, or in a list. So is an object of columns, as pandas writes it."""

    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")

    @classmethod
    def open(cls, path: Path, **_: str | None) -> "JsonFile":
        """Read all objects. A key that an object lacks is missing there.

        Raises:
            UsageError: the file holds something else.
        """
        with refusing(path):
            with opened(path) as file:
                text = file.read().decode("utf-8-sig")
            try:
                # Not pd.read_json, which rounds large whole numbers beside a gap and drops halves of characters.
                is_whole = without_compression(path).suffix.lower() == ".json"
                records = json.loads(text) if is_whole else _lines(text)
            except json.JSONDecodeError as error:
                raise UsageError(
                    f"{path} cannot be read ({error}); write an object for each row, in a list, or one a line in a "
                    "file that ends in .jsonl."
                ) from error
            if not _are_rows(records):
                raise UsageError(
                    f"{path} holds no records; write an object for each row, as DataFrame.to_json(orient='records') "
                    "does."
                )
            frame = pd.DataFrame(records, dtype=object).reset_index(drop=True)
        names = list(map(str, frame.columns))
        unusable = {}
        for name, column in zip(names, frame.to_numpy().T, strict=True):
            if any(isinstance(value, list | dict) for value in column):
                unusable[name] = "lists or objects"
        usable = frame.set_axis(names, axis=1).drop(columns=list(unusable))
        return cls(path=path, names=names, rows=plain_frame(usable), unusable=unusable)


def _lines(text: str) -> list[Any]:
    """The objects of JSON lines."""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _are_rows(records: Any) -> bool:
    """Tell whether a JSON value is a list of objects, or an object of columns, which are objects or lists."""
    if isinstance(records, dict):
        columns = records.values()
        return bool(records) and any(all(isinstance(each, kind) for each in columns) for kind in (dict, list))
    return isinstance(records, list) and bool(records) and all(isinstance(each, dict) for each in records)


class ArffFile(Document):
    """Weka's format: the header says what each column holds."""

    endings: ClassVar[tuple[str, ...]] = (".arff",)

    @classmethod
    def open(cls, path: Path, encoding: str | None = None, **_: str | None) -> "ArffFile":
        """Read the header and all rows; ``?`` is a missing value.

        Raises:
            UsageError: the file is not as the format says, or the package that reads it is not installed.
        """
        require("arff", str(path))
        import arff

        with refusing(path), opened(path) as file, io.TextIOWrapper(file, encoding or "utf-8-sig") as lines:
            try:
                table = arff.load(_plain_lines(lines))
            except arff.ArffException as error:
                reason = str(error).rstrip(".")[:LONGEST]
                raise UsageError(
                    f"{path} cannot be read ({reason}); put names with blanks in quotes, or write the table as CSV."
                ) from error
        # Rows are turned into columns.
        values = dict(enumerate(zip(*table["data"], strict=True)))
        columns = {}
        for place, (name, kind) in enumerate(table["attributes"]):
            dtype: Any = {"STRING": "str"}.get(kind, "float64") if isinstance(kind, str) else None
            if dtype is None:
                dtype = pd.CategoricalDtype(list(dict.fromkeys(filter(None, kind))))
            columns[name] = pd.Series(values.get(place, ()), dtype=dtype)
        return cls(path=path, names=list(columns), rows=pd.DataFrame(columns))


def _plain_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of an ARFF file as liac-arff needs them: it cuts off the fractions of a column of whole numbers without
    a word, and wants a blank after ``@attribute``."""
    for line in lines:
        yield WHOLE_NUMBERS.sub(r"\1real", line.replace("\t", " ")) if line.startswith("@") else line
