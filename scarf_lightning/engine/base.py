"""What the LightningModules share: T independent networks, one optimiser, losses and metrics a trial."""

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Batch
from ..roster import Roster
from ..settings import FitSettings
from .adam import StackAdam
from .lifting import let_leave

REGISTER_ELEMENTS = 16
"""Float32 numbers in the widest vector register, AVX-512's."""


class StackModule(pl.LightningModule, ABC):
    """Trains T networks at once. Losses are summed over trials, so each network's gradient is what it would be alone.

    What Lightning gives is a whole pass, and the steps of an epoch are taken here: its loop, closures and hooks around
    each would cost more than half a millisecond.

    Args:
        roster: of the trials still here.
        settings: of the optimiser.
    """

    def __init__(self, roster: Roster, *, settings: FitSettings) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.roster, self.settings = roster, settings
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = defaultdict(int)

    @abstractmethod
    def losses(self, batch: Batch) -> Tensor:
        """Training loss of each trial, ``(T,)``."""

    @abstractmethod
    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        """Means over the batch's rows, ``(T,)`` each: ``loss``, ``error`` or both."""

    def on_train_epoch_start(self) -> None:
        if self.settings.schedule == "cosine":
            done = min(self.current_epoch / self.settings.max_epochs, 1.0)
            for group in self._optimizer.param_groups:
                group["lr"] = self.settings.learning_rate * (1 + math.cos(math.pi * done)) / 2

    def training_step(self, batches: Iterator[Batch], batch_idx: int) -> None:
        """Train on the mini-batches of an epoch."""
        optimizer = self._optimizer
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for batch in batches:
            losses = self.losses(batch)
            self._add("train_loss", losses.detach(), batch.x.shape[1])
            total = losses.sum()
            with torch.autocast(self.device.type, enabled=False):  # gradients have the number types of the forward pass
                for parameter in parameters:  # zero_grad() costs as much as a layer's product
                    parameter.grad = None
                total.backward()  # type: ignore[no-untyped-call]
                if self.settings.gradient_clip is not None:
                    clip_each_trial(parameters, self.settings.gradient_clip)
                optimizer.advance()
            torch.clear_autocast_cache()  # of the weights in bfloat16, which have changed

    def validation_step(self, batches: Iterator[Batch], batch_idx: int) -> None:
        """Judge the mini-batches of a validation."""
        for batch in batches:
            for name, values in self.validation_metrics(batch).items():
                self._add(f"validation_{name}", values, batch.x.shape[1])

    def configure_optimizers(self) -> StackAdam:
        """Adam, fused where that leaves a trial's numbers alone.

        The fused kernel rounds the elements that fill whole vector registers and those left over differently, and how
        many are left over depends on the size of the stack, unless each trial's share fills whole registers.
        """
        parameters = [parameter for parameter in self.parameters() if parameter.requires_grad]
        fits = [parameter[0].numel() % REGISTER_ELEMENTS == 0 for parameter in parameters]
        groups = [
            {"params": [p for p, fit in zip(parameters, fits, strict=True) if fit is fused], "fused": fused}
            for fused in (True, False)
        ]
        return StackAdam(
            [group for group in groups if group["params"]],
            lr=self.settings.learning_rate,
            eps=self.settings.epsilon,
            weight_decay=self.settings.weight_decay,
        )

    def end_epoch(self) -> dict[str, NDArray[np.float64]]:
        """Row-weighted means of the epoch's losses and metrics, ``(T,)`` each; the next epoch starts at nothing."""
        means = {name: (total / self._counts[name]).cpu().numpy() for name, total in self._sums.items()}
        self._sums.clear()
        self._counts.clear()
        return means

    def let_leave(self, staying: NDArray[np.int64]) -> None:
        """Go on with the trials at these positions among the ones still here: all else shrinks or asks the roster."""
        let_leave(self, self._optimizer, torch.from_numpy(staying).to(self.device))
        self.roster.keep(staying.tolist())

    @property
    def _optimizer(self) -> StackAdam:
        optimizer = self.optimizers(use_pl_optimizer=False)
        assert isinstance(optimizer, StackAdam)
        return optimizer

    def _add(self, name: str, values: Tensor, n_rows: int) -> None:
        weighted = values.double() * n_rows
        self._sums[name] = self._sums[name] + weighted if name in self._sums else weighted
        self._counts[name] += n_rows


@torch.no_grad()
def clip_each_trial(parameters: Sequence[Tensor], largest: float) -> None:
    """Scale the gradients ``(T, ...)`` of each trial down to this norm of all of them together, where it is exceeded.

    As `torch.nn.utils.clip_grad_norm_` does of one network. Squares are added along the last axis, parameter by
    parameter, in an order that the size of the stack does not decide.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    squares = torch.stack([gradient.flatten(1).double().square().sum(dim=1) for gradient in gradients], dim=1)
    scale = (largest / (squares.sum(dim=1).sqrt() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.to(gradient.dtype).view(-1, *[1] * (gradient.dim() - 1)))
