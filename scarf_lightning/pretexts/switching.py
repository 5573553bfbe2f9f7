"""SwitchTab: rows are reconstructed from what they share with others and from what is their own."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..losses.loss import mean_squared_error
from ..networks import Columns
from ..options.option import option
from ..options.settings import LayerSettings
from . import CorruptingPretext, Rows, SideBySide, Views, head_of_width


@dataclass
class SwitchTab(CorruptingPretext):
    """Each row of a mini-batch is paired with the next. The embedding of a corrupted row is projected to a mutual and a
    salient part. A decoder reconstructs the row from both, and again from its own salient part and the mutual part of
    the other row. The losses of both are added.

    Differs from the paper: a decoder without activation is a sum of what it makes of each part, and is computed so. The
    paper's ends in a sigmoid, for columns between 0 and 1. Projections end in a ReLU, the paper's in a sigmoid. The
    paper pairs rows of two batches, and its encoder is a transformer. Its loss on labels beside the reconstruction is
    left out; salient parts are not used after pre-training. The noise takes values from all training rows.

    Mutual parts that rows share can be switched; the own parts of two rows cannot:

    >>> import torch
    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task = SwitchTab(Marginal(), Exact())
    >>> shared, own = torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [2.0]])
    >>> task.compute_loss(((shared, own),), (shared + own,)), task.compute_loss(((own, shared),), (shared + own,))
    (tensor(0.), tensor(4.))
    """

    name: ClassVar[str] = "switchtab"
    label: ClassVar[str] = "SwitchTab"
    paper: ClassVar[str] = "Wu et al., 2024, arXiv:2401.02013"
    switched: float = option(1.0, "weight of the rows with a switched part beside those with their own", "[0, inf)")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """Outputs of the decoder for the mutual and for the salient part, ``(..., N, D)`` each."""
        return SideBySide(
            mutual=head_of_width(columns.n_encoded, width, layers),
            salient=head_of_width(columns.n_encoded, width, layers),
        )

    def make_views(self, rows: Rows) -> Views:
        return Views((self.corrupted(rows)[0],), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        ((mutual, salient),), (row,) = outputs, targets
        # Each row takes the mutual part of the row after it, the last one that of the first.
        next_mutual = mutual.roll(-1, dims=-2)
        recovered_error = mean_squared_error(mutual + salient, row)
        # The row is the target again: what rows share is to be the same, whichever row it is taken from.
        switched_error = mean_squared_error(next_mutual + salient, row)
        return recovered_error + self.switched * switched_error
