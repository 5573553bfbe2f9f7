"""Barlow Twins (Zbontar et al. 2021, https://arxiv.org/abs/2103.03230), an alternative to InfoNCE (appendix)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..limits import Limit
from .base import ContrastiveLoss

EPSILON = 1e-5
"""Added to a variance, as batch normalisation does: a constant feature correlates with nothing."""


def barlow_twins(first: Tensor, second: Tensor, off_diagonal: float = 5e-3) -> Tensor:
    """sum_i (1 - C_ii)^2 + off_diagonal * sum_{i != j} C_ij^2, with C the cross-correlation of features over a batch.

    **Shape.** ``(N, E)`` twice gives a scalar. One row has no variance: C is 0 and the loss E.
    """
    correlation = _standardise(first).mT @ _standardise(second) / first.shape[-2]
    diagonal = correlation.diagonal(dim1=-2, dim2=-1)
    squared_all = correlation.square().sum()
    squared_diagonal = diagonal.square().sum(dim=-1)
    return (1 - diagonal).square().sum(dim=-1) + off_diagonal * (squared_all - squared_diagonal)


def _standardise(z: Tensor) -> Tensor:
    centred = z - z.mean(dim=-2, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(dim=-2, keepdim=True) + EPSILON)


@dataclass
class BarlowTwins(ContrastiveLoss):
    """See `barlow_twins`; embeddings are brought to unit length first, as SCARF's pre-training head does."""

    name: ClassVar[str] = "barlow_twins"
    limits: ClassVar[dict[str, Limit]] = {"off_diagonal": "[0, inf)"}
    off_diagonal: float = 5e-3

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        return barlow_twins(F.normalize(first, dim=-1), F.normalize(second, dim=-1), self.off_diagonal)
