"""A stack of trials, and the two fits that every method is made of: pre-training and fine-tuning."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.class_weights import balanced_weights
from ..data.datamodule import EVALUATION_ROWS, Examples, StackDataModule, batch_bounds
from ..data.device_table import DeviceTable
from ..data.table import Table
from ..data.trials import TrialData
from ..errors import UsageError
from ..metrics import metric_named
from ..networks import Columns, Network, OneHot
from ..pretexts import Pretext
from ..randomness import Purpose, Streams
from ..roster import Roster
from ..settings import FinetuneSettings, FitSettings, NetworkSettings, PretrainSettings
from .base import StackModule
from .encoder import Classifier
from .finetune import FinetuneModule
from .fitting import Fit, Watch, fit, unwatched
from .hardware import Hardware
from .lifting import give_streams
from .networks import Networks
from .pretrain import PretrainModule
from .setup import FitSetup

MakeModule = Callable[[FitSetup], FinetuneModule]
"""What is done in a supervised fit: its module."""


def plain(setup: FitSetup) -> FinetuneModule:
    """Cross-entropy on the rows."""
    return FinetuneModule(setup.classifier(), **setup.training)


@dataclass(frozen=True)
class Stack:
    """T trials of one cell and all that their fits share.

    Attributes:
        network: f.
        settings: of g and h, and how linear layers start.
        datamodule: the table on the device, and the batches of whichever fit is on.
        watch: see `Watch`.
    """

    table: Table
    data: TrialData
    streams: Streams
    network: Network
    settings: NetworkSettings
    hardware: Hardware
    datamodule: StackDataModule
    watch: Watch = unwatched

    @classmethod
    def make(
        cls,
        table: Table,
        data: TrialData,
        streams: Streams,
        network: Network,
        settings: NetworkSettings,
        hardware: Hardware,
        watch: Watch = unwatched,
    ) -> "Stack":
        """A stack with a copy of the table on the device, which all its fits share."""
        on_device = DeviceTable(table, data.preprocessing, device=hardware.device, dtype=hardware.dtype)
        return cls(table, data, streams, network, settings, hardware, StackDataModule(on_device), watch)

    @property
    def trials(self) -> tuple[int, ...]:
        """Their numbers."""
        return self.data.trials

    @cached_property
    def networks(self) -> Networks:
        columns = Columns(tuple(self.table.n_categories))
        return Networks(columns, self.table.n_classes, self.streams, self.network, self.settings, self._training_rows)

    def pretrain(self, settings: PretrainSettings, pretext: Pretext) -> Fit:
        """Learn f and g on the training rows; their labels are not seen."""
        setup = FitSetup(self, settings)
        encoder = setup.encoder(learns_missing_values=pretext.learns_missing_values)
        head, task = setup.pretext_task(pretext, encoder, setup.random(Purpose.CORRUPTION))
        module = PretrainModule(
            encoder,
            head,
            task,
            validation_random=setup.random(Purpose.VALIDATION_VIEWS),
            validation_passes=settings.validation_passes,
            monitor=settings.monitor,
            **setup.training,
        )
        give_streams(module, setup.random(Purpose.PRETRAIN_DROPOUT))
        train, validation = (Examples(self.on_device(rows)) for rows in (self.data.train, self.data.validation))
        return self._fit(
            "pretrain", module, setup, train, validation, settings.validation_batch_size or settings.batch_size
        )

    def steps_per_epoch(self, settings: PretrainSettings) -> int:
        """Steps of the optimiser in an epoch of pre-training."""
        return len(batch_bounds(self.data.train.shape[1], settings.batch_size, drop_last=settings.drop_last))

    def finetune(
        self,
        settings: FitSettings,
        examples: Examples,
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        make: MakeModule = plain,
        number: int = 0,
    ) -> tuple[Fit, Classifier]:
        """Supervised training of f and h on ``examples``, watched on the validation rows.

        Args:
            settings: how to train.
            examples: rows, hard or soft targets and weights, on the stack's device.
            pretrained: weights of f and of the first layer of g; None starts from fresh ones.
            make: the module that is trained.
            number: tells apart the fits of a method that trains several models in a trial.

        Returns:
            The fit, and the classifier with the kept weights.
        """
        setup = FitSetup(self, settings, number, pretrained)
        module = make(setup)
        if isinstance(settings, FinetuneSettings):
            self._check_metric(settings.metric)
            if settings.class_weight == "balanced":
                examples = self._balanced(examples)
            if settings.epoch == "training_rows":
                again = torch.arange(self.data.train.shape[1], device=self.hardware.device) % len(examples)
                examples = examples.map(lambda each: each[:, again])
        validation = Examples(self.on_device(self.data.judged), self.on_device(self.data.judged_labels))
        return self._fit("finetune", module, setup, examples, validation, EVALUATION_ROWS), module.classifier

    def of(self, position: int) -> "Stack":
        """A stack of the trial at this position alone, on the same copy of the table."""
        datamodule = StackDataModule(self.datamodule.table.of(position))
        return replace(self, data=self.data.of(position), datamodule=datamodule)

    def labelled(self) -> Examples:
        """The training rows whose label the regime shows, with that label."""
        return self.examples(self.data.labelled, self.data.labels)

    def examples(self, rows: NDArray[np.int64], targets: NDArray[np.generic]) -> Examples:
        """Rows ``(T, n)`` with class numbers ``(T, n)`` or probabilities ``(T, n, C)`` as targets, on the device."""
        on_device = torch.from_numpy(targets).to(self.hardware.device)
        return Examples(self.on_device(rows), on_device if targets.ndim == 2 else on_device.to(self.hardware.dtype))

    def row_weights(self, settings: FitSettings) -> NDArray[np.float64] | None:
        """Of the labelled training rows, ``(T, n_labelled)``; None where all weigh alike."""
        if not isinstance(settings, FinetuneSettings) or settings.class_weight == "none":
            return None
        weights = balanced_weights(self.data.labels, self.table.n_classes)
        return np.take_along_axis(weights, self.data.labels, axis=1)

    def raw(self, rows: NDArray[np.int64]) -> Tensor:
        """``rows`` ``(T, n)`` imputed and scaled, ``(T, n, M)``, on the device."""
        return self._fetch(self.on_device(rows))

    def encoded(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """``rows`` ``(T, n)`` imputed, scaled and one-hot encoded, ``(T, n, D)``, for models that are no networks."""
        one_hot = OneHot(self.table.n_categories).to(self.hardware.device)
        encoded: NDArray[np.float64] = one_hot(self.raw(rows)).double().cpu().numpy()
        return encoded

    def predict(self, classifier: Classifier, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        return self.logits(classifier, rows).softmax(dim=-1).cpu().numpy()

    @torch.no_grad()
    def logits(self, classifier: Classifier, rows: NDArray[np.int64]) -> Tensor:
        """What the classifier gives for ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        classifier.eval()
        chunks = torch.split(self.on_device(rows), EVALUATION_ROWS, dim=1)
        return torch.cat([classifier(self._fetch(chunk)) for chunk in chunks], dim=1).double()

    def on_device(self, array: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)

    def _balanced(self, examples: Examples) -> Examples:
        """Examples weighted by their classes, a soft target by those that it names; see `balanced_weights`."""
        assert examples.targets is not None
        weights = torch.from_numpy(balanced_weights(self.data.labels, self.table.n_classes)).to(self.hardware.device)
        if examples.targets.dim() == 2:
            of_rows = weights.gather(1, examples.targets)
        else:
            of_rows = (examples.targets.double() * weights.unsqueeze(1)).sum(dim=-1)
        if examples.weights is not None:
            of_rows = of_rows * examples.weights
        return replace(examples, weights=of_rows.to(self.hardware.dtype))

    def _check_metric(self, name: str | None) -> None:
        """Refuse to watch a metric that is not defined on the validation rows of a trial."""
        if name is None:
            return
        for trial, labels in zip(self.trials, self.data.judged_labels, strict=True):
            guess = np.full((len(labels), self.table.n_classes), 1 / self.table.n_classes)
            if np.isnan(metric_named(name).function(guess, labels)):
                raise UsageError(
                    f"finetune.metric={name} is not defined on the validation rows of trial {trial}, of which there "
                    f"are {len(labels)} in {len(np.unique(labels))} class; use another metric, or split=stratified."
                )

    def _fetch(self, rows: Tensor) -> Tensor:
        return self.datamodule.table.rows(rows, Roster(len(rows), rows.device))

    def _training_rows(self, position: int) -> Tensor:
        """The encoded training rows ``(n, D)`` of the trial at a position."""
        encoded: Tensor = OneHot(self.table.n_categories)(self.of(position).raw(self.data.train[[position]])[0].cpu())
        return encoded

    def _fit(
        self,
        phase: str,
        module: StackModule,
        setup: FitSetup,
        train: Examples,
        validation: Examples,
        validation_batch_size: int,
    ) -> Fit:
        order = Purpose.PRETRAIN_ORDER if phase == "pretrain" else Purpose.FINETUNE_ORDER
        self.datamodule.serve(
            train,
            validation,
            batch_size=setup.settings.batch_size,
            validation_batch_size=validation_batch_size,
            order=self.streams.torch(self.trials, order, fit=setup.number, roster=setup.roster),
            roster=setup.roster,
            drop_last=setup.settings.drop_last,
            shuffle=setup.settings.shuffle,
        )
        return fit(
            phase,
            module,
            self.datamodule,
            setup.settings,
            trials=self.trials,
            hardware=self.hardware,
            watch=self.watch,
        )
