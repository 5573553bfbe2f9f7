"""SubTab (Ucar et al. 2021, https://arxiv.org/abs/2110.04361): rows are learned from subsets of their features."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..losses.contrastive import nt_xent
from ..losses.loss import squared_distance
from ..networks import Columns, ReLUNetwork
from ..options.option import option
from ..options.settings import LayerSettings
from .pretext import Pretext, Rows, Views


@dataclass
class SubTab(Pretext):
    """Each of ``n_subsets`` overlapping feature subsets reconstructs the whole row. Projections of a row's subsets, of
    unit length, are pulled together (``distance``) and contrasted with those of other rows (``contrast``, at
    ``temperature``). Errors are summed over columns. The loss, its weights and the noise's rate are those of the
    authors' code.

    Differs from the paper: its encoder takes one subset at a time and averages over subsets. Here f takes whole rows,
    because it is fine-tuned on them, and the columns outside a subset are 0. Subsets are of features rather than of
    encoded columns, and none is left out where their number does not divide. Noise takes values from the training rows
    rather than from the mini-batch, and a row has at least one selected feature.
    """

    name: ClassVar[str] = "subtab"
    label: ClassVar[str] = "SubTab"
    paper: ClassVar[str] = "Ucar et al., 2021, arXiv:2110.04361"
    corruption: Corruption
    selection: Selection
    n_subsets: int = option(4, "number of feature subsets", "[2, 1000]")
    overlap: float = option(0.75, "share of a subset that its neighbour contains too", "[0, 1]")
    temperature: float = option(0.1, "temperature that similarities are divided by", "(0, inf)")
    contrast: float = option(1.0, "weight of the contrastive loss beside reconstruction", "[0, inf)")
    distance: float = option(1.0, "weight of the distance between projections", "[0, inf)")

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        projection = ReLUNetwork([width, *[layers.width] * layers.depth])
        decoder = ReLUNetwork([width, *[layers.width] * (layers.depth - 1), columns.n_encoded])
        return ProjectionAndDecoder(projection, decoder)

    def make_views(self, rows: Rows) -> Views:
        views = []
        for subset in subsets(rows.columns, self.n_subsets, self.overlap):
            view, _ = rows.corrupted(self.corruption, self.selection)
            inside = torch.zeros(view.shape[-1], dtype=torch.bool, device=view.device)
            inside[subset[0] : subset[-1] + 1] = True  # a list would be an index, and the host wait for its copy
            views.append(torch.where(inside, view, 0.0))
        return Views(tuple(views), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        projections, reconstructions = zip(*outputs, strict=True)
        loss = _mean([squared_distance(each, targets[0]) for each in reconstructions])
        pairs = list(combinations([F.normalize(projection, dim=-1) for projection in projections], 2))
        if not pairs:
            return loss
        contrast = _mean([nt_xent(*pair, self.temperature) for pair in pairs])
        return loss + self.contrast * contrast + self.distance * _mean([squared_distance(*pair) for pair in pairs])


class ProjectionAndDecoder(nn.Module):
    """The projection for the contrastive and distance losses, and the reconstructed row.

    **Shape.** ``(..., N, E)`` gives a projection ``(..., N, width)`` and an encoded row ``(..., N, D)``.
    """

    acts_on_last_axis = True

    def __init__(self, projection: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.projection, self.decoder = projection, decoder

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.projection(x), self.decoder(x)


def subsets(columns: Columns, n_subsets: int, overlap: float) -> list[list[int]]:
    """The encoded columns of each subset.

    The features are cut into runs of equal length. Each run is extended by ``overlap`` of its length into the run
    before it, the first into the run after it. There are at most as many subsets as features.
    """
    n = min(n_subsets, columns.n_features)
    bounds = [round(k * columns.n_features / n) for k in range(n + 1)]
    found = []
    for k in range(n):
        start, stop = bounds[k], bounds[k + 1]
        shared = int(overlap * (stop - start))
        chosen = range(0, min(stop + shared, columns.n_features)) if k == 0 else range(max(start - shared, 0), stop)
        found.append([column for feature in chosen for column in columns.of_feature(feature)])
    return found


def _mean(losses: list[Tensor]) -> Tensor:
    # Stacked along the last axis, so that the number of trials does not decide the order of the sum.
    return torch.stack(losses, dim=-1).mean(dim=-1)
