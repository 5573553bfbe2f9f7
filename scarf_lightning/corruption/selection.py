"""Which features of a row are corrupted."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..limits import Limited
from ..randomness import StackedGenerator


def n_selected(rate: float, n_features: int) -> int:
    """q = floor(c * M) of Algorithm 1, line 3, exactly: 0.7 of 180 is 126, though 0.7 * 180 is 125.99... in floats."""
    return math.floor(Fraction(repr(rate)) * n_features)


def largest(values: Tensor, k: int) -> Tensor:
    """Which are the k largest along the last axis, bool of the same shape; of equal ones those that `torch.topk` takes.

    On a processor NumPy finds the k-th largest in a third to a seventh of the time of `torch.topk`. Only where others
    equal it are there more than k that are no smaller, and those rows are left to `torch.topk`.
    """
    if values.device.type != "cpu" or not 0 < k < values.shape[-1]:
        return _largest_by_topk(values, k)
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
class Selection(Limited, ABC):
    """A way to choose the features of each row; ``always_selects`` says that it takes one whatever the rate."""

    name: ClassVar[str]
    always_selects: ClassVar[bool] = False

    @abstractmethod
    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        """Which features are selected in each row of a mini-batch, bool ``(T, n_rows, n_features)``."""


@dataclass
class Exact(Selection):
    """A uniformly random set of exactly q features for every row (Algorithm 1, line 5)."""

    name: ClassVar[str] = "exact"

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        return largest(random.uniform(n_rows, n_features), n_selected(rate, n_features))


@dataclass
class Bernoulli(Selection):
    """Each feature with probability c; a row without any gets one, chosen uniformly (paper, appendix)."""

    name: ClassVar[str] = "bernoulli"
    always_selects: ClassVar[bool] = True

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        uniform = random.uniform(n_rows, n_features)
        mask = uniform < rate
        return mask.scatter(-1, uniform.argmin(dim=-1, keepdim=True), True)  # where any is below the rate, so is this


@dataclass
class Shared(Selection):
    """One set of exactly q features for all rows of the mini-batch (paper, appendix)."""

    name: ClassVar[str] = "shared"

    def mask(self, rate: float, n_rows: int, n_features: int, random: StackedGenerator) -> Tensor:
        return Exact().mask(rate, 1, n_features, random).expand(-1, n_rows, -1)
