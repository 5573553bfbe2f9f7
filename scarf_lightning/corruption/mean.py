"""Mean corruption (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from ..randomness import StackedGenerator
from .base import Corruption, TrainingSource


@dataclass
class Mean(Corruption):
    """A selected encoded column takes the mean of its empirical marginal distribution over the training rows."""

    name: ClassVar[str] = "mean"
    space: ClassVar[Literal["raw", "encoded"]] = "encoded"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.mean()
