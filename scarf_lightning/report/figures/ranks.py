"""The critical-difference diagram (Demšar 2006, jmlr.org/papers/v7/demsar06a.html, figure 1)."""

import math

import pandas as pd
from matplotlib.figure import Figure

from ..statistics.cliques import Cliques
from .style import PAGE, new_figure, short, styled

LINE = 0.2


@styled()
def critical_difference(mean_ranks: "pd.Series[float]", cliques: Cliques, *, distance: float | None = None) -> Figure:
    """Competitors along an axis of mean ranks, best to the left; a bar joins those that do not differ.

    Args:
        mean_ranks: best first.
        cliques: groups to join.
        distance: Nemenyi's critical difference, drawn above the axis where the groups are its.
    """
    names, ranks = list(mean_ranks.index), mean_ranks.to_numpy(float)
    low, high = math.floor(ranks.min()), math.ceil(ranks.max())
    high = max(high, low + 1)
    half = math.ceil(len(names) / 2)
    depth = 0.35 + 0.16 * len(cliques)
    height = 0.55 + depth + LINE * half + (0.3 if distance else 0)
    figure, (axes,) = new_figure(PAGE * 0.8, height)
    axes.set_axis_off()
    axes.plot([low, high], [0, 0], color="black", lw=0.8)
    for tick in range(low, high + 1):
        axes.plot([tick, tick], [0, 0.08], color="black", lw=0.8)
        axes.text(tick, 0.12, str(tick), ha="center", va="bottom")
    margin = 0.06 * (high - low)
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < half
        y = -depth - LINE * (i if left else len(names) - 1 - i)
        end = low - margin if left else high + margin
        axes.plot([rank, rank, end], [0, y, y], color="black", lw=0.7)
        shift = -margin / 4 if left else margin / 4
        axes.text(end + shift, y, f"{short(name)}  {rank:.2f}", ha="right" if left else "left", va="center")
    for level, clique in enumerate(cliques):
        ends = mean_ranks[list(clique)]
        y = -0.14 - 0.16 * level
        reach = 0.012 * (high - low)
        axes.plot([ends.min() - reach, ends.max() + reach], [y, y], color="black", lw=3, solid_capstyle="butt")
    top = 0.35
    if distance is not None:
        top = 0.65
        axes.plot([low, low + distance], [0.42, 0.42], color="black", lw=0.8, marker="|")
        axes.text(low + distance / 2, 0.46, f"critical difference {distance:.2f}", ha="center", va="bottom")
    axes.set_ylim(-depth - LINE * (half - 1) - 0.15, top)
    axes.set_xlim(low - margin, high + margin)
    return figure
