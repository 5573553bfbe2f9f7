"""What every corruption strategy offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import Tensor

from ..limits import Limit, Limited
from ..randomness import StackedGenerator
from .selection import Selection

Space = Literal["raw", "encoded"]


class TrainingSource(Protocol):
    """The training rows of each trial, as corruption sees them. Positions count from 0 to ``n_rows`` - 1."""

    @property
    def n_rows(self) -> int: ...

    def cells(self, positions: Tensor) -> Tensor:
        """Raw values of single cells at ``positions`` ``(T, N, M)``."""

    def distinct(self, shares: Tensor) -> Tensor:
        """Raw values ``(T, N, M)`` that lie at ``shares`` in [0, 1) of the way through a column's distinct values."""

    def rows(self, positions: Tensor) -> Tensor:
        """Raw rows at ``positions`` ``(T, N)``: ``(T, N, M)``."""

    def encoded_rows(self, positions: Tensor) -> Tensor:
        """Encoded rows at ``positions`` ``(T, N)``: ``(T, N, D)``."""

    def mean(self) -> Tensor:
        """Mean of each encoded column over the training rows, ``(T, 1, D)``."""

    def missing_values(self) -> Tensor:
        """The encoder's learnable value of each encoded column, ``(T, 1, D)``."""


@dataclass
class Corruption(Limited, ABC):
    """A way to make a view of a row.

    ``space`` says on what it works: ``raw`` columns before the one-hot encoding, or the ``encoded`` ones.
    ``learns_missing_values`` says whether the encoder must have a learnable value for each encoded column.
    """

    name: ClassVar[str]
    space: ClassVar[Space] = "encoded"
    learns_missing_values: ClassVar[bool] = False

    @abstractmethod
    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        """Corrupt ``x`` ``(T, N, M)``, a mini-batch of each trial.

        Returns:
            The view, of the shape of ``x``, and the mask of the selected features, bool ``(T, N, M)``.
        """


@dataclass
class SelectiveCorruption(Corruption):
    """Replaces a share ``rate`` of the features of its space, which ``selection`` chooses, and leaves the others."""

    limits: ClassVar[dict[str, Limit]] = {"rate": "(0, 1]"}
    search_space: ClassVar[dict[str, Any]] = {"rate": ("float", 0.1, 0.9)}
    rate: float = 0.6

    def __call__(
        self, x: Tensor, source: TrainingSource, random: StackedGenerator, selection: Selection
    ) -> tuple[Tensor, Tensor]:
        n_rows, n_features = x.shape[1:]
        mask = selection.mask(self.rate, n_rows, n_features, random)
        return torch.where(mask, self.replacement(x, source, random), x), mask

    @abstractmethod
    def replacement(self, x: Tensor, source: TrainingSource, random: StackedGenerator) -> Tensor:
        """The values that take the selected features' places; broadcasts to ``x``."""
