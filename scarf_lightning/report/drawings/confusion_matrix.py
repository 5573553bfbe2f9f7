"""Which classes are taken for which."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..blocks import Block, Paragraph, Picture, counted, named
from ..options import Options
from ..predictions import PredictedCell, predicted_cells
from ..reading import CellResults
from ..style import COLUMN, PAGE, new_figure, short, styled
from .base import Drawing, left_out

MOST_PANELS = 4
MOST_WRITTEN = 12
"""Classes of which numbers can be read; with more, colours alone are shown."""


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(Drawing):
    """Shares of each class's test rows that are given each class, all trials together; a panel a cell."""

    name = "confusion_matrix"

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        found = predicted_cells(results, self.cells(results))
        drawn = found[:MOST_PANELS]
        said = [mistakes(each) for each in drawn]
        blocks: list[Block] = [
            Picture(
                name,
                confusion_matrices(drawn),
                alt=f"Shares of classes by the class given, in {counted(len(drawn), 'cell')}. {' '.join(said)}",
                caption="Percent of the test rows of a class (row) that are given a class (column), of all trials "
                "together; rows sum to 100. Blue is right, red is wrong.",
            ),
            *map(Paragraph, said),
        ]
        return blocks + left_out(len(drawn), len(found))


def confusion(cell: PredictedCell) -> NDArray[np.float64]:
    """Percent of each class's test rows that are given each class, ``(C, C)``; NaN for a class without a row."""
    counts = np.zeros((len(cell.classes), len(cell.classes)))
    for each in cell.trials:
        np.add.at(counts, (each.labels, each.probabilities.argmax(axis=1)), 1)
    rows = counts.sum(axis=1, keepdims=True)
    return np.asarray(100 * np.divide(counts, rows, out=np.full_like(counts, np.nan), where=rows > 0))


def mistakes(cell: PredictedCell) -> str:
    """The largest ones in a sentence."""
    shares = np.nan_to_num(confusion(cell))
    np.fill_diagonal(shares, 0)
    largest = np.argsort(-shares, axis=None, kind="stable")[:3]
    places = [(int(place) // len(shares), int(place) % len(shares)) for place in largest]
    worst = [f"{shares[a, b]:.1f} % of {cell.classes[a]} for {cell.classes[b]}" for a, b in places if shares[a, b] > 0]
    return f"{cell.name} takes {named(worst)}." if worst else f"{cell.name} takes no class for another."


@styled()
def confusion_matrices(cells: Sequence[PredictedCell]) -> Figure:
    """A square a cell, classes from above and from the left in their order."""
    across = min(2, len(cells))
    down = -(-len(cells) // across)
    width = PAGE if across == 2 else COLUMN * 1.3
    figure, panels = new_figure(width, width / across * 0.95 * down, down, across)
    for axes, cell in zip(panels, cells, strict=False):
        _square(axes, confusion(cell), [short(name, 14) for name in cell.classes])
        axes.set_title(short(cell.name, 40) if len(cells) > 1 else "")
    for axes in panels[len(cells) :]:
        axes.set_visible(False)
    figure.supxlabel("class given", fontsize=8)
    figure.supylabel("class", fontsize=8)
    return figure


def _square(axes: Axes, shares: NDArray[np.float64], classes: Sequence[str]) -> None:
    n = len(classes)
    right, wrong = colormaps["Blues"], colormaps["Reds"]
    shown = np.nan_to_num(shares) / 100
    faces = np.where(np.eye(n, dtype=bool)[:, :, None], right(0.75 * shown), wrong(0.75 * shown))
    axes.imshow(faces, aspect="equal")
    if n <= MOST_WRITTEN:
        for a, b in np.ndindex(n, n):
            if not np.isnan(shares[a, b]):
                c = "white" if shares[a, b] > 70 else "black"
                axes.text(b, a, f"{shares[a, b]:.0f}", ha="center", va="center", color=c, fontsize=6.5 if n > 6 else 8)
    every = max(1, n // 20)
    axes.set_xticks(range(0, n, every), classes[::every], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(0, n, every), classes[::every])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
