"""Our accuracies beside the paper's."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .style import COLUMN, GREY, PAGE, colour, marker, new_figure, styled


@styled()
def agreement_scatter(cells: pd.DataFrame) -> Figure:
    """A panel a regime: the published accuracy along x, ours with its 95 % interval along y, the difference below.

    Networks at chance in the paper are grey crosses.

    Args:
        cells: as `agreement` returns them, with ``competitor``; those that the paper prints.
    """
    regimes = list(dict.fromkeys(cells["regime"]))
    competitors = list(dict.fromkeys(cells["competitor"]))
    width = COLUMN * 1.2 if len(regimes) == 1 else PAGE
    legend_columns = 2 if len(regimes) == 1 else 4
    height = 1.4 * width / len(regimes) + 0.6 + 0.15 * len(competitors) / legend_columns
    figure, panels = new_figure(width, height, 2, len(regimes), sharex=True, sharey="row", height_ratios=(2.2, 1))
    scatters, differences = panels[: len(regimes)], panels[len(regimes) :]
    low = 100 * min(cells["mean"].min(), cells["published"].min())
    low = max(0.0, 10 * np.floor(low / 10 - 0.1))
    for axes, below, regime in zip(scatters, differences, regimes, strict=True):
        axes.plot([low, 101], [low, 101], color="black", lw=0.6, zorder=0)
        for i, competitor in enumerate(competitors):
            part = cells[(cells["regime"] == regime) & (cells["competitor"] == competitor)]
            fine, chance = part[~part["at_chance"]], part[part["at_chance"]]
            half = 100 * (fine["high"] - fine["low"]).fillna(0) / 2
            look: Any = {"fmt": marker(i), "ms": 3, "color": colour(i), "lw": 0.6, "alpha": 0.75}
            axes.errorbar(100 * fine["published"], 100 * fine["mean"], yerr=half, label=competitor, **look)
            below.errorbar(100 * fine["published"], 100 * fine["difference"], yerr=half, **look)
            axes.plot(100 * chance["published"], 100 * chance["mean"], "x", ms=4, color=GREY)
        axes.set_title(regime)
        below.axhline(0, color="black", lw=0.6, zorder=0)
        below.set_xlabel("paper, %")
        axes.set_xlim(low, 101)
        axes.set_ylim(low, 101)
    scatters[0].set_ylabel("ours, %")
    differences[0].set_ylabel("difference, points")
    handles = scatters[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=legend_columns, frameon=False)
    return figure
