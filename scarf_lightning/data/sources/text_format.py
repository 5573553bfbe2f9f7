"""The format of a text file, as its beginning shows it: encoding, separator, and the place of the header."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from .opening import opened, without_compression

SEPARATORS = (",", ";", "\t", "|")
BLANKS = " "
"""Stands for any number of blanks and tabs between values, as R and many programs of science write them."""

OF_A_WORD = re.compile(r'"(?:[^"]|"")*"|\S+')
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""A first line by which Excel learns the separator."""

LOOKED_AT = 1 << 16
"""Bytes of a text file in which its format is found; more if they hold no whole line."""

DEEPEST = 20
"""Rows from the top in which a header is looked for."""

FITTING = 0.9
"""The share of the rows that a separator splits into equally many values, if it is the one."""

NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?%?")


class Row(NamedTuple):
    """The values of a row, with the number of lines above it and the number of its last line."""

    above: int
    end: int
    values: list[str]


@dataclass(frozen=True)
class TextFormat:
    """A text file's format. With ``decimal`` None, numbers with a comma are read as text.

    Attributes:
        separator: one character, or `BLANKS`.
        above: the number of lines above the header, which are left out.
        has_comments: whether lines that begin with ``#`` are left out.
        is_header_commented: whether the header begins with a ``#`` that is no part of it.
        skips_blanks: whether blanks may stand before the quote that begins a value.
        names_rows: whether the header lacks the name of the first column, which holds the names of the rows.
    """

    separator: str
    decimal: str | None = None
    encoding: str | None = None
    above: int = 0
    has_comments: bool = False
    is_header_commented: bool = False
    skips_blanks: bool = False
    names_rows: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether all lines are read."""
        return not self.above and not self.has_comments and not self.is_header_commented

    def options(self) -> dict[str, Any]:
        """Arguments of ``pandas.read_csv``."""
        found: dict[str, Any] = {"sep": self.separator, "decimal": self.decimal or ".", "encoding": self.encoding}
        if self.separator == BLANKS:
            found["sep"] = r"\s+"
        if self.skips_blanks:
            found["skipinitialspace"] = True
        return found

    def kept(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines of the file; one that is left out is empty, so that the others keep their numbers."""
        for number, line in enumerate(lines):
            is_comment = self.has_comments and line.lstrip().startswith("#")
            if number == self.above:
                yield line.lstrip("# ") if self.is_header_commented else line
            elif number < self.above or is_comment:
                yield "\n"
            else:
                yield line

    def rows(self, lines: Iterable[str], *, strict: bool = False) -> Iterator[Row]:
        """Each row of the file.

        Raises:
            csv.Error: ``strict``, and text follows the quote that ends a value.
        """
        if self.separator == BLANKS:
            for above, line in enumerate(lines):
                yield Row(above, above + 1, [word.strip('"') for word in OF_A_WORD.findall(line)])
            return
        reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=self.skips_blanks, strict=strict)
        above = 0
        for values in reader:
            yield Row(above, reader.line_num, values)
            above = reader.line_num

    @property
    def codec(self) -> str:
        """The encoding by the name that leaves out a mark at the beginning."""
        encoding = self.encoding or "utf-8"
        return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


def text_format(
    path: Path, *, separator: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> TextFormat:
    """The format of a text file: what is given, and for the rest what the file shows.

    Text is UTF-8, or UTF-16 by its mark or its zero bytes, or else cp1252. The separator is a tab in ``.tsv`` and
    ``.tab``, and elsewhere found in the first rows, see `_separator`.

    Raises:
        OSError, EOFError, ValueError: the file cannot be read.
    """
    beginning, is_whole = _beginning(path)
    encoding = encoding or _encoding(beginning, is_whole=is_whole)
    text = beginning.decode(TextFormat("", encoding=encoding).codec, errors="replace")
    lines = list(io.StringIO(text, newline=""))
    if not is_whole:
        lines.pop()
    start = 0
    if separator is None and lines and (named := SEPARATOR_LINE.fullmatch(lines[0])):
        start, separator = 1, named[1]
    if separator is None and without_compression(path).suffix.lower() in (".tsv", ".tab"):
        separator = "\t"
    found = _laid_out(lines[start:], separator) if separator else _separated(lines[start:])
    return replace(found, decimal=decimal, encoding=encoding, above=found.above + start)


def _beginning(path: Path) -> tuple[bytes, bool]:
    """The first lines of a file, and whether they are all."""
    with opened(path) as file:
        beginning = file.read(LOOKED_AT)
        while len(beginning) % LOOKED_AT == 0 and beginning.count(b"\n") < 2 and (more := file.read(len(beginning))):
            beginning += more
        return beginning, not file.read(1)


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


def _separated(lines: Sequence[str]) -> TextFormat:
    """The format with the separator that the lines show, or else a comma.

    That is the only one that splits all rows into equally many values; or else the first by which a header stands above
    rows that are mostly as long as it.
    """
    equal = []
    for separator in SEPARATORS:
        with suppress(csv.Error):
            widths = {len(row) for row in csv.reader(lines, delimiter=separator) if row}
            if len(widths) == 1 and min(widths) > 1:
                equal.append(separator)
    if len(equal) == 1:
        return _laid_out(lines, equal[0])
    for separator in () if equal else (*SEPARATORS, BLANKS):
        found = _laid_out(lines, separator)
        if _fits(lines, found):
            return found
    return _laid_out(lines, ",")


def _fits(lines: Sequence[str], found: TextFormat) -> bool:
    """Whether a header stands above rows that are mostly as long as it, and never longer."""
    rows = _filled_rows(lines, found)
    if len(rows) < 2:
        return False
    width = len(rows[0].values) + found.names_rows
    lengths = [len(row.values) for row in rows[1:]]
    needed = 1.0 if found.separator == BLANKS else FITTING
    return width > 1 and lengths.count(width) >= needed * len(lengths) and max(lengths) <= width


def _laid_out(lines: Sequence[str], separator: str) -> TextFormat:
    """The format with a separator: where the header is, and what is special about the rows."""
    found = TextFormat(separator)
    rows = _filled_rows(lines, found)
    if separator != BLANKS and any(re.match(' +"', value) for row in rows for value in row.values):
        found = replace(found, skips_blanks=True)
        rows = _filled_rows(lines, found)
    place = header_place([row.values for row in rows])
    if place:
        found = replace(found, above=rows[place].above)
        above = rows[:place]
        if any(row.values[0].startswith("#") for row in above):
            found = replace(found, has_comments=True)
        if _is_named_by_comment(lines[above[-1].above], rows[place].values, found):
            found = replace(found, above=above[-1].above, is_header_commented=True)
    return replace(found, names_rows=_names_rows(lines, found))


def _names_rows(lines: Sequence[str], found: TextFormat) -> bool:
    """Whether all rows have one value more than the header, and their first values are all different."""
    header = header_of(lines, found)
    below = [row.values for row in _filled_rows(lines, found)[1:]]
    if not below or not all(header) or any(len(row) != len(header) + 1 for row in below):
        return False
    return len({row[0] for row in below}) == len(below)


def header_of(lines: Iterable[str], found: TextFormat) -> list[str]:
    """The first row that is not empty; none if all are."""
    for row in found.rows(found.kept(lines)):
        if len(row.values) > 1 or (row.values and row.values[0].strip()):
            return row.values
    return []


def _filled_rows(lines: Sequence[str], found: TextFormat) -> list[Row]:
    """The rows that are not empty, without empty values at their end."""
    rows = []
    with suppress(csv.Error):  # a quote without an end; the rows before it show enough
        for row in found.rows(found.kept(lines)):
            filled = [place for place, value in enumerate(row.values, start=1) if value.strip()]
            if filled:
                rows.append(row._replace(values=row.values[: filled[-1]]))
    return rows


def header_place(rows: Sequence[Sequence[str]]) -> int:
    """The number of rows above the header: comments, and titles, which have at most half of the values that most rows
    have. Rows have no empty values at their end."""
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if width < 2:
        return 0
    place = 0
    while place + 1 < len(rows) and _is_comment(rows, place, width):
        place += 1
    if not _is_title(rows[place], width):
        return place
    for candidate in range(place + 1, min(place + DEEPEST, len(rows))):
        row, below = rows[candidate], rows[candidate + 1 : candidate + 2]
        is_short = len(row) == width - 1 and not any(map(are_names, below))
        if are_names(row) and (len(row) >= width or is_short):
            return candidate
        if len(row) >= width:
            break  # a row of the table
    return place


def _is_comment(rows: Sequence[Sequence[str]], place: int, width: int) -> bool:
    """Whether a row at the top is a comment, and not a header whose first name begins with ``#``."""
    if not rows[place][0].startswith("#"):
        return False
    if len(rows[place]) != width or rows[place + 1][0].startswith("#"):
        return True
    return are_names(rows[place + 1]) and not all(map(are_names, rows[place + 2 :]))


def _is_title(row: Sequence[str], width: int) -> bool:
    return bool(row[0].strip()) and sum(bool(value.strip()) for value in row) <= width / 2


def are_names(row: Sequence[str]) -> bool:
    """Whether values can be the names of columns: all different, and none a number."""
    names = [value.strip() for value in row]
    return all(names) and len(set(names)) == len(names) and not any(map(NUMBER.fullmatch, names))


def _is_named_by_comment(comment: str, first: Sequence[str], found: TextFormat) -> bool:
    """Whether a comment above the rows holds the names of their columns, as ``numpy.savetxt`` writes them."""
    if not comment.startswith("#") or are_names(first):
        return False
    names = next(found.rows([comment.lstrip("# ")])).values
    return len(names) == len(first) and are_names(names)
