"""What every corruption strategy offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import torch
from torch import Tensor

from ..randomness import StackedGenerator
from .selection import select_exactly


class TrainingSource(Protocol):
    """The training rows of each trial, as corruption sees them."""

    @property
    def n_rows(self) -> int: ...

    def cells(self, positions: Tensor) -> Tensor:
        """Raw values at ``positions`` ``(T, N, M)`` among the training rows."""

    def mean(self) -> Tensor:
        """Mean of each encoded column over the training rows, ``(T, 1, D)``."""


@dataclass
class Corruption(ABC):
    """A way to replace the selected features of a row.

    ``space`` says on what it works: ``raw`` columns before the one-hot encoding, or the ``encoded`` ones. M, of which
    the share ``rate`` is selected, counts the columns of that space.
    """

    name: ClassVar[str]
    space: ClassVar[Literal["raw", "encoded"]]
    rate: float = 0.6

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate must lie in (0, 1], not {self.rate}")

    def __call__(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> tuple[Tensor, Tensor]:
        """Corrupt ``x`` ``(T, N, M)``.

        Returns:
            The corrupted view, of the shape of ``x``, and the mask of the selected features, bool ``(T, N, M)``.
        """
        n_rows, n_features = x.shape[1:]
        mask = select_exactly(self.rate, n_rows, n_features, random)
        return torch.where(mask, self.replacement(x, source, random), x), mask

    @abstractmethod
    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        """The values that take the selected features' places; broadcasts to ``x``."""
