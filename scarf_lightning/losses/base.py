"""What every loss of the axis ``loss`` offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..limits import Limited
from .similarity import cosine_similarities


@dataclass
class Loss(Limited, ABC):
    """A loss that a pretext task may be trained on. Each task says by a type which of them serve it.

    ``has_error`` says whether answers can be right or wrong, so that their error can be watched instead.
    """

    name: ClassVar[str]
    has_error: ClassVar[bool] = True


@dataclass
class ContrastiveLoss(Loss):
    """A loss on embeddings of two views of the same rows."""

    @abstractmethod
    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        """``(N, E)`` twice gives a scalar."""

    def error(self, first: Tensor, second: Tensor) -> Tensor:
        """The share of rows whose largest similarity lies off the diagonal (paper, appendix: "InfoNCE error")."""
        similarities = self.similarities(first, second)
        own = similarities.diagonal(dim1=-2, dim2=-1)
        return (similarities.amax(dim=-1) > own).float().mean(dim=-1)

    def similarities(self, first: Tensor, second: Tensor) -> Tensor:
        """Of row i of the first and row j of the second, by which the error is judged: ``(N, N)``."""
        return cosine_similarities(first, second)
