"""The bi-tempered logistic loss (Amid et al. 2019, https://arxiv.org/abs/1906.03361; paper, section 4)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ..engine.finetune import FinetuneModule
from ..engine.setup import FitSetup
from ..limits import Limit
from ..losses.bitempered import bitempered
from .base import SingleFitMethod


@dataclass
class Bitempered(SingleFitMethod):
    """The bi-tempered logistic loss on the labelled training rows: bounded by t1 < 1, heavy-tailed by t2 > 1."""

    name: ClassVar[str] = "bitempered"
    limits: ClassVar[dict[str, Limit]] = {"t1": "[0, 1]", "t2": "[1, inf)", "iterations": "[1, inf)"}
    t1: float = 0.8
    t2: float = 1.2
    iterations: int = 5

    def module(self, setup: FitSetup) -> FinetuneModule:
        criterion = partial(bitempered, t1=self.t1, t2=self.t2, iterations=self.iterations)
        return FinetuneModule(setup.classifier(), criterion=criterion, **setup.training)
