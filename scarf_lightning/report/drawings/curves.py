"""Losses while pre-training."""

from typing import Any

from ...errors import UsageError
from ..figures import loss_curves
from ..options import Options
from ..reading import Material, read_curves
from ..sections import Block, Paragraph, Picture, counted
from ..selecting import distinguishing, labels, select

MOST_PANELS = 4


def loss_curve_blocks(material: Material, drawing: dict[str, Any], options: Options, name: str) -> list[Block]:
    """Training beside validation loss, a panel a cell."""
    cells = select(material, drawing.get("where"))
    cells = cells[cells["pretrain"].ne("none")]
    chosen = cells[cells["finished"] > 0]
    if chosen.empty:
        raise UsageError("None of these cells has a finished pre-training.")
    shown = chosen.head(MOST_PANELS)
    curves = read_curves(material, shown.index)
    if not (curves["phase"] == "pretrain").any():
        raise UsageError("These cells have kept no curves of pre-training.")
    columns = ["dataset", *distinguishing(shown, material.axes)]
    curves["panel"] = curves["cell"].map(labels(shown, columns))
    curves["line"] = curves["cell"].astype(str) + " " + curves["trial"].astype(str)
    epochs = curves[curves["phase"] == "pretrain"].groupby("line")["epoch"].max()
    blocks: list[Block] = [
        Picture(
            name,
            loss_curves(curves),
            alt=f"Training and validation loss of {counted(len(epochs), 'pre-training')}, which stop after "
            f"{epochs.min()} to {epochs.max()} epochs.",
            caption="Loss while pre-training: each trial faint, the mean of trials with one standard deviation as long "
            "as half of them train. The training loss is jittery because views are drawn anew in every epoch; the "
            "validation set is built once.",
        )
    ]
    if len(chosen) > len(shown):
        blocks.append(
            Paragraph(f"The first {MOST_PANELS} of {len(chosen)} cells are shown; the drawing's where chooses others.")
        )
    return blocks
