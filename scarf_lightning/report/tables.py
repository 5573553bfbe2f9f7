"""A table, what is shown of each value, and its formats: CSV, Markdown, and LaTeX with booktabs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from ..screen import escaped, spreadsheet

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
ROWS_OF_A_PAGE, LETTERS_OF_A_LINE = 45, 65


class Entry(NamedTuple):
    """One entry: its text, what it is sorted by (None goes last), and whether it is the best of its row."""

    text: str
    sort: float | str | None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table for reading, beside its data.

    Attributes:
        name: of its files.
        caption: what it shows.
        columns: their headings.
        rows: entries, as many as there are columns.
        data: the numbers in full, for CSV; they may be laid out in another way.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    data: pd.DataFrame

    @cached_property
    def numeric(self) -> frozenset[int]:
        """The places of the columns that hold nothing but numbers, and dashes for those that are missing."""
        texts = {place for row in self.rows for place, entry in enumerate(row) if isinstance(entry.sort, str)}
        return frozenset(range(len(self.columns))) - texts

    def is_numeric(self, column: int) -> bool:
        """Whether a column is one of `numeric`."""
        return column in self.numeric


def table(
    name: str,
    caption: str,
    shown: pd.DataFrame,
    formats: Mapping[str, Format] | None = None,
    headings: Mapping[str, str] | None = None,
    data: pd.DataFrame | None = None,
) -> Table:
    """A frame as a table: a column a column.

    Args:
        name, caption: as `Table`'s.
        shown: the frame; its index is not shown.
        formats: of columns, a format specification or a function of a value; whole numbers and text need none.
        headings: of columns, where it is not their own name with spaces for underscores.
        data: as `Table`'s; what is shown if not given.
    """
    formats, headings = formats or {}, headings or {}
    columns = [str(column) for column in shown.columns]
    of_column = [[entry(value, formats.get(column)) for value in shown[column]] for column in columns]
    rows = tuple(zip(*of_column, strict=True))
    names = tuple(headings.get(column, column.replace("_", " ")) for column in columns)
    return Table(name, caption, names, rows, shown if data is None else data)


def entry(value: Any, format: Format | None = None) -> Entry:
    """One value; what is missing is a dash."""
    if value is None or pd.isna(value):
        return Entry(NOTHING, None)
    if isinstance(value, (bool, str)):
        text = str(value) if isinstance(value, str) else {True: "yes", False: "no"}[value]
        return Entry(format(value) if callable(format) else text, text)
    return Entry(format(value) if callable(format) else number(value, format or ""), float(value))


def number(value: float, format: str) -> str:
    """A number with a minus sign in the place of a hyphen, and no negative zero."""
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
    rule = ["--:" if table.is_numeric(column) else "---" for column in range(len(table.columns))]
    rows = [[_marked(markdown(entry.text), entry, "**{}**") for entry in row] for row in table.rows]
    lines = [[markdown(heading) for heading in table.columns], rule, *rows]
    return "\n".join([markdown(table.caption), "", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def to_latex(table: Table) -> str:
    """One ``table`` a page of rows, with the rules of booktabs, no wider than the text; the best of a row is bold."""
    kinds = "".join("r" if table.is_numeric(column) else "l" for column in range(len(table.columns)))
    heading = _line([latex(heading) for heading in table.columns])
    body = [_line([_marked(latex(entry.text), entry, r"\textbf{{{}}}") for entry in row]) for row in table.rows]
    lines = [[heading.text for heading in row] for row in table.rows] + [list(table.columns)]
    is_wide = sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True)) > LETTERS_OF_A_LINE
    before, after = ([r"\resizebox{\textwidth}{!}{%"], ["}"]) if is_wide else ([], [])
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


def _marked(text: str, entry: Entry, mark: str) -> str:
    return mark.format(text) if entry.best and entry.text != NOTHING else text


def _line(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
