"""Cross-entropy on hard or soft targets (paper, section 3), and the share of wrong answers."""

import torch.nn.functional as F
from torch import Tensor


def cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Weighted mean cross-entropy.

    **Shape.** ``logits`` ``(N, C)``; ``targets`` class numbers ``(N,)`` or probabilities ``(N, C)``; ``weights``
    ``(N,)`` or None; returns a scalar.
    """
    log_probabilities = F.log_softmax(logits, dim=-1)
    if targets.dim() == 1:
        rows = -log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    else:
        rows = -(targets * log_probabilities).sum(dim=-1)
    return weighted_mean(rows, weights)


def weighted_mean(rows: Tensor, weights: Tensor | None) -> Tensor:
    """Mean of ``rows`` ``(N,)``, weighted by ``weights`` ``(N,)`` where there are any; a scalar."""
    return rows.mean() if weights is None else (weights * rows).sum() / weights.sum()
