"""Dropout (Srivastava et al. 2014; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

from ..engine.finetune import FinetuneModule
from ..engine.setup import FitSetup
from ..limits import Limit
from .base import SingleFitMethod


@dataclass
class Dropout(SingleFitMethod):
    """Leaves units out, after all layers of f and the hidden ones of h, in the supervised phase."""

    name: ClassVar[str] = "dropout"
    limits: ClassVar[dict[str, Limit]] = {"rate": "[0, 1)"}
    rate: float = 0.04

    def module(self, setup: FitSetup) -> FinetuneModule:
        return FinetuneModule(setup.classifier(dropout=self.rate), **setup.training)
