"""Supervised training of f and h on hard or soft targets (paper, section 3)."""

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.datamodule import Batch
from ..nn import Encoder, Head
from .base import Leavable, StackModule


class Classifier(nn.Module):
    """h after f.

    **Shape.** Raw features ``(T, N, M)`` to logits ``(T, N, C)``.
    """

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.encoder(x))
        return logits


def cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Weighted mean cross-entropy of each trial.

    **Shape.** ``logits`` ``(T, N, C)``; ``targets`` class numbers ``(T, N)`` or probabilities ``(T, N, C)``;
    ``weights`` ``(T, N)`` or None; returns ``(T,)``.
    """
    log_probabilities = F.log_softmax(logits, dim=-1)
    if targets.dim() == 2:
        rows = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    else:
        rows = -(targets * log_probabilities).sum(dim=-1)
    if weights is None:
        return rows.mean(dim=-1)
    return (weights * rows).sum(dim=-1) / weights.sum(dim=-1)


class FinetuneModule(StackModule):
    """Trains all weights of f and h on cross-entropy, or another ``criterion`` of its form.

    Validation watches the classification error and the cross-entropy, whatever the criterion is.

    Args:
        encoder: f of T trials, pre-trained or fresh.
        head: h of T trials.
        learning_rate: Adam's.
        epsilon: Adam's.
        leaving: see `StackModule`.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Head,
        *,
        learning_rate: float,
        epsilon: float,
        leaving: Iterable[Leavable] = (),
    ) -> None:
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, leaving=leaving)
        self.classifier = Classifier(encoder, head)
        self.criterion: Callable[[Tensor, Tensor, Tensor | None], Tensor] = cross_entropy

    def losses(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        return self.criterion(self.logits(batch.x), batch.targets, batch.weights)

    def logits(self, x: Tensor) -> Tensor:
        """What a training batch ``(T, N, M)`` gives: ``(T, N, C)``."""
        logits: Tensor = self.classifier(x)
        return logits

    def validation_metrics(self, batch: Batch) -> dict[str, Tensor]:
        assert batch.targets is not None
        logits = self.classifier(batch.x)
        wrong = logits.argmax(dim=-1) != batch.targets
        return {"loss": cross_entropy(logits, batch.targets), "error": wrong.to(torch.float64).mean(dim=-1)}
