"""The auto-encoders (paper, section 4): they differ in the corruption that they use by default."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..losses.loss import Reconstruction
from ..networks import Columns, ReLUNetwork
from ..options.settings import LayerSettings
from .pretext import Pretext, Rows, Views


@dataclass
class Autoencoder(Pretext):
    """g is as wide as the encoded row, and reconstructs it from the embedding of a corrupted view."""

    corruption: Corruption
    selection: Selection
    loss: Reconstruction

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        return ReLUNetwork([width, *[layers.width] * (layers.depth - 1), columns.n_encoded])

    def make_views(self, rows: Rows) -> Views:
        return Views((rows.corrupted(self.corruption, self.selection)[0],), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss(*outputs, *targets)


@dataclass
class ScarfAE(Autoencoder):
    """A denoising auto-encoder with SCARF's corruption, marginal sampling."""

    name: ClassVar[str] = "scarf_ae"
    label: ClassVar[str] = "SCARF AE"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"


@dataclass
class NoNoiseAE(Autoencoder):
    """The classical auto-encoder, without corruption."""

    name: ClassVar[str] = "no_noise_ae"
    label: ClassVar[str] = "no-noise AE"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"


@dataclass
class AddNoiseAE(Autoencoder):
    """A denoising auto-encoder with additive Gaussian noise."""

    name: ClassVar[str] = "add_noise_ae"
    label: ClassVar[str] = "additive-noise AE"
    paper: ClassVar[str] = "Vincent et al., 2008; as in Bahri et al., 2022"
