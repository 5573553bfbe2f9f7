"""Which features of a row are corrupted."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..options.option import Options
from ..randomness import StackedGenerator


def n_selected(rate: float, n_features: int) -> int:
    """q = floor(c * M) of Algorithm 1, line 3, exactly: 0.7 of 180 is 126, though 0.7 * 180 is 125.99... in floats."""
    return math.floor(Fraction(repr(rate)) * n_features)


def largest(values: Tensor, k: int) -> Tensor:
    """Mask of the k largest values along the last axis, bool of the same shape; ties are broken as in `torch.topk`."""
    if values.device.type != "cpu" or not 0 < k < values.shape[-1]:
        return _largest_by_topk(values, k)
    # NumPy finds the k-th largest value in a third to a seventh of the time of torch.topk. Only ties need torch.topk.
    place = values.shape[-1] - k
    found = values >= torch.from_numpy(np.partition(values.numpy(), place, axis=-1)[..., place, None])
    tied = found.sum(dim=-1) > k
    if tied.any():
        found[tied] = _largest_by_topk(values[tied], k)
    return found


def _largest_by_topk(values: Tensor, k: int) -> Tensor:
    chosen = values.topk(k, dim=-1, sorted=False).indices
    return torch.zeros_like(values, dtype=torch.bool).scatter_(-1, chosen, True)


@dataclass
class Selection(Options, ABC):
    """A way to choose the features of each row.

    ``always_selects`` says whether it selects at least one feature at any rate.
    """

    name: ClassVar[str]
    always_selects: ClassVar[bool] = False

    @abstractmethod
    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        """Which features are selected in each row of a mini-batch, bool ``(..., n_rows, n_features)``."""


@dataclass
class Exact(Selection):
    """A uniformly random set of exactly q features for every row (Algorithm 1, line 5)."""

    name: ClassVar[str] = "exact"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        return largest(random.uniform(n_rows, n_features), n_selected(rate, n_features))


@dataclass
class Bernoulli(Selection):
    """Each feature with probability c; a row without any gets one, chosen uniformly (paper, appendix)."""

    name: ClassVar[str] = "bernoulli"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    always_selects: ClassVar[bool] = True

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        uniform = random.uniform(n_rows, n_features)
        # The smallest number is below the rate wherever any is, so setting its feature changes empty rows only.
        return (uniform < rate).scatter(-1, uniform.argmin(dim=-1, keepdim=True), True)


@dataclass
class Shared(Selection):
    """One set of exactly q features for all rows of the mini-batch (paper, appendix)."""

    name: ClassVar[str] = "shared"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        mask = Exact().mask(rate, 1, n_features, random)
        return mask.expand(*mask.shape[:-2], n_rows, n_features)
