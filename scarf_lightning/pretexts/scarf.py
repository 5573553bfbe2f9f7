"""The pre-trainings of the paper: SCARF (Algorithm 1), its discriminative variant and the auto-encoders (section 4)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from ..losses import ContrastiveLoss
from ..losses.loss import Discrimination, Reconstruction
from ..networks import Columns
from ..options.option import part_name
from ..options.settings import LayerSettings
from . import CorruptingPretext, Rows, Views, head_of_width


@dataclass
class OfOutputs(CorruptingPretext):
    """A task whose loss compares the outputs of g for two views of a row."""

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
    """A contrastive loss on the outputs of g for two views of a row, of which ``one`` or ``both`` are corrupted.

    Three rows whose views are alike, and unlike those of other rows:

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> from scarf_lightning.losses.loss import InfoNCE
    >>> task, views = Scarf(Marginal(), Exact(), InfoNCE()), torch.eye(3)
    >>> task.compute_loss((views, views), targets=())
    tensor(-0.5472)
    >>> task.compute_error((views, views), targets=())
    tensor(0.)
    """

    name: ClassVar[str] = "scarf"
    label: ClassVar[str] = "SCARF"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    loss: ContrastiveLoss
    views: Literal["one", "both"] = part_name("one")

    def make_views(self, rows: Rows) -> Views:
        # Algorithm 1, line 5, corrupts one view. The appendix finds that two corrupted ones share too little.
        first = rows.encoded
        if self.views == "both":
            first, _ = self.corrupted(rows)
        second, _ = self.corrupted(rows)
        return Views((first, second))


@dataclass
class ScarfDisc(OfOutputs):
    """Tells corrupted rows from clean ones, by one logit from a linear layer after g.

    The logit of a clean row is below 0, that of a corrupted one above:

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task = ScarfDisc(Marginal(), Exact(), Discrimination())
    >>> task.compute_loss((torch.tensor([[-2.0]]), torch.tensor([[3.0]])), targets=())
    tensor(0.0878)
    """

    name: ClassVar[str] = "scarf_disc"
    label: ClassVar[str] = "discriminative SCARF"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"
    can_cotrain: ClassVar[bool] = False
    loss: Discrimination

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        # One logit, of how likely the row is corrupted.
        return nn.Sequential(super().head(width, columns, layers), nn.Linear(layers.width, 1))

    def make_views(self, rows: Rows) -> Views:
        return Views((rows.encoded, self.corrupted(rows)[0]))


@dataclass
class Autoencoder(CorruptingPretext):
    """g is as wide as the encoded row, and reconstructs it from the embedding of a corrupted view.

    The auto-encoders differ in the corruption that they use by default.
    """

    loss: Reconstruction

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        return head_of_width(columns.n_encoded, width, layers)

    def make_views(self, rows: Rows) -> Views:
        return Views((self.corrupted(rows)[0],), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.loss(*outputs, *targets)


@dataclass
class ScarfAE(Autoencoder):
    """A denoising auto-encoder with SCARF's corruption, marginal sampling.

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task = ScarfAE(Marginal(), Exact(), Reconstruction())
    >>> task.compute_loss((torch.tensor([[1.0, 2.0]]),), targets=(torch.tensor([[1.0, 4.0]]),))
    tensor(2.)
    """

    name: ClassVar[str] = "scarf_ae"
    label: ClassVar[str] = "SCARF AE"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"


@dataclass
class NoNoiseAE(Autoencoder):
    """The classical auto-encoder, without corruption.

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, NoCorruption
    >>> task = NoNoiseAE(NoCorruption(), Exact(), Reconstruction())
    >>> task.compute_loss((torch.tensor([[1.0, 2.0]]),), targets=(torch.tensor([[1.0, 4.0]]),))
    tensor(2.)
    """

    name: ClassVar[str] = "no_noise_ae"
    label: ClassVar[str] = "no-noise AE"
    paper: ClassVar[str] = "Bahri et al., 2022, arXiv:2106.15147"


@dataclass
class AddNoiseAE(Autoencoder):
    """A denoising auto-encoder with additive Gaussian noise.

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, Gaussian
    >>> task = AddNoiseAE(Gaussian(), Exact(), Reconstruction())
    >>> task.compute_loss((torch.tensor([[1.0, 2.0]]),), targets=(torch.tensor([[1.0, 4.0]]),))
    tensor(2.)
    """

    name: ClassVar[str] = "add_noise_ae"
    label: ClassVar[str] = "additive-noise AE"
    paper: ClassVar[str] = "Vincent et al., 2008; as in Bahri et al., 2022"
