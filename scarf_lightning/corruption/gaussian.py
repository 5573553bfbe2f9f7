"""Additive Gaussian noise (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..limits import Limit
from ..randomness import StackedGenerator
from .base import Corruption, TrainingSource
from .selection import Selection


@dataclass
class Gaussian(Corruption):
    """I.i.d. N(0, sigma^2) is added to every encoded column: all features are selected, so there is no rate."""

    name: ClassVar[str] = "gaussian"
    limits: ClassVar[dict[str, Limit]] = {"sigma": "(0, inf)"}
    sigma: float = 0.5

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        noise = random.normal(*x.shape[1:]).to(x.dtype)
        return x + self.sigma * noise, torch.ones_like(x, dtype=torch.bool)
