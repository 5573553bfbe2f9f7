"""Average relative gains, filtered beside unfiltered."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .style import COLUMN, PAGE, colour, marker, new_figure, short, styled


@styled()
def gain_dots(table: pd.DataFrame, *, reference: str) -> Figure:
    """A line a row of the grid and a mark a column: hollow what the paper's filter keeps, filled all datasets.

    Args:
        table: as `gain_table` returns it.
        reference: what is gained upon.
    """
    rows = list(dict.fromkeys(table.index.get_level_values("row")))
    columns = list(dict.fromkeys(table.index.get_level_values("column")))
    height = 0.75 + len(rows) * (0.075 * len(columns) + 0.1)
    names = [short(row) for row in rows]
    figure, (axes,) = new_figure(PAGE if max(map(len, names)) > 18 else COLUMN * 1.3, height)
    for i, column in enumerate(columns):
        part = table.xs(column, level="column")
        y = np.array([rows.index(row) for row in part.index]) + (i - (len(columns) - 1) / 2) * 0.7 / len(columns)
        kept, every = part["kept_mean"].to_numpy(float), part["mean"].to_numpy(float)
        axes.hlines(y, np.fmin(kept, every), np.fmax(kept, every), color=colour(i), lw=0.7)
        axes.scatter(kept, y, s=18, facecolors="white", edgecolors=colour(i), marker=marker(i), lw=0.9, zorder=3)
        axes.scatter(every, y, s=18, color=colour(i), marker=marker(i), lw=0.9, zorder=3, label=short(column))
    axes.axvline(0, color="black", lw=0.6, zorder=0)
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(f"mean gain over {short(reference)}, %")
    figure.legend(loc="outside upper center", ncols=min(len(columns), 3), frameon=False)
    return figure
