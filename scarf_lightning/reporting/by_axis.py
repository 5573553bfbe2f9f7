"""Cells that are a product of axes: their axes, and the table of means of their settings."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..intervals import Interval
from ..metrics import Metric
from ..verdicts.effects import Cell, Tables, product_of
from .cell_results import CellResults
from .levels import level_over
from .names import text_of

OVER_ALL = "average"
"""The heading of means over the settings of an axis: a corruption is called mean."""


@dataclass(frozen=True)
class Product:
    """Cells that are a product of axes, at each context such as a number of labels.

    Attributes:
        axes: the values of each axis by its column, as texts; the first one is the reference.
        cells: by context, by dataset and by setting.
        left_out: sentences on what is not part of it.
    """

    axes: Mapping[str, Sequence[str]]
    cells: Mapping[str, Tables]
    left_out: Sequence[str] = ()


def product_in(results: CellResults, cells: Sequence[Cell], reference: str | None = None) -> Product | None:
    """The cells as a product; None if they are none, or if the reference is a competitor and no value of an axis."""
    axes = {axis: _values(cells, axis) for axis in results.compared}
    if (
        len(axes) < 2
        or min(map(len, axes.values())) < 2
        or not all(axes.keys() <= cell.options.keys() for cell in cells)
    ):
        return None
    ordered = _references_first(results, axes, reference)
    whole, left_out = product_of(cells, ordered) if ordered else ({}, [])
    return Product(ordered, whole, left_out) if ordered and whole else None


def _values(cells: Sequence[Cell], axis: str) -> list[str]:
    """The values of an axis in the order of the cells."""
    return list(dict.fromkeys(cell.options[axis] for cell in cells if axis in cell.options))


def _references_first(
    results: CellResults, axes: Mapping[str, list[str]], reference: str | None
) -> dict[str, list[str]] | None:
    """The values of each axis, its reference first: the one that the user names, the usual one, or the first; None if
    the user names a competitor that is no value of an axis."""
    column, sign, wanted = (reference or "").partition("=")
    firsts: dict[str, str] = {}
    for axis, values in axes.items():
        usual = results.usual.get(axis)
        firsts[axis] = text_of(usual) if usual is not None and text_of(usual) in values else values[0]
    if reference is not None:
        for axis, value in ((axis, value) for axis, values in axes.items() for value in values):
            if (sign and axis == column and wanted == value) or reference == value:
                firsts[axis] = value
                break
        else:
            return None
    return {axis: sorted(values, key=lambda value: value != firsts[axis]) for axis, values in axes.items()}


@dataclass(frozen=True)
class MeansGrid:
    """The metric of each setting, with one axis across and all others down.

    Attributes:
        headings: of the columns that name a row, then of the values across, then of the mean over them.
        rows: the names of each row, and its levels; the last row of a context is that of the means over its rows.
    """

    headings: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[Interval]]]


def means_grid(product: Product, results: CellResults, metric: Metric) -> MeansGrid:
    """The mean of each setting with its interval, and the means over the settings of an axis, without one."""
    *down, across = product.axes
    has_contexts = len(product.cells) > 1
    columns = product.axes[across]
    rows: list[tuple[Sequence[str], Sequence[Interval]]] = []
    for context, tables in product.cells.items():
        first = [context] if has_contexts else []
        levels = []
        for setting in itertools.product(*(product.axes[axis] for axis in down)):
            row = [setting_level(tables, (*setting, value), results, metric) for value in columns]
            levels.append(row)
            rows.append(([*first, *setting], [*row, _mean_of(row)]))
        means = [_mean_of(column) for column in zip(*levels, strict=True)]
        rows.append(([*first, OVER_ALL, *[""] * (len(down) - 1)], [*means, _mean_of(means)]))
    headings = [*down, *columns, OVER_ALL]
    return MeansGrid([*(["with"] if has_contexts else []), *headings], rows)


def setting_level(tables: Tables, setting: tuple[str, ...], results: CellResults, metric: Metric) -> Interval:
    """The level of a setting, over all tables."""
    return level_over(results, [placed[setting].key for placed in tables.values()], metric)


def _mean_of(levels: Sequence[Interval]) -> Interval:
    """The mean of several levels, without an interval."""
    return Interval(float(np.mean([level.mean for level in levels])), math.nan, math.nan)
