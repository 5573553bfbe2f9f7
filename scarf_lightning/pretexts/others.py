"""Pre-trainings beside the paper's.

- VIME: Yoon et al. 2020, "VIME: Extending the Success of Self- and Semi-supervised Learning to Tabular Domain".
- SubTab: Ucar et al. 2021, https://arxiv.org/abs/2110.04361.
"""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..losses.loss import mean_squared_error, nt_xent, squared_distance
from ..networks import Columns
from ..options.option import option
from ..options.settings import LayerSettings
from . import CorruptingPretext, Rows, SideBySide, Views, head_of_width


@dataclass
class Vime(CorruptingPretext):
    """Estimates which features of a corrupted row were changed, plus ``alpha`` times the loss of estimating the row.
    The loss, its weight and the noise's rate are those of the authors' code.

    Differs from the paper: its self-supervised half is here, its semi-supervised half is not. Features are estimated as
    encoded columns, by linear outputs and squared error throughout; the authors scale to [0, 1] and end in a sigmoid.
    Both estimators are as deep as any head here; theirs are one layer, trained by RMSprop for ten epochs. A row has at
    least one selected feature.

    A mask that is right, with a row that is right and one that is not:

    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task, row = Vime(Marginal(), Exact()), torch.tensor([[1.0, 3.0]])
    >>> mask_logits, targets = torch.tensor([[2.0, -2.0]]), (torch.tensor([[1.0, 0.0]]), row)
    >>> task.compute_loss(((mask_logits, row),), targets), task.compute_loss(((mask_logits, row + 1),), targets)
    (tensor(0.1269), tensor(2.1269))
    """

    name: ClassVar[str] = "vime"
    label: ClassVar[str] = "VIME"
    paper: ClassVar[str] = "Yoon et al., 2020 (NeurIPS)"
    alpha: float = option(2.0, "weight of feature estimation beside mask estimation", "(0, inf)")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """Logits of the mask ``(..., N, M)`` and an estimate of the encoded row ``(..., N, D)``."""
        # A corruption of raw columns has a mask of the features, any other one of the encoded columns.
        n_masked = columns.n_encoded
        if self.corruption.space == "raw":
            n_masked = columns.n_features
        mask = head_of_width(n_masked, width, layers)
        features = head_of_width(columns.n_encoded, width, layers)
        return SideBySide(mask=mask, features=features)

    def make_views(self, rows: Rows) -> Views:
        view, mask = self.corrupted(rows)
        return Views((view,), (mask.to(view.dtype), rows.encoded))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        # There is one view, for which g gives both estimates.
        mask_logits, features = outputs[0]
        mask, row = targets
        mask_cross_entropy = mask_loss(mask_logits, mask)
        feature_error = mean_squared_error(features, row)
        return mask_cross_entropy + self.alpha * feature_error

    @property
    def has_error(self) -> bool:
        return True

    def compute_error(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The share of features whose entry in the mask is estimated wrongly, ``(...)``."""
        mask_logits: Tensor = outputs[0][0]
        is_wrong = (mask_logits > 0) != (targets[0] > 0)
        return is_wrong.double().mean(dim=(-2, -1))


def mask_loss(logits: Tensor, mask: Tensor) -> Tensor:
    """Mean binary cross-entropy over rows and features: ``(..., N, M)`` twice gives ``(...)`` (equation 5).

    >>> mask_loss(torch.tensor([[2.0, -2.0]]), torch.tensor([[1.0, 0.0]]))
    tensor(0.1269)
    """
    changed_terms = mask * F.logsigmoid(logits)
    unchanged_terms = (1 - mask) * F.logsigmoid(-logits)
    log_likelihoods = changed_terms + unchanged_terms
    return -log_likelihoods.mean(dim=(-2, -1))


@dataclass
class SubTab(CorruptingPretext):
    """Each of ``n_subsets`` overlapping feature subsets reconstructs the whole row. Projections of a row's subsets, of
    unit length, are pulled together (``distance``) and contrasted with those of other rows (``contrast``, at
    ``temperature``). Errors are summed over columns. The loss, its weights and the noise's rate are those of the
    authors' code.

    Differs from the paper: its encoder takes one subset at a time and averages over subsets. Here f takes whole rows,
    because it is fine-tuned on them, and the columns outside a subset are 0. Subsets are of features rather than of
    encoded columns, and none is left out where their number does not divide. Noise takes values from the training rows
    rather than from the mini-batch, and a row has at least one selected feature.

    Two subsets with the same projection, which reconstruct the row; and a second one that does not:

    >>> from scarf_lightning.corruption.strategies import Exact, Marginal
    >>> task, row = SubTab(Marginal(), Exact(), n_subsets=2, contrast=0.0), torch.eye(2)
    >>> task.compute_loss(((row, row), (row, row)), targets=(row,))
    tensor(0.)
    >>> task.compute_loss(((row, row), (row, row + 1)), targets=(row,))
    tensor(1.)
    """

    name: ClassVar[str] = "subtab"
    label: ClassVar[str] = "SubTab"
    paper: ClassVar[str] = "Ucar et al., 2021, arXiv:2110.04361"
    n_subsets: int = option(4, "number of feature subsets", "[2, 1000]")
    overlap: float = option(0.75, "share of a subset that its neighbour contains too", "[0, 1]")
    temperature: float = option(0.1, "temperature that similarities are divided by", "(0, inf)")
    contrast: float = option(1.0, "weight of the contrastive loss beside reconstruction", "[0, inf)")
    distance: float = option(1.0, "weight of the distance between projections", "[0, inf)")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        """The projection ``(..., N, layers.width)`` and the reconstructed row ``(..., N, D)``."""
        projection = super().head(width, columns, layers)
        return SideBySide(projection=projection, decoder=head_of_width(columns.n_encoded, width, layers))

    def make_views(self, rows: Rows) -> Views:
        views = []
        for subset in subsets(rows.columns, self.n_subsets, self.overlap):
            # Each subset has a corruption of its own, as in the authors' code.
            view, _ = self.corrupted(rows)
            inside = torch.zeros(view.shape[-1], dtype=torch.bool, device=view.device)
            # A list would be an index, and the host would wait for its copy.
            inside[subset[0] : subset[-1] + 1] = True
            views.append(torch.where(inside, view, 0.0))
        return Views(tuple(views), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        projections, reconstructions = zip(*outputs, strict=True)
        errors = [squared_distance(reconstruction, targets[0]) for reconstruction in reconstructions]
        loss = _mean(errors)
        units = [F.normalize(projection, dim=-1) for projection in projections]
        pairs = list(combinations(units, 2))
        # One subset has nothing to be contrasted with.
        if not pairs:
            return loss
        contrast = _mean([nt_xent(*pair, self.temperature) for pair in pairs])
        distance = _mean([squared_distance(*pair) for pair in pairs])
        return loss + self.contrast * contrast + self.distance * distance


def subsets(columns: Columns, n_subsets: int, overlap: float) -> list[list[int]]:
    """The encoded columns of each subset.

    The features are cut into runs of equal length. Each run is extended by ``overlap`` of its length into the run
    before it, the first into the run after it. There are at most as many subsets as features.

    >>> subsets(Columns((0,) * 8), n_subsets=2, overlap=0.5)
    [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]
    """
    n_features = columns.n_features
    n = min(n_subsets, n_features)
    bounds = [round(k * n_features / n) for k in range(n + 1)]
    subset_columns = []
    for start, stop in pairwise(bounds):
        n_shared = int(overlap * (stop - start))
        # The first run has no neighbour before it.
        first = max(start - n_shared, 0)
        last = min(stop + n_shared, n_features) if start == 0 else stop
        encoded_columns: list[int] = []
        for feature in range(first, last):
            encoded_columns += columns.encoded_columns(feature)
        subset_columns.append(encoded_columns)
    return subset_columns


def _mean(losses: list[Tensor]) -> Tensor:
    """The mean ``(...)`` of some losses ``(...)``."""
    # Stacked along the last axis, so that the number of trials does not decide the order of the sum.
    return torch.stack(losses, dim=-1).mean(dim=-1)
