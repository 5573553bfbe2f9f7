"""Mean squared error of an auto-encoder (paper, section 4, "Autoencoders")."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from .base import PretextLoss, Task


def mean_squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Mean over rows and features of the squared difference: ``(T, N, D)`` twice gives ``(T,)``."""
    return (output - target).square().flatten(1).mean(dim=-1)


@dataclass
class Reconstruction(PretextLoss):
    """g gives back the clean encoded row from the corrupted one; it is as wide as that, and not normalised."""

    name: ClassVar[str] = "reconstruction"
    task: ClassVar[Task] = "reconstruction"
    sees_clean: ClassVar[bool] = False
    has_error: ClassVar[bool] = False

    def loss(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        return mean_squared_error(corrupted, encoded)

    def error(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        raise TypeError("a reconstruction is not right or wrong")
