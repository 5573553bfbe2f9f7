"""The engine's training loop: many steps and epochs in one batch of Lightning's."""

import time
from collections.abc import Iterator

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Batch
from .captured import Capture, Captured
from .stack_modules import StackModule, clip_each_trial
from .stopping import KeptWeights, TrialStopping

LEAVING_SHARE = 1 / 3
"""Trials leave captured steps when more than this share of them has stopped, so that few shapes are captured."""
WARM_UPS = 3
"""Steps of a shape before it is captured: the optimiser makes its moments in the first."""


class Watcher:
    """Looks on while a phase trains."""

    def begin_fit(self, steps_per_epoch: int) -> None:
        """Called before the first step."""

    def begin_epoch(self) -> None:
        """Called before the first step of each epoch."""

    def after_step(self, n_done: int) -> None:
        """Called after a step, with the number of steps made in this epoch."""

    def after_steps(self) -> None:
        """Called after the last step of each epoch, before a validation."""

    def after_epoch(self) -> None:
        """Called after each epoch, when the early stopping has seen it."""

    def end_fit(self) -> None:
        """Called at the end, after an error too."""


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
                losses = self.step(_present(batch))
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

    def _step_of(self, given: dict[str, Tensor]) -> Tensor:
        """Take a step on a mini-batch: the losses before it, ``(T,)``."""
        losses = self.stack.losses(Batch(given["x"], given.get("targets"), given.get("weights")))
        self._update(losses)
        # The graph of a step must be gone before trials leave: it knows the shapes of parameters.
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
        finite = losses.isfinite()
        if not finite.all():
            self.kept.take(np.flatnonzero(~finite.numpy()))

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
        # Where all trials have stopped between two validations, their last epoch has ended.
        if len(self._stopping.active):
            self._end_epoch()
        if len(self._stopping.active) == 0:
            self.trainer.should_stop = True

    def _end_epoch(self) -> None:
        stopping = self._stopping
        places = self._active_places
        during = stopping.active
        metrics = {name: values[places] for name, values in self.stack.end_epoch().items()}
        improved, stopped = stopping.end_epoch(metrics)
        if self._keeps_best:
            self.kept.take(places[improved])
        else:
            # Those of a trial that has diverged were kept before.
            ended = stopped | (self._n_epochs == self._max_epochs)
            self.kept.take(places[ended & ~stopping.diverged[during]])
        n_here, n_active = len(self.stack.roster), len(stopping.active)
        if n_active and n_here - n_active > self._leaving_share * n_here:
            self.stack.let_leave(self._active_places, self._optimizer)
            self.step.forget()
            self.validation.forget()
        for watcher in self._watchers:
            watcher.after_epoch()
        now = self._now()
        self.seconds[during] += (now - self._lap_began) / len(during)
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


def _present(batch: Batch) -> dict[str, Tensor]:
    """The fields of a batch that are there."""
    return {name: tensor for name, tensor in vars(batch).items() if tensor is not None}
