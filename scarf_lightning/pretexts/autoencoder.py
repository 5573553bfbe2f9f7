"""Auto-encoders (paper, section 4, "Autoencoders"): the clean row from a corrupted one."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..losses.reconstruction import Reconstruction
from ..networks import Columns, ReLUNetwork
from ..settings import LayerSettings
from .base import Pretext, Rows, Views


@dataclass
class Autoencoder(Pretext):
    """g is as wide as the encoded row, and gives it back from what f makes of its view."""

    corruption: Corruption
    selection: Selection
    loss: Reconstruction

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        return ReLUNetwork([width, *[layers.width] * (layers.depth - 1), columns.n_encoded])

    def make_views(self, rows: Rows) -> Views:
        return Views((rows.corrupted(self.corruption, self.selection)[0],), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss(*outputs, *targets)
