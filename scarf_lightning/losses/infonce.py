"""InfoNCE as SCARF uses it: one direction, N candidates, 1/N inside the logarithm (Algorithm 1, lines 7 and 8)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from .base import ContrastiveLoss


def cosine_similarities(clean: Tensor, corrupted: Tensor) -> Tensor:
    """s_ij, the cosine of clean row i and corrupted row j: ``(T, N, E)`` twice gives ``(T, N, N)``."""
    return F.normalize(clean, dim=-1) @ F.normalize(corrupted, dim=-1).mT


def infonce(clean: Tensor, corrupted: Tensor, temperature: float = 1.0) -> Tensor:
    """Mean over i of -log( exp(s_ii / tau) / (1/N sum_k exp(s_ik / tau)) ), which is cross-entropy minus log N.

    **Shape.** ``(T, N, E)`` twice gives ``(T,)``. One row gives 0: it is its own only candidate.
    """
    logits = cosine_similarities(clean, corrupted) / temperature
    positive = logits.diagonal(dim1=-2, dim2=-1)
    return (logits.logsumexp(dim=-1) - positive).mean(dim=-1) - math.log(logits.shape[-1])


@dataclass
class InfoNCE(ContrastiveLoss):
    """See `infonce`. An error is a row whose largest similarity lies off the diagonal (paper, appendix)."""

    name: ClassVar[str] = "infonce"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature must be greater than 0, not {self.temperature}")

    def __call__(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        return infonce(clean, corrupted, self.temperature)

    def error(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        similarities = cosine_similarities(clean, corrupted)
        own = similarities.diagonal(dim1=-2, dim2=-1)
        return (similarities.amax(dim=-1) > own).float().mean(dim=-1)
