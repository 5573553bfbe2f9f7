"""HTML for notebooks: what Jupyter shows of a report and of a model that ends a cell."""

from collections.abc import Sequence
from html import escape


def paragraph(text: str) -> str:
    """A text."""
    return f"<p>{escape(text)}</p>"


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: frozenset[int] = frozenset()) -> str:
    """A table; numbers are at the right.

    Args:
        columns: the headings.
        rows: of as many texts each.
        numeric: the positions of the columns that hold numbers.

    Returns:
        HTML in which every text is escaped.
    """
    lines = [_row("th", columns, numeric)]
    for row in rows:
        lines.append(_row("td", row, numeric))
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, texts: Sequence[str], numeric: frozenset[int]) -> str:
    cells = []
    for place, text in enumerate(texts):
        side = "right" if place in numeric else "left"
        cells.append(_cell(tag, text, side))
    return f"<tr>{''.join(cells)}</tr>"


def _cell(tag: str, text: str, side: str) -> str:
    # A style of its own: notebooks align cells by their own sheet, which differs between them.
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
