"""What every loss on two views offers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor


@dataclass
class ContrastiveLoss(ABC):
    """A loss on the embeddings of clean rows and of their corrupted views.

    **Shape.** Both inputs ``(T, N, E)``, outputs ``(T,)``: a value a trial.
    """

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        """The loss of each trial."""

    @abstractmethod
    def error(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        """The share of rows that are told apart from their own view, the alternative validation metric."""
