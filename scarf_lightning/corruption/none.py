"""No corruption (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..randomness import StackedGenerator
from .base import Corruption, TrainingSource
from .selection import Selection


@dataclass
class NoCorruption(Corruption):
    """The view is the row itself; nothing is selected."""

    name: ClassVar[str] = "none"

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        return x, torch.zeros_like(x, dtype=torch.bool)
