"""A table as CSV, Markdown, and LaTeX with booktabs."""

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
}


def to_csv(table: Table) -> str:
    """The data in full."""
    return table.data.to_csv(index=False, lineterminator="\n")


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


def latex(text: str) -> str:
    """Text in which LaTeX sees nothing but text."""
    return "".join(LATEX.get(character, character) for character in " ".join(text.splitlines()))


def markdown(text: str) -> str:
    """Text in which Markdown, and a pipe table, see nothing but text."""
    return "".join(MARKDOWN.get(character, character) for character in " ".join(text.splitlines()))


def _bold(text: str, entry: Shown, mark: str) -> str:
    return mark.format(text) if entry.best and entry.text != NOTHING else text


def _pipes(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
