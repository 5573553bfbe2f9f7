"""How much the value of an option matters."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import special

from ...errors import UsageError
from ..blocks import Block, Paragraph, Picture, counted, named
from ..competitors import named_competitors, need
from ..options import Options
from ..reading import CellResults
from ..statistics import cell_means
from ..style import COLUMN, colour, new_figure, spread, styled
from ..tables import table
from ..words import column_in_words
from .base import Drawing


@dataclass(frozen=True, kw_only=True)
class Sensitivity(Drawing):
    """The mean over datasets of the metric relative to the best setting of each.

    Args:
        x: the option, a column of numbers.
    """

    name = "sensitivity"
    x: str

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        need(results, [self.x])
        cells = self.cells(results)
        values = cells[self.x].dropna()
        if not all(isinstance(value, int | float) for value in values):
            raise UsageError(f"{self.x} has values that are not numbers: {named([str(v) for v in values.unique()])}.")
        scores = named_competitors(results, values.map(float).map(repr), options.measure).scores
        means = cell_means(scores.assign(x=scores["competitor"].astype(float)), "value", by=("dataset", "x"))
        complete = means.pivot_table(index="dataset", columns="x", values="mean").dropna()
        if complete.empty or len(complete.columns) < 2:
            raise UsageError(f"No dataset has finished trials of every value of {self.x}, of two or more.")
        relative = relative_to_best(complete)
        label, x = options.measure.label, column_in_words(self.x)
        blocks: list[Block] = [
            Picture(
                name,
                sensitivity_line(relative, x_title=x, y_title=label),
                alt=f"{label} relative to the best {x}: "
                + ", ".join(f"{at:g}: {mean:.2f} %" for at, mean in relative[["x", "mean"]].itertuples(index=False))
                + ".",
                caption=f"How near {label} comes to that of each dataset's best {x}, in percent of it: mean over "
                f"{counted(len(complete), 'dataset')} with its 95 % interval where there are two or more.",
            )
        ]
        left_out = [str(d) for d in dict.fromkeys(cells["dataset"]) if d not in complete.index]
        if left_out:
            blocks.append(Paragraph(f"Without trials of every {x}, and left out: {named(left_out)}.", warns=True))
        heading = {"x": x, "mean": "mean, % of the best"}
        formats = {"x": "g", "mean": ".2f", "low": ".2f", "high": ".2f"}
        blocks.append(table(name, f"{label} relative to the best {x} of each dataset", relative, formats, heading))
        return blocks


@styled()
def sensitivity_line(relative: pd.DataFrame, *, x_title: str, y_title: str) -> Figure:
    """The mean over datasets of a metric relative to the best setting of each, with its 95 % interval.

    Args:
        relative: ``x, mean, low, high``, in percent; an interval may be missing.
        x_title, y_title: the option, the metric.
    """
    figure, (axes,) = new_figure(COLUMN, 2.3)
    x, mean = relative["x"].to_numpy(float), relative["mean"].to_numpy(float)
    axes.fill_between(
        x, relative["low"].to_numpy(float), relative["high"].to_numpy(float), color=colour(0), alpha=0.2, lw=0
    )
    axes.plot(x, mean, color=colour(0), marker="o", ms=4)
    if spread(x.tolist()):
        axes.set_xscale("log")
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.minorticks_off()
    span = np.nanmax(relative[["mean", "high"]].to_numpy(float)) - np.nanmin(relative[["mean", "low"]].to_numpy(float))
    axes.margins(y=0.08 if span else 0.5)
    axes.set_xlabel(x_title)
    axes.set_ylabel(f"{y_title}, % of the best")
    return figure


def relative_to_best(means: pd.DataFrame) -> pd.DataFrame:
    """Mean over datasets of 100 (1 - (best - m) / |best|), which is 100 m / best of a positive m, with its t interval.

    Args:
        means: ``(datasets, values of x)``, higher is better, none missing.

    Returns:
        A row a value: ``x, mean, low, high, datasets``; one dataset has no interval. A dataset whose best is zero is
        left out.
    """
    best = means.max(axis=1)
    percent = 100 * (1 - means.rsub(best, axis=0).div(best.abs(), axis=0))[best != 0]
    n = len(percent)
    half = special.stdtrit(n - 1, 0.975) * percent.sem() if n > 1 else percent.mean() * float("nan")
    mean = percent.mean()
    return pd.DataFrame(
        {
            "x": [float(value) for value in mean.index],
            "mean": mean.to_numpy(),
            "low": (mean - half).to_numpy(),
            "high": (mean + half).to_numpy(),
            "datasets": n,
        }
    )
