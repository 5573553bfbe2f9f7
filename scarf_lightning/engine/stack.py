"""A stack of trials, and the two fits that every method consists of: pre-training and fine-tuning.

A cell's trials are independent, and are trained in stacks, several at once. Fifteen trials in stacks of up to ten::

    cell    trials  0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
    stack          [0 1 2 3 4 5 6 7 8 9]                   T = 10, batches (10, N, M), losses (10,)
    stack                                [10 11 12 13 14]  T = 5

Arrays ``(T, ...)`` are indexed by a trial's *position* in its stack, not by its number. While a phase trains, trials
that have stopped leave, and the `Roster` says which positions are still here::

    roster  [0 1 2 3 4 5 6 7 8 9]  ->  [0 2 3 7 8]  ->  [3]
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import EVALUATION_ROWS, Examples, batch_bounds
from ..errors import UsageError
from ..metrics import Metric, metric_named
from ..options.settings import FinetuneSettings, PretrainSettings
from ..pretexts import Pretext
from ..randomness import Purpose, Roster, StackedGenerator
from .encoder import Classifier, Encoder
from .fit import Fit, Watch, fit
from .lifting import give_streams, load_state
from .pretext_task import CorruptionSource, LabelHead, PretextTask
from .probing import NEIGHBOURS, EpochProbe, Probing
from .stack_modules import Cotraining, Finetuning, Pretraining, StackModule
from .stack_outputs import StackOutputs
from .supervision import Supervision

PLAIN = Supervision()
"""Fine-tuning that no method changes."""


@dataclass(frozen=True)
class Stack(StackOutputs):
    """T trials and their phases.

    Attributes:
        watch: makes watchers that show progress.
    """

    watch: Watch = lambda *_: []

    def pretrain(self, settings: PretrainSettings, pretext: Pretext) -> Fit:
        """Learn f and g on the training rows; their labels are not used, unless the pretext does."""
        module, seen = Pretraining(), self.without(settings.drop)
        seen.begin_pretraining(module, settings, pretext)
        probes = []
        if settings.probe:
            if not self.data.validation.size:
                raise UsageError(
                    f"pretrain.probe={settings.probe} needs validation labels, and these data hold none back; use "
                    "another regime, or pretrain.probe=0, which takes the test rows at the end."
                )
            probes.append(EpochProbe(seen.probing(module), module, settings.probe))
        return fit(
            "pretrain",
            module,
            seen.datamodule,
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
        module, seen = Pretraining(), self.without(settings.drop)
        seen.begin_pretraining(module, settings, pretext)
        load_state(module.encoder, dict(encoder))
        module.to(self.hardware.device, self.hardware.dtype)
        return seen.probing(module).test_measures()

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
        task = self._task(pretext, encoder, source, random, dropout)
        if pretext.uses_labels:
            task.classifier = LabelHead(self.networks.head(self.trials), self.table.target)
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
            fitted=self._fitted,
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
    ) -> PretextTask:
        """The pretext on f and a new g, which draws its dropout masks from ``dropout``."""
        head = self.networks.pretrain_head(self.trials, pretext)
        give_streams(head, dropout)
        return PretextTask(pretext, encoder, head, source, random)

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
