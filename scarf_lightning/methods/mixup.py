"""Mixup (Zhang et al. 2018, https://arxiv.org/abs/1710.09412; paper, section 4)."""

from dataclasses import dataclass
from typing import ClassVar

from ..modules.variants import Mixed, Variant
from .base import SingleFitMethod, Supervision


@dataclass
class Mixup(SingleFitMethod):
    """Cross-entropy on mixtures of encoded rows and of their labels."""

    name: ClassVar[str] = "mixup"
    alpha: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.alpha < float("inf"):
            raise ValueError(f"alpha must be greater than 0, not {self.alpha}")

    def variant(self, supervision: Supervision) -> Variant | None:
        return Mixed(self.alpha)
