"""Text files of tables: CSV and its relatives."""

import codecs
import csv
import io
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...errors import UsageError, counted
from ..columns import are_whole
from ..reading.numbers import EXACT, are_codes
from ..reading.pandas_two import EXACT_FLOATS, IS_TWO
from .data_file import NAMELESS, DataFile, named
from .file_access import opened, refusing, without_compression

SEPARATORS = (",", ";", "\t", "|")
BLANKS = " "
"""Stands for any number of blanks and tabs between values, as many programs of science write them."""
TABS = (".tsv", ".tab")
"""Endings of files whose values are between tabs."""
FITTING = 0.9
"""The share of the rows that have as many values as the header, if a separator is the one."""

MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Bytes at the beginning of a file that name its encoding."""

LOOKED_AT = 1 << 16
"""Bytes of a text file in which its encoding and separator are found; more if they hold no whole line."""
CHUNK = 1 << 20
"""Bytes of a file that are searched at once."""

TARGET_ROLE = "class"
ROLES = {TARGET_ROLE, "meta", "ignore", ""}
"""What the third line of Orange's format says of a column."""

NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?%?")


@dataclass(frozen=True, kw_only=True)
class TextFile(DataFile):
    """A text file with a header in its first line and separated values.

    Attributes:
        separator: one character, or `BLANKS`.
        decimal: the decimal sign; with None, numbers with a comma are read as text.
        encoding: None stands for UTF-8.
        skips_blanks: whether blanks may stand before the quote that begins a value.
    """

    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")

    separator: str
    decimal: str | None
    encoding: str | None
    skips_blanks: bool

    @classmethod
    def open(
        cls,
        path: Path,
        sheet: str | None = None,
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
    ) -> "TextFile":
        """Read the header, and find what is not given. No text file has a ``sheet``.

        Text is UTF-8, or UTF-16 by its mark, or else cp1252. The separator is a tab in ``.tsv`` and ``.tab``, and
        elsewhere the one by which most rows have as many values as the header.

        Raises:
            UsageError: a row has more values than the header or is none, or the file cannot be read.
        """
        with refusing(path):
            beginning, is_whole = _beginning(path)
            found = encoding or _encoding(beginning, is_whole=is_whole)
            # The look may have cut a character, and a line, in two.
            text = codecs.getincrementaldecoder(_codec(found))().decode(beginning, final=is_whole)
            if "\0" in text.partition("\n")[0]:
                raise UsageError(
                    f"{path} holds NUL characters, as UTF-16 without its mark does; name its encoding, as in "
                    "dataset.encoding=utf-16-le."
                )
            lines = list(io.StringIO(text, newline=""))
            if not is_whole:
                lines.pop()
            # The sign that numpy writes before the names.
            lines[:1] = [line.removeprefix("# ") for line in lines[:1]]
            file_separator = separator or _separator(lines, path)
            rows = _rows(lines, file_separator)
            skips_blanks = any(re.match(' +"', value) for _, row in rows for value in row)
            if skips_blanks:
                rows = _rows(lines, file_separator, skipinitialspace=True)
            if not rows:
                raise ValueError("No columns to parse from file")
        _check_rows(rows, path)
        _, header = rows[0]
        notes = []
        if file_separator != "," and not separator and not _has_tabs(path):
            sign = "blanks" if file_separator == BLANKS else repr(file_separator)
            notes.append(f"The columns of {path} are separated by {sign}; dataset.separator sets another separator.")
        if found and not encoding:
            notes.append(f"{path} is read as {found} text; dataset.encoding sets another encoding.")
        return cls(
            path=path,
            names=named(header),
            separator=file_separator,
            decimal=decimal,
            encoding=found,
            skips_blanks=skips_blanks,
            notes=notes,
        )

    def read(self) -> pd.DataFrame:
        with refusing(self.path), warnings.catch_warnings():
            # Without the error, pandas would drop the last values of rows that are longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without the option, pandas would find the types of a few rows at a time.
            frame = self._read(low_memory=False)
            for place, texts in self._texts(self._may_be_codes(frame)).items():
                if are_codes(texts.dropna().str.strip().unique().tolist()):
                    missing: Any = None
                    frame.isetitem(place, texts.to_numpy(dtype=object, na_value=missing))
        return frame.set_axis(self.names, axis=1)

    def odd_lines(self, rows: pd.DataFrame) -> list[str]:
        """Sentences on rows with too few values, and on values of several lines. Lines are looked at only if ``rows``
        have gaps at their end, or the file has quotes.

        Raises:
            UsageError: text follows the quote that ends a value.
        """
        has_gaps = rows.iloc[:, -1].isna().any()
        if not has_gaps and not _has_quotes(self.path, self.encoding):
            return []
        short, long = self._short_and_long()
        # Either may be meant, so it is said and not refused.
        notes = []
        if short:
            verb = "have" if short[1:] else "has"
            notes.append(
                f"{counted(len(short), 'line')} of {self.path} {verb} fewer values than the "
                f"header{_first(short)}; what is not there counts as missing."
            )
        if long:
            verb = "go" if long[1:] else "goes"
            notes.append(
                f"{counted(len(long), 'row')} of {self.path} {verb} over several lines"
                f"{_first(long)}; a stray quote does that too."
            )
        return notes

    @property
    def hint(self) -> str:
        if _holds_data(self.names):
            return "; its first line holds numbers, so if it has no header, write a line of names above it"
        if len(self.names) == 1:
            return (
                "; no separator gives the rows as many values as the first line, so set dataset.separator, or delete "
                "lines above the names"
            )
        return super().hint

    def _read(self, **options: Any) -> pd.DataFrame:
        """The rows by pandas."""
        options |= {
            "sep": r"\s+" if self.separator == BLANKS else self.separator,
            "decimal": self.decimal or ".",
            "encoding": self.encoding,
            "skipinitialspace": self.skips_blanks,
            "index_col": False,
            "header": 0,
            "names": range(len(self.names)),
        }
        # pandas' usual reader of version 2 cuts a text at a NUL character, which is then refused by nobody.
        if IS_TWO and self._has_nul():
            others = {name: value for name, value in options.items() if name != "low_memory"}
            frame: pd.DataFrame = pd.read_csv(self.path, **others, engine="python")
        else:
            exact: dict[str, Any] = options | EXACT_FLOATS
            frame = pd.read_csv(self.path, **exact)
        return frame

    def _has_nul(self) -> bool:
        with _lines(self.path, self.encoding) as lines:
            return any("\0" in line for line in lines)

    def _texts(self, places: Collection[int]) -> dict[int, "pd.Series[str]"]:
        """The columns at these places as they are written."""
        if not places:
            return {}
        sorted_places = sorted(places)
        frame = self._read(usecols=sorted_places, dtype=str)
        columns = (column for _, column in frame.items())
        return dict(zip(sorted_places, columns, strict=True))

    def _short_and_long(self) -> tuple[list[int], list[int]]:
        """The numbers of the lines whose row has fewer values than the header, and of those that begin a row of several
        lines. The first line has the number 1."""
        width = self._named_width()
        short, long = [], []
        with refusing(self.path), _lines(self.path, self.encoding) as lines, _values_of_any_length():
            end = 0
            try:
                reader = _reader(lines, self.separator, skipinitialspace=self.skips_blanks, strict=True)
                for values in reader:
                    if len(values) < width and any(values):
                        short.append(end + 1)
                    if reader.line_num > end + 1:
                        long.append(end + 1)
                    end = reader.line_num
            except csv.Error as error:
                raise UsageError(
                    f"line {end + 1} of {self.path} has text after the quote that ends a value, or a quote without "
                    "an end; double a quote that is part of a value, or remove it."
                ) from error
        return short, long

    def _named_width(self) -> int:
        """The number of columns without those at the end that have no name."""
        width = len(self.names)
        while width > 1 and NAMELESS.fullmatch(self.names[width - 1]):
            width -= 1
        return width

    def _may_be_codes(self, frame: pd.DataFrame) -> set[int]:
        """Places of columns of whole numbers whose text may say more than the numbers."""
        largest = {}
        for place, dtype in enumerate(frame.dtypes):
            if dtype.kind not in "iuf":
                continue
            values = frame.iloc[:, place].to_numpy()
            known = values[~np.isnan(values)]
            # A gap makes floats of whole numbers.
            if len(known) and are_whole(known):
                bounds = float(known.min()), float(known.max())
                largest[place] = max(map(abs, bounds))
        if largest and has_leading_zeros(self.path, self.separator, self.encoding):
            return set(largest)
        return {place for place, size in largest.items() if size >= EXACT}


@contextmanager
def _values_of_any_length() -> Iterator[None]:
    usual = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def has_leading_zeros(path: Path, separator: str, encoding: str | None) -> bool:
    """True if a field of a text file may be a whole number with leading zeros, or begins like one, as 01/02/2024 does.
    To look for these bytes is faster than to read all columns again as text."""
    if _codec(encoding).lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        return True
    edges = b' \t\r\n"' + separator.encode()
    alike = bytes.maketrans(b"123456789+" + edges, b"9" * 9 + b"-" + b"," * len(edges))
    rest = b",,,"
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            data = rest + chunk.translate(alike)
            first, second, third, fourth = (np.frombuffer(data, np.uint8)[i : len(data) - 3 + i] for i in range(4))
            is_leading = (third == ord("0")) & ((fourth == ord("0")) | (fourth == ord("9")))
            is_signed = (second == ord("-")) & (first == ord(","))
            if (is_leading & (is_signed | (second == ord(",")))).any():
                return True
            # A field may go on in the next chunk.
            rest = data[-3:]
    return False


def _beginning(path: Path) -> tuple[bytes, bool]:
    """The first lines of a file, and whether they are all."""
    with opened(path) as file:
        beginning = file.read(LOOKED_AT)
        # A header of very many columns may be longer than a look.
        while beginning.count(b"\n") < 2 and (more := file.read(LOOKED_AT)):
            beginning += more
        return beginning, not file.read(1)


def _encoding(beginning: bytes, *, is_whole: bool) -> str | None:
    """An encoding other than UTF-8 that the beginning of a file shows; None if it shows none."""
    for mark, encoding in MARKS.items():
        if beginning.startswith(mark):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning, final=is_whole)
    except UnicodeDecodeError:
        return "cp1252"
    return None


def _codec(encoding: str | None) -> str:
    """The encoding by the name that leaves out a mark at the beginning."""
    return "utf-8-sig" if encoding is None or encoding.lower() in ("utf-8", "utf8") else encoding


def _has_tabs(path: Path) -> bool:
    return without_compression(path).suffix.lower() in TABS


def _separator(lines: Sequence[str], path: Path) -> str:
    """The separator by which most rows have as many values as the header, or else a comma."""
    if _has_tabs(path):
        return "\t"
    shares = {separator: _share(lines, separator) for separator in SEPARATORS}
    # Of several that fit equally well the first counts, which is the comma.
    best = max(SEPARATORS, key=shares.__getitem__)
    if shares[best] >= FITTING:
        return best
    # Words in a sentence are separated by blanks, too, so they must be equally many.
    return BLANKS if _share(lines, BLANKS) == 1 else ","


def _share(lines: Sequence[str], separator: str) -> float:
    """The share of the rows that have as many values as the header, if it has several; longer ones do not fit."""
    rows = _rows(lines, separator, skipinitialspace=True)
    width = len(rows[0][1]) if rows else 1
    if width == 1:
        return 0.0
    fitting = [row for _, row in rows if len(row) >= width and not any(row[width:])]
    return len(fitting) / len(rows)


def _check_rows(rows: Sequence[tuple[int, list[str]]], path: Path) -> None:
    """Refuse a row that has more values than the header, and Orange's rows of types and roles."""
    (top, header), *others = rows
    for number, row in others:
        if any(row[len(header) :]):
            raise UsageError(
                f"line {number} of {path} has {counted(len(row), 'value')}, and its header, line {top}, has "
                f"{counted(len(header), 'name')}; write a name for every column in the first line, delete what stands "
                "above the names, or set dataset.separator."
            )
    roles = set(map(str.strip, others[1][1])) if len(others) > 1 else set()
    if TARGET_ROLE in roles and roles <= ROLES:
        raise UsageError(
            f"lines {others[0][0]} and {others[1][0]} of {path} are types and roles of columns, as Orange writes them; "
            "delete both."
        )


def _rows(lines: Iterable[str], separator: str, **options: Any) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its first line."""
    rows = []
    # A quote without an end is refused when all lines are read; the rows before it show enough.
    with suppress(csv.Error), _values_of_any_length():
        reader, end = _reader(lines, separator, **options), 0
        for row in reader:
            # A single separator is a row of two values.
            if len(row) > 1 or "".join(row).strip():
                rows.append((end + 1, row))
            end = reader.line_num
    return rows


def _reader(lines: Iterable[str], separator: str, **options: Any) -> Any:
    """Python's own reader, which knows the lines of its rows."""
    if separator == BLANKS:
        lines = (re.sub(r"[ \t]+", " ", line.strip(" \t")) for line in lines)
    return csv.reader(lines, delimiter=separator, **options)


@contextmanager
def _lines(path: Path, encoding: str | None) -> Iterator[io.TextIOWrapper]:
    """The text of a file, with line ends as they are and without a mark of its encoding."""
    with opened(path) as file:
        yield io.TextIOWrapper(file, _codec(encoding), newline="")


def _has_quotes(path: Path, encoding: str | None) -> bool:
    # Without the mark of the encoding, and the zeros of its wide letters.
    quote = '"'.encode(encoding or "utf-8").strip(b"\0\xff\xfe")
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            if quote in chunk:
                return True
    return False


def _holds_data(header: Sequence[str]) -> bool:
    """True if a header holds a number, and not just years or places in rising order."""
    numbers = []
    for name in map(str.strip, header):
        if name.isdecimal():
            numbers.append(int(name))
        elif NUMBER.fullmatch(name):
            return True
    return numbers != sorted(set(numbers))


def _first(lines: Sequence[int]) -> str:
    """The end of a sentence on lines, which names the first of them."""
    if lines[1:]:
        return f", first line {lines[0]}"
    return f", line {lines[0]}"
