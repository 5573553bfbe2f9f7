"""Target-aware pre-training: labels take part where rows have them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from ..losses.loss import mean_squared_error
from ..networks import Columns
from ..options.option import option
from ..options.settings import LayerSettings
from . import CorruptingPretext, Rows, Views, head_of_width
from .others import mask_loss


@dataclass
class TargetAware(CorruptingPretext):
    """The target's loss on corrupted rows that have a label, by a head of its own, beside a pretext on all rows: the
    reconstruction of the row, or the estimate of which features were changed. The loss is 2 (1 - w) times that of the
    pretext plus 2 w times that of the labels, with the ``weight`` w.

    Only labels that the regime lets train take part. Early stopping watches the pretext alone, so no validation row
    needs a label. The second phase starts with a new head.

    Differs from the paper: the authors' classifier is fine-tuned further, and they stop by the validation metric after
    fine-tuning. Categories are reconstructed as encoded columns by squared error, theirs by cross-entropy. Their
    corruption by rows of the same class, and heads that know the class, are not here.

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task = TargetAware(Marginal(), Exact(), weight=0.75)
    >>> task.with_labels(torch.tensor(1.0), labels_loss=torch.tensor(3.0))
    tensor(5.)
    """

    name: ClassVar[str] = "target_aware"
    label: ClassVar[str] = "target-aware pre-training"
    paper: ClassVar[str] = "Rubachev et al., 2022, arXiv:2207.03208"
    can_cotrain: ClassVar[bool] = False
    uses_labels: ClassVar[bool] = True
    weight: float = option(0.5, "share of the labels' loss", "[0, 1]")
    pretext: Literal["reconstruction", "mask"] = option("reconstruction", "what is learnt without labels")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """An estimate of the encoded row ``(..., N, D)``, or logits of the mask ``(..., N, M)``."""
        # A corruption of raw columns has a mask of the features, any other one of the encoded columns.
        if self.pretext == "mask" and self.corruption.space == "raw":
            return head_of_width(columns.n_features, width, layers)
        return head_of_width(columns.n_encoded, width, layers)

    def make_views(self, rows: Rows) -> Views:
        view, mask = self.corrupted(rows)
        target = mask.to(view.dtype) if self.pretext == "mask" else rows.encoded
        return Views((view,), (target,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        loss = mask_loss if self.pretext == "mask" else mean_squared_error
        return loss(outputs[0], targets[0])

    def with_labels(self, loss: Tensor, labels_loss: Tensor) -> Tensor:
        # Twice the mean, so that at equal weights both losses count in full.
        mean = (1 - self.weight) * loss + self.weight * labels_loss
        return 2 * mean
