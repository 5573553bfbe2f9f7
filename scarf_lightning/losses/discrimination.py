"""Binary logistic loss of discriminative SCARF (paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from .base import PretextLoss, Task


def logistic_loss(clean: Tensor, corrupted: Tensor) -> Tensor:
    """Mean over 2N rows of the binary cross-entropy, a corrupted row being the positive class.

    **Shape.** Logits ``(T, N, 1)`` twice give ``(T,)``.
    """
    return (_surprise(-clean) + _surprise(corrupted)).flatten(1).mean(dim=-1) / 2


def _surprise(logits: Tensor) -> Tensor:
    """-log sigmoid, as a softmax over two classes: `F.softplus` rounds the elements that do not fill a vector register
    otherwise, so that a trial's gradient would depend on its company."""
    return -F.log_softmax(torch.stack([logits, torch.zeros_like(logits)], dim=-1), dim=-1)[..., 0]


@dataclass
class Discrimination(PretextLoss):
    """g and a linear layer after it tell corrupted rows from clean ones."""

    name: ClassVar[str] = "discrimination"
    task: ClassVar[Task] = "discrimination"

    def loss(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        assert clean is not None
        return logistic_loss(clean, corrupted)

    def error(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        """The share of the 2N rows on the wrong side of 0."""
        assert clean is not None
        wrong = (clean > 0).float() + (corrupted <= 0).float()
        return wrong.flatten(1).mean(dim=-1) / 2
