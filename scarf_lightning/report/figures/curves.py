"""Losses while pre-training (the paper's figure of SCARF on phoneme)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import COLUMN, PAGE, colour, new_figure, short, styled

PHASES = (("train_loss", "training"), ("validation_loss", "validation"))


@styled()
def loss_curves(curves: pd.DataFrame, *, phase: str = "pretrain") -> Figure:
    """Training beside validation: every trial faint, the mean of those still training, and one standard deviation.

    The mean ends where fewer than half of the trials are left: those that train longest are not like the others.

    Args:
        curves: ``panel, phase, trial, epoch, train_loss, validation_loss``; a panel of its own may hold each setting.
        phase: which phase's.
    """
    shown = curves[curves["phase"] == phase]
    panels = list(dict.fromkeys(shown["panel"]))
    figure, axes = new_figure(
        PAGE if len(panels) > 1 else COLUMN * 1.5, 2.1 * len(panels), len(panels), 2, sharey="row", sharex="row"
    )
    for place, (panel, (column, title)) in zip(axes, ((p, c) for p in panels for c in PHASES), strict=True):
        _lines(place, shown.loc[shown["panel"] == panel, ["line", "epoch", column]], column)
        place.set_title(f"{title}, {short(panel)}" if len(panels) > 1 else title)
        place.set_xlabel("epoch")
    for place in axes[::2]:
        place.set_ylabel("loss")
    return figure


def _lines(axes: Axes, part: pd.DataFrame, column: str) -> None:
    lines = part.pivot_table(index="epoch", columns="line", values=column)
    axes.plot(lines.index, lines.to_numpy(), color=colour(0), lw=0.4, alpha=0.3)
    left = lines.notna().sum(axis=1)
    typical = lines[left >= max(1, lines.shape[1] / 2)]
    mean, deviation = typical.mean(axis=1), typical.std(axis=1, ddof=0)
    axes.fill_between(typical.index, mean - deviation, mean + deviation, color=colour(0), alpha=0.2, lw=0)
    axes.plot(typical.index, mean, color=colour(0), lw=1.4)
