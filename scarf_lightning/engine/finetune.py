"""Supervised training of f and h on hard or soft targets (paper, section 3)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..data.datamodule import Batch
from ..losses.cross_entropy import cross_entropy
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
        training: the roster and Adam's options, as `StackModule` takes them.
    """

    def __init__(self, classifier: Classifier, *, criterion: Criterion = cross_entropy, **training: Any) -> None:
        super().__init__(**training)
        self.classifier, self.criterion = classifier, criterion

    def on_train_epoch_start(self) -> None:
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
        wrong = logits.argmax(dim=-1) != batch.targets
        loss = per_trial(cross_entropy, logits, batch.targets)
        return {"loss": loss, "error": wrong.to(torch.float64).mean(dim=-1)}
