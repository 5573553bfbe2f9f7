"""What every pretext loss offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from .similarity import cosine_similarities

Task = Literal["contrastive", "reconstruction", "discrimination"]


@dataclass
class PretextLoss(ABC):
    """A loss on what g makes of clean and corrupted rows.

    ``task`` says which pretext tasks it serves. ``sees_clean`` says whether clean rows pass f and g at all.
    """

    name: ClassVar[str]
    task: ClassVar[Task]
    sees_clean: ClassVar[bool] = True
    has_error: ClassVar[bool] = True

    @abstractmethod
    def loss(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        """The loss of each trial, ``(T,)``.

        Args:
            clean: g(f(x)) of the clean rows, or of their first views, ``(T, N, E)``; None unless ``sees_clean``.
            corrupted: g(f(x)) of the corrupted views, ``(T, N, E)``.
            encoded: the clean rows, encoded, ``(T, N, D)``.
        """

    @abstractmethod
    def error(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        """The share of wrong answers, ``(T,)``: the alternative validation metric. Only where ``has_error``."""


@dataclass
class ContrastiveLoss(PretextLoss):
    """A loss on embeddings of two views of the same rows."""

    task: ClassVar[Task] = "contrastive"

    @abstractmethod
    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        """The loss of each trial: ``(T, N, E)`` twice gives ``(T,)``."""

    def loss(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        assert clean is not None
        return self(clean, corrupted)

    def error(self, clean: Tensor | None, corrupted: Tensor, encoded: Tensor) -> Tensor:
        """The share of rows whose largest similarity lies off the diagonal (paper, appendix: "InfoNCE error")."""
        assert clean is not None
        similarities = cosine_similarities(clean, corrupted)
        own = similarities.diagonal(dim1=-2, dim2=-1)
        return (similarities.amax(dim=-1) > own).float().mean(dim=-1)
