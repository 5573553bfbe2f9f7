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
from ..errors import UsageError
from ..metrics import Metric
from ..options.settings import FitSettings
from .hardware import Hardware
from .lifting import load_state, part_of, state
from .modules import StackModule

MUST_BE_FINITE = {"train_loss", "validation_loss", "validation_error"}
"""A trial has diverged if one of these is not finite. Other metrics may be undefined for a sound network."""
PER_TRIAL = ("epochs", "steps", "best_epochs", "seconds", "diverged")
"""The fields of `Fit` that are arrays ``(T,)``."""


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
        n_trials = len(trials)
        self.trials = np.array(trials)
        self.monitor = f"validation_{settings.monitor}"
        self.sign = 1
        if metric is not None:
            self.monitor = f"validation_{metric.name}"
            self.sign = -metric.sign
        self.min_epochs = min_epochs
        self.longest_wait = settings.stops_after
        self.validate_every = settings.validate_every
        self._takes_ties = settings.ties == "last"
        self._watches = settings.monitor != "none"
        self._restore_best = settings.keeps_best

        # The state of early stopping. These arrays keep the size T; `active` says whose entries still change.
        self.active: NDArray[np.int64] = np.arange(n_trials)
        self.best = np.full(n_trials, np.inf)
        self.best_epochs = np.zeros(n_trials, dtype=np.int64)
        self.epochs = np.zeros(n_trials, dtype=np.int64)
        self.waited = np.zeros(n_trials, dtype=np.int64)
        self.diverged = np.zeros(n_trials, dtype=bool)
        self.seconds = np.zeros(n_trials)

        self.latest: list[dict[str, Any]] = []
        self.curves: list[dict[str, Any]] = []
        self.weights: dict[str, Tensor] = {}
        self._started = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Copies: a trial that diverges in its first epoch ends with the weights that it started from.
        self.weights = {name: tensor.detach().clone() for name, tensor in state(pl_module).items()}

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Time of this process and not of the clock: other cells may share the machine.
        self._started = time.process_time()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, StackModule)
        metrics = pl_module.end_epoch()
        elapsed = time.process_time() - self._started
        self.seconds[self.active] += elapsed / len(self.active)
        finite = _are_finite(metrics)
        self.diverged[self.active] = ~finite
        if not finite.any() and (sentence := pl_module.at_fault()) is not None:
            raise UsageError(sentence)
        self._record(metrics)

        improved = np.zeros_like(finite)
        if not self._watches:
            # The weights of the last epoch count.
            self.best_epochs[self.active] = self.epochs[self.active]
        elif self.monitor in metrics:
            # A trial that has diverged is as bad as the start.
            watched = np.where(finite, self.sign * metrics[self.monitor], np.inf)
            improved = self._update_best(watched)
        if self._restore_best:
            self._keep_weights(pl_module, improved)
        else:
            self._keep_weights(pl_module, finite)

        is_patience_over = self.waited[self.active] >= self.longest_wait
        may_stop = self.epochs[self.active] >= self.min_epochs
        staying = finite & ~(is_patience_over & may_stop)
        if staying.all():
            return
        self.active = self.active[staying]
        if len(self.active) == 0:
            trainer.should_stop = True
        else:
            pl_module.let_leave(np.flatnonzero(staying))

    def _record(self, metrics: dict[str, NDArray[np.float64]]) -> None:
        """Add the epoch to the curves: one record for each active trial."""
        self.epochs[self.active] += 1
        self.latest = []
        for position, stacked in enumerate(self.active):
            record: dict[str, Any] = {"trial": int(self.trials[stacked]), "epoch": int(self.epochs[stacked])}
            for name, values in metrics.items():
                number = float(values[position])
                # Records are JSON, which has no infinity.
                record[name] = number if math.isfinite(number) else math.nan
            self.latest.append(record)
        self.curves += self.latest

    def _update_best(self, watched: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare the active trials' watched numbers, smaller is better, with their best ones.

        Returns:
            the mask of the active trials that have improved.
        """
        best = self.best[self.active]
        improved: NDArray[np.bool_] = watched < best
        if self._takes_ties:
            # The start is infinite too, and a trial that diverges at once has not reached it again.
            improved |= (watched == best) & np.isfinite(watched)
        better = self.active[improved]
        self.best[better] = watched[improved]
        self.best_epochs[better] = self.epochs[better]
        self.waited[self.active] = np.where(improved, 0, self.waited[self.active] + 1)
        return improved

    def _keep_weights(self, module: StackModule, chosen: NDArray[np.bool_]) -> None:
        """Copy the current weights of the ``chosen`` active trials into `weights`."""
        if not chosen.any():
            return
        # The module holds the active trials alone, `weights` holds all T.
        source = torch.from_numpy(np.flatnonzero(chosen)).to(module.device)
        target = torch.from_numpy(self.active[chosen]).to(module.device)
        for name, tensor in state(module).items():
            self.weights[name][target] = tensor.detach()[source]


def _are_finite(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """The mask ``(A,)`` of the trials whose losses are all finite."""
    names = MUST_BE_FINITE & metrics.keys()
    finite: NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(metrics[name]) for name in names])
    return finite


Watch = Callable[[str, TrialStopping, int], list[pl.Callback]]
"""Given a phase's name, its early stopping and its largest number of epochs: callbacks that show its progress."""


@dataclass(frozen=True)
class Fit:
    """The result of one fit of T trials.

    Attributes:
        weights: the kept parameters and buffers by name, ``(T, ...)`` each.
        epochs: epochs trained, ``(T,)``.
        steps: steps of the optimiser, ``(T,)``.
        best_epochs: the epoch, counted from 1, whose weights are kept, ``(T,)``.
        seconds: time of training, ``(T,)``.
        curves: a record for each epoch and trial.
        diverged: the mask of the trials with a loss that was not finite, ``(T,)``.
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
        weights = {}
        for name in fits[0].weights:
            weights[name] = torch.cat([fit.weights[name] for fit in fits])
        arrays = {}
        for name in PER_TRIAL:
            arrays[name] = np.concatenate([getattr(fit, name) for fit in fits])
        curves = []
        for fit in fits:
            curves += fit.curves
        return cls(weights, curves=curves, **arrays)

    def of(self, positions: Sequence[int]) -> "Fit":
        """The fit of the trials at these positions. The curves stay whole: each record names its trial."""
        chosen = list(positions)
        weights = {name: weight[chosen] for name, weight in self.weights.items()}
        arrays = {name: getattr(self, name)[chosen] for name in PER_TRIAL}
        return replace(self, weights=weights, **arrays)

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

    Args:
        phase: ``pretrain`` or ``finetune``, for the display of progress.
        module: trained in place.
        datamodule: gives the batches; `StackDataModule.serve` has chosen them.
        trials: the trials' numbers, in the order of the stack.
        hardware: device and number types.
        watch: makes callbacks that show progress; None shows nothing.
    """
    settings = module.settings
    if not datamodule.n_validation:
        settings = settings.unwatched()
    steps_per_epoch = module.steps_per_epoch
    module.scheduled_epochs = settings.scheduled_epochs(steps_per_epoch)
    # `StackModule` takes the steps of an epoch by itself.
    module.automatic_optimization = False
    min_epochs, max_epochs = settings.epochs(steps_per_epoch)

    metric = None
    # Without a monitor the last epoch alone is measured, so that the record tells how training went.
    validate_every = max_epochs
    if settings.monitor != "none":
        metric = module.metric
        # A training shorter than the interval is still validated once.
        validate_every = min(settings.validate_every, max_epochs)

    stopping = TrialStopping(trials, settings, metric=metric, min_epochs=min_epochs)
    callbacks: list[pl.Callback] = [stopping]
    if watch is not None:
        callbacks += watch(phase, stopping, max_epochs)
    trainer = pl.Trainer(
        accelerator=hardware.device.type,
        # A list names the devices, a number says how many.
        devices=1 if hardware.device.index is None else [hardware.device.index],
        # Lightning's own double precision would convert every batch; 32-true leaves number types alone.
        precision="bf16-mixed" if hardware.precision == "bf16-mixed" else "32-true",
        max_epochs=max_epochs,
        check_val_every_n_epoch=validate_every,
        limit_val_batches=None if datamodule.n_validation else 0,
        callbacks=callbacks,
        # `TrialStopping` keeps weights and curves, and `StackProgress` shows them: Lightning knows one trial only.
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        # In a Slurm job Lightning would count its tasks and requeue it.
        plugins=[LightningEnvironment()],
        # Weights kept from an inference tensor could not be trained further.
        inference_mode=False,
    )
    with hardware.multiplying():
        trainer.fit(module.to(hardware.dtype), datamodule=datamodule)

    # Lightning moves the module to the host at the end, and trials that left are no longer in it.
    load_state(module, stopping.weights)
    module.to(hardware.device)
    return Fit(
        weights=stopping.weights,
        epochs=stopping.epochs,
        steps=stopping.epochs * steps_per_epoch,
        best_epochs=stopping.best_epochs,
        seconds=stopping.seconds,
        curves=stopping.curves,
        diverged=stopping.diverged,
    )
