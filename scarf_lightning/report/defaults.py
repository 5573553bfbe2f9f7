"""What is drawn of results that no sweep file describes: chosen from the axes in which their cells differ."""

from typing import Any

import pandas as pd

from ..results import keeps_predictions, read_cell
from .drawings import Drawing, read_drawings
from .loading import CellResults
from .naming import Words, distinguishing, named_by

CONTEXT = ("regime", "scaling", "fit_on", "seed")
"""Columns of which each value has a drawing of its own: nothing is compared across them."""
LARGEST_MATRIX = 20
MOST_DATASETS = 3
"""Datasets whose losses and predictions are drawn, each by itself; ``where`` in a sweep file asks for others."""


def default_drawings(results: CellResults) -> list[Drawing]:
    """Matrices, tables and curves that suit the cells; none while no trial is finished."""
    if not results.cells["finished"].any():
        return []
    cells, words = results.cells, Words(labels=results.labels)
    different = distinguishing(cells, results.axes)
    contexts = [column for column in CONTEXT if column in different]
    compared = [column for column in different if column not in contexts] or ["pretrain", "method"]
    entries: list[dict[str, Any]] = []
    for where, named in _contexts(cells, contexts, words):
        entries += _of_context(cells, compared, where, named, words)
    return read_drawings(entries + _over_none(cells, different) + _curves(results) + _predictions(results), "defaults")


def _contexts(cells: pd.DataFrame, columns: list[str], words: Words) -> list[tuple[dict[str, Any], str]]:
    """Conditions that choose the cells of each context, and how its titles end."""
    if not columns:
        return [({}, "")]
    every = cells[columns].drop_duplicates().to_dict("records")
    named = named_by(pd.DataFrame(every), columns, words)
    return [({str(c): v for c, v in where.items()}, f", {name}") for where, name in zip(every, named, strict=True)]


def _of_context(
    cells: pd.DataFrame, compared: list[str], where: dict[str, Any], named: str, words: Words
) -> list[dict[str, Any]]:
    chosen = cells
    for column, value in where.items():
        chosen = chosen[[each == value for each in chosen[column]]]
    competitors = named_by(chosen, compared, words).nunique()
    entries: list[dict[str, Any]] = []
    if 1 < competitors <= LARGEST_MATRIX:
        entries.append({"draw": "win_matrix", "title": f"All against each other{named}", "compare": compared})
    entries.append({"draw": "metric_table", "title": f"Every dataset{named}", "columns": compared})
    numeric = [c for c in compared if all(isinstance(v, int | float) for v in chosen[c].dropna())]
    if len(compared) == len(numeric) == 1:
        entries.append({"draw": "sensitivity", "title": f"Relative to the best setting{named}", "x": compared[0]})
    return [entry | ({"where": where} if where else {}) for entry in entries]


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


def _curves(results: CellResults) -> list[dict[str, Any]]:
    if (results.cells["pretrain"] == "none").all():
        return []
    title = "Losses while pre-training on"
    return [{"draw": "loss_curves", "title": f"{title} {d}", "where": {"dataset": d}} for d in _first_datasets(results)]


def _predictions(results: CellResults) -> list[dict[str, Any]]:
    """Of the datasets that come first, where their predictions were kept."""
    found = []
    for dataset in _first_datasets(results):
        cells = results.cells.index[results.cells["dataset"] == dataset]
        if any(keeps_predictions(read_cell(results.folders[cell])) for cell in cells if cell in results.folders):
            drawings = next(results.targets[cell].drawings for cell in cells if cell in results.targets)
            where = {"where": {"dataset": dataset}}
            found += [{"draw": name, "title": f"{what} on {dataset}"} | where for name, what in drawings.items()]
    return found


def _first_datasets(results: CellResults) -> list[str]:
    """The first few with a finished trial."""
    return list(map(str, results.cells.loc[results.cells["finished"] > 0, "dataset"].unique()[:MOST_DATASETS]))
