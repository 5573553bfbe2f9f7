"""Relative gains over a reference: box plots, and the table of averages."""

from typing import Any

import pandas as pd

from ..figures import box_plots, gain_dots
from ..options import Options
from ..reading import Material
from ..sections import Block, Paragraph, Picture, counted, named
from ..selecting import as_list, grid_over_reference, scored, select
from ..statistics import gain_table, relative_gains
from ..tables import Shown, Table, number

FILTER = 0.20
"""The paper's p-value for box plots and average gains."""


def box_plot_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """Each competitor's improvement on each dataset, a panel a method."""
    panels, columns, reference = as_list(drawing["panels"]), as_list(drawing["compare"]), str(drawing["reference"])
    gains, notes = _gains(material, drawing, panels, columns, options)
    if gains["gain"].isna().all():
        return notes
    averages = gain_table(gains)
    title = " + ".join(columns)
    return [
        Picture(
            name,
            box_plots(gains, reference=reference, column_title=title),
            alt=f"Box plots of relative improvement over {reference}. {_in_words(averages)}",
            caption=f"Improvement over {reference} in percent, a point a dataset: coloured those on which the means "
            f"differ at p < {FILTER:.2f}, as in the paper; grey beside them all datasets. Triangles lie beyond the "
            "axis.",
        ),
        *notes,
        average_table(averages, f"{name}-gains", row_title=" + ".join(panels), column_title=title),
    ]


def gain_table_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """The paper's table of average gains, its filtered averages beside those over all datasets."""
    rows, columns, reference = as_list(drawing["rows"]), as_list(drawing["columns"]), str(drawing["reference"])
    gains, notes = _gains(material, drawing, rows, columns, options)
    if gains["gain"].isna().all():
        return notes
    averages = gain_table(gains)
    return [
        average_table(averages, name, row_title=" + ".join(rows), column_title=" + ".join(columns)),
        *notes,
        Picture(
            f"{name}-figure",
            gain_dots(averages, reference=reference),
            alt=f"Average relative gains over {reference}, filtered and not. {_in_words(averages)}",
            caption=f"Average relative gain over {reference}: filled over all datasets, hollow over those on which the "
            f"means differ at p < {FILTER:.2f}, as the paper has it, which overstates what to expect of the "
            "next dataset.",
        ),
    ]


def average_table(averages: pd.DataFrame, name: str, *, row_title: str, column_title: str) -> Table:
    """Average gains: a row a row of the grid; for each column the filtered mean, and that over all datasets."""
    rows = list(dict.fromkeys(averages.index.get_level_values("row")))
    columns = list(dict.fromkeys(averages.index.get_level_values("column")))
    kinds = (("kept_mean", "kept_datasets", f"p < {FILTER:.2f}"), ("mean", "datasets", "all"))
    entries = []
    for row in rows:
        line = [Shown(row, row)]
        for column in columns:
            for mean, count, _ in kinds:
                there = (row, column) in averages.index
                cell = averages.loc[(row, column)] if there else pd.Series({mean: float("nan"), count: 0})
                blank = pd.isna(cell[mean])
                text = "–" if blank else f"{number(cell[mean], '+.2f')} ({int(cell[count])})"
                line.append(Shown(text, None if blank else float(cell[mean])))
        entries.append(tuple(line))
    return Table(
        name,
        f"Average relative gain in accuracy, percent, by {column_title} (number of datasets): over those on which the "
        f"means differ at p < {FILTER:.2f}, and over all",
        (row_title, *(f"{column}, {kind}" for column in columns for _, _, kind in kinds)),
        tuple(entries),
        averages.reset_index(),
    )


def _gains(
    material: Material, drawing: dict[str, Any], rows: list[str], columns: list[str], options: Options
) -> tuple[pd.DataFrame, list[Block]]:
    """Gains of every cell of the grid on every dataset, and what is to be said of those that have none."""
    cells = select(material, drawing.get("where"))
    found = scored(material, cells, [*rows, *columns])
    grid, alone = grid_over_reference(cells, rows, columns, str(drawing["reference"]))
    gains = relative_gains(found.scores, grid, alpha=FILTER, test=options.test)
    missing = [
        f"{dataset} {competitor}"
        for dataset, competitor in gains.loc[gains["gain"].isna(), ["dataset", "competitor"]].itertuples(index=False)
    ]
    notes: list[Block] = []
    if missing:
        what = f"{counted(len(missing), 'gain')} not known yet, of {len(gains)}: {named(missing)}."
        notes.append(Paragraph(what, warns=True))
    if alone:
        notes.append(Paragraph(f"Without a reference, and left out: {named(alone)}.", warns=True))
    return gains, notes


def _in_words(averages: pd.DataFrame) -> str:
    known = averages["mean"].dropna().reset_index()
    means = [
        f"{row} {column} {number(mean, '+.2f')} %"
        for row, column, mean in known[["row", "column", "mean"]].itertuples(index=False)
    ]
    return f"Means over all datasets: {named(means)}."
