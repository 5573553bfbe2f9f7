"""Feature dropout (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..randomness import StackedGenerator
from .base import SelectiveCorruption, TrainingSource


@dataclass
class Zero(SelectiveCorruption):
    """A selected encoded column becomes 0."""

    name: ClassVar[str] = "zero"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return x.new_zeros(())
