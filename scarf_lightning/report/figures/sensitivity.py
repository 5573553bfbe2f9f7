"""Accuracy along an option's values."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .style import COLUMN, colour, new_figure, spread, styled


@styled()
def sensitivity_line(relative: pd.DataFrame, *, x_title: str) -> Figure:
    """The mean over datasets of accuracy relative to the best setting of each, with its 95 % interval.

    Args:
        relative: ``x, mean, low, high``, in percent; an interval may be missing.
        x_title: the option.
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
    axes.set_ylabel("accuracy, % of the best")
    return figure
