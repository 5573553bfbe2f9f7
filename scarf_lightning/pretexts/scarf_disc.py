"""Discriminative SCARF (paper, section 4): corrupted rows are told from clean ones."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..losses.discrimination import Discrimination
from ..networks import Columns
from ..settings import LayerSettings
from .base import Pretext, Rows, Views


@dataclass
class ScarfDisc(Pretext):
    """A logistic loss on one logit, which a linear layer after g gives."""

    name: ClassVar[str] = "scarf_disc"
    can_cotrain: ClassVar[bool] = False
    first_layer: ClassVar[str] = "0.layers.0"
    corruption: Corruption
    selection: Selection
    loss: Discrimination

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        return nn.Sequential(super().head(width, columns, layers), nn.Linear(layers.width, 1))

    def make_views(self, rows: Rows) -> Views:
        return Views((rows.encoded, rows.corrupted(self.corruption, self.selection)[0]))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss(*outputs)

    @property
    def has_error(self) -> bool:
        return True

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss.error(*outputs)
