"""Box plots of relative improvement over a reference (the paper's section 4)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..blocks import Block, Picture
from ..competitors import reference_in_words
from ..options import Options
from ..reading import CellResults
from ..statistics import gain_table
from ..style import COLUMN, GREY, PAGE, colour, jitter, new_figure, short, styled
from ..words import columns_in_words
from .base import Drawing
from .gain_table import FILTER, average_table, averages_in_words, gains_over

BESIDE = 0.19


@dataclass(frozen=True, kw_only=True)
class BoxPlot(Drawing):
    """Each competitor's improvement on each dataset.

    Args:
        compare: columns whose values are the competitors.
        reference: the values of ``compare`` that are improved upon.
        panels: columns whose values have a panel each.
    """

    name = "box_plot"
    compare: list[str]
    reference: str
    panels: list[str]

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        gains, notes = gains_over(results, self.cells(results), self.panels, self.compare, self.reference, options)
        if gains["gain"].isna().all():
            return notes
        averages = gain_table(gains)
        reference = reference_in_words(self.compare, self.reference)
        return [
            Picture(
                name,
                box_plots(gains, reference=reference, column_title=columns_in_words(self.compare)),
                alt=f"Box plots of relative improvement over {reference}. {averages_in_words(averages)}",
                caption=f"Improvement of {options.measure.label} over {reference} in percent, a point a dataset: "
                f"coloured those on which the means differ at p < {FILTER:.2f}, as in the paper; grey beside them all "
                "datasets. Triangles lie beyond the axis.",
            ),
            *notes,
            average_table(averages, f"{name}-gains", self.panels, self.compare, options),
        ]


@styled()
def box_plots(gains: pd.DataFrame, *, reference: str, column_title: str) -> Figure:
    """A panel a row of the grid, in it two boxes a column: coloured what the paper's filter keeps, grey all datasets.

    Each dataset is a point. The y-axis is that of the boxes and whiskers; points beyond it stand at its edge as
    triangles.

    Args:
        gains: as `relative_gains` returns them.
        reference: what is improved upon.
        column_title: what the columns are.
    """
    rows = list(dict.fromkeys(gains["row"]))
    columns = list(dict.fromkeys(gains["column"]))
    across = 1 if len(rows) == 1 else 2
    down = -(-len(rows) // across)
    height = 2.4 if across == 1 else 2.2 * down
    width = COLUMN if across == 1 and len(columns) <= 5 else PAGE
    figure, panels = new_figure(width, height, down, across, sharex=True)
    for axes, row in zip(panels, rows, strict=False):
        of_row = gains[(gains["row"] == row) & gains["gain"].notna()]
        parts = [
            (of_row.loc[(of_row["column"] == column) & keep, "gain"].to_numpy(float), i, side)
            for i, column in enumerate(columns)
            for side, keep in ((-1, of_row["kept"]), (1, pd.Series(True, index=of_row.index)))
        ]
        low, high = _limits([values for values, _, _ in parts])
        for values, i, side in parts:
            _box(axes, values, i + side * BESIDE, colour(i) if side < 0 else GREY, low, high)
        axes.axhline(0, color="black", lw=0.6, zorder=0)
        axes.set_ylim(low, high)
        axes.set_xticks(
            range(len(columns)), [short(name, 20) for name in columns], rotation=30, ha="right", rotation_mode="anchor"
        )
        axes.set_title(short(row) if len(rows) > 1 else "")
    for axes in panels[len(rows) :]:
        axes.set_visible(False)
    figure.supylabel(f"improvement over {reference}, %", fontsize=8)
    figure.supxlabel(column_title, fontsize=8)
    return figure


def _box(
    axes: Axes, values: "np.ndarray[tuple[int], np.dtype[np.float64]]", x: float, c: str, low: float, high: float
) -> None:
    if len(values) == 0:
        return
    axes.boxplot(
        values,
        positions=[x],
        widths=0.3,
        showfliers=False,
        manage_ticks=False,
        boxprops={"color": c},
        whiskerprops={"color": c},
        capprops={"color": c},
        medianprops={"color": c, "lw": 1.6},
    )
    places = x + jitter(len(values), 0.1)
    inside = (values >= low) & (values <= high)
    axes.scatter(places[inside], values[inside], s=6, color=c, alpha=0.55, lw=0, zorder=3)
    for beyond, edge, mark in ((values > high, high, "^"), (values < low, low, "v")):
        axes.scatter(places[beyond], np.full(beyond.sum(), edge), s=10, color=c, marker=mark, clip_on=False, zorder=3)


def _limits(parts: "list[np.ndarray[tuple[int], np.dtype[np.float64]]]") -> tuple[float, float]:
    """From the lowest to the highest whisker of all boxes, zero among them."""
    ends = [0.0]
    for values in parts:
        if len(values):
            first, third = np.quantile(values, [0.25, 0.75])
            reach = 1.5 * (third - first)
            ends += [float(values[values >= first - reach].min()), float(values[values <= third + reach].max())]
    margin = 0.08 * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin
