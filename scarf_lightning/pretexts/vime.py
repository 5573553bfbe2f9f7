"""VIME (Yoon et al. 2020, "VIME: Extending the Success of Self- and Semi-supervised Learning to Tabular Domain")."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..losses.loss import mean_squared_error
from ..networks import Columns, ReLUNetwork
from ..options.option import option
from ..options.settings import LayerSettings
from .pretext import Pretext, Rows, Views


@dataclass
class Vime(Pretext):
    """Estimates which features of a corrupted row were changed, plus ``alpha`` times the loss of estimating the row.
    The loss, its weight and the noise's rate are those of the authors' code.

    Differs from the paper: its self-supervised half is here, its semi-supervised half is not. Features are estimated as
    encoded columns, by linear outputs and squared error throughout; the authors scale to [0, 1] and end in a sigmoid.
    Both estimators are as deep as any head here; theirs are one layer, trained by RMSprop for ten epochs. A row has at
    least one selected feature.
    """

    name: ClassVar[str] = "vime"
    label: ClassVar[str] = "VIME"
    paper: ClassVar[str] = "Yoon et al., 2020 (NeurIPS)"
    corruption: Corruption
    selection: Selection
    alpha: float = option(2.0, "weight of feature estimation beside mask estimation", "(0, inf)")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        hidden = [width, *[layers.width] * (layers.depth - 1)]
        n_masked = columns.n_features if self.corruption.space == "raw" else columns.n_encoded
        return Estimators(ReLUNetwork([*hidden, n_masked]), ReLUNetwork([*hidden, columns.n_encoded]))

    def make_views(self, rows: Rows) -> Views:
        view, mask = rows.corrupted(self.corruption, self.selection)
        return Views((view,), (mask.to(view.dtype), rows.encoded))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        ((mask_logits, features),), (mask, row) = outputs, targets
        return mask_loss(mask_logits, mask) + self.alpha * mean_squared_error(features, row)

    @property
    def has_error(self) -> bool:
        return True

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The share of features whose entry in the mask is estimated wrongly, ``(...)``."""
        mask_logits: Tensor = outputs[0][0]
        mask = targets[0]
        return ((mask_logits > 0) != (mask > 0)).double().mean(dim=(-2, -1))


class Estimators(nn.Module):
    """The mask estimator and the feature estimator, side by side on f.

    **Shape.** ``(..., N, E)`` gives logits ``(..., N, M)`` and an encoded row ``(..., N, D)``.
    """

    acts_on_last_axis = True

    def __init__(self, mask: nn.Module, features: nn.Module) -> None:
        super().__init__()
        self.mask, self.features = mask, features

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.mask(x), self.features(x)


def mask_loss(logits: Tensor, mask: Tensor) -> Tensor:
    """Mean binary cross-entropy over rows and features: ``(..., N, M)`` twice gives ``(...)`` (equation 5)."""
    return -(mask * F.logsigmoid(logits) + (1 - mask) * F.logsigmoid(-logits)).mean(dim=(-2, -1))
