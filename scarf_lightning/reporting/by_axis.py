"""Cells that are a product of axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..verdicts.effects import Cell, Tables, product_of
from .cell_results import CellResults
from .names import text_of


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
