"""Text files of tables: CSV and its relatives."""

import csv
import io
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from .opening import opened, refusing, without_compression
from .text_format import BLANKS, NUMBER, TextFormat, text_format

CHUNK = 1 << 20
"""Bytes of a file that are searched at once."""


@dataclass(frozen=True, kw_only=True)
class TextFile(DataFile):
    """A text file with a header and separated values.

    Attributes:
        text: the format.
    """

    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")

    text: TextFormat

    @classmethod
    def open(cls, path: Path, sheet: str | None = None, **asked: str | None) -> "TextFile":
        """Find the format and read the header. ``asked`` are the ``separator``, ``decimal`` and ``encoding`` that are
        known, see `text_format`; no text file has a ``sheet``."""
        with refusing(path):
            text = text_format(path, **asked)
            with _lines(path, text) as lines:
                header = text.header(lines)
            if not header:
                raise ValueError("No columns to parse from file")
        if text.names_rows:
            header = ["", *header]
        notes = list(_notes(path, text, asked))
        return cls(path=path, names=named(header), text=text, notes=notes)

    def read(self, as_written: Collection[str] = ()) -> pd.DataFrame:
        with refusing(self.path), warnings.catch_warnings():
            # Without the error, pandas would drop the last values of rows that are longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without the option, pandas would find the types of a few rows at a time.
            frame = self._read(low_memory=False)
            asked = {place for place, name in enumerate(self.names) if name in as_written}
            for place, texts in self._texts(asked | self._may_be_codes(frame)).items():
                distinct = texts.dropna().str.strip().unique().tolist()
                if place in asked or are_codes(distinct):
                    missing: Any = None
                    frame.isetitem(place, texts.to_numpy(dtype=object, na_value=missing))
        frame.columns = pd.Index(self.names)
        return frame

    def odd_lines(self, rows: pd.DataFrame) -> list[str]:
        """Sentences on rows with too few values, and on values of several lines. Lines are looked at only if ``rows``
        have gaps at their end, or the file has quotes.

        Raises:
            UsageError: text follows the quote that ends a value.
        """
        has_gaps = rows.iloc[:, -1].isna().any()
        if not has_gaps and not _has_quotes(self.path, self.text):
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

    def spelled_missing(self, columns: Sequence[str]) -> dict[str, dict[str, int]]:
        places = sorted(self.names.index(column) for column in columns)
        with refusing(self.path):
            texts = self._read(usecols=places, dtype=str, keep_default_na=False)
        found = {}
        for place, (_, column) in zip(places, texts.items(), strict=True):
            counts = column[column != ""].value_counts()
            found[self.names[place]] = {word: int(counts[word]) for word in _taken_for_missing(counts.index)}
        return found

    @property
    def hint(self) -> str:
        if _holds_data(self.names):
            return "; its first line holds numbers, so if it has no header, write a line of names above it"
        if len(self.names) == 1:
            return "; no separator splits its lines into equally many values, so set dataset.separator, or mend them"
        return ""

    def _read(self, **options: Any) -> pd.DataFrame:
        """The rows by pandas."""
        options |= self.text.options()
        options["index_col"] = False
        if self.text.names_rows:
            options |= {"header": 0, "names": range(len(self.names))}
        read_from: Path | io.StringIO = self.path
        if not self.text.is_plain:
            with _lines(self.path, self.text) as lines:
                read_from = io.StringIO("".join(self.text.kept(lines)), newline="")
            # It is text already.
            options["encoding"] = None
        # pandas' usual reader of version 2 cuts a text at a NUL character, which is then refused by nobody.
        if IS_TWO and self._has_nul():
            others = {name: value for name, value in options.items() if name != "low_memory"}
            frame: pd.DataFrame = pd.read_csv(read_from, **others, engine="python")
        else:
            exact: dict[str, Any] = options | EXACT_FLOATS
            frame = pd.read_csv(read_from, **exact)
        return frame

    def _has_nul(self) -> bool:
        with _lines(self.path, self.text) as lines:
            return any("\0" in line for line in lines)

    def _texts(self, places: Collection[int]) -> dict[int, "pd.Series[str]"]:
        """The columns at these places as they are written."""
        if not places:
            return {}
        in_order = sorted(places)
        frame = self._read(usecols=in_order, dtype=str)
        columns = (column for _, column in frame.items())
        return dict(zip(in_order, columns, strict=True))

    def _short_and_long(self) -> tuple[list[int], list[int]]:
        """The numbers of the lines whose row has fewer values than the header, and of those that begin a row of several
        lines. The first line has the number 1."""
        width = self._named_width()
        short, long = [], []
        with refusing(self.path), _lines(self.path, self.text) as lines, _values_of_any_length():
            end = 0
            try:
                for row in self.text.rows(self.text.kept(lines), strict=True):
                    is_short = 0 < len(row.values) < width and any(row.values)
                    # R's header has a name fewer than its rows have values.
                    is_header = self.text.names_rows and row.above == self.text.above
                    if is_short and not is_header:
                        short.append(row.above + 1)
                    if row.end > row.above + 1:
                        long.append(row.above + 1)
                    end = row.end
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
        if largest and has_leading_zeros(self.path, self.text):
            return set(largest)
        return {place for place, size in largest.items() if size >= EXACT}


def _taken_for_missing(texts: Iterable[str]) -> list[str]:
    """The texts that pandas takes for missing where it reads a file."""
    written = io.StringIO(newline="")
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows([text] for text in texts)
    if not written.tell():
        return []
    written.seek(0)
    is_missing = pd.read_csv(written, header=None, dtype=str)[0].isna()
    return sorted(text for text, missing in zip(texts, is_missing, strict=True) if missing)


@contextmanager
def _values_of_any_length() -> Iterator[None]:
    usual = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def has_leading_zeros(path: Path, text: TextFormat) -> bool:
    """True if a field of a text file may be a whole number with leading zeros. To look for two bytes is faster than to
    read all columns again as text, or to search by a pattern."""
    encoding = (text.encoding or "utf-8").lower().replace("_", "-")
    if encoding.startswith(("utf-16", "utf-32")):
        return True
    separator = text.separator.encode()
    field = re.compile(rb'0\d+[\s"]*(?:[%b\r\n]|$)' % re.escape(separator))
    before = frozenset(b' \t\r\n"' + separator)
    rest = b"\n"
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            data = rest + chunk
            for place in _zeros_before_digits(data):
                lead = data[max(place - 9, 0) : place].rstrip(b"+-")
                if (not lead or lead[-1] in before) and field.match(data, place):
                    return True
            # A field may go on in the next chunk.
            rest = data[-64:]
    return False


def _zeros_before_digits(data: bytes) -> list[int]:
    """The places of zeros at the beginning of a number, before another digit."""
    values = np.frombuffer(data, dtype=np.uint8)
    is_digit = values - np.uint8(48) < 10
    # Behind a digit or a point.
    is_inside = is_digit[:-2] | (values[:-2] == 46)
    is_found = (values[1:-1] == 48) & is_digit[2:] & ~is_inside
    places: list[int] = (np.flatnonzero(is_found) + 1).tolist()
    return places


def _notes(path: Path, text: TextFormat, asked: dict[str, str | None]) -> Iterator[str]:
    """Sentences on a format that was found and not asked for."""
    is_by_name = without_compression(path).suffix.lower() in (".tsv", ".tab")
    if text.separator != "," and not is_by_name and not asked.get("separator"):
        between = "blanks" if text.separator == BLANKS else repr(text.separator)
        yield f"The columns of {path} are separated by {between}; dataset.separator sets another separator."
    if text.encoding and not asked.get("encoding"):
        yield f"{path} is read as {text.encoding} text; dataset.encoding sets another encoding."
    if text.above:
        left_out = "the line above it is" if text.above == 1 else f"the {text.above} lines above it are"
        yield f"The header of {path} is line {text.above + 1}; {left_out} left out."
    if text.below:
        yield f"The {text.below} lines of types and roles below the header of {path} are Orange's, and left out."
    if text.has_comments:
        yield f"Lines of {path} that begin with # are comments, and left out."
    if text.names_rows:
        yield f"The header of {path} has one name fewer than its rows have values; it lacks the name of the first."


@contextmanager
def _lines(path: Path, text: TextFormat) -> Iterator[io.TextIOWrapper]:
    """The text of a file, with line ends as they are and without a mark of its encoding."""
    with opened(path) as file:
        yield io.TextIOWrapper(file, text.codec, newline="")


def _has_quotes(path: Path, text: TextFormat) -> bool:
    # Without the mark of the encoding, and the zeros of its wide letters.
    quote = '"'.encode(text.encoding or "utf-8").strip(b"\0\xff\xfe")
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
