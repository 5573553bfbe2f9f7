"""InfoNCE as SCARF uses it: one direction, N candidates, 1/N inside the logarithm (Algorithm 1, lines 7 and 8)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..limits import Limit
from .base import ContrastiveLoss
from .similarity import cosine_similarities, inner_products

SIMILARITIES = {"cosine": cosine_similarities, "dot": inner_products}


def infonce(
    clean: Tensor,
    corrupted: Tensor,
    temperature: float = 1.0,
    *,
    similarity: str = "cosine",
    symmetric: bool = False,
    own_candidate: bool = True,
) -> Tensor:
    """Mean over i of -log( exp(s_ii / tau) / (1/N sum_k exp(s_ik / tau)) ), which is cross-entropy minus log N.

    **Shape.** ``(N, E)`` twice gives a scalar. One row gives 0: it is its own only candidate.

    Args:
        clean, corrupted: embeddings of the two views.
        temperature: tau.
        similarity: s is a ``cosine``, or an inner product: ``dot``.
        symmetric: the mean of this and of what the two views give when they change places.
        own_candidate: whether a row's own view (k = i) is among its candidates; without it they are N - 1.
    """
    logits = SIMILARITIES[similarity](clean, corrupted) / temperature
    loss = _one_direction(logits, own_candidate)
    return (loss + _one_direction(logits.mT, own_candidate)) / 2 if symmetric else loss


def _one_direction(logits: Tensor, own_candidate: bool) -> Tensor:
    positive, n_candidates = logits.diagonal(dim1=-2, dim2=-1), logits.shape[-1]
    if not own_candidate and n_candidates > 1:
        logits = logits.masked_fill(torch.eye(n_candidates, dtype=torch.bool, device=logits.device), -math.inf)
        n_candidates -= 1
    return (logits.logsumexp(dim=-1) - positive).mean(dim=-1) - math.log(n_candidates)


@dataclass
class InfoNCE(ContrastiveLoss):
    """See `infonce`."""

    name: ClassVar[str] = "infonce"
    limits: ClassVar[dict[str, Limit]] = {"temperature": "(0, inf)", "similarity": ("cosine", "dot")}
    search_space: ClassVar[dict[str, Any]] = {"temperature": ("log", 0.05, 5.0)}
    temperature: float = 1.0
    similarity: str = "cosine"
    symmetric: bool = False
    own_candidate: bool = True

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        return infonce(first, second, **vars(self))

    def similarities(self, first: Tensor, second: Tensor) -> Tensor:
        return SIMILARITIES[self.similarity](first, second)
