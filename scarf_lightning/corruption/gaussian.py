"""Additive Gaussian noise (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..randomness import StackedGenerator
from .base import Corruption, TrainingSource
from .selection import Selection


@dataclass
class Gaussian(Corruption):
    """I.i.d. N(0, sigma^2) is added to every encoded column: all features are selected, so there is no rate."""

    name: ClassVar[str] = "gaussian"
    sigma: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.sigma < float("inf"):
            raise ValueError(f"sigma must be greater than 0, not {self.sigma}")

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        noise = random.normal(*x.shape[1:]).to(x.dtype)
        return x + self.sigma * noise, torch.ones_like(x, dtype=torch.bool)
