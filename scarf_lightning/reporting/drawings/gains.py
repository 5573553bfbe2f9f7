"""Relative gains over a reference: box plots and average gains (the paper's section 4 and Table 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import counted
from ...verdicts import gain_table, relative_gains
from ..blocks import NOTHING, Block, Entry, Picture, Table, named, number
from ..cell_results import CellResults
from ..competitors import GridOverReference, grid_over_reference
from ..names import columns_in_words, shortened
from ..report_options import ReportOptions
from ..style import COLUMN, GREY, PAGE, colour, jitter, marker, new_figure, styled
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
        averages, reference = gain_table(gains), grid.reference
        return [
            average_table(averages, name, self.rows, self.columns, options),
            *notes,
            Picture(
                f"{name}-figure",
                gain_dots(averages, reference=reference),
                alt=f"Average relative gains over {reference}, filtered and not. {averages_in_words(averages)}",
                caption=f"Average relative gain over {reference}: filled over all datasets, hollow over those on which "
                f"the means differ at p < {FILTER:.2f}, as the paper has it, which overstates what to expect of the "
                "next dataset.",
            ),
        ]


@styled()
def gain_dots(table: pd.DataFrame, *, reference: str) -> Figure:
    """A `gain_table` as marks: a line for each row of the grid, in it for each column a hollow mark for the mean that
    the paper's filter keeps and a filled one for that over all datasets."""
    rows = list(dict.fromkeys(table.index.get_level_values("row")))
    columns = list(dict.fromkeys(table.index.get_level_values("column")))
    names = list(shortened(rows, 32).values())
    labels = shortened(columns, 32)
    width = PAGE if max(map(len, names)) > 18 else COLUMN * 1.3
    height = 0.75 + len(rows) * (0.075 * len(columns) + 0.1)
    figure, (axes,) = new_figure(width, height)
    # Rows share a line of the figure, columns are marks in it.
    for i, column in enumerate(columns):
        column_gains = table.xs(column, level="column")
        # The marks of a row share 70 % of its height, centred on it.
        offset = i - (len(columns) - 1) / 2
        y = np.array([rows.index(row) for row in column_gains.index]) + offset * 0.7 / len(columns)
        kept = column_gains["kept_mean"].to_numpy(float)
        every = column_gains["mean"].to_numpy(float)
        axes.hlines(y, np.fmin(kept, every), np.fmax(kept, every), color=colour(i), lw=0.7)
        axes.scatter(kept, y, s=18, facecolors="white", edgecolors=colour(i), marker=marker(i), lw=0.9, zorder=3)
        axes.scatter(every, y, s=18, color=colour(i), marker=marker(i), lw=0.9, zorder=3, label=labels[column])
    axes.axvline(0, color="black", lw=0.6, zorder=0)
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(f"mean gain over {shortened([reference], 32)[reference]}, %")
    figure.legend(loc="outside upper center", ncols=min(len(columns), 3), frameon=False)
    return figure


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
    headings = [columns_in_words(rows)]
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
        f"Average relative gain in {options.measure.label}, percent, by {columns_in_words(columns)} (number of "
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


def averages_in_words(averages: pd.DataFrame) -> str:
    """The means over all datasets."""
    known = averages["mean"].dropna().reset_index()
    means = [f"{row} {column} {number(mean, '+.2f')} %" for row, column, mean in known.itertuples(index=False)]
    return f"Means over all datasets: {named(means)}."


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
    """`relative_gains` as boxes: a panel for each row of the grid, in it for each column a coloured box of what the
    paper's filter keeps and a grey one of all datasets.

    Each dataset is a point. The y-axis is that of the boxes and whiskers; points beyond it stand at its edge as
    triangles.
    """
    rows = list(dict.fromkeys(gains["row"]))
    columns = list(dict.fromkeys(gains["column"]))
    width, height = PAGE, 2.2
    if len(rows) == 1:
        width, height = (COLUMN if len(columns) <= 5 else PAGE), 2.4
    titles = list(shortened(rows, 32).values())
    y_title = f"improvement over {reference}, %"
    figure, places = panels(titles, width, height, column_title, y_title, sharex=True)
    for axes, row in zip(places, rows, strict=True):
        row_gains = gains[(gains["row"] == row) & gains["gain"].notna()]
        kept, every = [], []
        for column in columns:
            column_gains = row_gains[row_gains["column"] == column]
            kept.append(column_gains.loc[column_gains["kept"], "gain"].to_numpy(float))
            every.append(column_gains["gain"].to_numpy(float))
        # All boxes are drawn to one scale, so the limits come first.
        low, high = _limits([*kept, *every])
        for i in range(len(columns)):
            _box(axes, kept[i], i - BESIDE, colour(i), low, high)
            _box(axes, every[i], i + BESIDE, GREY, low, high)
        axes.axhline(0, color="black", lw=0.6, zorder=0)
        axes.set_ylim(low, high)
        names = list(shortened(columns, 20).values())
        axes.set_xticks(range(len(columns)), names, rotation=30, ha="right", rotation_mode="anchor")
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
        if not len(values):
            continue
        first, third = np.quantile(values, [0.25, 0.75])
        # Whiskers reach to the last value within 1.5 interquartile ranges of the box (Tukey 1977).
        reach = 1.5 * (third - first)
        ends.append(float(values[values >= first - reach].min()))
        ends.append(float(values[values <= third + reach].max()))
    low, high = min(ends), max(ends)
    # Gains that are all zero still need an axis with a height.
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin
