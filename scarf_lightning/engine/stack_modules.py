"""T networks at once, what they learn, and their optimiser with its schedules; losses and metrics are kept a trial.

Two loops train them, with the same losses of the same batches:

- the engine's, `scarf_lightning.engine.fit.StackLoop`, is the fast one. It takes the steps of the optimiser by itself,
  and each trial stops by itself;
- Lightning's own, ``pl.Trainer(...).fit(PretrainModule(), TableDataModule(...))``, with any callback, logger and flag.
  `scarf_lightning.lightning` has the modules for it.
"""

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import Batch
from ..data.targets import Labels, Target
from ..errors import UsageError
from ..losses.loss import smoothed
from ..metrics import Metric
from ..networks import Dropout, Rates, is_weight, rates_of
from ..options.settings import FinetuneSettings, FitSettings, PretrainSettings, Schedule
from ..randomness import Roster, StackedGenerator
from .encoder import Classifier, Encoder
from .lifting import let_leave
from .pretext_task import BatchRows, CorruptionSource, PretextTask, StaticViews, ValidationSet, check_shape
from .supervision import Supervision

PREDICTIONS = "predictions"
REGISTER_ELEMENTS = 16
"""Float32 numbers in the widest vector register, AVX-512's."""
CYCLES = 4
"""Times that ``coslog4`` rises and falls. Each cycle is twice as long as the one before it."""


class StackModule(nn.Module, ABC):
    """T networks of a phase. Losses are summed over trials, so each network's gradient is what it would be alone.

    Networks depend on the table, so a module has none until it is built.

    Attributes:
        roster: of the trials still here.
        settings: of the phase.
        metric: watched by the engine's early stopping, if there is one, in place of the settings' monitor.
        steps_per_epoch: of the optimiser. Schedules need it, and ``scheduled_epochs``, the epochs over which they run.
    """

    roster: Roster
    settings: FitSettings

    def __init__(self) -> None:
        super().__init__()
        self.metric: Metric | None = None
        self.is_built = False
        self.steps_per_epoch = 1
        self.scheduled_epochs = 1
        # Sums over the rows of the current epoch, float64 (T,) each, and the number of rows.
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = defaultdict(int)

    def begin(self, roster: Roster, settings: FitSettings, metric: Metric | None = None) -> None:
        """Take the trials and the settings of a phase. The networks follow."""
        # Not in the constructor: a user who writes `PretrainModule()` has no table yet.
        self.roster = roster
        self.settings = settings
        self.metric = metric
        self.is_built = True

    @abstractmethod
    def losses(self, batch: Batch) -> Tensor:
        """Training loss of each trial, ``(T,)``."""

    @abstractmethod
    def validation_metrics(self, tensors: Any) -> dict[str, Tensor]:
        """Means over the rows of a mini-batch, ``(T,)`` each: ``loss``, ``error`` or both.

        Args:
            tensors: what `validation_tensors` returns.
        """

    def validation_tensors(self, batch: Batch) -> Any:
        """The arguments of `validation_metrics` for a mini-batch, as a tree of tensors."""
        return batch.x, batch.targets

    @property
    def parts(self) -> tuple[object, ...]:
        """The objects beside the networks whose code computes losses."""
        return ()

    def begin_epoch(self) -> None:
        """Called before the first step of an epoch, when all layers are in training mode."""

    def begin_validation(self) -> None:
        """Called before the first mini-batch of a validation."""

    def validate(self, batch: Batch) -> None:
        """Evaluate a mini-batch of a validation."""
        self.tally_validation(self.validation_metrics(self.validation_tensors(batch)), batch.x.shape[1])

    def tally_validation(self, metrics: dict[str, Tensor], n_rows: int) -> None:
        """Take the `validation_metrics` of a mini-batch."""
        for name, values in metrics.items():
            self.tally(f"validation_{name}", values, n_rows)

    def make_optimizer(self, *, captured: bool = False) -> torch.optim.Adam:
        """Adam or AdamW, with a group of parameters for each learning rate and weight decay.

        Args:
            captured: its steps are captured, so numbers that a schedule changes have to be tensors.
        """
        settings = self.settings
        optimizer = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
        groups = self._parameter_groups()
        if captured:
            if settings.schedule != "constant" or settings.warmup_steps:
                for group in groups:
                    group["lr"] = self._number(settings.learning_rate)
            if settings.weight_decay and settings.weight_decay_schedule != "constant":
                optimizer = TensorDecayAdamW if settings.optimizer == "adamw" else TensorDecayAdam
                for group in groups:
                    group["tensor_decay"] = self._number(settings.weight_decay)
                    group["weight_decay"] = 0.0
        return optimizer(
            groups,
            lr=settings.learning_rate,
            betas=(0.9, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
        )

    def prepare_capture(self) -> None:
        """Let the numbers of the forward pass that a schedule changes be tensors."""
        if self.settings.dropout_schedule != "constant":
            for layer in self._dropout_layers:
                layer.share = self._number(1.0)

    def _number(self, value: float) -> Tensor:
        """A number on the device of the networks. The fused Adam takes a learning rate in float32 alone."""
        return torch.tensor(value, dtype=torch.float32, device=self.roster.index.device)

    def _parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters with the same `Rates` side by side, fused where that does not change a trial's numbers.

        The fused kernel rounds elements that fill whole vector registers differently from the ones left over. How many
        are left over depends on the size of the stack, unless each trial's share fills whole registers. A GPU rounds
        all elements alike, and its other kernels take eight launches for a parameter.
        """
        is_cuda = self.roster.index.device.type == "cuda"
        groups: dict[tuple[bool, Rates], list[Tensor]] = defaultdict(list)
        for owner in self.modules():
            for name, parameter in owner.named_parameters(recurse=False):
                if not parameter.requires_grad:
                    continue
                # The elements of one trial.
                n_elements = parameter.numel() // len(self.roster)
                is_fused = is_cuda or n_elements % REGISTER_ELEMENTS == 0
                rates = self._effective_rates(owner, name)
                groups[is_fused, rates].append(parameter)

        # A fixed order, so that the groups do not depend on the order of the layers.
        optimizer_groups = []
        for is_fused, rates in sorted(groups, reverse=True):
            # Plain numbers, which a checkpoint may hold.
            factors = {"learning": rates.learning, "decay": rates.decay}
            kernel = {"fused": is_fused, "capturable": is_cuda}
            optimizer_groups.append({"params": groups[is_fused, rates], **kernel, **factors})
        return optimizer_groups

    def _effective_rates(self, owner: nn.Module, name: str) -> Rates:
        """The factors of a parameter, with a decay of 0 if the settings spare it."""
        rates = rates_of(owner, name)
        if self.settings.decayed == "weights" and not is_weight(owner, name):
            return Rates(rates.learning, 0.0)
        return rates

    def follow_schedules(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        """Give the optimiser and the dropout layers the numbers of a step, which counts from 0."""
        settings = self.settings
        learning_rate = settings.learning_rate * self.level(settings.schedule, step)
        learning_rate = learning_rate * warmth(step, settings.warmup_steps)
        weight_decay = settings.weight_decay * self.level(settings.weight_decay_schedule, step)
        for group in optimizer.param_groups:
            # Groups of a callback or of a user's optimiser keep their rates.
            if "learning" in group:
                _put(group, "lr", learning_rate * group["learning"])
                decay = "tensor_decay" if "tensor_decay" in group else "weight_decay"
                _put(group, decay, weight_decay * group["decay"])

        if settings.dropout_schedule == "constant":
            return
        share = self.level(settings.dropout_schedule, step)
        for layer in self._dropout_layers:
            _put(vars(layer), "share", share)

    @cached_property
    def _dropout_layers(self) -> list[Dropout]:
        return [layer for layer in self.modules() if isinstance(layer, Dropout)]

    def level(self, schedule: Schedule, step: int) -> float:
        """The share of its full value that a number with this schedule has in a step."""
        return level(schedule, share_done(schedule, step, self.steps_per_epoch, self.scheduled_epochs))

    def end_epoch(self, prefix: str = "") -> dict[str, NDArray[np.float64]]:
        """Row-weighted means of the epoch's losses and metrics, ``(T,)`` each. Their sums restart at zero.

        Args:
            prefix: of the names to take; by default all.
        """
        names = [name for name in self._sums if name.startswith(prefix)]
        if not names:
            return {}
        # One copy to the host: each would wait for the device.
        means = torch.stack([self._sums.pop(name) / self._counts.pop(name) for name in names]).cpu().numpy()
        return dict(zip(names, means, strict=True))

    def let_leave(self, staying: NDArray[np.int64], optimizer: torch.optim.Optimizer) -> None:
        """Keep only the trials at these positions among the ones still here."""
        let_leave(self, optimizer, torch.from_numpy(staying).to(self.roster.index.device))
        self.roster.keep(staying.tolist())

    def tally(self, name: str, values: Tensor, n_rows: int) -> None:
        """Add the means ``(T,)`` over rows of a mini-batch to the sums of the epoch."""
        if values.shape != (len(self.roster),):
            names = ", ".join(type(part).__name__ for part in self.parts)
            raise UsageError(
                f"{name.replace('_', ' ')} by {names} ({type(self).__name__}) has the shape {tuple(values.shape)} "
                f"instead of one value for each of the {len(self.roster)} trials: average over the last axes, as in "
                ".mean(dim=(-2, -1))."
            )
        # Batches differ in size, and a mean of their means would count the rows of a small one for more.
        total = values.double() * n_rows
        if name in self._sums:
            # Those of a checkpoint lie on the host.
            total = self._sums[name].to(total.device) + total
        self._sums[name] = total
        self._counts[name] += n_rows


def level(schedule: Schedule, done: float) -> float:
    """The share of its full value that a number has after the share ``done`` of the training, both in [0, 1].

    ``coslog4`` and ``flat_cos`` are those of RealMLP (Holzmueller et al. 2024, appendix A,
    https://arxiv.org/abs/2407.04491).

    >>> [round(level("flat_cos", done), 2) for done in (0, 0.25, 0.5, 0.75, 1)]
    [1.0, 1.0, 1.0, 0.5, 0.0]
    """
    if schedule == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    if schedule == "flat_cos":
        if done <= 0.5:
            return 1.0
        return (1 + math.cos(math.pi * (2 * done - 1))) / 2
    if schedule == "coslog4":
        # The logarithm makes each cycle twice as long as the one before it.
        cycle = math.log2(1 + (2**CYCLES - 1) * done)
        return (1 - math.cos(2 * math.pi * cycle)) / 2
    return 1.0


def share_done(schedule: Schedule, step: int, steps_per_epoch: int, epochs: int) -> float:
    """The share of the training that a schedule takes to be done before a step, which counts from 0.

    ``cosine`` stays the same within an epoch. After ``epochs`` epochs all is done, even if training goes on.

    >>> share_done("cosine", 9, steps_per_epoch=8, epochs=4), share_done("flat_cos", 8, 8, 4)
    (0.25, 0.25)
    """
    # As torch's CosineAnnealingLR where it is stepped once an epoch.
    if schedule == "cosine":
        step -= step % steps_per_epoch
    return min(step / (epochs * steps_per_epoch), 1.0)


def warmth(step: int, warmup_steps: int) -> float:
    """The share of the learning rate that a step has, which counts from 0, if ``warmup_steps`` steps warm up.

    >>> [warmth(step, 4) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    if not warmup_steps:
        return 1.0
    # Counted from 1: at a rate of 0 the first step would be lost.
    return min((step + 1) / warmup_steps, 1.0)


def _put(holder: dict[str, Any], name: str, value: float) -> None:
    """Replace a number, or the value of the tensor that holds it."""
    if isinstance(holder[name], Tensor):
        holder[name].fill_(value)
    else:
        holder[name] = value


class TensorDecayAdam(torch.optim.Adam):
    """Adam whose penalty on weights is a tensor, ``tensor_decay`` of each group; torch's own takes plain numbers."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            gradients = [parameter.grad for parameter in parameters]
            torch._foreach_add_(gradients, torch._foreach_mul(parameters, group["tensor_decay"]))
        return super().step(closure)


class TensorDecayAdamW(torch.optim.AdamW):
    """AdamW whose weight decay is a tensor, ``tensor_decay`` of each group; torch's own takes plain numbers."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["tensor_decay"])
        return super().step(closure)


@torch.no_grad()
def clip_each_trial(parameters: Sequence[Tensor], largest: float) -> None:
    """Scale the gradients ``(T, ...)`` of each trial down so that their joint norm is at most ``largest``.

    For one network this is `torch.nn.utils.clip_grad_norm_`. Squares are added along the last axis, parameter by
    parameter, so that the order of the sum does not depend on the size of the stack.
    """
    gradients = []
    squares = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        gradients.append(parameter.grad)
        # A row for each trial, (T, elements).
        elements = parameter.grad.flatten(1).double()
        squares.append(elements.square().sum(dim=1))
    norms = torch.stack(squares, dim=1).sum(dim=1).sqrt()
    # The small summand is that of clip_grad_norm_.
    scale = (largest / (norms + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        inner_axes = [1] * (gradient.dim() - 1)
        gradient.mul_(scale.to(gradient.dtype).view(-1, *inner_axes))


class Pretraining(StackModule):
    """f and g, which learn a pretext task (paper, Algorithm 1).

    Attributes:
        encoder: f.
        head: g.
        classifier: the head to the target, for pretexts that use labels.
    """

    def build(
        self, task: PretextTask, validation_random: StackedGenerator, *, roster: Roster, settings: PretrainSettings
    ) -> None:
        """Take the networks.

        Args:
            task: the pretext, f and g.
            validation_random: the stream that validation views are drawn from.
            roster: of the trials still here.
            settings: of the phase.
        """
        self.begin(roster, settings)
        # As attributes of the module these are trained, and their weights kept.
        self.encoder = task.encoder
        self.head = task.head
        self.classifier = task.classifier
        self._task = task
        self._watches_error = settings.monitor == "error"
        self._validation_set = ValidationSet(task, validation_random, settings.validation_passes)

    def losses(self, batch: Batch) -> Tensor:
        return self._task.losses(batch)

    def begin_validation(self) -> None:
        self._validation_set.start()

    @property
    def parts(self) -> tuple[object, ...]:
        return (self._task.pretext,)

    def validation_tensors(self, batch: Batch) -> Any:
        return self._validation_set.views(batch.x)

    def validation_metrics(self, views: StaticViews) -> dict[str, Tensor]:
        return self._task.validation(views, error=self._watches_error)

    def views_of(self, raw: Tensor, random: StackedGenerator) -> tuple[Tensor, ...]:
        """The encoded inputs that the pretext makes of raw rows ``(T, N, M)``, drawn from ``random``."""
        return self._task.validation_views(raw, random, 1).inputs

    def let_leave(self, staying: NDArray[np.int64], optimizer: torch.optim.Optimizer) -> None:
        super().let_leave(staying, optimizer)
        self._validation_set.let_leave(torch.from_numpy(staying).to(self.roster.index.device))


class Finetuning(StackModule):
    """f and h, which learn hard or soft targets (paper, section 3).

    Attributes:
        classifier: f and h.
        encoder: f.
    """

    def build(
        self,
        classifier: Classifier,
        supervision: Supervision,
        source: CorruptionSource,
        random: StackedGenerator,
        *,
        target: Target,
        target_parameters: Tensor,
        truth: Labels,
        roster: Roster,
        settings: FinetuneSettings,
        metric: Metric | None,
    ) -> None:
        """Take the networks.

        Args:
            classifier: f and h.
            supervision: the method's changes to a training step.
            source: the training rows that a corruption draws from.
            random: the stream of the method's draws.
            target: gives the loss, and predictions for a metric.
            target_parameters: of the target, fitted to the labels of each trial, float64 ``(T, K)``.
            truth: the labels of the validation rows, ``(T, n)``, for a metric.
            roster, settings, metric: as `begin` takes them.
        """
        self.begin(roster, settings, metric)
        self.classifier = classifier
        self._supervision = supervision
        self._source = source
        self._random = random
        self._target = target
        self._target_parameters = target_parameters
        self._truth = truth
        # The largest share of label smoothing, and its share in the current step of a schedule.
        self._smoothing = 0.0
        if target.has_classes and not supervision.smooths_labels:
            self._smoothing = settings.label_smoothing
        self._current_smoothing: float | Tensor = self._smoothing
        # Predictions of the validation's mini-batches, (T, N, ...) each, for a metric that no mean over batches gives.
        self._predictions: list[Tensor] = []

    @property
    def encoder(self) -> Encoder:
        """f."""
        return self.classifier.encoder

    def begin_epoch(self) -> None:
        # In training mode its batch normalisation would go on tracking.
        if self.classifier.encoder.is_frozen:
            self.classifier.encoder.eval()

    def follow_schedules(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        super().follow_schedules(step, optimizer)
        assert isinstance(self.settings, FinetuneSettings)
        level = self.level(self.settings.label_smoothing_schedule, step)
        _put(vars(self), "_current_smoothing", self._smoothing * level)

    def prepare_capture(self) -> None:
        super().prepare_capture()
        assert isinstance(self.settings, FinetuneSettings)
        if self.settings.label_smoothing_schedule != "constant":
            self._current_smoothing = self._number(self._smoothing)

    def losses(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        rows = BatchRows(batch.x, self._source, self._random)
        inputs, targets, weights = self._supervision.make_batch(rows, batch.targets, batch.weights)
        if inputs.shape[-1:] != rows.encoded.shape[-1:] or inputs.shape[:-2] != rows.encoded.shape[:-2]:
            check_shape(self._supervision, "inputs", inputs, rows.encoded)
        outputs = self.classifier.predict_encoded(inputs)
        # A tensor's value is not read here, because the host would wait for it.
        is_smoothed = self._smoothing if isinstance(self._current_smoothing, Tensor) else self._current_smoothing
        if is_smoothed:
            targets = smoothed(targets, outputs, self._current_smoothing)
        losses = self._supervision.compute_loss(outputs, targets, weights)
        if losses is None:
            losses = self._target.loss(outputs, targets, weights)
        return losses

    @property
    def parts(self) -> tuple[object, ...]:
        return (self._supervision,)

    def validation_metrics(self, tensors: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        """The means, and ``predictions`` of the rows for a metric."""
        x, targets = tensors
        outputs = self.classifier(x)
        metrics = self._target.validation(outputs, targets)
        if self.metric is not None:
            target_parameters = self.roster.of(self._target_parameters)
            metrics = metrics | {PREDICTIONS: self._target.predictions(outputs.double(), target_parameters)}
        return metrics

    def tally_validation(self, metrics: dict[str, Tensor], n_rows: int) -> None:
        means = dict(metrics)
        if PREDICTIONS in means:
            # A copy: a captured validation overwrites them.
            self._predictions.append(means.pop(PREDICTIONS).clone())
        super().tally_validation(means, n_rows)

    def predictions(self, x: Tensor) -> Tensor:
        """Probabilities of classes, float64 ``(T, N, C)``, or numbers ``(T, N)``, of raw rows ``(T, N, M)``."""
        target_parameters = self.roster.of(self._target_parameters)
        return self._target.predictions(self.classifier(x).double(), target_parameters)

    def end_epoch(self, prefix: str = "") -> dict[str, NDArray[np.float64]]:
        """The means, and the metric of each trial over all validation rows; NaN if it is not defined."""
        means = super().end_epoch(prefix)
        if self.metric is None or not self._predictions:
            return means
        predictions = torch.cat(self._predictions, dim=1).cpu().numpy()
        self._predictions.clear()
        truth = self._truth[self.roster.positions]
        scores = []
        for trial_predictions, trial_truth in zip(predictions, truth, strict=True):
            scores.append(self.metric.function(trial_predictions, trial_truth))
        means[f"validation_{self.metric.name}"] = np.array(scores)
        return means


class Cotraining(Finetuning):
    """Fine-tuning plus a weighted pretext loss on the same batches, on f and a g of its own.

    Attributes:
        pretrain_head: g.
    """

    def add(self, task: PretextTask, weight: float) -> None:
        """Take the pretext task, and the weight of its loss."""
        self._task = task
        self._weight = weight
        # As an attribute of the module g is trained, too.
        self.pretrain_head = task.head

    @property
    def parts(self) -> tuple[object, ...]:
        return (*super().parts, self._task.pretext)

    def losses(self, batch: Batch) -> Tensor:
        return super().losses(batch) + self._weight * self._task.losses(batch)
