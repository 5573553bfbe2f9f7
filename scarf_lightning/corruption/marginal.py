"""Marginal sampling, SCARF's own corruption (paper, Algorithm 1)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from ..randomness import StackedGenerator
from .base import Corruption, TrainingSource


@dataclass
class Marginal(Corruption):
    """A selected feature takes the value of a training row drawn uniformly, anew for every row and feature."""

    name: ClassVar[str] = "marginal"
    space: ClassVar[Literal["raw", "encoded"]] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.cells(random.integers(source.n_rows, *x.shape[1:]))
