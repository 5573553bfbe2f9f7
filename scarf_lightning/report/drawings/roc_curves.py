"""True against false positives at every threshold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from ...errors import UsageError
from ..blocks import Block, Picture, counted
from ..options import Options
from ..predictions import PredictedCell, predicted_cells
from ..reading import CellResults
from ..statistics.roc import GRID, Floats, mean_roc
from ..style import COLOURS, COLUMN, GREY, colour, new_figure, short, styled
from .base import Drawing, left_out

MOST_LINES = len(COLOURS)


@dataclass(frozen=True, kw_only=True)
class RocCurves(Drawing):
    """The curve of each cell, the mean of its trials; of several classes the mean of each against the others."""

    name = "roc_curves"

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        found = predicted_cells(results, self.cells(results))
        curves = [(cell, rates) for cell in found if len(rates := curves_of_trials(cell))]
        if not curves:
            raise UsageError("No trial of these cells has test rows of two classes.")
        drawn = curves[:MOST_LINES]
        areas = "; ".join(f"{cell.name} {100 * area(rates):.1f} %" for cell, rates in drawn)
        blocks: list[Block] = [
            Picture(
                name,
                roc_figure(drawn),
                alt=f"ROC curves of {counted(len(drawn), 'cell')}. Areas under them: {areas}.",
                caption="Mean of trials, shaded by one standard deviation; of several classes the mean of each against "
                f"the others. Areas under the curves: {areas}.",
            )
        ]
        return blocks + left_out(len(drawn), len(curves))


def curves_of_trials(cell: PredictedCell) -> Floats:
    """True-positive rates at `GRID` of the trials whose test rows show two classes, ``(T, len(GRID))``."""
    found = [mean_roc(each.probabilities, each.labels) for each in cell.trials]
    return np.array([rates for rates in found if rates is not None])


def area(rates: Floats) -> float:
    """Under the mean curve of trials, by trapezoids."""
    return float(np.trapezoid(rates.mean(axis=0), GRID))


@styled()
def roc_figure(curves: Sequence[tuple[PredictedCell, Floats]]) -> Figure:
    """Mean and standard deviation of each cell's curves ``(T, len(GRID))``, and the diagonal of guessing."""
    figure, (axes,) = new_figure(COLUMN * 1.4, COLUMN * 1.35)
    for place, (cell, rates) in enumerate(curves):
        mean, deviation = rates.mean(axis=0), rates.std(axis=0)
        axes.plot(GRID, mean, color=colour(place), label=short(cell.name, 40))
        low, high = np.clip(mean - deviation, 0, 1), np.clip(mean + deviation, 0, 1)
        axes.fill_between(GRID, low, high, color=colour(place), alpha=0.15, lw=0)
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.6, ls=":")
    axes.set_aspect("equal")
    axes.set_xlabel("false-positive rate")
    axes.set_ylabel("true-positive rate")
    axes.legend(loc="lower right", frameon=False)
    return figure
