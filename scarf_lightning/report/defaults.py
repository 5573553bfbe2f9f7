"""The drawings of results that no sweep file describes, chosen from the axes in which their cells differ."""

from typing import Any

import pandas as pd

from ..results import keeps_predictions, read_cell
from .competitors import named_by, select
from .drawings import Drawing, read_drawings
from .loading import CellResults

PREPROCESSING = ("scaling", "fit_on")
"""Beside the contexts, each value of these columns has drawings of its own."""
LARGEST_MATRIX = 20
MOST_DATASETS = 3
"""Datasets whose losses and predictions are drawn, each by itself; ``where`` in a sweep file asks for others."""


def default_drawings(results: CellResults) -> list[Drawing]:
    """Matrices, tables and curves that suit the cells; none while no trial is finished."""
    if not results.cells["finished"].any():
        return []
    cells = results.cells
    contexts = [column for column in results.different if column in (*results.contexts, *PREPROCESSING)]
    compared = [column for column in results.different if column not in contexts] or ["pretrain", "method"]
    entries: list[dict[str, Any]] = []
    if contexts:
        every = cells[contexts].drop_duplicates()
        names = named_by(results, every, contexts)
        for values, name in zip(every.itertuples(index=False), names, strict=True):
            where = dict(zip(contexts, values, strict=True))
            drawn = _of_context(results, select(results, where), compared, f", {name}")
            entries += [entry | {"where": where} for entry in drawn]
    else:
        entries = _of_context(results, cells, compared, "")
    return read_drawings(entries + _over_none(cells, results.different) + _of_datasets(results), "defaults")


def _of_context(results: CellResults, cells: pd.DataFrame, compared: list[str], ending: str) -> list[dict[str, Any]]:
    """The drawings of the cells of one context, which ends their titles."""
    competitors = named_by(results, cells, compared).nunique()
    entries: list[dict[str, Any]] = []
    if 1 < competitors <= LARGEST_MATRIX:
        entries.append({"draw": "win_matrix", "title": f"All against each other{ending}", "compare": compared})
    entries.append({"draw": "metric_table", "title": f"Every dataset{ending}", "columns": compared})
    if len(compared) == 1 and all(isinstance(value, int | float) for value in cells[compared[0]].dropna()):
        entries.append({"draw": "sensitivity", "title": f"Relative to the best setting{ending}", "x": compared[0]})
    return entries


def _over_none(cells: pd.DataFrame, different: list[str]) -> list[dict[str, Any]]:
    """Every pre-training against none, where there are both."""
    without = cells[cells["pretrain"] == "none"]
    if "pretrain" not in different or without.empty:
        return []
    theirs = [column for column in different if column != "pretrain" and without[column].notna().any()]
    grid = {
        "rows": theirs or ["method"],
        "columns": ["pretrain", *(column for column in different if column not in (*theirs, "pretrain"))],
        "reference": "none",
    }
    return [
        {"draw": "wins_over_reference", "title": "Each pre-training against none", **grid},
        {"draw": "gain_table", "title": "Average relative gain over no pre-training, percent", **grid},
    ]


def _of_datasets(results: CellResults) -> list[dict[str, Any]]:
    """Losses, and the target's drawings of kept predictions, for each of the first datasets with a finished trial."""
    finished = results.cells[results.cells["finished"] > 0]
    is_pretrained = results.cells["pretrain"].ne("none").any()
    losses: list[dict[str, Any]] = []
    predicted: list[dict[str, Any]] = []
    for dataset in map(str, finished["dataset"].unique()[:MOST_DATASETS]):
        where = {"where": {"dataset": dataset}}
        if is_pretrained:
            losses.append({"draw": "loss_curves", "title": f"Losses while pre-training on {dataset}"} | where)
        cells = results.cells.index[results.cells["dataset"] == dataset]
        if any(keeps_predictions(read_cell(results.folders[cell])) for cell in cells if cell in results.folders):
            drawings = next(results.targets[cell].drawings for cell in cells if cell in results.targets)
            predicted += [{"draw": name, "title": f"{what} on {dataset}"} | where for name, what in drawings.items()]
    return losses + predicted
