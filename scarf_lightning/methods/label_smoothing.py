"""Label smoothing (Szegedy et al. 2016; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..data.datamodule import Examples
from ..engine.stack import Stack
from .base import SingleFitMethod


@dataclass
class LabelSmoothing(SingleFitMethod):
    """Cross-entropy on (1 - smoothing) y + smoothing / C."""

    name: ClassVar[str] = "label_smoothing"
    smoothing: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing <= 1:
            raise ValueError(f"smoothing must lie in [0, 1], not {self.smoothing}")

    def examples(self, stack: Stack) -> Examples:
        n_classes = stack.table.n_classes
        soft = (1 - self.smoothing) * np.eye(n_classes)[stack.data.labels] + self.smoothing / n_classes
        return stack.examples(stack.data.labelled, soft)
