"""Supervised training of f and h on hard or soft targets (paper, section 3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.datamodule import Batch
from ..losses.cross_entropy import cross_entropy
from ..metrics import Metric
from .base import StackModule
from .encoder import Classifier
from .lifting import per_trial

Criterion = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""Logits ``(N, C)``, targets ``(N,)`` or ``(N, C)`` and weights ``(N,)`` or None of one trial, to a scalar."""


class FinetuneModule(StackModule):
    """Trains all weights of f and h on cross-entropy, or another ``criterion`` of its form.

    Args:
        classifier: f and h of T trials.
        criterion: the training loss of one trial. Validation is by cross-entropy and error whatever it is.
        metric: measured on the validation rows, too.
        training: the roster and the settings, as `StackModule` takes them.
    """

    def __init__(
        self,
        classifier: Classifier,
        *,
        criterion: Criterion = cross_entropy,
        metric: Metric | None = None,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.classifier, self.criterion, self._metric = classifier, criterion, metric
        self._validated: list[tuple[Tensor, Tensor]] = []

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        if self.classifier.encoder.is_frozen:
            self.classifier.encoder.eval()

    def losses(self, batch: Batch) -> Tensor:
        losses: Tensor = per_trial(self.criterion, self.logits(batch.x), batch.targets, batch.weights)
        return losses

    def logits(self, x: Tensor) -> Tensor:
        """What a training batch ``(T, N, M)`` gives: ``(T, N, C)``."""
        logits: Tensor = self.classifier(x)
        return logits

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        assert batch.targets is not None
        logits = self.classifier(batch.x)
        if self._metric is not None:
            self._validated.append((logits.double().softmax(dim=-1), batch.targets))
        wrong = logits.argmax(dim=-1) != batch.targets
        loss = per_trial(cross_entropy, logits, batch.targets)
        return {"loss": loss, "error": wrong.to(torch.float64).mean(dim=-1)}

    def end_epoch(self) -> dict[str, NDArray[np.float64]]:
        means = super().end_epoch()
        if self._metric is not None and self._validated:
            means[f"validation_{self._metric.name}"] = self._measured(self._metric)
        return means

    def _measured(self, metric: Metric) -> NDArray[np.float64]:
        """The metric of each trial over all validation rows; NaN where it is not defined."""
        probabilities, labels = (torch.cat(parts, dim=1).cpu().numpy() for parts in zip(*self._validated, strict=True))
        self._validated.clear()
        return np.array([metric.function(*trial) for trial in zip(probabilities, labels, strict=True)])
