"""A table as CSV, Markdown, and LaTeX with booktabs."""

from typing import Any

import pandas as pd

from ...escaping import escaped
from .table import NOTHING, Shown, Table

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
}

MARKDOWN = {
    "\\": "\\\\",
    "|": r"\|",
    "<": "&lt;",
    ">": "&gt;",
    "*": r"\*",
    "_": r"\_",
    "`": r"\`",
    "[": r"\[",
    "]": r"\]",
}

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula if an entry begins with it (CWE-1236)."""


def to_csv(table: Table) -> str:
    """The data in full; text that a spreadsheet would run stands behind an apostrophe."""
    data = table.data.rename(columns=spreadsheet)
    for position in range(data.shape[1]):
        if not pd.api.types.is_numeric_dtype(data.iloc[:, position]):
            data.isetitem(position, data.iloc[:, position].map(spreadsheet).to_numpy(dtype=object))
    return data.to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """A pipe table under its caption; the best of a row is bold."""
    lines = [markdown(table.caption), "", _pipes([markdown(heading) for heading in table.columns])]
    lines.append(_pipes(["--:" if table.is_numeric(column) else "---" for column in range(len(table.columns))]))
    lines += [_pipes([_bold(markdown(entry.text), entry, "**{}**") for entry in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A ``table`` with the rules of booktabs; the best of a row is bold."""
    kinds = "".join("r" if table.is_numeric(column) else "l" for column in range(len(table.columns)))
    body = [_cells([_bold(latex(entry.text), entry, r"\textbf{{{}}}") for entry in row]) for row in table.rows]
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        _cells([latex(heading) for heading in table.columns]),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def spreadsheet(value: Any) -> Any:
    """A value of a CSV file; a text that a spreadsheet would take for a formula is one no more."""
    if not isinstance(value, str):
        return value
    return ("'" if value.startswith(FORMULA) else "") + escaped(value)


def latex(text: str) -> str:
    """Text in which LaTeX sees nothing but text."""
    return "".join(LATEX.get(character, character) for character in _one_line(text))


def markdown(text: str) -> str:
    """Text in which Markdown, and a pipe table, see nothing but text."""
    return "".join(MARKDOWN.get(character, character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return escaped(" ".join(text.splitlines()), kept="")


def _bold(text: str, entry: Shown, mark: str) -> str:
    return mark.format(text) if entry.best and entry.text != NOTHING else text


def _pipes(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
