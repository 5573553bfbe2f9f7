"""InfoNCE as SCARF uses it: one direction, N candidates, 1/N inside the logarithm (Algorithm 1, lines 7 and 8)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from .base import ContrastiveLoss
from .similarity import cosine_similarities


def infonce(clean: Tensor, corrupted: Tensor, temperature: float = 1.0) -> Tensor:
    """Mean over i of -log( exp(s_ii / tau) / (1/N sum_k exp(s_ik / tau)) ), which is cross-entropy minus log N.

    **Shape.** ``(N, E)`` twice gives a scalar. One row gives 0: it is its own only candidate.
    """
    logits = cosine_similarities(clean, corrupted) / temperature
    positive = logits.diagonal(dim1=-2, dim2=-1)
    return (logits.logsumexp(dim=-1) - positive).mean(dim=-1) - math.log(logits.shape[-1])


@dataclass
class InfoNCE(ContrastiveLoss):
    """See `infonce`."""

    name: ClassVar[str] = "infonce"
    search_space: ClassVar[dict[str, Any]] = {"temperature": ("log", 0.05, 5.0)}
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature must be greater than 0, not {self.temperature}")

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        return infonce(first, second, self.temperature)
