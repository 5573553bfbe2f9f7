"""One fit of a stack by Lightning's trainer, and its result."""

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
from .captured import capture_of, foreign_part
from .hardware import Hardware, own_torch
from .lifting import load_state, part_of
from .loop import StackLoop, Watcher
from .stack_modules import StackModule
from .stopping import TrialStopping

PER_TRIAL = ("epochs", "steps", "best_epochs", "seconds", "diverged")
"""The fields of `Fit` that are arrays ``(T,)``."""

Watch = Callable[[str, TrialStopping], list[Watcher]]
"""Given a phase's name and its early stopping: watchers that show its progress."""


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
        launches: on a GPU, ``captured``, or why kernels were launched one by one.
    """

    weights: Mapping[str, Tensor]
    epochs: NDArray[np.int64]
    steps: NDArray[np.int64]
    best_epochs: NDArray[np.int64]
    seconds: NDArray[np.float64]
    curves: list[dict[str, Any]]
    diverged: NDArray[np.bool_]
    launches: str | None = None

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
        launches = next((fit.launches for fit in fits if fit.launches not in (None, "captured")), fits[0].launches)
        return cls(weights, curves=curves, launches=launches, **arrays)

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
    watch: Watch,
    probes: Sequence[Watcher] = (),
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
        watch: makes watchers that show progress.
        probes: look on beside the watchers of ``watch``.

    Raises:
        UsageError: a part of a user's own gives a tensor of a wrong shape.
    """
    settings = module.settings
    if not datamodule.n_validation:
        settings = settings.unwatched()
    steps_per_epoch = module.steps_per_epoch
    module.scheduled_epochs = settings.scheduled_epochs(steps_per_epoch)
    min_epochs, max_epochs = settings.epochs(steps_per_epoch)

    metric = None
    # Without a monitor the last epoch alone is measured, so that the record tells how training went.
    validate_every = max_epochs
    if settings.monitor != "none":
        metric = module.metric
        # A training shorter than the interval is still validated once.
        validate_every = min(settings.validate_every, max_epochs)

    stopping = TrialStopping(trials, settings, metric=metric, min_epochs=min_epochs)
    watchers = [*probes, *watch(phase, stopping)]
    module.to(hardware.device, hardware.dtype)
    capture = capture_of(hardware.device)
    foreign = None if capture is None else foreign_part(module, module.parts)
    if foreign is not None:
        capture = None
    loop = StackLoop(
        module,
        stopping,
        watchers,
        keeps_best=settings.keeps_best,
        validate_every=validate_every,
        max_epochs=max_epochs,
        validates=datamodule.n_validation > 0,
        capture=capture,
    )
    for watcher in watchers:
        watcher.begin_fit(steps_per_epoch)
    try:
        with own_torch(hardware.precision):
            _trainer(hardware, math.ceil(max_epochs / validate_every), datamodule).fit(loop, datamodule=datamodule)
    finally:
        for watcher in watchers:
            watcher.end_fit()

    launches = None
    if hardware.device.type == "cuda":
        launches = "captured"
        if foreign is not None:
            launches = f"one by one: {foreign} does not say is_capturable = True"
        problem = loop.step.problem or loop.validation.problem
        if problem is not None:
            launches = f"one by one: {problem}"
    # Trials that left are no longer in the module.
    load_state(module, loop.kept.tensors)
    return Fit(
        weights=loop.kept.tensors,
        epochs=stopping.epochs,
        steps=stopping.epochs * steps_per_epoch,
        best_epochs=stopping.best_epochs,
        seconds=loop.seconds,
        curves=[record for epoch in stopping.curves for record in epoch.records()],
        diverged=stopping.diverged,
        launches=launches,
    )


def _trainer(hardware: Hardware, n_validations: int, datamodule: StackDataModule) -> pl.Trainer:
    """Lightning's trainer of a `StackLoop`, one of whose epochs ends with a validation."""
    return pl.Trainer(
        accelerator=hardware.device.type,
        # A list names the devices, a number says how many.
        devices=1 if hardware.device.index is None else [hardware.device.index],
        # Lightning's own double precision would convert every batch; 32-true leaves number types alone.
        precision="bf16-mixed" if hardware.precision == "bf16-mixed" else "32-true",
        max_epochs=n_validations,
        limit_val_batches=None if datamodule.n_validation else 0,
        # `KeptWeights` and `TrialStopping` keep weights and curves, and `StackProgress` shows them: Lightning knows one
        # trial only.
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
