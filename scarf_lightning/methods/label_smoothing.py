"""Label smoothing (Szegedy et al. 2016; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..data.datamodule import Examples
from ..engine.stack import Stack
from ..limits import Limit
from .base import SingleFitMethod


@dataclass
class LabelSmoothing(SingleFitMethod):
    """Cross-entropy on (1 - smoothing) y + smoothing / C."""

    name: ClassVar[str] = "label_smoothing"
    limits: ClassVar[dict[str, Limit]] = {"smoothing": "[0, 1]"}
    smoothing: float = 0.1

    def examples(self, stack: Stack) -> Examples:
        n_classes = stack.table.n_classes
        soft = (1 - self.smoothing) * np.eye(n_classes)[stack.data.labels] + self.smoothing / n_classes
        return stack.examples(stack.data.labelled, soft)
