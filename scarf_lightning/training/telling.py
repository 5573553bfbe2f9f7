"""Who looks at a cell while it trains is told of each epoch."""

from collections.abc import Callable, Sequence
from typing import Any

import pytorch_lightning as pl

from ..engine.early_stopping import TrialStopping

Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Given a phase and the records of its latest epoch, one a trial that trains."""


class EpochTeller(pl.Callback):
    """Tells of each epoch of one phase. It stands after the early stopping, which records the epoch.

    Args:
        phase: its name.
        stopping: the early stopping that keeps the curves.
        tell: whom.
    """

    def __init__(self, phase: str, stopping: TrialStopping, tell: Tell) -> None:
        self._phase, self._stopping, self._tell = phase, stopping, tell
        self._told = 0

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        records = self._stopping.curves[self._told :]
        self._told += len(records)
        if records:
            self._tell(self._phase, records)
