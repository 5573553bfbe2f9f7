"""A stack of trials, and the two fits that every method is made of: pre-training and fine-tuning."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..corruption import Corruption
from ..data.datamodule import EVALUATION_ROWS, Examples, StackDataModule
from ..data.device_table import DeviceTable, TrainingRows
from ..data.table import Table
from ..data.trials import TrialData
from ..losses import ContrastiveLoss
from ..nn import Encoder, Head, Initialisation
from ..randomness import Purpose, Streams
from ..settings import FitSettings, NetworkSettings, PretrainSettings
from .base import StackModule
from .early_stopping import TrialStopping
from .finetune import Classifier, FinetuneModule
from .hardware import Hardware
from .pretrain import PretrainModule

Watch = Callable[[str, TrialStopping, int], list[pl.Callback]]
"""Given a phase's name, its early stopping and its largest number of epochs: callbacks that show its progress."""


@dataclass(frozen=True)
class Fit:
    """What came of one fit of T trials.

    **Shape.** ``weights`` holds the kept parameters by name, ``(T, ...)`` each; ``epochs``, ``best_epochs`` and
    ``seconds`` are ``(T,)``; ``curves`` has a record an epoch and trial.
    """

    weights: Mapping[str, Tensor]
    epochs: NDArray[np.int64]
    best_epochs: NDArray[np.int64]
    seconds: NDArray[np.float64]
    curves: list[dict[str, Any]]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The weights of one part of the module, such as ``encoder``, without the part's name."""
        start = prefix + "."
        return {name.removeprefix(start): weight for name, weight in self.weights.items() if name.startswith(start)}


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

    def pretrain(self, settings: PretrainSettings, corruption: Corruption, loss: ContrastiveLoss) -> Fit:
        """Algorithm 1 on the training rows; their labels are not seen."""
        encoder = self._encoder()
        head = self._head(Purpose.PRETRAIN_HEAD, self.network.pretrain_head.width)
        train = self._on_device(self.data.train)
        datamodule = StackDataModule(
            self.device_table,
            Examples(train),
            Examples(self._on_device(self.data.validation)),
            batch_size=settings.batch_size,
            validation_batch_size=settings.batch_size,
            order=self.streams.torch(self.data.trials, Purpose.PRETRAIN_ORDER),
            drop_last=settings.drop_last,
        )
        module = PretrainModule(
            encoder,
            head,
            corruption=corruption,
            loss=loss,
            training_rows=TrainingRows(datamodule.table, train, encoder.one_hot),
            corruption_random=self.streams.torch(self.data.trials, Purpose.CORRUPTION, device=self.hardware.device),
            validation_random=self.streams.torch(
                self.data.trials, Purpose.VALIDATION_VIEWS, device=self.hardware.device
            ),
            validation_passes=settings.validation_passes,
            monitor=settings.monitor,
            learning_rate=settings.learning_rate,
            epsilon=settings.epsilon,
        )
        return self._fit("pretrain", module, datamodule, settings)

    def finetune(
        self, settings: FitSettings, examples: Examples, pretrained: Mapping[str, Tensor] | None = None, fit: int = 0
    ) -> tuple[Fit, Classifier]:
        """Supervised training of f and h on ``examples``, watched on the validation rows.

        Args:
            settings: how to train.
            examples: rows, hard or soft targets and weights, on the stack's device.
            pretrained: weights of f; None starts from fresh ones.
            fit: tells apart the fits of a method that trains several models in a trial.

        Returns:
            The fit, and the classifier with the kept weights.
        """
        encoder = self._encoder(fit)
        if pretrained is not None:
            _load(encoder, pretrained)
        module = FinetuneModule(
            encoder,
            self._head(Purpose.HEAD, self.table.n_classes, fit),
            learning_rate=settings.learning_rate,
            epsilon=settings.epsilon,
        )
        validation = Examples(
            self._on_device(self.data.validation), self._on_device(self.table.labels[self.data.validation])
        )
        datamodule = StackDataModule(
            self.device_table,
            examples,
            validation,
            batch_size=settings.batch_size,
            order=self.streams.torch(self.data.trials, Purpose.FINETUNE_ORDER, fit=fit),
            drop_last=settings.drop_last,
        )
        result = self._fit("finetune", module, datamodule, settings)
        return result, module.classifier

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
        stopping = TrialStopping(
            self.data.trials,
            monitor=settings.monitor,
            patience=settings.patience,
            patience_rule=settings.patience_rule,
            restore_best=settings.restore_best,
        )
        trainer = pl.Trainer(
            accelerator=self.hardware.device.type,
            devices=1,
            precision="bf16-mixed" if self.hardware.precision == "bf16-mixed" else "32-true",
            max_epochs=settings.max_epochs,
            callbacks=[stopping, *self.watch(phase, stopping, settings.max_epochs)],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            inference_mode=False,  # weights kept from an inference tensor could not be trained further
        )
        # Lightning's own double precision would rebuild every batch; 32-true leaves number types alone.
        trainer.fit(module.to(self.hardware.dtype), datamodule=datamodule)
        _load(module, stopping.weights)
        module.to(self.hardware.device)
        return Fit(stopping.weights, stopping.epochs, stopping.best_epochs, stopping.seconds, stopping.curves)

    def _encoder(self, fit: int = 0) -> Encoder:
        settings = self.network.encoder
        return Encoder(
            [len(column.categories or ()) for column in self.table.columns],
            self.streams.torch(self.data.trials, Purpose.ENCODER, fit=fit),
            self._initialisation,
            width=settings.width,
            depth=settings.depth,
            final_relu=settings.final_relu,
        )

    def _head(self, purpose: Purpose, n_out: int, fit: int = 0) -> Head:
        settings = self.network.pretrain_head if purpose is Purpose.PRETRAIN_HEAD else self.network.head
        random = self.streams.torch(self.data.trials, purpose, fit=fit)
        return Head(
            self.network.encoder.width,
            n_out,
            random,
            self._initialisation,
            width=settings.width,
            depth=settings.depth,
        )

    @property
    def _initialisation(self) -> Initialisation:
        return Initialisation(self.network.weight_init, self.network.bias_init)

    def _on_device(self, array: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(self.hardware.device)


def _load(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give the module copies of these weights, whatever the trials its own are of."""
    for name, parameter in module.named_parameters():
        parameter.data = weights[name].clone()
