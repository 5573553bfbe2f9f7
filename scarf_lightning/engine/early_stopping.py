"""Early stopping of each trial by itself: it keeps its best weights and leaves the stack."""

import time
from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..metrics import Metric
from ..settings import FitSettings
from .base import StackModule
from .lifting import state

MUST_BE_FINITE = {"train_loss", "validation_loss", "validation_error"}
"""What shows that a trial has diverged. A metric may be undefined for what a sound network predicts."""


class TrialStopping(pl.Callback):
    """Watches each trial's validation metric; a trial that has stopped leaves parameters, optimiser and batches.

    What a trial computes does not depend on who else is in the stack, so leaving changes nothing but the time it takes.
    A trial one of whose losses is not finite has diverged: it leaves, and the others go on. Its weights are those kept
    before, which are finite, and its curve ends with that epoch, where NaN stands for what is not finite.

    Args:
        trials: the trials' numbers, in the order of the stack.
        settings: the phase's: what is watched, and for how long; see `FitSettings`.
        metric: what is watched in the place of the settings' monitor.
        min_epochs: before which no trial stops, if more than the settings say.

    Attributes:
        longest_wait: validations without improvement after which a trial stops.
        validate_every: epochs from one validation to the next.
        min_epochs: epochs before which no trial stops.
        sign: what makes smaller better: -1 where higher is.
        active: positions in the stack of the trials still training.
        best: best metric so far, ``(T,)``, smoothed as the settings say, and negative where higher is better; infinity
            before the first validation.
        best_epochs: the first epoch, counted from 1, that reached it, ``(T,)``.
        epochs: epochs trained, ``(T,)``.
        waited: validations since the best one, ``(T,)``.
        diverged: whether a loss was not finite, ``(T,)``.
        seconds: each epoch's time shared equally among the trials in it, ``(T,)``.
        curves: one record an epoch and trial; without the validation metrics where there was no validation.
        weights: the kept parameters and buffers by name, each ``(T, ...)``.
    """

    def __init__(
        self, trials: Sequence[int], settings: FitSettings, *, metric: Metric | None = None, min_epochs: int = 1
    ) -> None:
        self.trials, self.monitor = np.array(trials), f"validation_{metric.name if metric else settings.monitor}"
        self.sign, self.min_epochs = -metric.sign if metric else 1, max(min_epochs, settings.min_epochs)
        exceeded, patience = settings.patience_rule == "exceeded", settings.patience
        self.longest_wait = np.inf if patience is None else patience + exceeded
        self.validate_every = settings.validate_every
        self._smoothing, self._restore_best = settings.monitor_smoothing, settings.restore_best
        self._min_improvement = settings.min_improvement
        self.active: NDArray[np.int64] = np.arange(len(trials))
        self.best = np.full(len(trials), np.inf)
        self._smoothed = np.full(len(trials), np.nan)
        self.best_epochs, self.epochs, self.waited = (np.zeros(len(trials), dtype=np.int64) for _ in range(3))
        self.diverged = np.zeros(len(trials), dtype=bool)
        self.seconds = np.zeros(len(trials))
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
        if self.monitor in metrics:
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
        for position, stacked in enumerate(self.active):
            record = {"trial": int(self.trials[stacked]), "epoch": int(self.epochs[stacked])}
            numbers = {name: float(values[position]) for name, values in metrics.items()}
            self.curves.append(record | {name: n if isfinite(n) else nan for name, n in numbers.items()})

    def _judge(self, metric: NDArray[np.float64]) -> NDArray[np.bool_]:
        if self._smoothing:
            before = np.where(np.isnan(self._smoothed[self.active]), metric, self._smoothed[self.active])
            metric = self._smoothing * before + (1 - self._smoothing) * metric
            self._smoothed[self.active] = metric
        improved = metric < self.best[self.active] - self._min_improvement
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
