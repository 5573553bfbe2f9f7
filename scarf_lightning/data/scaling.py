"""How numeric columns are scaled (paper, section 4.3): x becomes (x - shift) / divisor."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..limits import Limited

Floats = NDArray[np.float64]


@dataclass
class Scaling(Limited, ABC):
    """A scaling scheme."""

    name: ClassVar[str]

    @abstractmethod
    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        """Shift and divisor a column, each ``(M,)``, of imputed ``values`` ``(n, M)``. A divisor of 0 gives zeros."""


@dataclass
class ZScore(Scaling):
    """(x - mean) / std, with the population standard deviation."""

    name: ClassVar[str] = "zscore"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        # Rounding gives a constant column a tiny deviation, so whether a column varies is read from its range.
        return values.mean(axis=0), np.where(np.ptp(values, axis=0) == 0, 0.0, values.std(axis=0))


@dataclass
class MinMax(Scaling):
    """(x - min) / (max - min)."""

    name: ClassVar[str] = "minmax"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        return values.min(axis=0), np.ptp(values, axis=0)


@dataclass
class Mean(Scaling):
    """(x - mean) / (max - min)."""

    name: ClassVar[str] = "mean"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        return values.mean(axis=0), np.ptp(values, axis=0)


@dataclass
class NoScaling(Scaling):
    """x as it is, constant columns too."""

    name: ClassVar[str] = "none"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
