"""A stack of trials, and the two fits that every method consists of: pre-training and fine-tuning.

A cell's trials are independent, and are trained in stacks, several at once. Fifteen trials in stacks of up to ten::

    cell    trials  0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
    stack          [0 1 2 3 4 5 6 7 8 9]                   T = 10, batches (10, N, M), losses (10,)
    stack                                [10 11 12 13 14]  T = 5

Arrays ``(T, ...)`` are indexed by a trial's *position* in its stack, not by its number. While a phase trains, trials
that have stopped leave, and the `Roster` says which positions are still here::

    roster  [0 1 2 3 4 5 6 7 8 9]  ->  [0 2 3 7 8]  ->  [3]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import DeviceTable, Examples, StackDataModule, batch_bounds
from ..data.table import Table
from ..data.trials import EVALUATION_ROWS, TrialData
from ..errors import UsageError
from ..metrics import Metric, metric_named
from ..networks import Columns, Network, OneHot
from ..options.settings import FinetuneSettings, NetworkSettings, PretrainSettings
from ..pretexts import Pretext
from ..randomness import Purpose, Roster, StackedGenerator, Streams
from .encoder import Classifier, Encoder, Networks, TrainingData
from .fit import Fit, fit
from .hardware import Hardware
from .lifting import give_streams, load_state
from .pretext_task import CorruptionSource, LabelHead, PretextTask
from .probing import NEIGHBOURS, EpochProbe, Probing
from .stack_modules import Cotraining, Finetuning, Pretraining, StackModule
from .supervision import Supervision
from .watching import Watch

PLAIN = Supervision()
"""Fine-tuning that no method changes."""


@dataclass(frozen=True)
class StackData:
    """T trials of one table, on a device.

    Attributes:
        table: the whole table.
        data: rows, labels and preprocessing of each trial.
        streams: the random streams of all trials.
        hardware: device and number types.
        device_table: a copy of the table on the device to use; None makes one.
    """

    table: Table
    data: TrialData
    streams: Streams
    hardware: Hardware
    device_table: DeviceTable | None = field(default=None, kw_only=True)

    @cached_property
    def datamodule(self) -> StackDataModule:
        """The one copy of the table on the device, and the batches of the current fit."""
        device_table = self.device_table
        if device_table is None:
            device_table = DeviceTable(
                self.table, self.data.preprocessing, device=self.hardware.device, dtype=self.hardware.dtype
            )
        return StackDataModule(device_table)

    @property
    def trials(self) -> tuple[int, ...]:
        """The trials' numbers."""
        return self.data.trials

    def of(self, positions: Sequence[int]) -> Self:
        """A stack of the trials at these positions, on the same copy of the table; one may be there several times."""
        return replace(self, data=self.data.of(positions), device_table=self.datamodule.table.of(positions))

    def without(self, columns: Sequence[str] | None) -> Self:
        """The stack with these columns missing in every row. Its preprocessing, which imputes them, is the same."""
        if not columns:
            return self
        values = self.table.values.copy()
        values[:, self.table.places(columns, "pretrain.drop")] = np.nan
        return replace(self, table=replace(self.table, values=values), device_table=None)

    def labelled(self) -> Examples:
        """The training rows that are labelled in the regime, with their labels."""
        return self.examples(self.data.labelled, self.data.labels)

    def partly_labelled(self) -> Examples:
        """The rows of pre-training, with the labels of those that are labelled in the regime.

        Unlabelled rows carry a placeholder as label, and the weight 0.
        """
        data = self.data
        labels = np.zeros(data.pretrain.shape, dtype=data.labels.dtype)
        is_labelled = np.zeros(data.pretrain.shape)
        for trial in range(len(self.trials)):
            _, positions, label_rows = np.intersect1d(data.pretrain[trial], data.labelled[trial], return_indices=True)
            labels[trial, positions] = data.labels[trial, label_rows]
            is_labelled[trial, positions] = 1
        examples = self.examples(data.pretrain, labels)
        # A row without a label has the weight 0, so that its placeholder among the labels counts for nothing.
        weights = torch.from_numpy(is_labelled).to(self.hardware.device, self.hardware.dtype)
        if examples.weights is not None:
            weights = weights * examples.weights
        return replace(examples, weights=weights)

    def examples(self, rows: NDArray[np.int64], targets: NDArray[np.generic]) -> Examples:
        """Rows ``(T, n)`` with labels ``(T, n)`` or predictions ``(T, n, ...)`` as targets, on the device."""
        device, dtype = self.hardware.device, self.hardware.dtype
        encoded_targets = torch.from_numpy(self.table.target.encode(targets, self.data.preprocessing.target))
        # Class numbers stay integers.
        encoded_targets = encoded_targets.to(device, dtype if encoded_targets.is_floating_point() else None)
        weights = None
        if self.table.weights is not None:
            weights = torch.from_numpy(self.table.weights[rows]).to(device, dtype)
        return Examples(self.on_device(rows), encoded_targets, weights)

    def row_weights(self, class_weight: str = "none") -> NDArray[np.float64] | None:
        """Weights of the labelled training rows, ``(T, n_labelled)``; None if all weigh the same."""
        weights = None
        if self.table.weights is not None:
            weights = self.table.weights[self.data.labelled]
        if class_weight == "none":
            return weights
        labels = self.data.labels
        balanced_weights = self.table.target.balanced(labels, torch.from_numpy(labels)).numpy()
        return balanced_weights if weights is None else balanced_weights * weights

    def raw(self, rows: NDArray[np.int64]) -> Tensor:
        """``rows`` ``(T, n)`` imputed and scaled, ``(T, n, M)``, on the device."""
        return self._fetch(self.on_device(rows))

    def encoded(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """``rows`` ``(T, n)`` imputed, scaled and one-hot encoded, ``(T, n, D)``, for models that are no networks."""
        one_hot = self._one_hot.to(self.hardware.device)
        features: NDArray[np.float64] = one_hot(self.raw(rows)).double().cpu().numpy()
        return features

    def on_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)

    def _fetch(self, rows: Tensor) -> Tensor:
        return self.datamodule.table.rows(rows, Roster(len(rows), rows.device))

    def _training_rows(self, position: int) -> Tensor:
        """The encoded training rows ``(n, D)`` of the trial at a position."""
        # Trial by trial: the encoded rows of all trials at once may not fit into the memory.
        trial_stack = self.of([position])
        raw = trial_stack.raw(self.data.train[[position]])[0]
        encoded_rows: Tensor = self._one_hot(raw.cpu())
        return encoded_rows

    @property
    def _one_hot(self) -> OneHot:
        columns = Columns.of(self.table.columns)
        return OneHot(columns.n_categories, columns.gaps)

    def _training_targets(self, position: int) -> Tensor:
        """The encoded labels that training sees of the trial at a position."""
        encoded_targets = self.table.target.encode(self.data.labels, self.data.preprocessing.target)
        return torch.from_numpy(encoded_targets[position])

    @cached_property
    def _target_parameters(self) -> Tensor:
        """The target's parameters, fitted to the labels of each trial, float64 ``(T, K)``."""
        return torch.from_numpy(self.data.preprocessing.target).to(self.hardware.device)

    def _roster(self) -> Roster:
        return Roster(len(self.trials), self.hardware.device)

    def _random(self, purpose: str, roster: Roster, number: int = 0) -> StackedGenerator:
        """The trials' streams for a purpose, on the device."""
        return self.streams.torch(self.trials, purpose, fit=number, device=self.hardware.device, roster=roster)


@dataclass(frozen=True)
class Stack(StackData):
    """T trials, their networks, and their phases.

    Attributes:
        network: f.
        settings: of g, h and the initial weights.
        watch: makes watchers that show progress.
    """

    network: Network
    settings: NetworkSettings
    watch: Watch = lambda *_: []

    @cached_property
    def networks(self) -> Networks:
        return Networks(
            columns=Columns.of(self.table.columns),
            n_outputs=self.table.target.n_outputs,
            streams=self.streams,
            network=self.network,
            settings=self.settings,
            data=TrainingData(self._training_rows, self._training_targets),
        )

    @torch.no_grad()
    def embed(self, rows: NDArray[np.int64], pretrained: Mapping[str, Tensor] | None = None) -> NDArray[np.floating]:
        """Embeddings of ``rows`` ``(T, n)`` by f with ``pretrained`` or initial weights, ``(T, n, E)``."""
        encoder = self.networks.encoder(self.trials, pretrained)
        encoder = encoder.to(self.hardware.device, self.hardware.dtype).eval()
        embeddings = self._chunked_outputs(encoder, rows).to(self.hardware.dtype)
        host_embeddings: NDArray[np.floating] = embeddings.cpu().numpy()
        return host_embeddings

    def predict(self, classifier: Classifier, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predictions of ``rows`` ``(T, n)``: float64 probabilities ``(T, n, C)``, or numbers ``(T, n)``."""
        outputs = self.outputs(classifier, rows)
        return self.table.target.predictions(outputs, self._target_parameters).cpu().numpy()

    @torch.no_grad()
    def outputs(self, classifier: Classifier, rows: NDArray[np.int64]) -> Tensor:
        """The outputs of h for ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        return self._chunked_outputs(classifier.eval(), rows).double()

    def _chunked_outputs(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """The outputs of a network for ``rows`` ``(T, n)``, computed a few rows at a time to save memory."""
        # All rows at once may not fit into the device's memory.
        chunks = torch.split(self.on_device(rows), EVALUATION_ROWS, dim=1)
        outputs = [network(self._fetch(chunk)) for chunk in chunks]
        return torch.cat(outputs, dim=1)

    def pretrain(self, settings: PretrainSettings, pretext: Pretext) -> Fit:
        """Learn f and g on the training rows; their labels are not used, unless the pretext does."""
        module, stack = Pretraining(), self.without(settings.drop)
        stack.begin_pretraining(module, settings, pretext)
        probes = []
        if settings.probe:
            if not self.data.validation.size:
                raise UsageError(
                    f"pretrain.probe={settings.probe} needs validation labels, and these data hold none back; use "
                    "another regime, or pretrain.probe=0, which takes the test rows at the end."
                )
            probes.append(EpochProbe(stack.probing(module), module, settings.probe))
        return fit(
            "pretrain",
            module,
            stack.datamodule,
            trials=self.trials,
            hardware=self.hardware,
            watch=self.watch,
            probes=probes,
        )

    def probed(
        self, settings: PretrainSettings, pretext: Pretext, encoder: Mapping[str, Tensor]
    ) -> dict[str, NDArray[np.float64]]:
        """The measures of `Probing` on the test rows by their names, ``(T,)`` each.

        Args:
            settings, pretext: of the pre-training.
            encoder: the weights of f with which it ended.
        """
        module, stack = Pretraining(), self.without(settings.drop)
        stack.begin_pretraining(module, settings, pretext)
        load_state(module.encoder, dict(encoder))
        module.to(self.hardware.device, self.hardware.dtype)
        return stack.probing(module).test_measures()

    def probing(self, module: Pretraining, neighbours: int = NEIGHBOURS) -> Probing:
        """Measures the frozen embeddings of a pre-training whose module `begin_pretraining` has built."""
        table, roster = self.table, module.roster

        def random() -> StackedGenerator:
            return self._random(Purpose.VALIDATION_VIEWS, roster)

        return Probing(module, self.data, table.target, table.labels, self.datamodule.table, random, neighbours)

    def begin_pretraining(self, module: Pretraining, settings: PretrainSettings, pretext: Pretext) -> None:
        """Build the module of a pre-training, and serve its batches."""
        roster = self._roster()
        encoder = self.networks.encoder(self.trials, learns_missing_values=pretext.learns_missing_values)
        random = self._random(Purpose.CORRUPTION, roster)
        # f and g draw their dropout masks from one stream, in the order of the forward pass.
        dropout = self._random(Purpose.PRETRAIN_DROPOUT, roster)
        source = self._source(encoder, roster, self.data.pretrain)
        classifier = None
        if pretext.uses_labels:
            classifier = LabelHead(self.networks.head(self.trials), self.table.target)
        task = self._task(pretext, encoder, source, random, dropout, classifier)
        validation_random = self._random(Purpose.VALIDATION_VIEWS, roster)
        module.build(task, validation_random, roster=roster, settings=settings)
        give_streams(module, dropout)

        # Labelled or not: pre-training looks at no label.
        train = Examples(self.on_device(self.data.pretrain))
        if pretext.uses_labels:
            train = self.partly_labelled()
        validation = Examples(self.on_device(self.data.watched))
        # Permutations are drawn on the host, on whatever device the stack trains.
        order = self.streams.torch(self.trials, Purpose.PRETRAIN_ORDER, roster=roster)
        self._serve(module, train, validation, order, settings.batch_size)

    def steps_per_epoch(self, settings: PretrainSettings) -> int:
        """Steps of the optimiser in an epoch of pre-training."""
        return len(batch_bounds(self.data.pretrain.shape[1], settings.batch_size))

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
            supervision: the method's changes to a training step.
            number: distinguishes the fits of a method that trains several models in a trial.

        Raises:
            UsageError: the metric to watch is undefined on a trial's validation rows.
        """
        # Settings may depend on the number of labels that the trial has spent, those that stop it included.
        settings = settings.fit_to_rows(len(examples) + self.data.n_labels_inside)
        # A fit that learns a pretext task beside the labels has a second loss, and a module of its own for it.
        module = Finetuning() if supervision.auxiliary is None else Cotraining()
        self.begin_finetuning(module, settings, examples, pretrained, supervision=supervision, number=number)
        return fit(
            "finetune", module, self.datamodule, trials=self.trials, hardware=self.hardware, watch=self.watch
        ), module.classifier

    def begin_finetuning(
        self,
        module: Finetuning,
        settings: FinetuneSettings,
        examples: Examples,
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        supervision: Supervision = PLAIN,
        number: int = 0,
    ) -> None:
        """Build the module of a supervised fit, and serve its batches; see `finetune`."""
        self.build_finetuning(module, settings, pretrained, supervision=supervision, number=number)
        if module.metric is not None:
            self._check_metric(module.metric)
        # The classes are balanced on top of the table's own weights of rows.
        if settings.class_weight == "balanced":
            assert examples.targets is not None
            weights = self.table.target.balanced(self.data.labels, examples.targets)
            if examples.weights is not None:
                weights = weights * examples.weights
            examples = replace(examples, weights=weights.to(self.hardware.dtype))
        validation = self.examples(self.data.validation, self.data.validation_labels)
        order = self.streams.torch(self.trials, Purpose.FINETUNE_ORDER, fit=number, roster=module.roster)
        self._serve(module, examples, validation, order, EVALUATION_ROWS)

    def build_finetuning(
        self,
        module: Finetuning,
        settings: FinetuneSettings,
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        supervision: Supervision = PLAIN,
        number: int = 0,
    ) -> None:
        """Build the module of a supervised fit, without its batches; see `finetune`."""
        roster = self._roster()
        encoder = self.networks.encoder(
            self.trials,
            pretrained,
            fit=number,
            dropout=supervision.dropout_rate,
            learns_missing_values=supervision.learns_missing_values,
        )
        # Before the optimiser is made, which takes what is to be trained.
        if settings.freeze == "encoder":
            encoder.freeze()
        head = self.networks.head(self.trials, encoder, fit=number, dropout=supervision.dropout_rate)
        classifier = Classifier(encoder, head)
        dropout = self._random(Purpose.DROPOUT, roster, number)
        give_streams(classifier, dropout)
        random = self._random(supervision.stream, roster, number)
        source = self._source(encoder, roster, self.data.train)
        metric = None
        if settings.watched_metric is not None:
            metric = metric_named(settings.watched_metric)
        module.build(
            classifier,
            supervision,
            source,
            random,
            target=self.table.target,
            target_parameters=self._target_parameters,
            truth=self.data.validation_labels,
            roster=roster,
            settings=settings,
            metric=metric,
        )
        if supervision.auxiliary is not None:
            assert isinstance(module, Cotraining)
            pretext, weight = supervision.auxiliary
            # Of its own, so that g does not change the masks of f and h.
            head_dropout = self._random(Purpose.PRETRAIN_DROPOUT, roster, number)
            module.add(self._task(pretext, encoder, source, random, head_dropout), weight)

    def _check_metric(self, metric: Metric) -> None:
        """Refuse a metric that early stopping could not compare, because it is undefined for a trial's labels."""
        if not self.data.validation.size:
            return
        for trial, labels in zip(self.trials, self.data.validation_labels, strict=True):
            if np.isnan(metric.function(self.table.target.soft(labels), labels)):
                raise UsageError(
                    f"finetune.metric={metric.name} is not defined on the validation rows of trial {trial}: "
                    f"all {len(labels)} of them have the same label. Use another metric, or split=stratified."
                )

    def _source(self, encoder: Encoder, roster: Roster, rows: NDArray[np.int64]) -> CorruptionSource:
        """Rows ``(T, n)`` as a source of values for corruption."""
        return CorruptionSource(encoder, self.datamodule.table, self.on_device(rows), roster)

    def _task(
        self,
        pretext: Pretext,
        encoder: Encoder,
        source: CorruptionSource,
        random: StackedGenerator,
        dropout: StackedGenerator,
        classifier: LabelHead | None = None,
    ) -> PretextTask:
        """The pretext on f and a new g, which draws its dropout masks from ``dropout``."""
        head = self.networks.pretrain_head(self.trials, pretext)
        give_streams(head, dropout)
        return PretextTask(pretext, encoder, head, source, random, classifier)

    def _serve(
        self,
        module: StackModule,
        train: Examples,
        validation: Examples,
        order: StackedGenerator,
        validation_batch_size: int,
    ) -> None:
        """Give the batches of a module's fit from here on."""
        self.datamodule.serve(
            train,
            validation,
            batch_size=module.settings.batch_size,
            validation_batch_size=validation_batch_size,
            order=order,
            roster=module.roster,
        )
        module.steps_per_epoch = self.datamodule.steps_per_epoch
