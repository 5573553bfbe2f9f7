"""Pre-training of f and g on views (paper, Algorithm 1)."""

import torch
from torch import Tensor

from ..corruption import Corruption
from ..data.datamodule import Batch
from ..data.device_table import TrainingRows
from ..losses import ContrastiveLoss
from ..nn import Encoder, Head
from ..randomness import StackedGenerator
from .base import StackModule


class PretrainModule(StackModule):
    """Contrasts clean rows with corrupted views of them.

    Args:
        encoder: f of T trials.
        head: g of T trials.
        corruption: how a view is made.
        loss: what the embeddings of clean rows and views are held to.
        training_rows: what corruption draws from.
        corruption_random: stream of the training views.
        validation_random: stream of the validation views; it starts again at every validation, which makes them static.
        validation_passes: how many views of each validation row there are.
        monitor: ``loss`` or ``error``, the validation metric that is watched.
        learning_rate: Adam's.
        epsilon: Adam's.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Head,
        *,
        corruption: Corruption,
        loss: ContrastiveLoss,
        training_rows: TrainingRows,
        corruption_random: StackedGenerator,
        validation_random: StackedGenerator,
        validation_passes: int,
        monitor: str,
        learning_rate: float,
        epsilon: float,
    ) -> None:
        leaving = (training_rows, corruption_random, validation_random)
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, leaving=leaving)
        self.encoder, self.head = encoder, head
        self._corruption, self._loss, self._training_rows = corruption, loss, training_rows
        self._corruption_random, self._validation_random = corruption_random, validation_random
        self._validation_passes, self._monitor = validation_passes, monitor

    def losses(self, batch: Batch) -> Tensor:
        clean = self.encoder.one_hot(batch.x)
        corrupted = self._view(batch.x, clean, self._corruption_random)
        # One pass over clean and corrupted rows together costs less than two.
        embedded = self._embed(torch.cat([clean, corrupted], dim=1))
        return self._loss(*embedded.chunk(2, dim=1))

    def on_validation_epoch_start(self) -> None:
        self._validation_random.reset()

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        """Each pass is contrasted by itself; the clean rows are the same in all, so they are embedded once."""
        encoded = self.encoder.one_hot(batch.x)
        views = [self._view(batch.x, encoded, self._validation_random) for _ in range(self._validation_passes)]
        clean = self._embed(encoded)
        passes = self._embed(torch.cat(views, dim=1)).chunk(self._validation_passes, dim=1)
        metrics = {"loss": _mean([self._loss(clean, view) for view in passes])}
        if self._monitor == "error":
            metrics["error"] = _mean([self._loss.error(clean, view) for view in passes])
        return metrics

    def _view(self, raw: Tensor, encoded: Tensor, random: StackedGenerator) -> Tensor:
        """A corrupted view, encoded: ``(T, N, D)``."""
        if self._corruption.space == "encoded":
            return self._corruption(encoded, self._training_rows, random)[0]
        view: Tensor = self.encoder.one_hot(self._corruption(raw, self._training_rows, random)[0])
        return view

    def _embed(self, encoded: Tensor) -> Tensor:
        out: Tensor = self.head(self.encoder.body(encoded))
        return out


def _mean(values: list[Tensor]) -> Tensor:
    """Mean of values ``(T,)``. Trials are made rows, so that their number does not decide the order of the sum."""
    return torch.stack(values, dim=-1).mean(dim=-1)
