"""One fit of a stack: Lightning's trainer with early stopping of each trial, and its result."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import StackDataModule
from ..metrics import Metric
from ..options.settings import FitSettings
from .early_stopping import TrialStopping
from .hardware import Hardware
from .lifting import load_state, part_of
from .modules import StackModule

Watch = Callable[[str, TrialStopping, int], list[pl.Callback]]
"""Given a phase's name, its early stopping and its largest number of epochs: callbacks that show its progress."""


def unwatched(*_: object) -> list[pl.Callback]:
    """A `Watch` that shows nothing."""
    return []


OF_EACH_TRIAL = ("epochs", "steps", "best_epochs", "seconds", "diverged")


@dataclass(frozen=True)
class Fit:
    """The result of one fit of T trials.

    **Shape.** ``weights`` holds the kept parameters and buffers by name, ``(T, ...)`` each; ``epochs``, ``steps`` of
    the optimiser, ``best_epochs``, ``seconds`` and ``diverged`` (whether a loss was not finite) are ``(T,)``;
    ``curves`` has a record for each epoch and trial.
    """

    weights: Mapping[str, Tensor]
    epochs: NDArray[np.int64]
    steps: NDArray[np.int64]
    best_epochs: NDArray[np.int64]
    seconds: NDArray[np.float64]
    curves: list[dict[str, Any]]
    diverged: NDArray[np.bool_]

    @classmethod
    def join(cls, fits: Sequence["Fit"]) -> "Fit":
        """The fits of several stacks as one."""
        weights = {name: torch.cat([fit.weights[name] for fit in fits]) for name in fits[0].weights}
        arrays = {name: np.concatenate([getattr(fit, name) for fit in fits]) for name in OF_EACH_TRIAL}
        return cls(weights, curves=[record for fit in fits for record in fit.curves], **arrays)

    def of(self, positions: Sequence[int]) -> "Fit":
        """The fit of the trials at these positions. The curves stay whole: each record names its trial."""
        chosen = list(positions)
        weights = {name: weight[chosen] for name, weight in self.weights.items()}
        return replace(self, weights=weights, **{name: getattr(self, name)[chosen] for name in OF_EACH_TRIAL})

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The weights of one part of the module, such as ``encoder``, without the part's name."""
        return part_of(self.weights, prefix)


def fit(
    phase: str,
    module: StackModule,
    datamodule: StackDataModule,
    settings: FitSettings,
    *,
    trials: tuple[int, ...],
    hardware: Hardware,
    watch: Watch,
    metric: Metric | None = None,
) -> Fit:
    """Train the module until every trial has stopped; it ends with the kept weights of all trials.

    ``metric`` is watched in place of the settings' monitor.
    """
    steps_per_epoch = datamodule.steps_per_epoch
    min_epochs = math.ceil(settings.min_steps / steps_per_epoch)
    stopping = TrialStopping(trials, settings, metric=metric, min_epochs=min_epochs)
    max_epochs = max(settings.max_epochs, min_epochs)
    trainer = pl.Trainer(
        accelerator=hardware.device.type,
        devices=1,
        # Lightning's own double precision would convert every batch; 32-true leaves number types alone.
        precision="bf16-mixed" if hardware.precision == "bf16-mixed" else "32-true",
        max_epochs=max_epochs,
        check_val_every_n_epoch=settings.validate_every,
        callbacks=[stopping, *watch(phase, stopping, max_epochs)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        plugins=[LightningEnvironment()],  # in a Slurm job Lightning would count its tasks and requeue it
        inference_mode=False,  # weights kept from an inference tensor could not be trained further
    )
    with hardware.multiplying():
        trainer.fit(module.to(hardware.dtype), datamodule=datamodule)
    load_state(module, stopping.weights)
    module.to(hardware.device)
    return Fit(
        stopping.weights,
        stopping.epochs,
        stopping.epochs * steps_per_epoch,
        stopping.best_epochs,
        stopping.seconds,
        stopping.curves,
        stopping.diverged,
    )
