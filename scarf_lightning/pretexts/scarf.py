"""SCARF (paper, Algorithm 1) and its discriminative variant (section 4)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..losses import ContrastiveLoss
from ..losses.loss import Discrimination
from ..networks import Columns
from ..options.option import part_name
from ..options.settings import LayerSettings
from .pretext import Pretext, Rows, Views


@dataclass
class OfOutputs(Pretext):
    """A task whose loss compares the outputs of g for two views of a row."""

    corruption: Corruption
    selection: Selection
    loss: ContrastiveLoss | Discrimination

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss(*outputs)

    @property
    def has_error(self) -> bool:
        return self.loss.has_error

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss.error(*outputs)


@dataclass
class Scarf(OfOutputs):
    """A contrastive loss on the outputs of g for two views of a row, of which ``one`` or ``both`` are corrupted."""

    name: ClassVar[str] = "scarf"
    label: ClassVar[str] = "SCARF"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    loss: ContrastiveLoss
    views: Literal["one", "both"] = part_name("one")

    def make_views(self, rows: Rows) -> Views:
        corrupts_both = self.views == "both"
        first = rows.corrupted(self.corruption, self.selection)[0] if corrupts_both else rows.encoded
        return Views((first, rows.corrupted(self.corruption, self.selection)[0]))


@dataclass
class ScarfDisc(OfOutputs):
    """Tells corrupted rows from clean ones, by one logit from a linear layer after g."""

    name: ClassVar[str] = "scarf_disc"
    label: ClassVar[str] = "discriminative SCARF"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    can_cotrain: ClassVar[bool] = False
    loss: Discrimination

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        return nn.Sequential(super().head(width, columns, layers), nn.Linear(layers.width, 1))

    def make_views(self, rows: Rows) -> Views:
        return Views((rows.encoded, rows.corrupted(self.corruption, self.selection)[0]))
