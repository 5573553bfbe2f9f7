"""How numeric columns are scaled (paper, section 4.3): x becomes (x - shift) / divisor."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..options.option import Options
from .columns import Floats


@dataclass
class Scaling(Options, ABC):
    """A way of scaling."""

    name: ClassVar[str]

    @abstractmethod
    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        """Shift and divisor of each column, both ``(M,)``, from imputed ``values`` ``(n, M)``. A divisor of 0 makes the
        column zero."""


@dataclass
class ZScore(Scaling):
    """(x - mean) / std, with the population standard deviation."""

    name: ClassVar[str] = "zscore"

    def statistics(self, values: Floats) -> tuple[Floats, Floats]:
        # Rounding can give a constant column a tiny deviation; its range is exactly zero.
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
