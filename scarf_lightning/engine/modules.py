"""The LightningModules: each trains T independent networks with one optimiser, and keeps losses and metrics a trial."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import Batch
from ..data.targets import Labels, Target
from ..errors import UsageError
from ..metrics import Metric
from ..networks import Dropout, Rates, is_weight, rates_of
from ..options.settings import FinetuneSettings, FitSettings, PretrainSettings, Schedule
from ..randomness import Roster, StackedGenerator
from .encoder import Classifier
from .lifting import let_leave
from .pretext_task import BatchRows, CorruptionSource, PretextTask, ValidationSet
from .schedules import level, share_done, warmth
from .supervision import Supervision

REGISTER_ELEMENTS = 16
"""Float32 numbers in the widest vector register, AVX-512's."""


class StackModule(pl.LightningModule, ABC):
    """Trains T networks at once. Losses are summed over trials, so each network's gradient is what it would be alone.

    Lightning hands over a whole epoch as one batch, and the optimiser steps of an epoch are taken here: Lightning's
    loop, closures and hooks around each step would cost more than half a millisecond.

    Early stopping watches the ``metric``, if there is one, in place of the settings' monitor.

    Attributes:
        steps_per_epoch: of the optimiser. Schedules need it; `scarf_lightning.engine.fitting.fit` sets it.
        after_step: called with the number of steps made in an epoch, after each.
    """

    def __init__(self, roster: Roster, *, settings: FitSettings, metric: Metric | None = None) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.roster, self.settings, self.metric = roster, settings, metric
        self.steps_per_epoch = 1
        self.after_step: Callable[[int], None] | None = None
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = defaultdict(int)

    @abstractmethod
    def losses(self, batch: Batch) -> Tensor:
        """Training loss of each trial, ``(T,)``."""

    @abstractmethod
    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        """Means over the batch's rows, ``(T,)`` each: ``loss``, ``error`` or both."""

    def training_step(self, batches: Iterator[Batch], batch_idx: int) -> None:
        """Train on the mini-batches of an epoch."""
        optimizer = self._optimizer
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        earlier_steps = self.current_epoch * self.steps_per_epoch
        for n_steps, batch in enumerate(batches, 1):
            self.follow_schedules(earlier_steps + n_steps - 1)
            losses = self.losses(batch)
            self._add("train_loss", losses.detach(), batch.x.shape[1])
            total = losses.sum()
            with torch.autocast(self.device.type, enabled=False):  # the backward pass uses the forward pass's types
                for parameter in parameters:  # zero_grad() costs as much as the product of a layer
                    parameter.grad = None
                total.backward()  # type: ignore[no-untyped-call]
                if self.settings.gradient_clip is not None:
                    clip_each_trial(parameters, self.settings.gradient_clip)
                optimizer.step()
            torch.clear_autocast_cache()  # it holds the weights in bfloat16, which have changed
            if self.after_step is not None:
                self.after_step(n_steps)

    def validation_step(self, batches: Iterator[Batch], batch_idx: int) -> None:
        """Evaluate the mini-batches of a validation."""
        for batch in batches:
            for name, values in self.validation_metrics(batch).items():
                self._add(f"validation_{name}", values, batch.x.shape[1])

    def configure_optimizers(self) -> torch.optim.Adam:
        """Adam or AdamW, with a group of parameters for each learning rate and weight decay."""
        settings = self.settings
        kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
        return kind(
            self._parameter_groups(),
            lr=settings.learning_rate,
            betas=(0.9, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
        )

    def _parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters with the same `Rates` side by side, fused where that does not change a trial's numbers.

        The fused kernel rounds elements that fill whole vector registers differently from the ones left over. How many
        are left over depends on the size of the stack, unless each trial's share fills whole registers.
        """
        groups: dict[tuple[bool, Rates], list[Tensor]] = defaultdict(list)
        for owner in self.modules():
            for name, parameter in owner.named_parameters(recurse=False):
                if parameter.requires_grad:
                    is_fused = parameter[0].numel() % REGISTER_ELEMENTS == 0
                    groups[is_fused, self._rates_of(owner, name)].append(parameter)
        return [
            {"params": parameters, "fused": is_fused, "rates": rates}
            for (is_fused, rates), parameters in sorted(groups.items(), key=lambda group: group[0], reverse=True)
        ]

    def _rates_of(self, owner: nn.Module, name: str) -> Rates:
        """The factors of a parameter, with a decay of 0 if the settings spare it."""
        rates = rates_of(owner, name)
        is_spared = self.settings.decayed == "weights" and not is_weight(owner, name)
        return Rates(rates.learning, 0.0) if is_spared else rates

    def follow_schedules(self, step: int) -> None:
        """Give the optimiser and the dropout layers the numbers of a step, which counts from 0."""
        settings = self.settings
        warm = warmth(step, settings.warmup_steps)
        learning_rate = settings.learning_rate * self.level(settings.schedule, step) * warm
        weight_decay = settings.weight_decay * self.level(settings.weight_decay_schedule, step)
        for group in self._optimizer.param_groups:
            rates = group.get("rates", Rates())
            group["lr"] = learning_rate * rates.learning
            group["weight_decay"] = weight_decay * rates.decay
        if settings.dropout_schedule != "constant":
            share = self.level(settings.dropout_schedule, step)
            for layer in self.modules():
                if isinstance(layer, Dropout):
                    layer.share = share

    def level(self, schedule: Schedule, step: int) -> float:
        """The share of its full value that a number with this schedule has in a step."""
        epochs = self.settings.scheduled_epochs(self.steps_per_epoch)
        return level(schedule, share_done(schedule, step, self.steps_per_epoch, epochs))

    def end_epoch(self) -> dict[str, NDArray[np.float64]]:
        """Row-weighted means of the epoch's losses and metrics, ``(T,)`` each. The sums restart at zero."""
        means = {name: (total / self._counts[name]).cpu().numpy() for name, total in self._sums.items()}
        self._sums.clear()
        self._counts.clear()
        return means

    def let_leave(self, staying: NDArray[np.int64]) -> None:
        """Keep only the trials at these positions among the ones still here."""
        let_leave(self, self._optimizer, torch.from_numpy(staying).to(self.device))
        self.roster.keep(staying.tolist())

    @property
    def _optimizer(self) -> torch.optim.Adam:
        optimizer = self.optimizers(use_pl_optimizer=False)
        assert isinstance(optimizer, torch.optim.Adam)
        return optimizer

    def _add(self, name: str, values: Tensor, n_rows: int) -> None:
        if values.shape != (len(self.roster),):
            raise UsageError(
                f"{name.replace('_', ' ')} has the shape {tuple(values.shape)} instead of one value for each of the "
                f"{len(self.roster)} trials: average over the last axes, as in .mean(dim=(-2, -1))."
            )
        weighted = values.double() * n_rows
        self._sums[name] = self._sums[name] + weighted if name in self._sums else weighted
        self._counts[name] += n_rows


@torch.no_grad()
def clip_each_trial(parameters: Sequence[Tensor], largest: float) -> None:
    """Scale the gradients ``(T, ...)`` of each trial down so that their joint norm is at most ``largest``.

    For one network this is `torch.nn.utils.clip_grad_norm_`. Squares are added along the last axis, parameter by
    parameter, so that the order of the sum does not depend on the size of the stack.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    squares = torch.stack([gradient.flatten(1).double().square().sum(dim=1) for gradient in gradients], dim=1)
    scale = (largest / (squares.sum(dim=1).sqrt() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.to(gradient.dtype).view(-1, *[1] * (gradient.dim() - 1)))


class PretrainModule(StackModule):
    """Trains f and g on a pretext task (paper, Algorithm 1); ``validation_random`` draws the validation views."""

    def __init__(
        self, task: PretextTask, validation_random: StackedGenerator, *, roster: Roster, settings: PretrainSettings
    ) -> None:
        super().__init__(roster, settings=settings)
        self.encoder, self.head, self.classifier = task.encoder, task.head, task.classifier
        self._task, self._watches_error = task, settings.monitor == "error"
        self._validation_set = ValidationSet(task, validation_random, settings.validation_passes)

    def losses(self, batch: Batch) -> Tensor:
        return self._task.losses(batch)

    def on_validation_epoch_start(self) -> None:
        self._validation_set.start()

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        return self._task.validation(self._validation_set.views(batch.x), error=self._watches_error)

    def let_leave(self, staying: NDArray[np.int64]) -> None:
        super().let_leave(staying)
        self._validation_set.let_leave(torch.from_numpy(staying).to(self.device))


class FinetuneModule(StackModule):
    """Trains f and h on hard or soft targets (paper, section 3), as a method says. Co-training adds a pretext loss.

    Args:
        supervision: the method.
        source: the training rows that a corruption draws from.
        random: the stream of the method's draws.
        auxiliary: a pretext whose loss is added, on f and a g of its own, and its weight.
        fitted: what the target has fitted to the labels of each trial, float64 ``(T, K)``.
        truth: the labels of the validation rows, ``(T, n)``, for a metric.
        training: the roster, the settings and a metric, as `StackModule` takes them.
    """

    def __init__(
        self,
        classifier: Classifier,
        supervision: Supervision,
        source: CorruptionSource,
        random: StackedGenerator,
        auxiliary: tuple[PretextTask, float] | None = None,
        *,
        target: Target,
        fitted: Tensor,
        truth: Labels,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        assert isinstance(self.settings, FinetuneSettings)
        self._smoothing = 0.0 if supervision.smooths_labels or not target.can_smooth else self.settings.label_smoothing
        self._smooths = self._smoothing
        self.classifier, self.pretrain_head = classifier, auxiliary and auxiliary[0].head
        self._supervision, self._source, self._random, self._auxiliary = supervision, source, random, auxiliary
        self._target, self._fitted, self._truth = target, fitted, truth
        self._validated: list[Tensor] = []

    def on_train_epoch_start(self) -> None:
        if self.classifier.encoder.is_frozen:
            self.classifier.encoder.eval()

    def follow_schedules(self, step: int) -> None:
        super().follow_schedules(step)
        assert isinstance(self.settings, FinetuneSettings)
        self._smooths = self._smoothing * self.level(self.settings.label_smoothing_schedule, step)

    def losses(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        rows = BatchRows(batch.x, self._source, self._random)
        encoded, targets, weights = self._supervision.make_batch(rows, batch.targets, batch.weights)
        outputs = self.classifier.of_encoded(encoded)
        if self._smooths:
            targets = self._target.smoothed(targets, outputs, self._smooths)
        losses = self._supervision.compute_loss(outputs, targets, weights)
        if losses is None:
            losses = self._target.loss(outputs, targets, weights)
        if self._auxiliary is not None:
            task, weight = self._auxiliary
            losses = losses + weight * task.losses(batch)
        return losses

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        assert batch.targets is not None
        outputs = self.classifier(batch.x)
        if self.metric is not None:
            self._validated.append(self._target.predictions(outputs.double(), self.roster.of(self._fitted)))
        return self._target.validation(outputs, batch.targets)

    def end_epoch(self) -> dict[str, NDArray[np.float64]]:
        """The means, and the metric of each trial over all validation rows; NaN if it is not defined."""
        means = super().end_epoch()
        if self.metric is not None and self._validated:
            predictions = torch.cat(self._validated, dim=1).cpu().numpy()
            self._validated.clear()
            of_trials = zip(predictions, self._truth[self.roster.index.cpu().numpy()], strict=True)
            means[f"validation_{self.metric.name}"] = np.array([self.metric.function(*each) for each in of_trials])
        return means
