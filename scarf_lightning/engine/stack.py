"""A stack of trials, and the two fits that every method consists of: pre-training and fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import EVALUATION_ROWS, Examples, StackDataModule, batch_bounds
from ..data.device_table import DeviceTable
from ..data.table import Table
from ..data.trials import TrialData
from ..errors import UsageError
from ..metrics import metric_named
from ..networks import Columns, Network, OneHot
from ..options.settings import FinetuneSettings, NetworkSettings, PretrainSettings
from ..pretexts import Pretext
from ..randomness import Purpose, Roster, StackedGenerator, Streams
from .encoder import Classifier, Encoder, Networks, TrainingData
from .fitting import Fit, Watch, fit
from .hardware import Hardware
from .lifting import give_streams, state
from .modules import FinetuneModule, PretrainModule, StackModule
from .pretext_task import CorruptionSource, LabelHead, PretextTask
from .supervision import Supervision

PLAIN = Supervision()


@dataclass(frozen=True)
class Stack:
    """T trials of one cell and all that their fits share.

    ``network`` is f; ``settings`` are of g, h and the initial weights; ``watch`` shows progress. The trials use
    ``device_table``, if it is given, instead of a copy of the table of their own.
    """

    table: Table
    data: TrialData
    streams: Streams
    network: Network
    settings: NetworkSettings
    hardware: Hardware
    watch: Watch | None = None
    device_table: DeviceTable | None = None

    @cached_property
    def datamodule(self) -> StackDataModule:
        """The one copy of the table on the device, and the batches of the current fit."""
        device, dtype = self.hardware.device, self.hardware.dtype
        own = self.device_table or DeviceTable(self.table, self.data.preprocessing, device=device, dtype=dtype)
        return StackDataModule(own)

    @property
    def trials(self) -> tuple[int, ...]:
        """The trials' numbers."""
        return self.data.trials

    @cached_property
    def networks(self) -> Networks:
        columns = Columns.of(self.table.columns)
        n_outputs = self.table.target.n_outputs
        data = TrainingData(self._training_rows, self._training_targets)
        return Networks(columns, n_outputs, self.streams, self.network, self.settings, data)

    def of(self, position: int) -> "Stack":
        """A stack of the trial at this position alone, on the same copy of the table."""
        return replace(self, data=self.data.of(position), device_table=self.datamodule.table.of(position))

    def pretrain(self, settings: PretrainSettings, pretext: Pretext) -> Fit:
        """Learn f and g on the training rows; their labels are not used, unless the pretext does."""
        roster = self._roster()
        encoder = self.networks.encoder(self.trials, learns_missing_values=pretext.learns_missing_values)
        task = self._task(pretext, encoder, roster, self._random(Purpose.CORRUPTION, roster))
        if pretext.uses_labels:
            task.classifier = LabelHead(self.networks.head(self.trials), self.table.target)
        validation_random = self._random(Purpose.VALIDATION_VIEWS, roster)
        module = PretrainModule(task, validation_random, roster=roster, settings=settings)
        # f and g draw their dropout masks from one stream, in the order of the forward pass.
        give_streams(module, self._random(Purpose.PRETRAIN_DROPOUT, roster))
        train, validation = (Examples(self.on_device(rows)) for rows in (self.data.train, self.data.watched))
        if pretext.uses_labels:
            train = self.partly_labelled()
        order = self.streams.torch(self.trials, Purpose.PRETRAIN_ORDER, roster=roster)
        return self._fit("pretrain", module, train, validation, order, settings.batch_size)

    def pretrained_shapes(self, pretext: Pretext) -> dict[str, tuple[tuple[int, ...], str]]:
        """The shape and the type of each array that `pretrain` gives for one trial, by name."""
        encoder = self.networks.encoder(self.trials[:1], learns_missing_values=pretext.learns_missing_values)
        networks = {"encoder": encoder, "head": self.networks.pretrain_head(self.trials[:1], pretext)}
        if pretext.uses_labels:
            networks["classifier"] = LabelHead(self.networks.head(self.trials[:1]), self.table.target)
        return {
            f"{part}.{name}": (tuple(tensor.shape[1:]), str(tensor.dtype).removeprefix("torch."))
            for part, network in networks.items()
            for name, tensor in state(network.to(self.hardware.dtype)).items()
        }

    def steps_per_epoch(self, settings: PretrainSettings) -> int:
        """Steps of the optimiser in an epoch of pre-training."""
        return len(batch_bounds(self.data.train.shape[1], settings.batch_size))

    def finetune(
        self,
        settings: FinetuneSettings,
        examples: Examples,
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        supervision: Supervision = PLAIN,
        number: int = 0,
    ) -> tuple[Fit, Classifier]:
        """Train f and h on ``examples``, watched on the validation rows; returns the classifier with the kept weights.

        Args:
            examples: rows, hard or soft targets and weights, on the stack's device.
            pretrained: weights of f; None starts from initial ones.
            supervision: what the method changes of a training step.
            number: distinguishes the fits of a method that trains several models in a trial.
        """
        settings = settings.of_rows(len(examples) + self.data.n_labels_inside)
        module = self.finetune_module(settings, pretrained, supervision, number)
        if module.metric is not None and self.data.validation.size:
            for trial, labels in zip(self.trials, self.data.validation_labels, strict=True):
                if np.isnan(module.metric.function(self.table.target.guess(labels), labels)):
                    raise UsageError(
                        f"finetune.metric={module.metric.name} is not defined on the validation rows of trial {trial}: "
                        f"all {len(labels)} of them have the same label. Use another metric, or split=stratified."
                    )
        if settings.class_weight == "balanced":
            assert examples.targets is not None
            weights = self.table.target.balanced(self.data.labels, examples.targets)
            weights = weights if examples.weights is None else weights * examples.weights
            examples = replace(examples, weights=weights.to(self.hardware.dtype))
        validation = self.examples(self.data.validation, self.data.validation_labels)
        order = self.streams.torch(self.trials, Purpose.FINETUNE_ORDER, fit=number, roster=module.roster)
        fit = self._fit("finetune", module, examples, validation, order, EVALUATION_ROWS)
        return fit, module.classifier

    def finetune_module(
        self,
        settings: FinetuneSettings,
        pretrained: Mapping[str, Tensor] | None = None,
        supervision: Supervision = PLAIN,
        number: int = 0,
    ) -> FinetuneModule:
        """f and h before training, and what a training step does with them; see `finetune`."""
        roster = self._roster()
        encoder = self.networks.encoder(
            self.trials,
            pretrained,
            fit=number,
            dropout=supervision.dropout_rate,
            learns_missing_values=supervision.learns_missing_values,
        )
        if settings.freeze == "encoder":
            encoder.freeze()
        head = self.networks.head(self.trials, encoder, fit=number, dropout=supervision.dropout_rate)
        classifier = Classifier(encoder, head)
        give_streams(classifier, self._random(Purpose.DROPOUT, roster, number))
        random, auxiliary = self._random(supervision.stream, roster, number), None
        if supervision.auxiliary is not None:
            pretext, weight = supervision.auxiliary
            auxiliary = self._task(pretext, encoder, roster, random, number), weight
        return FinetuneModule(
            classifier,
            supervision,
            self._source(encoder, roster),
            random,
            auxiliary,
            target=self.table.target,
            fitted=self._fitted,
            truth=self.data.validation_labels,
            roster=roster,
            settings=settings,
            metric=None if settings.watched_metric is None else metric_named(settings.watched_metric),
        )

    def labelled(self) -> Examples:
        """The training rows that are labelled in the regime, with their labels."""
        return self.examples(self.data.labelled, self.data.labels)

    def partly_labelled(self) -> Examples:
        """The training rows of pre-training, with the labels of those that the regime lets train. Rows without a label
        have any one, and the weight 0."""
        data = self.data
        labels, weights = np.zeros(data.train.shape, dtype=data.labels.dtype), np.zeros(data.train.shape)
        for position, (train, labelled) in enumerate(zip(data.train, data.labelled, strict=True)):
            _, places, of_labelled = np.intersect1d(train, labelled, return_indices=True)
            labels[position, places] = data.labels[position, of_labelled]
            weights[position, places] = 1
        examples = self.examples(data.train, labels)
        on_device = torch.from_numpy(weights).to(self.hardware.device, self.hardware.dtype)
        return replace(examples, weights=on_device if examples.weights is None else on_device * examples.weights)

    def examples(self, rows: NDArray[np.int64], targets: NDArray[np.generic]) -> Examples:
        """Rows ``(T, n)`` with labels ``(T, n)`` or predictions ``(T, n, ...)`` as targets, on the device."""
        encoded = torch.from_numpy(self.table.target.encode(targets, self.data.preprocessing.target))
        on_device = encoded.to(self.hardware.device, self.hardware.dtype if encoded.is_floating_point() else None)
        weights = None
        if self.table.weights is not None:
            weights = torch.from_numpy(self.table.weights[rows]).to(self.hardware.device, self.hardware.dtype)
        return Examples(self.on_device(rows), on_device, weights)

    def row_weights(self, class_weight: str = "none") -> NDArray[np.float64] | None:
        """Weights of the labelled training rows, ``(T, n_labelled)``; None if all weigh the same."""
        own = None if self.table.weights is None else self.table.weights[self.data.labelled]
        if class_weight == "none":
            return own
        labels = self.data.labels
        balanced = self.table.target.balanced(labels, torch.from_numpy(labels)).numpy()
        return balanced if own is None else balanced * own

    def raw(self, rows: NDArray[np.int64]) -> Tensor:
        """``rows`` ``(T, n)`` imputed and scaled, ``(T, n, M)``, on the device."""
        return self._fetch(self.on_device(rows))

    def encoded(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """``rows`` ``(T, n)`` imputed, scaled and one-hot encoded, ``(T, n, D)``, for models that are no networks."""
        encoded: NDArray[np.float64] = self._one_hot.to(self.hardware.device)(self.raw(rows)).double().cpu().numpy()
        return encoded

    @torch.no_grad()
    def embed(self, rows: NDArray[np.int64], pretrained: Mapping[str, Tensor] | None = None) -> NDArray[np.floating]:
        """Embeddings of ``rows`` ``(T, n)`` by f with ``pretrained`` or initial weights, ``(T, n, E)``."""
        encoder = self.networks.encoder(self.trials, pretrained).to(self.hardware.device, self.hardware.dtype).eval()
        embedded: NDArray[np.floating] = self._in_chunks(encoder, rows).to(self.hardware.dtype).cpu().numpy()
        return embedded

    def predict(self, classifier: Classifier, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predictions of ``rows`` ``(T, n)``: float64 probabilities ``(T, n, C)``, or numbers ``(T, n)``."""
        return self.table.target.predictions(self.outputs(classifier, rows), self._fitted).cpu().numpy()

    @torch.no_grad()
    def outputs(self, classifier: Classifier, rows: NDArray[np.int64]) -> Tensor:
        """The outputs of h for ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        return self._in_chunks(classifier.eval(), rows).double()

    def on_device(self, array: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)

    def _in_chunks(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        chunks = torch.split(self.on_device(rows), EVALUATION_ROWS, dim=1)
        return torch.cat([network(self._fetch(chunk)) for chunk in chunks], dim=1)

    def _fetch(self, rows: Tensor) -> Tensor:
        return self.datamodule.table.rows(rows, Roster(len(rows), rows.device))

    def _training_rows(self, position: int) -> Tensor:
        """The encoded training rows ``(n, D)`` of the trial at a position."""
        encoded: Tensor = self._one_hot(self.of(position).raw(self.data.train[[position]])[0].cpu())
        return encoded

    @property
    def _one_hot(self) -> OneHot:
        columns = Columns.of(self.table.columns)
        return OneHot(columns.n_categories, columns.gaps)

    def _training_targets(self, position: int) -> Tensor:
        """The encoded labels that training sees of the trial at a position."""
        alone = self.data.of(position)
        return torch.from_numpy(self.table.target.encode(alone.labels, alone.preprocessing.target)[0])

    @cached_property
    def _fitted(self) -> Tensor:
        """What the target has fitted to the labels of each trial, float64 ``(T, K)``."""
        return torch.from_numpy(self.data.preprocessing.target).to(self.hardware.device)

    def _roster(self) -> Roster:
        return Roster(len(self.trials), self.hardware.device)

    def _random(self, purpose: str, roster: Roster, number: int = 0) -> StackedGenerator:
        """The trials' streams for a purpose, on the device."""
        return self.streams.torch(self.trials, purpose, fit=number, device=self.hardware.device, roster=roster)

    def _source(self, encoder: Encoder, roster: Roster) -> CorruptionSource:
        return CorruptionSource(encoder, self.datamodule.table, self.on_device(self.data.train), roster)

    def _task(
        self, pretext: Pretext, encoder: Encoder, roster: Roster, random: StackedGenerator, number: int = 0
    ) -> PretextTask:
        """The pretext on f and a new g."""
        head = self.networks.pretrain_head(self.trials, pretext)
        give_streams(head, self._random(Purpose.PRETRAIN_DROPOUT, roster, number))
        return PretextTask(pretext, encoder, head, self._source(encoder, roster), random)

    def _fit(
        self,
        phase: str,
        module: StackModule,
        train: Examples,
        validation: Examples,
        order: StackedGenerator,
        validation_batch_size: int,
    ) -> Fit:
        self.datamodule.serve(
            train,
            validation,
            batch_size=module.settings.batch_size,
            validation_batch_size=validation_batch_size,
            order=order,
            roster=module.roster,
        )
        return fit(phase, module, self.datamodule, trials=self.trials, hardware=self.hardware, watch=self.watch)
