"""Lines: losses while pre-training, and the metric over the values of an option."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...errors import UsageError, counted
from ...intervals import student_quantile
from ...verdicts import cell_means
from ..blocks import Block, Picture, table
from ..cell_results import CellResults, curves_of
from ..names import named, shortened
from ..report_options import ReportOptions
from ..style import COLUMN, PAGE, colour, new_figure, styled
from .drawing import Drawing, first_of, named_competitors, need

PHASES = (("train_loss", "training"), ("validation_loss", "validation"))
MOST_PANELS = 4


@dataclass(frozen=True, kw_only=True)
class LossCurves(Drawing):
    """Training beside validation loss, a panel a cell."""

    name = "loss_curves"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = self.cells(results)
        pretrained_cells = cells[cells["pretrain"].ne("none") & (cells["finished"] > 0)]
        if pretrained_cells.empty:
            raise UsageError("None of these cells has a finished pre-training.")
        # More panels would need a page of their own; a drawing's where chooses others.
        panel_cells = pretrained_cells.head(MOST_PANELS)
        curves = curves_of(results, panel_cells.index)
        if not (curves["phase"] == "pretrain").any():
            raise UsageError("These cells have kept no curves of pre-training.")
        curves["panel"] = curves["cell"].map(results.names)
        curves["line"] = curves["cell"].astype(str) + " " + curves["trial"].astype(str)
        caption = f"Each trial faint, and their mean.{first_of(len(panel_cells), len(pretrained_cells))}"
        return [Picture(name, loss_curves(curves), caption)]


@styled()
def loss_curves(curves: pd.DataFrame, *, phase: str = "pretrain") -> Figure:
    """Training beside validation: every trial faint, and the mean of those still training.

    The mean ends where fewer than half of the trials are left: those that train longest are not like the others.

    Args:
        curves: ``panel, phase, trial, epoch, train_loss, validation_loss``; a panel of its own may hold each setting.
        phase: which phase's.
    """
    phase_curves = curves[curves["phase"] == phase]
    panels = list(dict.fromkeys(phase_curves["panel"]))
    width = PAGE if len(panels) > 1 else COLUMN * 1.5
    figure, axes = new_figure(width, 2.1 * len(panels), len(panels), 2, sharey="row", sharex="row")
    titles = shortened(panels, 48)
    # A row of the figure is a panel's training loss beside its validation loss.
    for place, (panel, (column, title)) in zip(axes, itertools.product(panels, PHASES), strict=True):
        lines = phase_curves[phase_curves["panel"] == panel].pivot_table(index="epoch", columns="line", values=column)
        mean = lines[lines.count(axis=1) >= lines.shape[1] / 2].mean(axis=1)
        # A single epoch makes no line.
        marker = "o" if len(lines) == 1 else ""
        place.plot(lines.index, lines.to_numpy(), marker=marker, color=colour(0), lw=0.4, alpha=0.3)
        place.plot(mean.index, mean, marker=marker, color=colour(0), lw=1.4)
        place.locator_params("x", integer=True, min_n_ticks=1)
        place.set_title(f"{title}\n{titles[panel]}" if len(panels) > 1 else title)
        place.set_xlabel("epoch")
    for place in axes[::2]:
        place.set_ylabel("loss")
    return figure


@dataclass(frozen=True, kw_only=True)
class Sensitivity(Drawing):
    """The mean over datasets of the metric relative to the best setting of each.

    Args:
        x: the option, a column of numbers.
    """

    name = "sensitivity"
    x: str

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        need(results, [self.x])
        cells, x, label = self.cells(results), self.x, options.measure.label
        values = cells[x].dropna()
        if not all(isinstance(value, int | float) for value in values):
            raise UsageError(f"{x} has values that are not numbers: {named([str(v) for v in values.unique()])}.")
        scores = named_competitors(results, values.map(float).map(repr), options.measure).scores
        means = cell_means(scores.assign(x=scores["competitor"].astype(float)), "value", by=("dataset", "x"))
        # A setting of which some datasets lack trials would be compared over other datasets.
        complete_means = means.pivot_table(index="dataset", columns="x", values="mean").dropna()
        if complete_means.empty or len(complete_means.columns) < 2:
            raise UsageError(f"No dataset has finished trials of every value of {x}, of two or more.")
        relative = relative_to_best(complete_means)
        caption = (
            f"How near {label} comes to that of each dataset's best {x}, in percent of it: mean over "
            f"{counted(len(complete_means), 'dataset')} with its 95 % interval where there are two or more."
        )
        formats = {"x": "g", "mean": ".2f", "low": ".2f", "high": ".2f"}
        headings = {"x": x, "mean": "mean, % of the best"}
        return [
            Picture(name, sensitivity_line(relative, x_title=x, y_title=label), caption),
            table(name, f"{label} relative to the best {x} of each dataset", relative, formats, headings),
        ]


@styled()
def sensitivity_line(relative: pd.DataFrame, *, x_title: str, y_title: str) -> Figure:
    """The mean over datasets of a metric relative to the best setting of each, with its 95 % interval if there is one:
    ``x, mean, low, high``, in percent."""
    figure, (axes,) = new_figure(COLUMN, 2.3)
    x, mean, low, high = relative[["x", "mean", "low", "high"]].to_numpy(float).T
    axes.fill_between(x, low, high, color=colour(0), alpha=0.2, lw=0)
    axes.plot(x, mean, color=colour(0), marker="o", ms=4)
    # A logarithmic axis shows a wide range of positive numbers better.
    if x.min() > 0 and x.max() / x.min() > 20:
        axes.set_xscale("log")
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.minorticks_off()
    axes.set(xlabel=x_title, ylabel=f"{y_title}, % of the best")
    return figure


def relative_to_best(means: pd.DataFrame) -> pd.DataFrame:
    """Mean over datasets of 100 (1 - (best - m) / |best|), which is 100 m / best of a positive m, with its t interval.

    Args:
        means: ``(datasets, values of x)``, higher is better, none missing.

    Returns:
        A row a value: ``x, mean, low, high, datasets``; one dataset has no interval. A dataset whose best is zero is
        left out.
    """
    # Datasets differ in how hard they are, so each is measured by its own best setting.
    best = means.max(axis=1)
    percent = 100 * (1 - means.rsub(best, axis=0).div(best.abs(), axis=0))[best != 0]
    n = len(percent)
    mean = percent.mean()
    # One dataset has no spread.
    half = student_quantile(n - 1) * percent.sem() if n > 1 else np.nan * mean
    relative = pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half, "datasets": n})
    return relative.rename_axis("x").reset_index().astype({"x": float})
