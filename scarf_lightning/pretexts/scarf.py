"""SCARF (paper, Algorithm 1): a row is told by its corrupted view from the other rows of the mini-batch."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from ..corruption import Corruption, Selection
from ..losses import ContrastiveLoss
from .base import Pretext, Rows, Views


@dataclass
class Scarf(Pretext):
    """A contrastive loss on what f and g make of two views of a row, of which ``one`` or ``both`` are corrupted."""

    name: ClassVar[str] = "scarf"
    corruption: Corruption
    selection: Selection
    loss: ContrastiveLoss
    views: Literal["one", "both"] = "one"

    def make_views(self, rows: Rows) -> Views:
        corrupts_both = self.views == "both"
        first = rows.corrupted(self.corruption, self.selection)[0] if corrupts_both else rows.encoded
        return Views((first, rows.corrupted(self.corruption, self.selection)[0]))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss(*outputs)

    @property
    def has_error(self) -> bool:
        return self.loss.has_error

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss.error(*outputs)
