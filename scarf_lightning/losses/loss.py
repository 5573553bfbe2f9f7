"""The interface of the axis ``loss``, and the losses of the auto-encoders and of discriminative SCARF."""

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from ..options.option import Options


@dataclass
class Loss(Options, ABC):
    """A loss that a pretext task trains on. The type of a task's field ``loss`` says which losses serve it.

    A loss takes tensors ``(..., N, E)`` and returns ``(...)``: it averages over the last axes and leaves leading ones
    alone. ``has_error`` says whether answers can be right or wrong, so that validation can watch their error rate.
    """

    name: ClassVar[str]
    has_error: ClassVar[bool] = True


def mean_squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Mean over rows and features of the squared difference.

    **Shape.** ``(..., N, D)`` twice gives ``(...)``.
    """
    return (output - target).square().mean(dim=(-2, -1))


def squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """Mean over rows of ||x - y||^2, so of the sum over features.

    **Shape.** ``(..., N, E)`` twice gives ``(...)``.
    """
    return (first - second).square().sum(dim=-1).mean(dim=-1)


@dataclass
class Reconstruction(Loss):
    """Squared error between the clean encoded row and g's output on the corrupted one (paper, section 4)."""

    name: ClassVar[str] = "reconstruction"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    has_error: ClassVar[bool] = False

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        return mean_squared_error(output, target)


@dataclass
class Discrimination(Loss):
    """Binary cross-entropy over 2N rows, corrupted rows being the positive class (paper, section 4).

    **Shape.** Logits ``(..., N, 1)`` of clean and of corrupted rows give ``(...)``.
    """

    name: ClassVar[str] = "discrimination"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"

    def __call__(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        return -(F.logsigmoid(-clean) + F.logsigmoid(corrupted)).mean(dim=(-2, -1)) / 2

    def error(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        """Share of the 2N rows on the wrong side of 0, ``(...)``."""
        wrong = (clean > 0).float() + (corrupted <= 0).float()
        return wrong.mean(dim=(-2, -1)) / 2
