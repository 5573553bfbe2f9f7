"""Mean squared error of an auto-encoder (paper, section 4, "Autoencoders")."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from .base import Loss


def mean_squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Mean over rows and features of the squared difference: ``(N, D)`` twice gives a scalar."""
    return (output - target).square().mean()


@dataclass
class Reconstruction(Loss):
    """g gives back the clean encoded row from the corrupted one; it is as wide as that, and not normalised."""

    name: ClassVar[str] = "reconstruction"
    has_error: ClassVar[bool] = False

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        return mean_squared_error(output, target)
