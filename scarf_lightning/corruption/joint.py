"""Joint sampling (paper, section 4.5)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..randomness import StackedGenerator
from .base import SelectiveCorruption, TrainingSource


@dataclass
class Joint(SelectiveCorruption):
    """The selected encoded columns take their entries in one training row, drawn uniformly for every row."""

    name: ClassVar[str] = "joint"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.encoded_rows(random.integers(source.n_rows, x.shape[1]))
