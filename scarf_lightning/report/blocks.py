"""What a page is made of: sections of paragraphs, commands, figures, and tables as CSV, Markdown and LaTeX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..screen import escaped, spreadsheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = str | Callable[[Any], str]

NOTHING = "–"
LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "≥": r"$\ge$",
}
MARKDOWN = {**{character: f"\\{character}" for character in "\\|*_`[]"}, "<": "&lt;", ">": "&gt;"}
ROWS_OF_A_PAGE, LETTERS_OF_A_LINE, LETTERS_OF_A_COLUMN = 45, 65, 50


@dataclass(frozen=True)
class Paragraph:
    """A text; it ``warns`` if it says that something could not be shown."""

    text: str
    warns: bool = False


@dataclass(frozen=True)
class Command:
    """A command to copy, and what it does."""

    command: str
    purpose: str


@dataclass(frozen=True)
class Picture:
    """A figure: the name of its files, ``alt``, which describes it to readers who cannot see it, its caption, and a
    ``narrow`` version for phones."""

    name: str
    figure: "Figure"
    alt: str
    caption: str
    narrow: "Figure | None" = None

    @property
    def width(self) -> int:
        """In pixels."""
        return round(96 * float(self.figure.get_size_inches()[0]))


class Entry(NamedTuple):
    """One entry of a table: its text, its sort key (None goes last), and whether it is the best of its row."""

    text: str
    sort: float | str | None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table for reading: rows of as many entries as there are ``columns``, which are headings.

    ``data`` holds the numbers in full, for CSV; its layout may differ. ``name`` is that of its files. ``narrow`` is the
    table for a column of a paper, which LaTeX gets in its place.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    data: pd.DataFrame
    narrow: "Table | None" = None

    @cached_property
    def numeric(self) -> frozenset[int]:
        """The positions of the columns that hold only numbers, and dashes for missing ones."""
        texts = {place for row in self.rows for place, entry in enumerate(row) if isinstance(entry.sort, str)}
        return frozenset(range(len(self.columns))) - texts


Block = Paragraph | Command | Picture | Table


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading."""

    name: str
    title: str
    blocks: list[Block]


def named(items: list[str], longest: int = 8) -> str:
    """A list in words: the first items, and how many more there are. Semicolons separate items that hold commas."""
    shown = ("; " if any("," in item for item in items[:longest]) else ", ").join(items[:longest])
    return shown if len(items) <= longest else f"{shown} and {len(items) - longest} more"


def table(
    name: str,
    caption: str,
    shown: pd.DataFrame,
    formats: Mapping[str, Format] | None = None,
    headings: Mapping[str, str] | None = None,
    data: pd.DataFrame | None = None,
) -> Table:
    """The frame ``shown`` as a `Table`, whose ``data`` it is too if not given; its index is not shown.

    Args:
        formats: by column, a format specification or a function of a value; whole numbers and text need none.
        headings: by column, if not the column's name with spaces for underscores.
    """
    formats, headings = formats or {}, headings or {}
    columns = [str(column) for column in shown.columns]
    entries = [[entry(value, formats.get(column)) for value in shown[column]] for column in columns]
    names = tuple(headings.get(column, column.replace("_", " ")) for column in columns)
    return Table(name, caption, names, tuple(zip(*entries, strict=True)), shown if data is None else data)


def entry(value: Any, format: Format | None = None) -> Entry:
    """One value; a missing one is a dash."""
    if value is None or pd.isna(value):
        return Entry(NOTHING, None)
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, str):
        return Entry(format(value) if callable(format) else value, value)
    return Entry(format(value) if callable(format) else number(value, format or ""), float(value))


def number(value: float, format: str) -> str:
    """A number with a minus sign instead of a hyphen, and without negative zero."""
    text = f"{value:{format}}"
    if text.startswith("-") and float(text) == 0:
        text = f"{0.0:{format}}"
    return f"−{text[1:]}" if text.startswith("-") else text


def to_csv(table: Table) -> str:
    """The data in full; text that a spreadsheet would run stands behind an apostrophe."""
    data = table.data.rename(columns=spreadsheet)
    for position in range(data.shape[1]):
        if not pd.api.types.is_numeric_dtype(data.iloc[:, position]):
            data.isetitem(position, data.iloc[:, position].map(spreadsheet).to_numpy(dtype=object))
    return data.to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """A pipe table under its caption; the best of a row is bold."""
    rule = ["--:" if column in table.numeric else "---" for column in range(len(table.columns))]
    heading, *rows = _texts(table, markdown, "**{}**")
    lines = [f"| {' | '.join(line)} |" for line in (heading, rule, *rows)]
    return "\n".join([markdown(table.caption), "", *lines]) + "\n"


def to_latex(table: Table) -> str:
    """One ``table`` a page of rows, with the rules of booktabs; the best of a row is bold. It is no wider than the text,
    or than a column if the table has a narrow one."""
    width, letters = r"\textwidth", LETTERS_OF_A_LINE
    if table.narrow is not None:
        table, width, letters = table.narrow, r"\columnwidth", LETTERS_OF_A_COLUMN
    kinds = "".join("r" if column in table.numeric else "l" for column in range(len(table.columns)))
    heading, *body = (f"{' & '.join(line)} \\\\" for line in _texts(table, latex, r"\textbf{{{}}}"))
    lines = [[entry.text for entry in row] for row in table.rows] + [list(table.columns)]
    is_wide = sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True)) > letters
    before, after = ([rf"\resizebox{{{width}}}{{!}}{{%"], ["}"]) if is_wide else ([], [])
    parts = ["% needs \\usepackage{booktabs,graphicx}"]
    for start in range(0, max(len(body), 1), ROWS_OF_A_PAGE):
        caption, label = latex(table.caption) + (", continued" if start else ""), f"\\label{{tab:{table.name}}}"
        parts += [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", *([] if start else [label]), *before]
        parts += [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", heading, r"\midrule"]
        parts += [*body[start : start + ROWS_OF_A_PAGE], r"\bottomrule", r"\end{tabular}", *after, r"\end{table}"]
    return "\n".join(parts) + "\n"


FORMATS = {"csv": to_csv, "md": to_markdown, "tex": to_latex}


def latex(text: str) -> str:
    """Text in which LaTeX sees nothing but text."""
    return "".join(LATEX.get(character, character) for character in _one_line(text))


def markdown(text: str) -> str:
    """Text in which Markdown, and a pipe table, see nothing but text."""
    return "".join(MARKDOWN.get(character, character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return escaped(" ".join(text.splitlines()), kept="")


def _texts(table: Table, escape: Callable[[str], str], bold: str) -> list[list[str]]:
    """The headings and the rows of a table; the best of a row is ``bold``."""
    rows = [
        [bold.format(escape(each.text)) if each.best and each.text != NOTHING else escape(each.text) for each in row]
        for row in table.rows
    ]
    return [[escape(heading) for heading in table.columns], *rows]
