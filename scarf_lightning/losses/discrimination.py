"""Binary logistic loss of discriminative SCARF (paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from .base import PretextLoss, Task


def logistic_loss(clean: Tensor, corrupted: Tensor) -> Tensor:
    """Mean over 2N rows of the binary cross-entropy, a corrupted row being the positive class.

    **Shape.** Logits ``(T, N, 1)`` twice give ``(T,)``.
    """
    return -(F.logsigmoid(-clean) + F.logsigmoid(corrupted)).flatten(1).mean(dim=-1) / 2


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
