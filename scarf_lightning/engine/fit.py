"""One fit of a stack: Lightning's trainer, the loop inside of its one batch, and the result."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Batch, StackDataModule
from .captured import Capture, Captured, capture_of, foreign_part
from .hardware import Hardware, own_torch
from .lifting import load_state, part_of, state
from .stack_modules import StackModule, clip_each_trial
from .watching import TrialStopping, Watch, Watcher

PER_TRIAL = ("epochs", "steps", "best_epochs", "seconds", "diverged")
"""The fields of `Fit` that are arrays ``(T,)``."""
LEAVING_SHARE = 1 / 3
"""Trials leave captured steps when more than this share of them has stopped, so that few shapes are captured."""
WARM_UPS = 3
"""Steps of a shape before it is captured: the optimiser makes its moments in the first."""


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
        indices = list(positions)
        weights = {name: weight[indices] for name, weight in self.weights.items()}
        arrays = {name: getattr(self, name)[indices] for name in PER_TRIAL}
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
    # Without a monitor the last epoch alone is measured, so that the record has a measurement.
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
        # A list names the devices, a number counts them.
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


class StackLoop(pl.LightningModule):
    """Trains T networks, each until it stops by itself.

    Lightning's hooks around a batch and an epoch take 2.3 ms, as long as a step on few labels. So it hands over all
    epochs up to the next validation as one batch.

    Args:
        module: the networks. They are no part of this module, whose weights Lightning would copy to the host at the
            end; the same holds for the optimiser.
        stopping: of each trial.
        watchers: look on.
        keeps_best: a trial ends with the weights of its best epoch, else with those of its last one.
        validate_every: epochs between validations.
        max_epochs: the last epoch.
        validates: there are validation rows.
        capture: records steps and validations as graphs; None makes them one kernel after the other.

    Attributes:
        kept: the weights with which each trial ends.
        seconds: the time of each trial, ``(T,)``: each epoch's is shared equally among the trials in it.
        step, validation: captured, or not.
    """

    def __init__(
        self,
        module: StackModule,
        stopping: TrialStopping,
        watchers: list[Watcher],
        *,
        keeps_best: bool,
        validate_every: int,
        max_epochs: int,
        validates: bool,
        capture: Capture | None = None,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self._modules_outside = [module]
        self._stopping = stopping
        self._watchers = watchers
        self._keeps_best = keeps_best
        self._validate_every = validate_every
        self._max_epochs = max_epochs
        self._validates = validates
        self._n_epochs = 0
        device = module.roster.index.device
        # On an accelerator a trial that leaves means graphs of other shapes, and one that stays costs little.
        self._leaving_share = 0.0 if capture is None else LEAVING_SHARE
        if capture is not None:
            module.prepare_capture()
        self.step = Captured(self._step_of, device, capture, warm_ups=WARM_UPS)
        self.validation = Captured(module.validation_metrics, device, capture, warm_ups=1)
        self._optimizer = module.make_optimizer(captured=capture is not None)
        self._parameters_trained: list[Tensor] = []
        for group in self._optimizer.param_groups:
            self._parameters_trained += group["params"]
        self.kept = KeptWeights(module)
        self.seconds = np.zeros(len(stopping.trials))
        self._lap_began = self._now()

    @property
    def stack(self) -> StackModule:
        """The networks."""
        return self._modules_outside[0]

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        """None: the optimiser stays here, see the class."""
        return []

    def training_step(self, epochs: Iterator[Iterator[Batch]], batch_idx: int) -> None:
        """Train up to the next validation, or to the end."""
        for batches in epochs:
            self._begin_epoch()
            first_step = (self._n_epochs - 1) * self.stack.steps_per_epoch
            for n_done, batch in enumerate(batches, 1):
                self.stack.follow_schedules(first_step + n_done - 1, self._optimizer)
                losses = self.step(_tensors_of(batch))
                self.stack.tally("train_loss", losses, batch.x.shape[1])
                for watcher in self._watchers:
                    watcher.after_step(n_done)
            for watcher in self._watchers:
                watcher.after_steps()
            if self._is_validated or self._n_epochs == self._max_epochs:
                # `on_train_epoch_end` ends this epoch, after the validation.
                return
            self._end_epoch()
            if len(self._stopping.active) == 0:
                return

    def _begin_epoch(self) -> None:
        self._n_epochs += 1
        for watcher in self._watchers:
            watcher.begin_epoch()
        self.stack.train()
        self.stack.begin_epoch()
        if not self._keeps_best and not self._keeps_before_step:
            self.kept.take(self._active_places)

    @property
    def _keeps_before_step(self) -> bool:
        """True if the weights before an epoch are kept in its only step, when a loss is not finite.

        A trial that diverges ends with the weights before that epoch. A copy of all weights in each epoch would cost a
        third of a step.
        """
        # An accelerator copies in microseconds, and the host would have to wait for the losses.
        is_alone = self.stack.steps_per_epoch == 1 and self.stack.roster.index.device.type == "cpu"
        return not self._keeps_best and is_alone and not self._is_validated

    def _step_of(self, tensors: dict[str, Tensor]) -> Tensor:
        """Take a step on a mini-batch: the losses before it, ``(T,)``."""
        losses = self.stack.losses(Batch(tensors["x"], tensors.get("targets"), tensors.get("weights")))
        self._update(losses)
        # The graph of a step must be gone before trials leave: it holds the shapes of parameters.
        return losses.detach()

    def _update(self, losses: Tensor) -> None:
        """Take a step of the optimiser. Lightning's closures and hooks around it would cost more than half a
        millisecond."""
        if self._keeps_before_step:
            self._keep_diverging(losses.detach())
        # The backward pass uses the forward pass's types.
        with torch.autocast(losses.device.type, enabled=False):
            # zero_grad() costs as much as the product of a layer.
            for parameter in self._parameters_trained:
                parameter.grad = None
            # A trial's loss depends on its own weights alone, so the gradient of the sum is each trial's gradient.
            losses.sum().backward()  # type: ignore[no-untyped-call]
            if self.stack.settings.gradient_clip is not None:
                clip_each_trial(self._parameters_trained, self.stack.settings.gradient_clip)
            self._optimizer.step()
        # The cache holds the weights in bfloat16, which have changed.
        torch.clear_autocast_cache()

    def _keep_diverging(self, losses: Tensor) -> None:
        is_finite = losses.isfinite()
        if not is_finite.all():
            self.kept.take(np.flatnonzero(~is_finite.numpy()))

    @property
    def _is_validated(self) -> bool:
        """True if a validation follows the current epoch."""
        return self._validates and self._n_epochs % self._validate_every == 0

    def on_validation_epoch_start(self) -> None:
        self.stack.eval()
        self.stack.begin_validation()

    def validation_step(self, batches: Iterator[Batch], batch_idx: int) -> None:
        """Evaluate all mini-batches of a validation."""
        # The last epochs may be fewer than there are between two validations, and all trials may have diverged.
        if not self._is_validated or len(self._stopping.active) == 0:
            return
        for batch in batches:
            metrics = self.validation(self.stack.validation_tensors(batch))
            self.stack.tally_validation(metrics, batch.x.shape[1])

    def on_train_epoch_end(self) -> None:
        # If all trials stopped between two validations, their last epoch has ended already.
        if len(self._stopping.active):
            self._end_epoch()
        if len(self._stopping.active) == 0:
            self.trainer.should_stop = True

    def _end_epoch(self) -> None:
        stopping = self._stopping
        places = self._active_places
        trained_trials = stopping.active
        metrics = {name: values[places] for name, values in self.stack.end_epoch().items()}
        has_improved, has_stopped = stopping.end_epoch(metrics)
        if self._keeps_best:
            self.kept.take(places[has_improved])
        else:
            # Those of a trial that has diverged were kept before.
            is_last = has_stopped | (self._n_epochs == self._max_epochs)
            self.kept.take(places[is_last & ~stopping.diverged[trained_trials]])
        n_here, n_active = len(self.stack.roster), len(stopping.active)
        if n_active and n_here - n_active > self._leaving_share * n_here:
            self.stack.let_leave(self._active_places, self._optimizer)
            self.step.forget()
            self.validation.forget()
        for watcher in self._watchers:
            watcher.after_epoch()
        now = self._now()
        self.seconds[trained_trials] += (now - self._lap_began) / len(trained_trials)
        self._lap_began = now

    @property
    def _active_places(self) -> NDArray[np.int64]:
        """The places in the module of the trials that have not stopped."""
        return np.searchsorted(self.stack.roster.positions, self._stopping.active)

    def _now(self) -> float:
        """Seconds of this process, or of an accelerator, whose host goes on before it is done."""
        device = self.stack.roster.index.device
        if device.type == "cpu":
            # Not of the clock: other cells may share the machine.
            return time.process_time()
        torch.accelerator.synchronize(device)
        return time.perf_counter()


def _tensors_of(batch: Batch) -> dict[str, Tensor]:
    """The fields of a batch that are not None."""
    return {name: tensor for name, tensor in vars(batch).items() if tensor is not None}


class KeptWeights:
    """The weights with which the trials of a module end: copies, because a module holds the trials still here alone.

    Attributes:
        tensors: parameters and buffers by name, ``(T, ...)`` each. At the start they are the initial ones, with which
            a trial ends that diverges in its first epoch.
    """

    def __init__(self, module: StackModule) -> None:
        self._module = module
        self.tensors = {name: tensor.detach().clone() for name, tensor in state(module).items()}

    @torch.no_grad()
    def take(self, places: NDArray[np.int64]) -> None:
        """Copy the present weights of the trials at these places in the module."""
        if len(places) == 0:
            return
        positions = np.array(self._module.roster.positions)[places]
        weights = state(self._module)
        copies = list(self.tensors.values())
        if len(positions) == len(copies[0]):
            torch._foreach_copy_(copies, [weights[name] for name in self.tensors])
            return
        source, target = self._device_tensor(places), self._device_tensor(positions)
        for name, tensor in weights.items():
            self.tensors[name].index_copy_(0, target, tensor.index_select(0, source))

    def _device_tensor(self, numbers: NDArray[np.int64]) -> Tensor:
        device = self._module.roster.index.device
        tensor = torch.from_numpy(numbers)
        # From other memory than pinned the host waits for its copy.
        if device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(device, non_blocking=True)
