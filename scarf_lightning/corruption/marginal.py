"""Marginal sampling, SCARF's own corruption (paper, Algorithm 1)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..limits import Limit
from ..randomness import StackedGenerator
from .base import SelectiveCorruption, Space, TrainingSource


@dataclass
class Marginal(SelectiveCorruption):
    """A selected feature takes the value of a training row drawn uniformly, anew for every row and feature.

    Algorithm 1 draws from the set of the values that a feature takes. Read to the letter, every ``distinct`` value has
    the same chance, however many of the ``rows`` have it.
    """

    name: ClassVar[str] = "marginal"
    space: ClassVar[Space] = "raw"
    limits: ClassVar[dict[str, Limit]] = {"values": ("rows", "distinct")}
    values: str = "rows"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        if self.values == "distinct":
            return source.distinct(random.uniform(*x.shape[1:]))
        return source.cells(random.integers(source.n_rows, *x.shape[1:]))
