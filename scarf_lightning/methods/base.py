"""What every method offers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..modules.fitting import Fit
from ..modules.stack import Cotraining, Stack
from ..modules.views import Augmentation
from ..settings import FitSettings


@dataclass(frozen=True)
class Supervision:
    """What a cell gives its method: how to train, the weights of a pre-trained f, and what some methods ask for."""

    settings: FitSettings
    pretrained: Mapping[str, Tensor] | None = None
    augmentation: Augmentation | None = None
    cotraining: Cotraining | None = None


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
    def run(self, stack: Stack, supervision: Supervision) -> Outcome:
        """Train each trial of the stack and predict its test rows."""
