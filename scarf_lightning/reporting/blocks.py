"""Building blocks of a page: sections of paragraphs, figures, and tables as CSV, Markdown and LaTeX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..metrics import number as number
from ..notebook import grid, paragraph
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
    "≤": r"$\le$",
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
        positions = set(range(len(self.columns)))
        # An entry sorts by its number, or by its text if it has none; a dash has no sort key at all.
        for row in self.rows:
            for position, entry in enumerate(row):
                if isinstance(entry.sort, str):
                    positions.discard(position)
        return frozenset(positions)

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        rows = []
        for row in self.rows:
            rows.append([entry.text for entry in row])
        return paragraph(self.caption) + grid(self.columns, rows, numeric=self.numeric)


Block = Paragraph | Picture | Table


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading."""

    name: str
    title: str
    blocks: list[Block]


def not_drawn(reason: str) -> list[Block]:
    """A warning in the place of blocks."""
    return [Paragraph(f"Not drawn: {reason}", warns=True)]


def named(items: list[str], longest: int = 8) -> str:
    """A list in words: the first items, and how many more there are. Semicolons separate items that hold commas."""
    first = items[:longest]
    separator = "; " if any("," in item for item in first) else ", "
    words = separator.join(first)
    n_others = len(items) - len(first)
    return f"{words} and {n_others} more" if n_others else words


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
    names = []
    columns = []
    for column in map(str, shown.columns):
        names.append(headings.get(column, column.replace("_", " ")))
        columns.append([entry(value, formats.get(column)) for value in shown[column]])
    rows = tuple(zip(*columns, strict=True))
    return Table(name, caption, tuple(names), rows, shown if data is None else data)


def entry(value: Any, format: Format | None = None) -> Entry:
    """One value; a missing one is a dash."""
    if value is None or pd.isna(value):
        return Entry(NOTHING, None)
    # Before numbers: to Python True is the number 1.
    if isinstance(value, bool):
        value = "yes" if value else "no"
    sort = value if isinstance(value, str) else float(value)
    if callable(format):
        return Entry(format(value), sort)
    if isinstance(value, str):
        return Entry(value, sort)
    return Entry(number(value, format or ""), sort)


def to_csv(table: Table) -> str:
    """The data in full; text that a spreadsheet would run stands behind an apostrophe."""
    data = table.data.rename(columns=spreadsheet)
    # By position, because two columns may have one name.
    for position in range(data.shape[1]):
        column = data.iloc[:, position]
        if not pd.api.types.is_numeric_dtype(column):
            data.isetitem(position, column.map(spreadsheet).to_numpy(dtype=object))
    return data.to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """A pipe table under its caption; the best of a row is bold."""
    heading, *rows = _texts(table, markdown, "**{}**")
    # A colon aligns numbers at the right.
    rule = ["--:" if column in table.numeric else "---" for column in range(len(table.columns))]
    lines = [markdown(table.caption), ""]
    for cells in (heading, rule, *rows):
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """One ``table`` a page of rows, with the rules of booktabs; the best of a row is bold.

    It is no wider than the text, or than a column if the table has a narrow one.
    """
    width, letters = r"\textwidth", LETTERS_OF_A_LINE
    if table.narrow is not None:
        table, width, letters = table.narrow, r"\columnwidth", LETTERS_OF_A_COLUMN
    heading, *body = [f"{' & '.join(cells)} \\\\" for cells in _texts(table, latex, r"\textbf{{{}}}")]
    kinds = ""
    for column in range(len(table.columns)):
        # Numbers are aligned at the right, so that their digits can be compared.
        kinds += "r" if column in table.numeric else "l"
    lines = ["% needs \\usepackage{booktabs,graphicx}"]
    # A table without rows still has one page, with its headings.
    for start in range(0, max(len(body), 1), ROWS_OF_A_PAGE):
        lines += [r"\begin{table}", r"\centering"]
        if start:
            lines.append(rf"\caption{{{latex(table.caption)}, continued}}")
        else:
            # A label is defined once, on the first page.
            lines += [rf"\caption{{{latex(table.caption)}}}", rf"\label{{tab:{table.name}}}"]
        tabular = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", heading, r"\midrule"]
        tabular += [*body[start : start + ROWS_OF_A_PAGE], r"\bottomrule", r"\end{tabular}"]
        if _width(table) > letters:
            tabular = [rf"\resizebox{{{width}}}{{!}}{{%", *tabular, "}"]
        lines += [*tabular, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _width(table: Table) -> int:
    """The letters of a line of the table."""
    letters = 0
    for column, heading in enumerate(table.columns):
        longest = len(heading)
        for row in table.rows:
            longest = max(longest, len(row[column].text))
        # Two letters of space follow each column.
        letters += longest + 2
    return letters


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
    lines = [[escape(heading) for heading in table.columns]]
    for row in table.rows:
        texts = []
        for each in row:
            text = escape(each.text)
            is_bold = each.best and each.text != NOTHING
            texts.append(bold.format(text) if is_bold else text)
        lines.append(texts)
    return lines
