"""The LightningModules: each trains T independent networks with one optimiser, and keeps losses and metrics a trial.

Two loops train them, with the same losses of the same batches:

- the engine's, `scarf_lightning.engine.fitting.fit`, is the fast one. Lightning hands over a whole epoch as one batch,
  the optimiser steps are taken here, and each trial stops by itself;
- Lightning's own, ``pl.Trainer(...).fit(PretrainModule(), OpenMLDataModule(...))``, with any callback, logger and flag.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.context import get_spawning_popen
from typing import Any, Protocol

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
from .blame import blamed
from .encoder import Classifier, Encoder
from .lifting import let_leave
from .pretext_task import BatchRows, CorruptionSource, PretextTask, ValidationSet
from .schedules import level, share_done, warmth
from .supervision import Supervision

ONE_PROCESS = "All trials train in one process on one device; use devices=1, and other processes for other trials."
REGISTER_ELEMENTS = 16
"""Float32 numbers in the widest vector register, AVX-512's."""


class InOneProcess:
    """Refuses to be sent to processes that a trainer spawns, as by ``strategy="ddp_spawn"``."""

    def __getstate__(self) -> Any:
        # Lightning calls no hook before it spawns.
        if get_spawning_popen() is not None:
            raise UsageError(ONE_PROCESS)
        return super().__getstate__()


class PlainData(Protocol):
    """A LightningDataModule for Lightning's own loop, see `scarf_lightning.lightning`."""

    trials: tuple[int, ...]
    test_labels: Labels

    def equip(self, module: "StackModule") -> None:
        """Make the networks of a module, and serve its batches."""


class StackModule(InOneProcess, pl.LightningModule, ABC):
    """Trains T networks at once. Losses are summed over trials, so each network's gradient is what it would be alone.

    Networks depend on the table, so a module has none until it is built: by the engine, by ``data``, or by the data
    module that a Trainer brings.

    Args:
        options: as on the command line, such as ``["corruption=mean", "network.encoder.width=64"]``. They are the
            module's hyperparameters.
        data: a data module that makes the networks at once; ``load_from_checkpoint(file, data=data)`` needs it.

    Attributes:
        roster: of the trials still here.
        settings: of the phase.
        metric: watched by the engine's early stopping, if there is one, in place of the settings' monitor.
        steps_per_epoch: of the optimiser. Schedules need it, and ``scheduled_epochs``, the epochs over which they run.
        streams: random streams that a checkpoint keeps.
        after_step: called by the engine's loop with the number of steps made in an epoch, after each.
    """

    roster: Roster
    settings: FitSettings

    def __init__(self, options: Sequence[str] = (), *, data: PlainData | None = None) -> None:
        super().__init__()
        self.options = tuple(options)
        self.metric: Metric | None = None
        self.is_built = False
        self.steps_per_epoch = 1
        self.scheduled_epochs = 1
        self.streams: tuple[StackedGenerator, ...] = ()
        self.after_step: Callable[[int], None] | None = None
        # Sums over the rows of the current epoch, float64 (T,) each, and the number of rows.
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = defaultdict(int)
        if options:
            self.save_hyperparameters({"options": list(options)})
        if data is not None:
            data.equip(self)

    def begin(self, roster: Roster, settings: FitSettings, metric: Metric | None = None) -> None:
        """Take the trials and the settings of a phase. The networks follow."""
        # Not in the constructor: whoever writes `PretrainModule()` has no table yet.
        self.roster = roster
        self.settings = settings
        self.metric = metric
        self.is_built = True

    @abstractmethod
    def losses(self, batch: Batch) -> Tensor:
        """Training loss of each trial, ``(T,)``."""

    @abstractmethod
    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        """Means over the batch's rows, ``(T,)`` each: ``loss``, ``error`` or both."""

    def setup(self, stage: str) -> None:
        """Let the data module of Lightning's own loop make the networks."""
        if not self.automatic_optimization:
            return
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        if not hasattr(data, "equip"):
            raise UsageError(
                f"{type(self).__name__} makes its networks for a table; give the trainer a data module of it: "
                "trainer.fit(module, TableDataModule(...)) or OpenMLDataModule."
            )
        data.equip(self)

    def training_step(self, batch: Batch | Iterator[Batch], batch_idx: int) -> Tensor | None:
        """The summed loss of a mini-batch; or train on all mini-batches of an epoch, in the engine's loop."""
        batches = [batch] if isinstance(batch, Batch) else batch
        first_step = self.current_epoch * self.steps_per_epoch + batch_idx
        for step, each in enumerate(batches, first_step):
            self.follow_schedules(step)
            losses = self.losses(each)
            self._add("train_loss", losses.detach(), each.x.shape[1])
            # A trial's loss depends on its own weights alone, so the gradient of the sum is each trial's gradient.
            total = losses.sum()
            if isinstance(batch, Batch):
                # Lightning's loop goes backward and steps by itself.
                return total
            self._step(total)
            if self.after_step is not None:
                self.after_step(step - first_step + 1)
        return None

    def _step(self, loss: Tensor) -> None:
        """Take a step of the optimiser. Lightning's closures and hooks around it would cost more than half a
        millisecond."""
        optimizer = self._optimizer
        parameters: list[Tensor] = []
        for group in optimizer.param_groups:
            parameters += group["params"]
        # The backward pass uses the forward pass's types.
        with torch.autocast(self.device.type, enabled=False):
            # zero_grad() costs as much as the product of a layer.
            for parameter in parameters:
                parameter.grad = None
            loss.backward()  # type: ignore[no-untyped-call]
            if self.settings.gradient_clip is not None:
                clip_each_trial(parameters, self.settings.gradient_clip)
            optimizer.step()
        # The cache holds the weights in bfloat16, which have changed.
        torch.clear_autocast_cache()

    def validation_step(self, batch: Batch | Iterator[Batch], batch_idx: int) -> None:
        """Evaluate a mini-batch, or all mini-batches of a validation, in the engine's loop."""
        batches = [batch] if isinstance(batch, Batch) else batch
        for each in batches:
            for name, values in self.validation_metrics(each).items():
                self._add(f"validation_{name}", values, each.x.shape[1])

    def on_train_epoch_start(self) -> None:
        # A run that goes on from a checkpoint of an epoch's last step begins the next epoch.
        self.end_epoch("train")

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Log the training loss of Lightning's own loop after an epoch's last step, before callbacks ask for it."""
        if self.automatic_optimization and self.trainer.is_last_batch:
            self._log(self.end_epoch("train"))

    def on_train_epoch_end(self) -> None:
        """Log the training loss of an epoch of Lightning's own loop that ended before its last batch."""
        if self.automatic_optimization:
            self._log(self.end_epoch("train"))

    def on_validation_epoch_end(self) -> None:
        """Log the validation metrics of Lightning's own loop, of which callbacks may watch one."""
        if self.automatic_optimization:
            self._log(self.end_epoch("validation"))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the places of the random streams, and the sums of an epoch that has begun."""
        checkpoint["random_streams"] = [stream.state() for stream in self.streams]
        checkpoint["sums"] = dict(self._sums)
        checkpoint["counts"] = dict(self._counts)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on with the random streams and the sums of a checkpoint."""
        if not self.is_built:
            name = type(self).__name__
            raise UsageError(f"{name} makes its networks for a table; use {name}.load_from_checkpoint(..., data=data).")
        for stream, state in zip(self.streams, checkpoint["random_streams"], strict=True):
            stream.go_on(state)
        self._sums = dict(checkpoint["sums"])
        self._counts = defaultdict(int, checkpoint["counts"])

    def _log(self, means: dict[str, NDArray[np.float64]]) -> None:
        """Log means over trials, and of several trials the number of each, such as ``validation_loss/trial_3``."""
        # A mean over an epoch already, of which Lightning has one value.
        log = partial(self.log, on_step=False, on_epoch=True, batch_size=1)
        for name, values in means.items():
            log(name, float(values.mean()), prog_bar=True)
            if len(values) == 1:
                continue
            trials: PlainData = self.trainer.datamodule  # type: ignore[attr-defined]
            for trial, value in zip(trials.trials, values, strict=True):
                log(f"{name}/trial_{trial}", float(value))

    def configure_optimizers(self) -> torch.optim.Adam:
        """Adam or AdamW, with a group of parameters for each learning rate and weight decay."""
        settings = self.settings
        optimizer = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
        return optimizer(
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
                if not parameter.requires_grad:
                    continue
                # The elements of one trial.
                n_elements = parameter[0].numel()
                is_fused = n_elements % REGISTER_ELEMENTS == 0
                rates = self._effective_rates(owner, name)
                groups[is_fused, rates].append(parameter)

        # A fixed order, so that the groups do not depend on the order of the layers.
        ordered = []
        for is_fused, rates in sorted(groups, reverse=True):
            # Plain numbers, which a checkpoint may hold.
            factors = {"learning": rates.learning, "decay": rates.decay}
            ordered.append({"params": groups[is_fused, rates], "fused": is_fused, **factors})
        return ordered

    def _effective_rates(self, owner: nn.Module, name: str) -> Rates:
        """The factors of a parameter, with a decay of 0 if the settings spare it."""
        rates = rates_of(owner, name)
        if self.settings.decayed == "weights" and not is_weight(owner, name):
            return Rates(rates.learning, 0.0)
        return rates

    def follow_schedules(self, step: int) -> None:
        """Give the optimiser and the dropout layers the numbers of a step, which counts from 0."""
        settings = self.settings
        learning_rate = settings.learning_rate * self.level(settings.schedule, step)
        learning_rate = learning_rate * warmth(step, settings.warmup_steps)
        weight_decay = settings.weight_decay * self.level(settings.weight_decay_schedule, step)
        for group in self._optimizer.param_groups:
            # Groups of a callback or of an optimiser of one's own keep their rates.
            if "learning" in group:
                group["lr"] = learning_rate * group["learning"]
                group["weight_decay"] = weight_decay * group["decay"]

        if settings.dropout_schedule == "constant":
            return
        share = self.level(settings.dropout_schedule, step)
        for layer in self.modules():
            if isinstance(layer, Dropout):
                layer.share = share

    def level(self, schedule: Schedule, step: int) -> float:
        """The share of its full value that a number with this schedule has in a step."""
        return level(schedule, share_done(schedule, step, self.steps_per_epoch, self.scheduled_epochs))

    def at_fault(self) -> str | None:
        """The sentence on a part of a user's own that made the losses of all trials infinite or NaN, if one did."""
        return None

    @property
    def _when(self) -> str:
        return f"at step {(self.current_epoch + 1) * self.steps_per_epoch} or before"

    def end_epoch(self, prefix: str = "") -> dict[str, NDArray[np.float64]]:
        """Row-weighted means of the epoch's losses and metrics, ``(T,)`` each. Their sums restart at zero.

        Args:
            prefix: of the names to take; by default all.
        """
        means = {}
        for name in list(self._sums):
            if name.startswith(prefix):
                mean = self._sums.pop(name) / self._counts.pop(name)
                means[name] = mean.cpu().numpy()
        return means

    def let_leave(self, staying: NDArray[np.int64]) -> None:
        """Keep only the trials at these positions among the ones still here."""
        let_leave(self, self._optimizer, torch.from_numpy(staying).to(self.device))
        self.roster.keep(staying.tolist())

    @property
    def _optimizer(self) -> torch.optim.Optimizer:
        optimizer = self.optimizers(use_pl_optimizer=False)
        # AdamW is an Adam from torch 2.7 on.
        assert isinstance(optimizer, torch.optim.Optimizer)
        return optimizer

    def _add(self, name: str, values: Tensor, n_rows: int) -> None:
        if values.shape != (len(self.roster),):
            raise UsageError(
                f"{name.replace('_', ' ')} has the shape {tuple(values.shape)} instead of one value for each of the "
                f"{len(self.roster)} trials: average over the last axes, as in .mean(dim=(-2, -1))."
            )
        # Batches differ in size, and a mean of their means would count the rows of a small one for more.
        weighted = values.double() * n_rows
        if name in self._sums:
            # Those of a checkpoint lie on the host.
            weighted = self._sums[name].to(weighted.device) + weighted
        self._sums[name] = weighted
        self._counts[name] += n_rows


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


class PretrainModule(StackModule):
    """Trains f and g on a pretext task (paper, Algorithm 1).

    Attributes:
        encoder: f. ``FinetuneModule(encoder=...)`` takes it.
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

    def at_fault(self) -> str | None:
        pretext = self._task.pretext
        makers = [getattr(pretext, "corruption", None), getattr(pretext, "selection", None), pretext]
        judges = [getattr(pretext, "loss", None), pretext]
        when = f"{self._when} of pre-training"
        inputs = [*self._task.latest, *self._validation_set.inputs]
        return blamed(makers, judges, inputs, self._task.encoder.columns, when)

    def on_validation_epoch_start(self) -> None:
        self._validation_set.start()

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        return self._task.validation(self._validation_set.views(batch.x), error=self._watches_error)

    def let_leave(self, staying: NDArray[np.int64]) -> None:
        super().let_leave(staying)
        self._validation_set.let_leave(torch.from_numpy(staying).to(self.device))


class FinetuneModule(StackModule):
    """Trains f and h on hard or soft targets (paper, section 3).

    Args:
        options, data: as `StackModule` takes them.
        encoder: a pre-trained f to start from, of a `PretrainModule` on the same table; None starts anew.

    Attributes:
        classifier: f and h.
        encoder: f.
    """

    def __init__(
        self, options: Sequence[str] = (), *, encoder: Encoder | None = None, data: PlainData | None = None
    ) -> None:
        # Before the constructor, which builds the networks if it gets data.
        self.pretrained = None if encoder is None else encoder.state_dict()
        super().__init__(options, data=data)

    def build(
        self,
        classifier: Classifier,
        supervision: Supervision,
        source: CorruptionSource,
        random: StackedGenerator,
        *,
        target: Target,
        fitted: Tensor,
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
            fitted: the target's parameters, fitted to the labels of each trial, float64 ``(T, K)``.
            truth: the labels of the validation rows, ``(T, n)``, for a metric.
            roster, settings, metric: as `begin` takes them.
        """
        self.begin(roster, settings, metric)
        self.classifier = classifier
        self._supervision = supervision
        self._source = source
        self._random = random
        self._target = target
        self._fitted = fitted
        self._truth = truth
        # The largest share of label smoothing, and its share in the current step of a schedule.
        self._smoothing = 0.0
        if target.can_smooth and not supervision.smooths_labels:
            self._smoothing = settings.label_smoothing
        self._current_smoothing = self._smoothing
        # Predictions of the validation's mini-batches, (T, N, ...) each, for a metric that no mean over batches gives.
        self._predictions: list[Tensor] = []

    @property
    def encoder(self) -> Encoder:
        """f."""
        return self.classifier.encoder

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        # Lightning puts the whole module into training mode, in which batch normalisation would go on tracking.
        if self.classifier.encoder.is_frozen:
            self.classifier.encoder.eval()

    def follow_schedules(self, step: int) -> None:
        super().follow_schedules(step)
        assert isinstance(self.settings, FinetuneSettings)
        level = self.level(self.settings.label_smoothing_schedule, step)
        self._current_smoothing = self._smoothing * level

    def losses(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        rows = BatchRows(batch.x, self._source, self._random)
        encoded, targets, weights = self._supervision.make_batch(rows, batch.targets, batch.weights)
        self._latest = encoded
        outputs = self.classifier.of_encoded(encoded)
        if self._current_smoothing:
            targets = self._target.smoothed(targets, outputs, self._current_smoothing)
        losses = self._supervision.compute_loss(outputs, targets, weights)
        if losses is None:
            losses = self._target.loss(outputs, targets, weights)
        return losses

    def at_fault(self) -> str | None:
        makers = [getattr(self._supervision, "corruption", None), self._supervision]
        when = f"{self._when} of fine-tuning"
        columns = self.classifier.encoder.columns
        return blamed(makers, [self._supervision, self._target], [self._latest], columns, when)

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        assert batch.targets is not None
        outputs = self.classifier(batch.x)
        if self.metric is not None:
            fitted = self.roster.of(self._fitted)
            self._predictions.append(self._target.predictions(outputs.double(), fitted))
        return self._target.validation(outputs, batch.targets)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Predict a mini-batch of test rows."""
        self._predictions.append(self.predict_step(batch, batch_idx))

    def on_test_epoch_end(self) -> None:
        """Log the target's metrics of the test rows, such as ``test_accuracy``."""
        predictions = torch.cat(self._predictions, dim=1).cpu().numpy()
        self._predictions.clear()
        data: PlainData = self.trainer.datamodule  # type: ignore[attr-defined]
        of_trials = []
        for trial_predictions, labels in zip(predictions, data.test_labels, strict=True):
            of_trials.append(self._target.measured(trial_predictions, labels))
        means = {}
        for name in of_trials[0]:
            means[f"test_{name}"] = np.array([measured[name] for measured in of_trials])
        self._log(means)

    def predict_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Probabilities of classes, float64 ``(T, N, C)``, or numbers ``(T, N)``."""
        fitted = self.roster.of(self._fitted)
        return self._target.predictions(self.classifier(batch.x).double(), fitted)

    def end_epoch(self, prefix: str = "") -> dict[str, NDArray[np.float64]]:
        """The means, and the metric of each trial over all validation rows; NaN if it is not defined."""
        means = super().end_epoch(prefix)
        if self.metric is None or not self._predictions:
            return means
        predictions = torch.cat(self._predictions, dim=1).cpu().numpy()
        self._predictions.clear()
        truth = self._truth[self.roster.index.cpu().numpy()]
        scores = []
        for trial_predictions, trial_truth in zip(predictions, truth, strict=True):
            scores.append(self.metric.function(trial_predictions, trial_truth))
        means[f"validation_{self.metric.name}"] = np.array(scores)
        return means


class CotrainModule(FinetuneModule):
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

    def losses(self, batch: Batch) -> Tensor:
        supervised = super().losses(batch)
        return supervised + self._weight * self._task.losses(batch)
