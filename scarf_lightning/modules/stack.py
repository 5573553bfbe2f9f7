"""A stack of trials, and the two fits that every method is made of: pre-training and fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.datamodule import EVALUATION_ROWS, Examples, StackDataModule
from ..data.device_table import DeviceTable, TrainingRows
from ..data.table import Table
from ..data.trials import TrialData
from ..nn import Encoder
from ..randomness import Purpose, StackedGenerator, Streams
from ..settings import FitSettings, NetworkSettings, PretrainSettings
from .augment import AugmentModule
from .base import StackModule
from .cotrain import CotrainModule
from .finetune import Classifier, FinetuneModule
from .fitting import Fit, Watch, fit
from .hardware import Hardware
from .networks import Networks
from .pretext import Pretext
from .pretrain import PretrainModule
from .views import Augmentation, PretextTask, ViewMaker


@dataclass(frozen=True)
class Cotraining:
    """A pretext loss that joins the supervised one with this weight."""

    task: PretextTask
    weight: float


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
        encoder = self.networks.encoder(learns_missing_values=_learns_missing_values(task.augmentation))
        head, pretext = self._pretext(task, encoder, datamodule, Purpose.CORRUPTION)
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
        augmentation: Augmentation | None = None,
        cotraining: Cotraining | None = None,
        fit: int = 0,
    ) -> tuple[Fit, Classifier]:
        """Supervised training of f and h on ``examples``, watched on the validation rows.

        Args:
            settings: how to train.
            examples: rows, hard or soft targets and weights, on the stack's device.
            pretrained: weights of f; None starts from fresh ones.
            augmentation: train on views of the rows instead of the rows.
            cotraining: a pretext loss to add, instead of an augmentation.
            fit: tells apart the fits of a method that trains several models in a trial.

        Returns:
            The fit, and the classifier with the kept weights.
        """
        labels = self._on_device(self.table.labels[self.data.validation])
        datamodule = StackDataModule(
            self.device_table,
            examples,
            Examples(self._on_device(self.data.validation), labels),
            batch_size=settings.batch_size,
            order=self.streams.torch(self.data.trials, Purpose.FINETUNE_ORDER, fit=fit),
            drop_last=settings.drop_last,
        )
        used = cotraining.task.augmentation if cotraining else augmentation
        encoder = self.networks.encoder(pretrained, fit=fit, learns_missing_values=_learns_missing_values(used))
        head = self.networks.head(fit)
        adam: dict[str, Any] = {"learning_rate": settings.learning_rate, "epsilon": settings.epsilon}
        module: FinetuneModule
        if cotraining is not None:
            purpose = Purpose.FINETUNE_CORRUPTION
            pretrain_head, pretext = self._pretext(cotraining.task, encoder, datamodule, purpose)
            module = CotrainModule(encoder, head, pretrain_head, pretext, weight=cotraining.weight, **adam)
        elif augmentation is not None:
            view_maker = self._view_maker(augmentation, encoder, datamodule)
            module = AugmentModule(encoder, head, view_maker, self._random(Purpose.FINETUNE_CORRUPTION), **adam)
        else:
            module = FinetuneModule(encoder, head, **adam)
        return self._fit("finetune", module, datamodule, settings), module.classifier

    def labelled(self) -> Examples:
        """The training rows whose label the regime shows, with that label."""
        return Examples(self._on_device(self.data.labelled), self._on_device(self.data.labels))

    @torch.no_grad()
    def predict(self, classifier: Classifier, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of ``rows`` ``(T, n)``, float64 ``(T, n, C)``."""
        chunks = torch.split(self._on_device(rows), EVALUATION_ROWS, dim=1)
        logits = torch.cat([classifier(self.device_table.rows(chunk)) for chunk in chunks], dim=1)
        return logits.double().softmax(dim=-1).cpu().numpy()

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

    def _pretext(
        self, task: PretextTask, encoder: Encoder, datamodule: StackDataModule, purpose: Purpose
    ) -> tuple[nn.Module, Pretext]:
        head = self.networks.pretrain_head(task.loss, encoder.one_hot.width)
        view_maker = self._view_maker(task.augmentation, encoder, datamodule)
        return head, Pretext(task, encoder, head, view_maker, self._random(purpose))

    def _view_maker(self, augmentation: Augmentation, encoder: Encoder, datamodule: StackDataModule) -> ViewMaker:
        return ViewMaker(augmentation, encoder, TrainingRows(datamodule.table, self._on_device(self.data.train)))

    def _random(self, purpose: Purpose) -> StackedGenerator:
        return self.streams.torch(self.data.trials, purpose, device=self.hardware.device)

    def _on_device(self, array: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)


def _learns_missing_values(augmentation: Augmentation | None) -> bool:
    return augmentation is not None and augmentation.corruption.learns_missing_values
