"""Building blocks of a page: sections of paragraphs, figures and tables, which pandas writes as CSV and LaTeX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..metrics import number as number
from ..screen import escaped, spreadsheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = str | Callable[[Any], str]

NOTHING = "–"
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
        **{"<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$", "−": "$-$", "–": "--", "×": r"$\times$", "≤": r"$\le$"},
    }
)
ROWS_OF_A_PAGE = 45
"""A longer table goes on from page to page in LaTeX."""


@dataclass(frozen=True)
class Paragraph:
    """A text; it ``warns`` if it says that something could not be shown."""

    text: str
    warns: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        name: of its files.
        figure: matplotlib's.
        caption: below it.
        alt: describes it to readers who cannot see it, if the caption does not.
    """

    name: str
    figure: "Figure"
    caption: str
    alt: str = ""


class Entry(NamedTuple):
    """One entry of a table: its text, its sort key (None goes last), and whether it is the best of its row."""

    text: str
    sort: float | str | None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table for reading.

    Attributes:
        name: of its files.
        caption: above it.
        columns: headings.
        rows: of as many entries.
        data: the numbers in full, for CSV; its layout may differ.
        on_page: False for a table that the page shows by its files alone.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    data: pd.DataFrame
    on_page: bool = True

    @cached_property
    def numeric(self) -> frozenset[int]:
        """The positions of the columns that hold only numbers, and dashes for missing ones."""
        # An entry sorts by its number, or by its text if it has none.
        texts = {place for row in self.rows for place, each in enumerate(row) if isinstance(each.sort, str)}
        return frozenset(range(len(self.columns))) - texts

    def texts(self, escape: Callable[[str], str], bold: str = "{}") -> list[list[str]]:
        """The texts of all rows; the best of a row is ``bold``."""
        lines = []
        for row in self.rows:
            lines.append([bold.format(escape(each.text)) if each.best else escape(each.text) for each in row])
        return lines


Block = Paragraph | Picture | Table


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading."""

    name: str
    title: str
    blocks: list[Block]


def not_drawn(reason: str) -> list[Block]:
    """A warning instead of blocks."""
    return [Paragraph(f"Not drawn: {reason}", warns=True)]


def table(
    name: str,
    caption: str,
    frame: pd.DataFrame,
    formats: Mapping[str, Format] | None = None,
    headings: Mapping[str, str] | None = None,
    data: pd.DataFrame | None = None,
) -> Table:
    """The ``frame`` as a `Table`, whose ``data`` it is too if not given; its index is not shown.

    Args:
        formats: by column, a format specification or a function of a value; whole numbers and text need none.
        headings: by column, if not the column's name with spaces for underscores.
    """
    formats, headings = formats or {}, headings or {}
    names = tuple(map(str, frame.columns))
    columns = [[entry(value, formats.get(column)) for value in frame[column]] for column in names]
    titles = tuple(headings.get(column, column.replace("_", " ")) for column in names)
    return Table(name, caption, titles, tuple(zip(*columns, strict=True)), frame if data is None else data)


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
    return Entry(value if isinstance(value, str) else number(value, format or ""), sort)


def to_csv(table: Table) -> str:
    """The data in full; text that a spreadsheet would run begins with an apostrophe."""
    data = table.data.rename(columns=spreadsheet)
    # By position, because two columns may have one name.
    for position in range(data.shape[1]):
        column = data.iloc[:, position]
        if not pd.api.types.is_numeric_dtype(column):
            data.isetitem(position, column.map(spreadsheet).to_numpy(dtype=object))
    return data.to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A ``table`` with the rules of booktabs, or a ``longtable`` of many rows; the best is bold."""
    frame = pd.DataFrame(table.texts(latex, r"\textbf{{{}}}"), columns=[latex(each) for each in table.columns])
    is_long = len(frame) > ROWS_OF_A_PAGE
    text: str = frame.style.hide(axis="index").to_latex(
        # Numbers are aligned at the right, so that their digits can be compared.
        column_format="".join("r" if column in table.numeric else "l" for column in range(len(table.columns))),
        hrules=True,
        caption=latex(table.caption),
        label=f"tab:{table.name}",
        environment="longtable" if is_long else "table",
        position_float=None if is_long else "centering",
    )
    # Wider than a line, it is made as wide as one.
    opening = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%" + "\n" + r"\begin{tabular}"
    text = text.replace(r"\begin{tabular}", opening).replace(r"\end{tabular}", r"\end{tabular}}")
    return f"% needs \\usepackage{{booktabs,graphicx,longtable}}\n{text}"


FORMATS = {"csv": to_csv, "tex": to_latex}


def latex(text: str) -> str:
    """Text in which LaTeX sees nothing but text."""
    return escaped(" ".join(text.splitlines()), allowed="").translate(LATEX)
