"""Relative gains over a reference: box plots and average gains (the paper's section 4 and Table 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...errors import UsageError
from ...verdicts import gain_table, relative_gains
from ..blocks import Block, Entry, Picture, Table, entry
from ..cell_results import CellResults
from ..competitors import GridOverReference, grid_over_reference
from ..names import shortened
from ..report_options import ReportOptions
from ..style import GREY, PAGE, colour, styled
from .drawing import Drawing, panels

FILTER = 0.20
"""The paper's p-value for box plots and average gains."""
BESIDE = 0.19
"""Half of the distance between the two boxes of a column."""


@dataclass(frozen=True, kw_only=True)
class GainTable(Drawing):
    """Average gains of each column over the reference, a line a row.

    Args:
        rows, columns: columns of the results whose values are the grid's.
        reference: the values of ``columns`` that gains are measured against.
    """

    name = "gain_table"
    rows: list[str]
    columns: list[str]
    reference: str

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = self.cells(results)
        grid = grid_over_reference(results, cells, self.rows, self.columns, self.reference, options.measure)
        return [average_table(gains_over(grid, options), name, self.rows, self.columns, options)]


@dataclass(frozen=True, kw_only=True)
class BoxPlot(Drawing):
    """Each competitor's improvement on each dataset.

    Args:
        compare: columns whose values are the competitors.
        reference: the values of ``compare`` that improvements are measured against.
        panels: columns whose values get a panel each.
    """

    name = "box_plot"
    compare: list[str]
    reference: str
    panels: list[str]

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = self.cells(results)
        grid = grid_over_reference(results, cells, self.panels, self.compare, self.reference, options.measure)
        gains = gains_over(grid, options)
        picture = Picture(
            name,
            box_plots(gains, reference=grid.reference, column_title=", ".join(self.compare)),
            f"Improvement of {options.measure.label} over {grid.reference} in percent, a point a dataset: "
            f"coloured those on which the means differ at p < {FILTER:.2f}, as in the paper; grey beside them all "
            "datasets. Points beyond the whiskers may lie outside.",
        )
        return [picture, average_table(gains, f"{name}-gains", self.panels, self.compare, options)]


def gains_over(grid: GridOverReference, options: ReportOptions) -> pd.DataFrame:
    """Gains of every cell of the grid on every dataset.

    Raises:
        UsageError: none is known yet.
    """
    gains = relative_gains(grid.competitors.scores, grid.pairs, alpha=FILTER, test=options.test)
    if gains["gain"].isna().all():
        raise UsageError(f"Nothing is finished that could be compared with {grid.reference}.")
    return gains


def average_table(
    gains: pd.DataFrame, name: str, rows: Sequence[str], columns: Sequence[str], options: ReportOptions
) -> Table:
    """Average gains: a line for each row of the grid, in it for each column the filtered mean and that over all
    datasets, each with its number of datasets."""
    averages = gain_table(gains)
    names = list(dict.fromkeys(gains["column"]))
    lines = []
    for row, of_row in averages.groupby(level="row", observed=True, sort=False):
        entries = [Entry(str(row), str(row))]
        cells = of_row.droplevel("row").reindex(names)
        for kept_mean, kept, mean, n in cells[["kept_mean", "kept_datasets", "mean", "datasets"]].to_numpy():
            for value, count in ((kept_mean, kept), (mean, n)):
                shown = entry(value, "+.2f")
                entries.append(shown if shown.sort is None else shown._replace(text=f"{shown.text} ({count:.0f})"))
        lines.append(tuple(entries))
    headings = [heading for column in names for heading in (f"{column}, p < {FILTER:.2f}", f"{column}, all")]
    return Table(
        name,
        f"Average relative gain in {options.measure.label}, percent, by {', '.join(columns)} (number of "
        f"datasets): over those on which the means differ at p < {FILTER:.2f}, and over all",
        (", ".join(rows), *headings),
        tuple(lines),
        averages.reset_index(),
    )


@styled()
def box_plots(gains: pd.DataFrame, *, reference: str, column_title: str) -> Figure:
    """`relative_gains` as boxes: a panel for each row of the grid, in it for each column a coloured box of what the
    paper's filter keeps and a grey one of all datasets.

    Each dataset is a point. The y-axis is that of the whiskers: points beyond it are not shown.
    """
    rows, columns = (list(dict.fromkeys(gains[side])) for side in ("row", "column"))
    width = PAGE / 2 if len(rows) > 1 or len(columns) <= 5 else PAGE
    figure, places = panels(list(shortened(rows, 32).values()), width, 2.3, sharex=True)
    figure.supxlabel(column_title, fontsize=8)
    figure.supylabel(f"improvement over {reference}, %", fontsize=8)
    known = gains[gains["gain"].notna()]
    for axes, row in zip(places, rows, strict=True):
        boxes = []
        for place, column in enumerate(columns):
            of_cell = known[(known["row"] == row) & (known["column"] == column)]
            boxes.append((place - BESIDE, of_cell.loc[of_cell["kept"], "gain"], colour(place)))
            boxes.append((place + BESIDE, of_cell["gain"], GREY))
        for x, values, shade in boxes:
            parts: Any = {f"{part}props": {"color": shade} for part in ("box", "whisker", "cap", "median")}
            axes.boxplot(values, positions=[x], widths=0.3, showfliers=False, manage_ticks=False, **parts)
        axes.axhline(0, color="black", lw=0.6, zorder=0)
        # The points do not widen the axis.
        axes.set_ylim(axes.get_ylim())
        for x, values, shade in boxes:
            # A fixed seed: equal results must give equal files.
            beside = np.random.default_rng(0).uniform(-0.1, 0.1, len(values))
            axes.scatter(x + beside, values, s=6, color=shade, alpha=0.55, lw=0, zorder=3)
        names = list(shortened(columns, 20).values())
        axes.set_xticks(range(len(columns)), names, rotation=30, ha="right", rotation_mode="anchor")
    return figure
