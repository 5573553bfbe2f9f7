"""Alignment and uniformity (Wang and Isola 2020, https://arxiv.org/abs/2005.10242; paper, appendix)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..limits import Limit
from .base import ContrastiveLoss
from .similarity import inner_products


def alignment(first: Tensor, second: Tensor) -> Tensor:
    """Mean over rows of ||x - y||^2 for unit vectors x, y of two views: ``(N, E)`` twice gives a scalar."""
    return (first - second).square().sum(dim=-1).mean(dim=-1)


def uniformity(z: Tensor, t: float = 2.0) -> Tensor:
    """log of the mean over pairs i != j of exp(-t ||z_i - z_j||^2), for unit vectors: ``(N, E)`` gives a scalar.

    One row has no pair; it gives 0.
    """
    n = z.shape[-2]
    if n == 1:
        return (z * 0).sum()
    squared = z.square().sum(dim=-1)  # 1, but for an embedding of nothing but zeros, which has no direction
    squared_distances = squared.unsqueeze(-1) + squared.unsqueeze(-2) - 2 * inner_products(z, z)
    itself = torch.eye(n, dtype=torch.bool, device=z.device)
    return (-t * squared_distances).masked_fill(itself, -math.inf).flatten().logsumexp(dim=-1) - math.log(n * (n - 1))


@dataclass
class AlignUniform(ContrastiveLoss):
    """align * alignment + uniform * uniformity, the latter averaged over both views; embeddings have unit length.

    The authors' exponent alpha is 2, its default there.
    """

    name: ClassVar[str] = "align_uniform"
    limits: ClassVar[dict[str, Limit]] = {"align": "[0, inf)", "uniform": "[0, inf)", "t": "(0, inf)"}
    align: float = 1.0
    uniform: float = 1.0
    t: float = 2.0

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        first, second = F.normalize(first, dim=-1), F.normalize(second, dim=-1)
        spread = (uniformity(first, self.t) + uniformity(second, self.t)) / 2
        return self.align * alignment(first, second) + self.uniform * spread
