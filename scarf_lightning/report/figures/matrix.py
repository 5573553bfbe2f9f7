"""The win matrix as a heat map of fractions (the paper's section 4)."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..statistics import WinMatrix
from .style import new_figure, short, styled

COLOUR_MAP = "RdBu"
GAP = 0.35
"""Between the matrix and its column of minima, in cells."""


@styled()
def heat_map(matrix: WinMatrix, *, row_title: str, column_title: str) -> Figure:
    """Wins over wins and losses in each cell, blue where the row wins and red where it loses, and the row's minimum.

    Cells that compare nothing stay empty; one without a win or a loss says 0/0 on grey.
    """
    n_rows, n_columns = matrix.wins.shape
    cell = 0.52 if n_columns <= 8 else 0.42
    rows, columns = ([short(name) for name in names] for names in (matrix.wins.index, matrix.wins.columns))
    longest, below = max(map(len, rows)), max(map(len, columns))
    width = (n_columns + 1 + GAP) * cell + 0.062 * longest + 0.5
    height = n_rows * cell + (0.062 * below * 0.7 if below > 6 else 0.12) + 0.5
    figure, (axes,) = new_figure(width, height)
    ratio, wins, decided = (frame.to_numpy() for frame in (matrix.ratio, matrix.wins, matrix.decided))
    compared = decided + (matrix.ties + matrix.undecided).to_numpy() > 0
    minimum: Any = matrix.minimum.to_dict("records")
    for row in range(n_rows):
        for column in range(n_columns):
            if compared[row, column]:
                fraction = f"{wins[row, column]}/{decided[row, column]}"
                _cell(axes, column, row, float(ratio[row, column]), fraction)
        least = minimum[row]
        if least["column"] is not None:
            fraction = f"{least['wins']}/{least['decided']}"
            _cell(axes, n_columns + GAP, row, float(least["ratio"]), fraction)
    axes.set_xlim(-0.5, n_columns + GAP + 0.5)
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.set_aspect("equal")
    rotation = 35 if below > 6 else 0
    ticks = [*range(n_columns), n_columns + GAP]
    axes.set_xticks(ticks, [*columns, "min"], rotation=rotation, ha="right" if rotation else "center")
    if rotation:
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
    axes.set_yticks(range(n_rows), rows)
    axes.set_xlabel(column_title)
    axes.set_ylabel(row_title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def _cell(axes: Axes, x: float, y: float, ratio: float, text: str) -> None:
    face = (0.9, 0.9, 0.9, 1.0) if np.isnan(ratio) else colormaps[COLOUR_MAP](0.08 + 0.84 * ratio)
    axes.fill(
        [x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5], color=face, ec="white", lw=0.8
    )
    luminance = float(np.dot(face[:3], (0.2126, 0.7152, 0.0722)))
    axes.text(x, y, text, ha="center", va="center", color="black" if luminance > 0.45 else "white", fontsize=6.5)
