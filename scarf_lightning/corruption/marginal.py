"""Marginal sampling, SCARF's own corruption (paper, Algorithm 1)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..randomness import StackedGenerator
from .base import SelectiveCorruption, Space, TrainingSource


@dataclass
class Marginal(SelectiveCorruption):
    """A selected feature takes the value of a training row drawn uniformly, anew for every row and feature."""

    name: ClassVar[str] = "marginal"
    space: ClassVar[Space] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.cells(random.integers(source.n_rows, *x.shape[1:]))
