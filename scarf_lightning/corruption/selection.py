"""Which features of a row are corrupted."""

import math
from fractions import Fraction

import torch
from torch import Tensor

from ..randomness import StackedGenerator


def n_selected(rate: float, n_features: int) -> int:
    """q = floor(c * M) of Algorithm 1, line 3, exactly: 0.7 of 180 is 126, though 0.7 * 180 is 125.99... in floats."""
    return math.floor(Fraction(repr(rate)) * n_features)


def select_exactly(rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
    """A uniformly random set of exactly q features for every row (Algorithm 1, line 5).

    Returns:
        A mask, bool ``(T, n_rows, n_features)``, with q entries True in each row.
    """
    order = random.uniform(n_rows, n_features)
    selected = order.topk(n_selected(rate, n_features), dim=-1, sorted=False).indices
    return torch.zeros_like(order, dtype=torch.bool).scatter_(-1, selected, True)
