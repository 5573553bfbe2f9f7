"""The drawings of results that no sweep file describes, chosen from the axes in which their cells differ."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..results import keeps_predictions
from .cell_results import CellResults
from .competitors import named_by, select
from .drawings import Drawing, read_drawings

PREPROCESSING = ("scaling", "fit_on")
"""Beside the contexts, each value of these columns has drawings of its own."""
LARGEST_MATRIX = 20
MOST_DATASETS = 3
"""Datasets whose losses and predictions are drawn, each by itself; ``where`` in a sweep file asks for others."""


def default_drawings(results: CellResults) -> list[Drawing]:
    """Matrices, tables and curves that suit the cells; none while no trial is finished."""
    if not results.cells["finished"].any():
        return []
    # One table is shown whole by the answer itself.
    if len(set(results.cells["dataset"])) == 1:
        return read_drawings(_dataset_drawings(results), "defaults")
    # Competitors are compared within a context, such as a number of labels, and never across contexts.
    contexts: list[str] = []
    compared: list[str] = []
    for column in results.different:
        if column in results.contexts or column in PREPROCESSING:
            contexts.append(column)
        else:
            compared.append(column)
    compared = compared or ["pretrain", "method"]

    entries: list[dict[str, Any]] = []
    if contexts:
        settings = results.cells[contexts].drop_duplicates()
        names = named_by(results, settings, contexts)
        for values, name in zip(settings.itertuples(index=False), names, strict=True):
            where = dict(zip(contexts, values, strict=True))
            for entry in _context_drawings(results, select(results, where), compared, f", {name}"):
                entries.append(entry | {"where": where})
    else:
        entries += _context_drawings(results, results.cells, compared, "")
    entries += _dataset_drawings(results)
    return read_drawings(entries, "defaults")


def _context_drawings(
    results: CellResults, cells: pd.DataFrame, compared: list[str], ending: str
) -> list[dict[str, Any]]:
    """The drawings of the cells of one context, which ends their titles."""
    entries: list[dict[str, Any]] = []
    n_competitors = named_by(results, cells, compared).nunique()
    # A larger matrix has fractions too small to read.
    if 1 < n_competitors <= LARGEST_MATRIX:
        entries.append({"draw": "win_matrix", "title": f"All against each other{ending}", "compare": compared})
    entries.append({"draw": "metric_table", "title": f"Every dataset{ending}", "columns": compared})
    if len(compared) == 1:
        only = compared[0]
        # A curve needs an axis of numbers; a cell that does not use the option has no place on it.
        if all(isinstance(value, int | float) for value in cells[only].dropna()):
            entries.append({"draw": "sensitivity", "title": f"Relative to the best setting{ending}", "x": only})
    return entries


def _dataset_drawings(results: CellResults) -> list[dict[str, Any]]:
    """Losses, and the target's drawings of kept predictions, for each of the first datasets with a finished trial."""
    finished = results.cells[results.cells["finished"] > 0]
    is_pretrained = results.cells["pretrain"].ne("none").any()
    losses: list[dict[str, Any]] = []
    predicted: list[dict[str, Any]] = []
    for dataset in map(str, finished["dataset"].unique()[:MOST_DATASETS]):
        where = {"dataset": dataset}
        if is_pretrained:
            title = f"Losses while pre-training on {dataset}"
            losses.append({"draw": "loss_curves", "title": title, "where": where})
        for drawing, subject in _drawings_of_predictions(results, dataset).items():
            predicted.append({"draw": drawing, "title": f"{subject} on {dataset}", "where": where})
    return losses + predicted


def _drawings_of_predictions(results: CellResults, dataset: str) -> Mapping[str, str]:
    """The target's drawings with the beginnings of their titles; none if no cell has kept its predictions."""
    cells = results.cells.index[results.cells["dataset"] == dataset]
    stored = [results.stored_of(cell) for cell in cells]
    if not any(keeps_predictions(each) for each in stored if each is not None):
        return {}
    # All cells of a dataset predict the same target.
    return next(results.targets[cell].drawings for cell in cells if cell in results.targets)
