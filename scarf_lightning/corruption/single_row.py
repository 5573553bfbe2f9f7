"""One row for a whole mini-batch (paper, appendix, "More corruption ablations")."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..randomness import StackedGenerator
from .base import SelectiveCorruption, Space, TrainingSource


@dataclass
class SingleRow(SelectiveCorruption):
    """The selected features of all rows take their values in one training row, drawn anew for every mini-batch."""

    name: ClassVar[str] = "single_row"
    space: ClassVar[Space] = "raw"

    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        return source.rows(random.integers(source.n_rows, 1))
