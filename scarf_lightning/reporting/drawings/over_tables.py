"""Competitors over tables: win matrices, gains over a reference, and the means of each table.

Win matrices have wins over wins and losses, by datasets. Gains are relative to a reference, as box plots and averages
(the paper's section 4 and Table 1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from ...errors import UsageError
from ...metrics import Metric
from ...verdicts import WinMatrix, cell_means, gain_table, reference_win_matrix, relative_gains, win_matrix
from ..blocks import NOTHING, Block, Entry, Paragraph, Picture, Table, entry
from ..cell_results import CellResults
from ..names import shortened
from ..report_options import ReportOptions
from ..style import GREY, PAGE, colour, new_figure, styled
from .drawing import Drawing, GridOverReference, competing, grid_over_reference, panels

CELL, MARGIN = 0.52, 2.4
"""Inches of a cell, and of names and titles beside the cells."""
DARK = 0.32
"""The distance from a ratio of one half beyond which a cell is too dark for black letters."""
FILTER = 0.20
"""The paper's p-value for box plots and average gains."""
BESIDE = 0.19
"""Half of the distance between the two boxes of a column."""


@dataclass(frozen=True, kw_only=True)
class WinMatrixDrawing(Drawing):
    """Competitors against each other.

    Args:
        compare: columns whose values are the competitors.
    """

    name = "win_matrix"
    compare: list[str]

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        competitors = competing(results, self.cells(results), self.compare, options.measure)
        if len(competitors.names) < 2:
            raise UsageError(f"Only {competitors.names[0]} has a finished trial, and so nothing to be compared with.")
        matrix = win_matrix(competitors.scores, competitors.names, **options.how)
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
        reference_grid = grid_over_reference(results, cells, self.rows, self.columns, self.reference, options.measure)
        empty = set(reference_grid.competitors.empty)
        grid = {place: pair for place, pair in reference_grid.pairs.items() if not set(pair) & empty}
        if not grid:
            raise UsageError(f"Nothing is finished that could be compared with {reference_grid.reference}.")
        matrix = reference_win_matrix(reference_grid.competitors.scores, grid, **options.how)
        rows, columns = ", ".join(self.rows), f"{', '.join(self.columns)}, against {reference_grid.reference}"
        figure = heat_map(matrix, row_title=rows, column_title=columns)
        what = f"in {options.measure.label} against the same {rows} with {reference_grid.reference}"
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
    # The last column holds the minima.
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
    for row, row_means in averages.groupby(level="row", observed=True, sort=False):
        entries = [Entry(str(row), str(row))]
        cells = row_means.droplevel("row").reindex(names)
        for kept_mean, n_kept, mean, n in cells[["kept_mean", "kept_datasets", "mean", "datasets"]].to_numpy():
            for value, count in ((kept_mean, n_kept), (mean, n)):
                gain = entry(value, "+.2f")
                entries.append(gain if gain.sort is None else gain._replace(text=f"{gain.text} ({count:.0f})"))
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
    known_gains = gains[gains["gain"].notna()]
    for axes, row in zip(places, rows, strict=True):
        boxes = []
        for place, column in enumerate(columns):
            cell_gains = known_gains[(known_gains["row"] == row) & (known_gains["column"] == column)]
            boxes.append((place - BESIDE, cell_gains.loc[cell_gains["kept"], "gain"], colour(place)))
            boxes.append((place + BESIDE, cell_gains["gain"], GREY))
        for x, values, shade in boxes:
            parts: Any = {f"{part}props": {"color": shade} for part in ("box", "whisker", "cap", "median")}
            axes.boxplot(values, positions=[x], widths=0.3, showfliers=False, manage_ticks=False, **parts)
        axes.axhline(0, color="black", lw=0.6, zorder=0)
        # The points do not widen the axis.
        axes.set_ylim(axes.get_ylim())
        for x, values, shade in boxes:
            # A fixed seed: equal results must give equal files.
            offsets = np.random.default_rng(0).uniform(-0.1, 0.1, len(values))
            axes.scatter(x + offsets, values, s=6, color=shade, alpha=0.55, lw=0, zorder=3)
        names = list(shortened(columns, 20).values())
        axes.set_xticks(range(len(columns)), names, rotation=30, ha="right", rotation_mode="anchor")
    return figure


class Epochs(Metric):
    """The number of epochs of fine-tuning, in a table like a metric, though it measures no predictions."""

    def plain(self, value: float) -> str:
        return f"{value:.2f}"


EPOCHS = Epochs("finetune_epochs", "epochs of fine-tuning", False, (0.0, float("inf")), lambda _, __: float("nan"))


@dataclass(frozen=True, kw_only=True)
class MetricTable(Drawing):
    """The metric's mean over trials with its standard error; the best of each dataset is bold.

    Args:
        columns: columns of the results whose values are the table's columns.
    """

    name = "metric_table"
    columns: list[str]

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, options.measure, name, best=True)

    def table(self, results: CellResults, metric: Metric, name: str, *, best: bool) -> list[Block]:
        """The table by a metric, or a number that is shown like one; ``best`` makes the best of each dataset bold."""
        competitors = competing(results, self.cells(results), self.columns, metric)
        means = cell_means(competitors.scores, "value", by=("dataset", "competitor"))
        # Scores of losses are negative, so that higher is better; a table shows the losses themselves.
        means["mean"] *= metric.sign
        finished_means = means[means["trials"] > 0].set_index(["dataset", "competitor"])[["mean", "standard_error"]]
        names = [*competitors.names, *competitors.empty]
        rows = []
        for dataset in sorted(set(competitors.scores["dataset"])):
            entries = []
            for mean, error in finished_means.reindex([(dataset, name) for name in names]).to_numpy():
                text = metric.shown(mean)
                # One trial has no standard error. An entry sorts, and is best, as it is shown.
                entry_text = text if math.isnan(error) else f"{text} ± {metric.shown(error)}"
                has_mean = not math.isnan(mean)
                entries.append(Entry(entry_text, float(text.replace("−", "-"))) if has_mean else Entry(NOTHING, None))
            top = max((metric.sign * each.sort for each in entries if isinstance(each.sort, float)), default=math.nan)
            marked_entries = [each._replace(best=best and each.sort == metric.sign * top) for each in entries]
            rows.append((Entry(dataset, dataset), *marked_entries))
        means[["mean", "standard_error"]] *= metric.scale
        caption = f"Mean {metric.heading}, ± standard error"
        return [Table(name, caption, ("dataset", *names), tuple(rows), means)]


@dataclass(frozen=True, kw_only=True)
class EpochsTable(MetricTable):
    """Mean number of fine-tuning epochs with its standard error."""

    name = "epochs_table"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        return self.table(results, EPOCHS, name, best=False)
