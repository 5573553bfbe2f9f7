"""Relative gains over a reference: box plots and average gains (the paper's section 4 and Table 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import counted
from ...verdicts import gain_table, relative_gains
from ..blocks import NOTHING, Block, Entry, Picture, Table, named, number
from ..cell_results import CellResults
from ..competitors import GridOverReference, grid_over_reference
from ..names import shortened
from ..report_options import ReportOptions
from ..style import GREY, PAGE, colour, jitter, styled
from .drawing import NO_REFERENCE, Drawing, panels, warning

FILTER = 0.20
"""The paper's p-value for box plots and average gains."""


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
        grid = grid_over_reference(
            results, self.cells(results), self.rows, self.columns, self.reference, options.measure
        )
        gains, notes = gains_over(grid, options)
        if gains["gain"].isna().all():
            return notes
        return [average_table(gain_table(gains), name, self.rows, self.columns, options), *notes]


def gains_over(grid: GridOverReference, options: ReportOptions) -> tuple[pd.DataFrame, list[Block]]:
    """Gains of every cell of the grid on every dataset, and notes that name the missing ones."""
    gains = relative_gains(grid.competitors.scores, grid.pairs, alpha=FILTER, test=options.test)
    unknown = gains.loc[gains["gain"].isna(), ["dataset", "competitor"]]
    missing = []
    for dataset, competitor in unknown.itertuples(index=False):
        # Not every competitor of a mixed folder meets every dataset.
        if (dataset, competitor) in grid.competitors.wanted:
            missing.append(f"{dataset} {competitor}")
    notes = warning(f"{counted(len(missing), 'gain')} not known yet, of {len(gains)}", missing)
    return gains, notes + warning(NO_REFERENCE, list(grid.alone))


def average_table(
    averages: pd.DataFrame, name: str, rows: Sequence[str], columns: Sequence[str], options: ReportOptions
) -> Table:
    """Average gains: a line for each row of the grid, in it for each column the filtered mean and that over all
    datasets."""
    cells: dict[Any, Any] = averages.to_dict("index")
    grid_columns = averages.index.get_level_values("column").unique()
    headings = [", ".join(rows)]
    for column in grid_columns:
        headings += [f"{column}, p < {FILTER:.2f}", f"{column}, all"]
    lines = []
    for row in averages.index.get_level_values("row").unique():
        entries = [Entry(row, row)]
        for column in grid_columns:
            cell = cells.get((row, column), {})
            entries.append(_average(cell, "kept_mean", "kept_datasets"))
            entries.append(_average(cell, "mean", "datasets"))
        lines.append(tuple(entries))
    return Table(
        name,
        f"Average relative gain in {options.measure.label}, percent, by {', '.join(columns)} (number of "
        f"datasets): over those on which the means differ at p < {FILTER:.2f}, and over all",
        tuple(headings),
        tuple(lines),
        averages.reset_index(),
    )


def _average(cell: Mapping[str, Any], mean: str, count: str) -> Entry:
    """A mean with its number of datasets; a dash if the grid has no such cell or its mean is unknown."""
    value = cell.get(mean)
    if value is None or pd.isna(value):
        return Entry(NOTHING, None)
    return Entry(f"{number(value, '+.2f')} ({cell[count]})", value)


BESIDE = 0.19


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
        grid = grid_over_reference(
            results, self.cells(results), self.panels, self.compare, self.reference, options.measure
        )
        gains, notes = gains_over(grid, options)
        if gains["gain"].isna().all():
            return notes
        averages, reference = gain_table(gains), grid.reference
        return [
            Picture(
                name,
                box_plots(gains, reference=reference, column_title=", ".join(self.compare)),
                alt=f"Box plots of relative improvement over {reference}, of {named(sorted(set(gains['column'])))}.",
                caption=f"Improvement of {options.measure.label} over {reference} in percent, a point a dataset: "
                f"coloured those on which the means differ at p < {FILTER:.2f}, as in the paper; grey beside them all "
                "datasets. Points beyond the whiskers may lie outside.",
            ),
            *notes,
            average_table(averages, f"{name}-gains", self.panels, self.compare, options),
        ]


@styled()
def box_plots(gains: pd.DataFrame, *, reference: str, column_title: str) -> Figure:
    """`relative_gains` as boxes: a panel for each row of the grid, in it for each column a coloured box of what the
    paper's filter keeps and a grey one of all datasets.

    Each dataset is a point. The y-axis is that of the whiskers: points beyond it are not shown.
    """
    rows = list(dict.fromkeys(gains["row"]))
    columns = list(dict.fromkeys(gains["column"]))
    width = PAGE / 2 if len(rows) > 1 or len(columns) <= 5 else PAGE
    figure, places = panels(list(shortened(rows, 32).values()), width, 2.3, sharex=True)
    figure.supxlabel(column_title, fontsize=8)
    figure.supylabel(f"improvement over {reference}, %", fontsize=8)
    for axes, row in zip(places, rows, strict=True):
        row_gains = gains[(gains["row"] == row) & gains["gain"].notna()]
        ends = [0.0]
        for i, column in enumerate(columns):
            column_gains = row_gains[row_gains["column"] == column]
            ends += _box(axes, column_gains.loc[column_gains["kept"], "gain"], i - BESIDE, colour(i))
            ends += _box(axes, column_gains["gain"], i + BESIDE, GREY)
        # Gains that are all zero still need an axis with a height.
        margin = 0.08 * (max(ends) - min(ends)) or 1.0
        axes.set_ylim(min(ends) - margin, max(ends) + margin)
        axes.axhline(0, color="black", lw=0.6, zorder=0)
        names = list(shortened(columns, 20).values())
        axes.set_xticks(range(len(columns)), names, rotation=30, ha="right", rotation_mode="anchor")
    return figure


def _box(axes: Axes, values: "pd.Series[float]", x: float, shade: str) -> list[float]:
    """Draw a box and its points; the ends of its whiskers."""
    if values.empty:
        return []
    colours: Any = {part: {"color": shade} for part in ("boxprops", "whiskerprops", "capprops", "medianprops")}
    box = axes.boxplot(values, positions=[x], widths=0.3, showfliers=False, manage_ticks=False, **colours)
    axes.scatter(x + jitter(len(values), 0.1), values, s=6, color=shade, alpha=0.55, lw=0, zorder=3)
    return [float(cap.get_ydata()[0]) for cap in box["caps"]]
