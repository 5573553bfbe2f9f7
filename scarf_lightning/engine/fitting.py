"""One fit of a stack: Lightning's trainer, the early stopping of each trial by itself, and the result."""

import math
import time
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
from .hardware import Hardware
from .lifting import load_state, part_of, state
from .modules import StackModule

MUST_BE_FINITE = {"train_loss", "validation_loss", "validation_error"}
"""A trial has diverged if one of these is not finite. Other metrics may be undefined for a sound network."""
OF_EACH_TRIAL = ("epochs", "steps", "best_epochs", "seconds", "diverged")


class TrialStopping(pl.Callback):
    """Watches each trial's validation metric. A trial that has stopped leaves parameters, optimiser and batches.

    A trial's numbers do not depend on the trials beside it, so leaving changes only the time. A trial stops after more
    than ``patience`` validations without improvement: one that never improves trains patience + 2 epochs, 5 in the
    paper's table of training epochs (dataset 40923).

    A trial with a loss that is not finite has diverged: it leaves, and the others go on. It keeps its last good
    weights, and its curve ends with that epoch, with NaN in place of numbers that are not finite.

    Args:
        trials: the trials' numbers, in the order of the stack.
        metric: watched in place of the settings' monitor.
        min_epochs: the first epoch after which a trial may stop.

    Attributes:
        longest_wait: validations without improvement after which a trial stops.
        active: positions in the stack of the trials still training.
        best: best ``sign`` times metric so far, ``(T,)``; ``sign`` is -1 if higher is better.
        best_epochs: the epoch, counted from 1, that reached it, ``(T,)``; the last one if nothing is watched.
        waited: validations since the best one, ``(T,)``.
        seconds: each epoch's time shared equally among the trials in it, ``(T,)``.
        latest: a record for each trial of the latest epoch, with validation metrics if there was a validation.
        curves: the records of all epochs.
        weights: the kept parameters and buffers by name, each ``(T, ...)``.
    """

    def __init__(
        self, trials: Sequence[int], settings: FitSettings, *, metric: Metric | None = None, min_epochs: int = 1
    ) -> None:
        self.trials, self.monitor = np.array(trials), f"validation_{metric.name if metric else settings.monitor}"
        self.sign, self.min_epochs = -metric.sign if metric else 1, min_epochs
        self.longest_wait, self.validate_every = settings.stops_after, settings.validate_every
        self._takes_ties = settings.ties == "last"
        self._watches, self._restore_best = settings.monitor != "none", settings.keeps_best
        self.active: NDArray[np.int64] = np.arange(len(trials))
        self.best = np.full(len(trials), np.inf)
        self.best_epochs, self.epochs, self.waited = (np.zeros(len(trials), dtype=np.int64) for _ in range(3))
        self.diverged = np.zeros(len(trials), dtype=bool)
        self.seconds = np.zeros(len(trials))
        self.latest: list[dict[str, Any]] = []
        self.curves: list[dict[str, Any]] = []
        self.weights: dict[str, Tensor] = {}
        self._started = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.weights = {name: tensor.detach().clone() for name, tensor in state(pl_module).items()}

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._started = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, StackModule)
        metrics = pl_module.end_epoch()
        self.seconds[self.active] += (time.perf_counter() - self._started) / len(self.active)
        finite = np.logical_and.reduce([np.isfinite(metrics[name]) for name in MUST_BE_FINITE & metrics.keys()])
        self.diverged[self.active] = ~finite
        self._record(metrics)
        improved = np.zeros_like(finite)
        if not self._watches:
            self.best_epochs[self.active] = self.epochs[self.active]
        elif self.monitor in metrics:
            improved = self._judge(np.where(finite, self.sign * metrics[self.monitor], np.inf))
        self._keep_weights(pl_module, improved if self._restore_best else finite)

        stops = (self.waited[self.active] >= self.longest_wait) & (self.epochs[self.active] >= self.min_epochs)
        staying = finite & ~stops
        if staying.all():
            return
        self.active = self.active[staying]
        if len(self.active) == 0:
            trainer.should_stop = True
            return
        pl_module.let_leave(np.flatnonzero(staying))

    def _record(self, metrics: dict[str, NDArray[np.float64]]) -> None:
        self.epochs[self.active] += 1
        self.latest = []
        for position, stacked in enumerate(self.active):
            record = {"trial": int(self.trials[stacked]), "epoch": int(self.epochs[stacked])}
            numbers = {name: float(values[position]) for name, values in metrics.items()}
            self.latest.append(record | {name: n if math.isfinite(n) else math.nan for name, n in numbers.items()})
        self.curves += self.latest

    def _judge(self, metric: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of the trials still here have improved."""
        best = self.best[self.active]
        # A trial that has diverged is as bad as the start, and no tie.
        improved: NDArray[np.bool_] = metric < best
        if self._takes_ties:
            improved |= (metric == best) & np.isfinite(metric)
        better = self.active[improved]
        self.best[better] = metric[improved]
        self.best_epochs[better] = self.epochs[better]
        self.waited[self.active] = np.where(improved, 0, self.waited[self.active] + 1)
        return improved

    def _keep_weights(self, module: StackModule, chosen: NDArray[np.bool_]) -> None:
        if not chosen.any():
            return
        source = torch.from_numpy(np.flatnonzero(chosen)).to(module.device)
        target = torch.from_numpy(self.active[chosen]).to(module.device)
        for name, tensor in state(module).items():
            self.weights[name][target] = tensor.detach()[source]


Watch = Callable[[str, TrialStopping, int], list[pl.Callback]]
"""Given a phase's name, its early stopping and its largest number of epochs: callbacks that show its progress."""


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
    *,
    trials: tuple[int, ...],
    hardware: Hardware,
    watch: Watch | None,
) -> Fit:
    """Train the module until every trial has stopped; it ends with the kept weights of all trials.

    Without validation rows a phase watches nothing, see `FitSettings`. With them, one that watches nothing is still
    measured on them at its end.
    """
    settings, steps_per_epoch = module.settings, datamodule.steps_per_epoch
    if not datamodule.n_validation:
        settings = settings.unwatched()
    min_epochs, max_epochs = settings.epochs(steps_per_epoch)
    module.steps_per_epoch = steps_per_epoch
    watches = settings.monitor != "none"
    stopping = TrialStopping(trials, settings, metric=module.metric if watches else None, min_epochs=min_epochs)
    trainer = pl.Trainer(
        accelerator=hardware.device.type,
        devices=1,
        # Lightning's own double precision would convert every batch; 32-true leaves number types alone.
        precision="bf16-mixed" if hardware.precision == "bf16-mixed" else "32-true",
        max_epochs=max_epochs,
        # One epoch at least is judged. If nothing is watched it is the last one, so that the record tells how it went.
        check_val_every_n_epoch=min(settings.validate_every, max_epochs) if watches else max_epochs,
        limit_val_batches=None if datamodule.n_validation else 0,
        callbacks=[stopping, *(watch(phase, stopping, max_epochs) if watch else [])],
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
    steps = stopping.epochs * steps_per_epoch
    measured = stopping.best_epochs, stopping.seconds, stopping.curves, stopping.diverged
    return Fit(stopping.weights, stopping.epochs, steps, *measured)
