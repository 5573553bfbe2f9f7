"""A stack of trials, and the two fits that every method is made of: pre-training and fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import EVALUATION_ROWS, Examples, StackDataModule
from ..data.device_table import DeviceTable, TrainingRows
from ..data.table import Table
from ..data.trials import TrialData
from ..nn import OneHot
from ..randomness import Purpose, StackedGenerator, Streams
from ..settings import FitSettings, NetworkSettings, PretrainSettings
from .base import StackModule
from .finetune import Classifier
from .fitting import Fit, Watch, fit
from .hardware import Hardware
from .networks import Networks
from .pretext import Pretext
from .pretrain import PretrainModule
from .variants import Ingredients, Plain, Variant
from .views import PretextTask, ViewMaker


@dataclass(frozen=True)
class Stack:
    """T trials of one cell and all that their fits share."""

    table: Table
    data: TrialData
    streams: Streams
    network: NetworkSettings
    hardware: Hardware
    watch: Watch = lambda *_: []

    @cached_property
    def device_table(self) -> DeviceTable:
        return DeviceTable(self.table, self.data.preprocessing, device=self.hardware.device, dtype=self.hardware.dtype)

    @cached_property
    def networks(self) -> Networks:
        return Networks(self.table, self.data.trials, self.streams, self.network)

    def pretrain(self, settings: PretrainSettings, task: PretextTask) -> Fit:
        """Learn f and g on the training rows; their labels are not seen."""
        datamodule = StackDataModule(
            self.device_table,
            Examples(self._on_device(self.data.train)),
            Examples(self._on_device(self.data.validation)),
            batch_size=settings.batch_size,
            validation_batch_size=settings.batch_size,
            order=self.streams.torch(self.data.trials, Purpose.PRETRAIN_ORDER),
            drop_last=settings.drop_last,
        )
        encoder = self.networks.encoder(learns_missing_values=task.augmentation.corruption.learns_missing_values)
        head = self.networks.pretrain_head(task.loss, encoder.one_hot.width)
        view_maker = ViewMaker(task.augmentation, encoder, self._training_rows(datamodule))
        pretext = Pretext(task, encoder, head, view_maker, self._random(Purpose.CORRUPTION))
        module = PretrainModule(
            encoder,
            head,
            pretext,
            validation_random=self._random(Purpose.VALIDATION_VIEWS),
            validation_passes=settings.validation_passes,
            monitor=settings.monitor,
            learning_rate=settings.learning_rate,
            epsilon=settings.epsilon,
        )
        return self._fit("pretrain", module, datamodule, settings)

    def finetune(
        self,
        settings: FitSettings,
        examples: Examples,
        pretrained: Mapping[str, Tensor] | None = None,
        *,
        variant: Variant | None = None,
        fit: int = 0,
    ) -> tuple[Fit, Classifier]:
        """Supervised training of f and h on ``examples``, watched on the validation rows.

        Args:
            settings: how to train.
            examples: rows, hard or soft targets and weights, on the stack's device.
            pretrained: weights of f; None starts from fresh ones.
            variant: what is done in place of plain cross-entropy.
            fit: tells apart the fits of a method that trains several models in a trial.

        Returns:
            The fit, and the classifier with the kept weights.
        """
        variant = variant or Plain()
        labels = self._on_device(self.table.labels[self.data.validation])
        datamodule = StackDataModule(
            self.device_table,
            examples,
            Examples(self._on_device(self.data.validation), labels),
            batch_size=settings.batch_size,
            order=self.streams.torch(self.data.trials, Purpose.FINETUNE_ORDER, fit=fit),
            drop_last=settings.drop_last,
        )
        encoder = self.networks.encoder(pretrained, fit=fit, learns_missing_values=variant.learns_missing_values)
        module = variant.module(
            Ingredients(
                encoder,
                self.networks.head(fit),
                {"learning_rate": settings.learning_rate, "epsilon": settings.epsilon},
                random=lambda purpose: self._random(purpose, fit),
                training_rows=lambda: self._training_rows(datamodule),
                pretrain_head=lambda task: self.networks.pretrain_head(task.loss, encoder.one_hot.width),
            )
        )
        return self._fit("finetune", module, datamodule, settings), module.classifier

    def of(self, position: int) -> "Stack":
        """A stack of the trial at this position alone."""
        return replace(self, data=self.data.of(position))

    def labelled(self) -> Examples:
        """The training rows whose label the regime shows, with that label."""
        return self.examples(self.data.labelled, self.data.labels)

    def encoded(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """``rows`` ``(T, n)`` imputed, scaled and one-hot encoded, ``(T, n, D)``, for models that are no networks."""
        one_hot = OneHot(self.table.n_categories).to(self.hardware.device)
        encoded: NDArray[np.float64] = one_hot(self.device_table.rows(self._on_device(rows))).double().cpu().numpy()
        return encoded

    def predict(self, classifier: Classifier, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        return self.logits(classifier, rows).softmax(dim=-1).cpu().numpy()

    @torch.no_grad()
    def logits(self, classifier: Classifier, rows: NDArray[np.int64]) -> Tensor:
        """What the classifier gives for ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        chunks = torch.split(self._on_device(rows), EVALUATION_ROWS, dim=1)
        return torch.cat([classifier(self.device_table.rows(chunk)) for chunk in chunks], dim=1).double()

    def _fit(self, phase: str, module: StackModule, datamodule: StackDataModule, settings: FitSettings) -> Fit:
        return fit(
            phase,
            module,
            datamodule,
            settings,
            trials=self.data.trials,
            hardware=self.hardware,
            watch=self.watch,
        )

    def _training_rows(self, datamodule: StackDataModule) -> TrainingRows:
        return TrainingRows(datamodule.table, self._on_device(self.data.train))

    def _random(self, purpose: Purpose, fit: int = 0) -> StackedGenerator:
        return self.streams.torch(self.data.trials, purpose, fit=fit, device=self.hardware.device)

    def examples(self, rows: NDArray[np.int64], targets: NDArray[np.generic]) -> Examples:
        """Rows ``(T, n)`` with class numbers ``(T, n)`` or probabilities ``(T, n, C)`` as targets, on the device."""
        on_device = torch.from_numpy(targets).to(self.hardware.device)
        return Examples(self._on_device(rows), on_device if targets.ndim == 2 else on_device.to(self.hardware.dtype))

    def _on_device(self, array: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)
