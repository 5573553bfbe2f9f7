"""Win matrices: wins over wins and losses, by datasets (the paper's section 4)."""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ...errors import UsageError
from ...verdicts import WinMatrix, reference_win_matrix, win_matrix
from ..blocks import Block, Paragraph, Picture
from ..cell_results import CellResults
from ..competitors import competing, grid_over_reference
from ..names import shortened
from ..report_options import ReportOptions
from ..style import new_figure, styled
from .drawing import Drawing

CELL, MARGIN = 0.52, 2.4
"""Inches of a cell, and of names and titles beside the cells."""
DARK = 0.32
"""The distance from a ratio of one half beyond which a cell is too dark for black letters."""


@dataclass(frozen=True, kw_only=True)
class WinMatrixDrawing(Drawing):
    """Competitors against each other.

    Args:
        compare: columns whose values are the competitors.
    """

    name = "win_matrix"
    compare: list[str]

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        found = competing(results, self.cells(results), self.compare, options.measure)
        if len(found.names) < 2:
            raise UsageError(f"Only {found.names[0]} has a finished trial, and so nothing to be compared with.")
        matrix = win_matrix(found.scores, found.names, **options.how)
        title = ", ".join(self.compare)
        figure = heat_map(matrix, row_title=title, column_title=f"against {title}")
        return _blocks(name, options, matrix, figure, f"of the row against the column in {options.measure.label}")


@dataclass(frozen=True, kw_only=True)
class WinsOverReference(Drawing):
    """Each row with each column against the same row with the reference column.

    Args:
        rows, columns: columns of the results whose values are the grid's.
        reference: the values of ``columns`` that the others are compared with.
    """

    name = "wins_over_reference"
    rows: list[str]
    columns: list[str]
    reference: str

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = self.cells(results)
        found = grid_over_reference(results, cells, self.rows, self.columns, self.reference, options.measure)
        empty = set(found.competitors.empty)
        grid = {place: pair for place, pair in found.pairs.items() if not set(pair) & empty}
        if not grid:
            raise UsageError(f"Nothing is finished that could be compared with {found.reference}.")
        matrix = reference_win_matrix(found.competitors.scores, grid, **options.how)
        rows, columns = ", ".join(self.rows), f"{', '.join(self.columns)}, against {found.reference}"
        figure = heat_map(matrix, row_title=rows, column_title=columns)
        what = f"in {options.measure.label} against the same {rows} with {found.reference}"
        return _blocks(name, options, matrix, figure, what)


def _blocks(name: str, options: ReportOptions, matrix: WinMatrix, figure: Figure, what: str) -> list[Block]:
    """A heat map with its caption, which says of ``what`` its fractions are; a sentence in place of nothing but 0/0."""
    if not matrix.decided.to_numpy().any():
        return [Paragraph(f"No pair of competitors differs on any dataset ({options.in_words}).")]
    caption = f"Wins over wins and losses {what}, by datasets ({options.in_words}), and each row's least ratio."
    return [Picture(name, figure, caption)]


@styled()
def heat_map(matrix: WinMatrix, *, row_title: str, column_title: str) -> Figure:
    """Wins over wins and losses in each cell, blue where the row wins and red where it loses, and the row's minimum.

    Cells that compare nothing stay empty; one without a win or a loss says 0/0 on grey.
    """
    n_rows, n_columns = matrix.wins.shape
    rows, columns = (list(shortened(names, 32).values()) for names in (matrix.wins.index, matrix.wins.columns))
    figure, (axes,) = new_figure(CELL * (n_columns + 1) + MARGIN, CELL * n_rows + MARGIN * 0.6)
    least = matrix.minimum
    # The column of minima stands beside the matrix.
    ratios = np.column_stack([matrix.ratio, least["ratio"]]).astype(float)
    wins = np.column_stack([matrix.wins, least["wins"]])
    decided = np.column_stack([matrix.decided, least["decided"]])
    is_compared = np.column_stack([matrix.decided + matrix.ties + matrix.undecided, least["decided"]]) > 0
    colours = colormaps["RdBu"].with_extremes(bad="#e6e6e6")
    # The ends of the colour map are too dark to write on.
    axes.imshow(np.ma.masked_invalid(ratios), cmap=colours, vmin=-0.1, vmax=1.1)
    axes.imshow(np.where(is_compared, np.nan, 1.0), cmap="gray", vmin=0, vmax=1)
    for row, column in np.argwhere(is_compared):
        shade = "white" if abs(ratios[row, column] - 0.5) > DARK else "black"
        text = f"{wins[row, column]}/{decided[row, column]}"
        axes.text(column, row, text, ha="center", va="center", color=shade, fontsize=6.5)
    axes.axvline(n_columns - 0.5, color="white", lw=4)
    axes.set_xticks(range(n_columns + 1), [*columns, "min"], rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n_rows), rows)
    axes.set(xlabel=column_title, ylabel=row_title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure
