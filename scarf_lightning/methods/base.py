"""What every method offers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..modules.stack import Fit, Stack
from ..settings import FitSettings


@dataclass(frozen=True)
class Outcome:
    """A method's final fit, and its class probabilities on the test rows, float64 ``(T, n_test, C)``."""

    fit: Fit
    probabilities: NDArray[np.float64]


@dataclass
class Method(ABC):
    """A supervised phase. Test rows are predicted and never trained on; their labels are not seen."""

    name: ClassVar[str]

    @abstractmethod
    def run(self, stack: Stack, settings: FitSettings, pretrained: Mapping[str, Tensor] | None) -> Outcome:
        """Train each trial of the stack, from the weights ``pretrained`` of f or from fresh ones, and predict."""
