"""The figure of the study: what pre-trainings and other models are worth, in labels."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarf_lightning.reporting.style import GREY, PAGE, colour, marker, new_figure, styled
from scarf_lightning.verdicts import Interval

from .trials import BUDGETS

Worths = Mapping[str, Mapping[int, Interval]]
"""The worth of competitors, by budget."""
TICKS = (0.5, 0.75, 1, 1.5, 2, 3)
"""A worth beyond them stands at the edge."""


@styled()
def worths_figure(pretrainings: Worths, others: Worths) -> Figure:
    """The worth of each competitor at each budget with its 95 % interval, on one scale.

    Args:
        pretrainings: they are on the left.
        others: other models, on the right.
    """
    figure, (left, right) = new_figure(PAGE, 3.2, 1, 2, sharey=True)
    left.set_title("pre-training the network")
    right.set_title("another model in its place")
    _draw(left, pretrainings)
    _draw(right, others)
    left.set_yscale("log", base=2)
    left.set_ylim(TICKS[0], TICKS[-1])
    left.set_yticks(TICKS, [f"×{each:g}" for each in TICKS])
    left.set_ylabel("worth in labels")
    return figure


def _draw(axes: Axes, worths: Worths) -> None:
    """Draw a mark with its interval for each competitor, side by side at each budget."""
    for place, (name, by_budget) in enumerate(worths.items()):
        shift = (place - (len(worths) - 1) / 2) * 0.7 / len(worths)
        at = [BUDGETS.index(labels) + shift for labels in by_budget]
        ends = np.array([(each.mean, each.low, each.high) for each in by_budget.values()])
        factor, low, high = np.clip(ends, TICKS[0], TICKS[-1]).T
        lengths = [factor - low, high - factor]
        axes.errorbar(at, factor, lengths, fmt=marker(place), color=colour(place), ms=3.5, lw=1.0, label=name)
    axes.axhline(1, color=GREY, lw=0.8, zorder=0)
    axes.set_xticks(range(len(BUDGETS)), list(map(str, BUDGETS)))
    axes.set_xlabel("labels")
    axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
