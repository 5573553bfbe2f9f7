"""Mean corruption (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..randomness import StackedGenerator
from .base import SelectiveCorruption, TrainingSource


@dataclass
class Mean(SelectiveCorruption):
    """A selected encoded column takes the mean of its empirical marginal distribution over the training rows."""

    name: ClassVar[str] = "mean"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.mean()
