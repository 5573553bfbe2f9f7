"""Losses while pre-training (the paper's figure of SCARF on phoneme)."""

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import UsageError
from ..blocks import Block, Picture, counted
from ..competitors import distinguishing, labels
from ..options import Options
from ..reading import CellResults, curves_of
from ..style import COLUMN, PAGE, colour, new_figure, short, styled
from .base import Drawing, left_out

PHASES = (("train_loss", "training"), ("validation_loss", "validation"))
MOST_PANELS = 4


@dataclass(frozen=True, kw_only=True)
class LossCurves(Drawing):
    """Training beside validation loss, a panel a cell."""

    name = "loss_curves"

    def blocks(self, results: CellResults, options: Options, name: str) -> list[Block]:
        cells = self.cells(results)
        chosen = cells[cells["pretrain"].ne("none") & (cells["finished"] > 0)]
        if chosen.empty:
            raise UsageError("None of these cells has a finished pre-training.")
        drawn = chosen.head(MOST_PANELS)
        curves = curves_of(results, drawn.index)
        if not (curves["phase"] == "pretrain").any():
            raise UsageError("These cells have kept no curves of pre-training.")
        panels = labels(drawn, ["dataset", *distinguishing(drawn, results.axes)], results.usual)
        curves["panel"] = curves["cell"].map(panels)
        curves["line"] = curves["cell"].astype(str) + " " + curves["trial"].astype(str)
        epochs = curves[curves["phase"] == "pretrain"].groupby("line")["epoch"].max()
        blocks: list[Block] = [
            Picture(
                name,
                loss_curves(curves),
                alt=f"Training and validation loss of {counted(len(epochs), 'pre-training')}, which stop after "
                f"{epochs.min()} to {epochs.max()} epochs.",
                caption="Loss while pre-training: each trial faint, the mean of trials with one standard deviation as "
                "long as half of them train. The training loss is jittery because views are drawn anew in every "
                "epoch; the validation set is built once.",
            )
        ]
        return blocks + left_out(len(drawn), len(chosen))


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
