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

ESCAPE = "\\"

OF_A_WORD = re.compile(r'"(?:[^"]|"")*"|\S+')
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""A first line by which Excel learns the separator."""

LOOKED_AT = 1 << 16
"""Bytes of a text file in which its format is found; more if they hold no whole line."""

DEEPEST = 20
"""Rows from the top in which a header is looked for."""

FITTING = 0.9
"""The share of the rows that a separator splits into equally many values, if it is the one."""

ROLES = {"class", "meta", "ignore", ""}
"""What the third line of Orange's format says of a column, such as which is the target."""

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
        below: the number of lines below the header that are left out: Orange's, of types and of roles.
        has_comments: whether lines that begin with ``#`` are left out.
        is_header_commented: whether the header begins with a ``#`` that is no part of it.
        skips_blanks: whether blanks may stand before the quote that begins a value.
        escapes_quotes: whether a quote within a value stands behind a backslash, and is not doubled.
        names_rows: whether the header lacks the name of the first column, which holds the names of the rows.
    """

    separator: str
    decimal: str | None = None
    encoding: str | None = None
    above: int = 0
    below: int = 0
    has_comments: bool = False
    is_header_commented: bool = False
    skips_blanks: bool = False
    escapes_quotes: bool = False
    names_rows: bool = False

    @property
    def is_plain(self) -> bool:
        """True if all lines are read as they are."""
        return not (self.above or self.below or self.has_comments or self.is_header_commented)

    @property
    def codec(self) -> str:
        """The encoding by the name that leaves out a mark at the beginning."""
        encoding = self.encoding or "utf-8"
        if encoding.lower() in ("utf-8", "utf8"):
            return "utf-8-sig"
        return encoding

    def options(self) -> dict[str, Any]:
        """Arguments of ``pandas.read_csv``."""
        arguments: dict[str, Any] = {"sep": self.separator, "decimal": self.decimal or ".", "encoding": self.encoding}
        if self.separator == BLANKS:
            arguments["sep"] = r"\s+"
        if self.skips_blanks:
            arguments["skipinitialspace"] = True
        if self.escapes_quotes:
            arguments["escapechar"] = ESCAPE
        return arguments

    def kept(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines of the file. One that is left out is empty, so that the others keep their numbers."""
        for number, line in enumerate(lines):
            is_header = number == self.above
            if is_header and self.is_header_commented:
                yield line.lstrip("# ")
            elif is_header or not self._is_left_out(number, line):
                yield line
            else:
                yield "\n"

    def _is_left_out(self, number: int, line: str) -> bool:
        if number < self.above or self.above < number <= self.above + self.below:
            return True
        return self.has_comments and line.lstrip().startswith("#")

    def rows(self, lines: Iterable[str], *, strict: bool = False) -> Iterator[Row]:
        """Each row of the file.

        Raises:
            csv.Error: ``strict``, and text follows the quote that ends a value.
        """
        if self.separator == BLANKS:
            yield from _blank_rows(lines)
            return
        reader = csv.reader(
            lines,
            delimiter=self.separator,
            skipinitialspace=self.skips_blanks,
            escapechar=ESCAPE if self.escapes_quotes else None,
            strict=strict,
        )
        above = 0
        for values in reader:
            yield Row(above, reader.line_num, values)
            above = reader.line_num

    def filled_rows(self, lines: Iterable[str]) -> list[Row]:
        """The rows that are not empty, without empty values at their end."""
        rows = []
        # A quote without an end is an error; the rows before it show enough.
        with suppress(csv.Error):
            for row in self.rows(self.kept(lines)):
                values = row.values
                while values and not values[-1].strip():
                    values = values[:-1]
                if values:
                    rows.append(Row(row.above, row.end, values))
        return rows

    def header(self, lines: Iterable[str]) -> list[str]:
        """The first row that is not empty; no names if all are."""
        for row in self.rows(self.kept(lines)):
            # A single separator is a header of two columns without names.
            if len(row.values) > 1 or "".join(row.values).strip():
                return row.values
        return []


def _blank_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Rows whose values are words, or texts in quotes. No value goes over several lines."""
    for above, line in enumerate(lines):
        words = OF_A_WORD.findall(line)
        yield Row(above, above + 1, [word.strip('"') for word in words])


def text_format(
    path: Path, *, separator: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> TextFormat:
    """The format of a text file: what is given, and for the rest what the file shows.

    Text is UTF-8, or UTF-16 by its mark or its zero bytes, or else cp1252. The separator is a tab in ``.tsv`` and
    ``.tab``, and elsewhere found in the first rows, see `_separated`.

    Raises:
        OSError, EOFError, ValueError: the file cannot be read.
    """
    beginning, is_whole = _beginning(path)
    encoding = encoding or _encoding(beginning, is_whole=is_whole)
    codec = TextFormat("", encoding=encoding).codec
    text = beginning.decode(codec, errors="replace")
    lines = list(io.StringIO(text, newline=""))
    if not is_whole:
        # The look may have cut it in two.
        lines.pop()
    start = 0
    if separator is None and lines:
        # Excel's own first line is no row.
        if named := SEPARATOR_LINE.fullmatch(lines[0]):
            start, separator = 1, named[1]
        elif without_compression(path).suffix.lower() in (".tsv", ".tab"):
            separator = "\t"
    lines = lines[start:]
    layout = _laid_out(lines, separator) if separator else _separated(lines)
    return replace(layout, decimal=decimal, encoding=encoding, above=layout.above + start)


def _beginning(path: Path) -> tuple[bytes, bool]:
    """The first lines of a file, and whether they are all."""
    with opened(path) as file:
        beginning = file.read(LOOKED_AT)
        # A header of very many columns may be longer than a look.
        while len(beginning) % LOOKED_AT == 0 and beginning.count(b"\n") < 2:
            more = file.read(len(beginning))
            if not more:
                break
            beginning += more
        return beginning, not file.read(1)


def _encoding(beginning: bytes, *, is_whole: bool) -> str | None:
    """An encoding other than UTF-8 that the beginning of a file shows; None if it shows none."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Latin letters have a zero in every second byte.
    for encoding, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        halves = beginning[first::2]
        if halves.count(0) > len(halves) / 2:
            return encoding
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(beginning, final=is_whole)
        return None
    except UnicodeDecodeError:
        return "cp1252"


def _separated(lines: Sequence[str]) -> TextFormat:
    """The format with the separator that the lines show, or else a comma.

    That is the only one that splits all rows into equally many values; or else the first by which a header stands above
    rows that are mostly as long as it.
    """
    equal = [separator for separator in SEPARATORS if _splits_equally(lines, separator)]
    if len(equal) == 1:
        return _laid_out(lines, equal[0])
    if not equal:
        for separator in (*SEPARATORS, BLANKS):
            layout = _laid_out(lines, separator)
            if _fits(lines, layout):
                return layout
    return _laid_out(lines, ",")


def _splits_equally(lines: Sequence[str], separator: str) -> bool:
    widths = set()
    with suppress(csv.Error):
        for row in csv.reader(lines, delimiter=separator):
            if row:
                widths.add(len(row))
        return len(widths) == 1 and widths != {1}
    return False


def _fits(lines: Sequence[str], found: TextFormat) -> bool:
    """True if a header stands above rows that are mostly as long as it, and never longer."""
    rows = found.filled_rows(lines)
    if len(rows) < 2:
        return False
    width = len(rows[0].values) + found.names_rows
    lengths = [len(row.values) for row in rows[1:]]
    share = lengths.count(width) / len(lengths)
    # Words in a sentence are separated by blanks, too, so they must be equally many.
    needed = 1.0 if found.separator == BLANKS else FITTING
    return width > 1 and share >= needed and max(lengths) <= width


def _laid_out(lines: Sequence[str], separator: str) -> TextFormat:
    """The format with a separator: where the header is, and what is special about the rows."""
    layout = TextFormat(separator)
    rows = layout.filled_rows(lines)
    if separator != BLANKS and _has_quotes_after_blanks(rows):
        layout = replace(layout, skips_blanks=True)
    if separator != BLANKS and _escapes_quotes(lines, layout):
        layout = replace(layout, escapes_quotes=True)
    if layout != TextFormat(separator):
        rows = layout.filled_rows(lines)
    place = header_place([row.values for row in rows])
    if place:
        above = rows[:place]
        has_comments = any(row.values[0].startswith("#") for row in above)
        layout = replace(layout, above=rows[place].above, has_comments=has_comments)
        last = above[-1].above
        if _is_named_by_comment(lines[last], rows[place].values, layout):
            layout = replace(layout, above=last, is_header_commented=True)
    if not place and _has_roles(lines, separator):
        layout = replace(layout, below=2)
    return replace(layout, names_rows=_names_rows(lines, layout))


def _has_roles(lines: Sequence[str], separator: str) -> bool:
    """True if the third line says which column is the target, as in Orange's format."""
    if len(lines) < 3:
        return False
    names, roles = lines[0].split(separator), lines[2].split(separator)
    if len(names) != len(roles) or len(roles) < 2:
        return False
    said = set(map(str.strip, roles))
    return "class" in said and said <= ROLES


def _has_quotes_after_blanks(rows: Sequence[Row]) -> bool:
    for row in rows:
        for value in row.values:
            if value.startswith(" ") and value.lstrip(" ").startswith('"'):
                return True
    return False


def _escapes_quotes(lines: Sequence[str], found: TextFormat) -> bool:
    """True if quotes are in order only if a backslash before one makes it a part of the value."""
    if not any(ESCAPE + '"' in line for line in lines):
        return False
    escaped = replace(found, escapes_quotes=True)
    return not _are_in_order(lines, found) and _are_in_order(lines, escaped)


def _are_in_order(lines: Sequence[str], found: TextFormat) -> bool:
    try:
        for _ in found.rows(lines, strict=True):
            pass
    except csv.Error:
        return False
    return True


def _names_rows(lines: Sequence[str], found: TextFormat) -> bool:
    """True if all rows have one value more than the header, and their first values are all different."""
    header = found.header(lines)
    below = found.filled_rows(lines)[1:]
    if not below or not all(header):
        return False
    first = set()
    for row in below:
        if len(row.values) != len(header) + 1:
            return False
        first.add(row.values[0])
    return len(first) == len(below)


def header_place(rows: Sequence[Sequence[str]]) -> int:
    """The number of rows above the header: comments, and titles, which have at most half of the values that most rows
    have. Rows have no empty values at their end."""
    widths = Counter(map(len, rows))
    width = max(widths, key=widths.__getitem__, default=0)
    if width < 2:
        return 0
    place = 0
    while place + 1 < len(rows) and _is_comment(rows, place, width):
        place += 1
    if not _is_title(rows[place], width):
        return place
    # Titles may stand above the header only if there is one: a row of full length whose values can be names.
    for candidate in range(place + 1, min(place + DEEPEST, len(rows))):
        if _is_header(rows, candidate, width):
            return candidate
        if len(rows[candidate]) >= width:
            break
    return place


def _is_header(rows: Sequence[Sequence[str]], place: int, width: int) -> bool:
    """True if a row can be a header. R's is one name short, so a title must not be taken for one."""
    row = rows[place]
    if not are_names(row) or len(row) < width - 1:
        return False
    if len(row) >= width:
        return True
    below = rows[place + 1 : place + 2]
    return not any(map(are_names, below))


def _is_comment(rows: Sequence[Sequence[str]], place: int, width: int) -> bool:
    """True if a row at the top is a comment, and not a header whose first name begins with ``#``."""
    if not rows[place][0].startswith("#"):
        return False
    below = rows[place + 1]
    if len(rows[place]) != width or below[0].startswith("#"):
        return True
    # A comment with as many commas as the header has: names follow it, and then values that cannot be names.
    return are_names(below) and not all(map(are_names, rows[place + 2 :]))


def _is_title(row: Sequence[str], width: int) -> bool:
    n_filled = sum(1 for value in row if value.strip())
    return bool(row[0].strip()) and n_filled <= width / 2


def are_names(row: Sequence[str]) -> bool:
    """True if values can be the names of columns: all different, and none a number."""
    names = {value.strip() for value in row}
    if "" in names or len(names) < len(row):
        return False
    return not any(map(NUMBER.fullmatch, names))


def _is_named_by_comment(comment: str, first: Sequence[str], found: TextFormat) -> bool:
    """True if a comment above the rows holds the names of their columns, as ``numpy.savetxt`` writes them."""
    if not comment.startswith("#") or are_names(first):
        return False
    names = next(found.rows([comment.lstrip("# ")])).values
    return len(names) == len(first) and are_names(names)
