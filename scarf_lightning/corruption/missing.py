"""Missing feature corruption (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..randomness import StackedGenerator
from .base import SelectiveCorruption, TrainingSource


@dataclass
class Missing(SelectiveCorruption):
    """A selected encoded column takes a value that is learned with the network, one a column, and kept with f."""

    name: ClassVar[str] = "missing"
    learns_missing_values: ClassVar[bool] = True

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.missing_values()
