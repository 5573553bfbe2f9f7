"""The bi-tempered logistic loss (Amid et al. 2019, https://arxiv.org/abs/1906.03361; paper, section 4)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ..engine.finetune import FinetuneModule
from ..engine.setup import FitSetup
from ..losses.bitempered import bitempered
from .base import SingleFitMethod


@dataclass
class Bitempered(SingleFitMethod):
    """The bi-tempered logistic loss on the labelled training rows: bounded by t1 < 1, heavy-tailed by t2 > 1."""

    name: ClassVar[str] = "bitempered"
    t1: float = 0.8
    t2: float = 1.2
    iterations: int = 5

    def __post_init__(self) -> None:
        if not 0 <= self.t1 <= 1:
            raise ValueError(f"t1 must lie in [0, 1], not {self.t1}")
        if not 1 <= self.t2 < float("inf"):
            raise ValueError(f"t2 must be at least 1, not {self.t2}")
        if self.iterations < 1:
            raise ValueError(f"iterations must be at least 1, not {self.iterations}")

    def module(self, setup: FitSetup) -> FinetuneModule:
        criterion = partial(bitempered, t1=self.t1, t2=self.t2, iterations=self.iterations)
        return FinetuneModule(setup.classifier(), criterion=criterion, **setup.training)
