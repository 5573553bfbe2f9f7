"""Binary logistic loss of discriminative SCARF (paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from .base import Loss


def logistic_loss(clean: Tensor, corrupted: Tensor) -> Tensor:
    """Mean over 2N rows of the binary cross-entropy, a corrupted row being the positive class.

    **Shape.** Logits ``(N, 1)`` twice give a scalar.
    """
    return -(F.logsigmoid(-clean) + F.logsigmoid(corrupted)).mean() / 2


@dataclass
class Discrimination(Loss):
    """g and a linear layer after it tell corrupted rows from clean ones."""

    name: ClassVar[str] = "discrimination"

    def __call__(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        return logistic_loss(clean, corrupted)

    def error(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        """The share of the 2N rows on the wrong side of 0."""
        wrong = (clean > 0).float() + (corrupted <= 0).float()
        return wrong.mean() / 2
