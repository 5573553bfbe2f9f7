"""What is drawn of results that no sweep file describes: chosen from the axes in which their cells differ."""

from typing import Any

import pandas as pd

from ..reading import Material
from ..selecting import distinguishing, labels

CONTEXT = ("regime", "scaling", "fit_on", "seed")
"""Columns of which each value has a drawing of its own: nothing is compared across them."""
LARGEST_MATRIX = 20


def default_drawings(material: Material) -> list[dict[str, Any]]:
    """Matrices, tables and curves that suit the cells."""
    cells = material.cells
    different = distinguishing(cells, material.axes)
    contexts = [column for column in CONTEXT if column in different]
    compared = [column for column in different if column not in contexts] or ["pretrain", "method"]
    drawings: list[dict[str, Any]] = []
    for where, named in _contexts(cells, contexts):
        drawings += _of_context(cells, compared, where, named)
    return drawings + _over_none(cells, different) + _curves(material)


def _contexts(cells: pd.DataFrame, columns: list[str]) -> list[tuple[dict[str, Any], str]]:
    """Conditions that choose the cells of each context, and how its titles end."""
    if not columns:
        return [({}, "")]
    every = cells[columns].drop_duplicates().to_dict("records")
    named = labels(pd.DataFrame(every), columns)
    return [({str(c): v for c, v in where.items()}, f", {name}") for where, name in zip(every, named, strict=True)]


def _of_context(cells: pd.DataFrame, compared: list[str], where: dict[str, Any], named: str) -> list[dict[str, Any]]:
    chosen = cells
    for column, value in where.items():
        chosen = chosen[[each == value for each in chosen[column]]]
    competitors = labels(chosen, compared).nunique()
    drawings = []
    if 1 < competitors <= LARGEST_MATRIX:
        drawings.append({"draw": "win_matrix", "title": f"All against each other{named}", "compare": compared})
    drawings.append({"draw": "accuracy_table", "title": f"Accuracy, percent{named}", "columns": compared})
    numeric = [c for c in compared if all(isinstance(v, int | float) for v in chosen[c].dropna())]
    if len(compared) == len(numeric) == 1:
        drawings.append(
            {"draw": "sensitivity", "title": f"Accuracy relative to the best setting{named}", "x": compared[0]}
        )
    return [drawing | ({"where": where} if where else {}) for drawing in drawings]


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


def _curves(material: Material) -> list[dict[str, Any]]:
    if (material.cells["pretrain"] == "none").all():
        return []
    first = material.cells.loc[material.cells["finished"] > 0, "dataset"].iloc[0]
    return [{"draw": "loss_curves", "title": f"Losses while pre-training on {first}", "where": {"dataset": first}}]
