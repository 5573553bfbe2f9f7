"""Average relative gains over a reference, the paper's filter beside all datasets (its Table 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..blocks import Block, Paragraph, Picture, counted, named
from ..competitors import competing, grid_over_reference, reference_in_words
from ..options import Options
from ..reading import CellResults
from ..statistics import gain_table, relative_gains
from ..style import COLUMN, PAGE, colour, marker, new_figure, short, styled
from ..tables import NOTHING, Entry, Table, number
from ..words import columns_in_words
from .base import Drawing

FILTER = 0.20
"""The paper's p-value for box plots and average gains."""


@dataclass(frozen=True, kw_only=True)
class GainTable(Drawing):
    """Average gains of each column over the reference, a line a row.

    Args:
        rows, columns: columns of the results whose values are the grid's.
        reference: the values of ``columns`` that are gained upon.
    """

    name = "gain_table"
    rows: list[str]
    columns: list[str]
    reference: str

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        gains, notes = gains_over(results, self.cells(results), self.rows, self.columns, self.reference, options)
        if gains["gain"].isna().all():
            return notes
        averages = gain_table(gains)
        reference = reference_in_words(self.columns, self.reference)
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


def gains_over(
    results: CellResults,
    cells: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    reference: str,
    options: Options,
) -> tuple[pd.DataFrame, list[Block]]:
    """Gains of every cell of the grid on every dataset, and what is to be said of those that have none."""
    found = competing(results, cells, [*rows, *columns], options.measure)
    grid, alone = grid_over_reference(results, cells, rows, columns, reference)
    gains = relative_gains(found.scores, grid, alpha=FILTER, test=options.test)
    missing = [
        f"{dataset} {competitor}"
        for dataset, competitor in gains.loc[gains["gain"].isna(), ["dataset", "competitor"]].itertuples(index=False)
        if (dataset, competitor) in found.wanted
    ]
    notes: list[Block] = []
    if missing:
        what = f"{counted(len(missing), 'gain')} not known yet, of {len(gains)}: {named(missing)}."
        notes.append(Paragraph(what, warns=True))
    if alone:
        notes.append(Paragraph(f"Without a reference, and left out: {named(alone)}.", warns=True))
    return gains, notes


def average_table(
    averages: pd.DataFrame, name: str, rows: Sequence[str], columns: Sequence[str], options: Options
) -> Table:
    """Average gains: a row a row of the grid; for each column the filtered mean, and that over all datasets."""
    places: dict[Any, Any] = averages.to_dict("index")
    of_grid = averages.index.get_level_values("column").unique()
    kinds = (("kept_mean", "kept_datasets", f"p < {FILTER:.2f}"), ("mean", "datasets", "all"))
    nothing = {"kept_mean": float("nan"), "mean": float("nan"), "kept_datasets": 0, "datasets": 0}

    def shown(cell: dict[str, float], mean: str, count: str) -> Entry:
        if pd.isna(cell[mean]):
            return Entry(NOTHING, None)
        return Entry(f"{number(cell[mean], '+.2f')} ({int(cell[count])})", float(cell[mean]))

    lines = [
        (Entry(row, row), *(shown(places.get((row, c), nothing), m, n) for c in of_grid for m, n, _ in kinds))
        for row in averages.index.get_level_values("row").unique()
    ]
    return Table(
        name,
        f"Average relative gain in {options.measure.label}, percent, by {columns_in_words(columns)} (number of "
        f"datasets): over those on which the means differ at p < {FILTER:.2f}, and over all",
        (columns_in_words(rows), *(f"{column}, {kind}" for column in of_grid for _, _, kind in kinds)),
        tuple(lines),
        averages.reset_index(),
    )


def averages_in_words(averages: pd.DataFrame) -> str:
    """The means over all datasets."""
    known = averages["mean"].dropna().reset_index()
    means = [f"{row} {column} {number(mean, '+.2f')} %" for row, column, mean in known.itertuples(index=False)]
    return f"Means over all datasets: {named(means)}."
