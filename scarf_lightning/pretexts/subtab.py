"""SubTab (Ucar et al. 2021, https://arxiv.org/abs/2110.04361): a row is told from subsets of its features."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..corruption import Corruption, Selection
from ..limits import Limit
from ..losses.reconstruction import mean_squared_error
from ..losses.similarity import cosine_similarities
from ..networks import Columns, ReLUNetwork
from ..settings import LayerSettings
from .base import Pretext, Rows, Views


@dataclass
class SubTab(Pretext):
    """Each of ``n_subsets`` overlapping subsets of the features gives the whole row back; the subsets' projections of a
    row are to be near each other and far from those of other rows.

    The authors' encoder takes a subset alone, and a row is the mean over its subsets. Here f takes whole rows, because
    it is fine-tuned on them, so the features outside a subset are 0.
    """

    name: ClassVar[str] = "subtab"
    first_layer: ClassVar[str] = "projection.layers.0"
    limits: ClassVar[dict[str, Limit]] = {
        "n_subsets": "[2, inf)",
        "overlap": "[0, 1]",
        "temperature": "(0, inf)",
        "contrast": "[0, inf)",
        "distance": "[0, inf)",
    }
    corruption: Corruption
    selection: Selection
    n_subsets: int = 4
    overlap: float = 0.75
    temperature: float = 0.1
    contrast: float = 1.0
    distance: float = 1.0

    def head(self, width: int, columns: Columns, layers: LayerSettings) -> nn.Module:
        projection = ReLUNetwork([width, *[layers.width] * layers.depth])
        decoder = ReLUNetwork([width, *[layers.width] * (layers.depth - 1), columns.n_encoded])
        return ProjectionAndDecoder(projection, decoder)

    def make_views(self, rows: Rows) -> Views:
        views = []
        for subset in subsets(rows.columns, self.n_subsets, self.overlap):
            view, _ = rows.corrupted(self.corruption, self.selection)
            inside = torch.zeros(view.shape[-1], dtype=torch.bool, device=view.device)
            inside[subset] = True
            views.append(torch.where(inside, view, 0.0))
        return Views(tuple(views), (rows.encoded,))

    def compute_loss(self, outputs: tuple[Any, ...], targets: tuple[Tensor, ...]) -> Tensor:
        projections, reconstructions = zip(*outputs, strict=True)
        loss = _mean([mean_squared_error(each, targets[0]) for each in reconstructions])
        pairs = list(combinations(projections, 2))
        if not pairs:
            return loss
        contrast = _mean([nt_xent(*pair, self.temperature) for pair in pairs])
        return loss + self.contrast * contrast + self.distance * _mean([mean_squared_error(*pair) for pair in pairs])


class ProjectionAndDecoder(nn.Module):
    """What the contrastive and the distance loss see of f, and the row that is given back.

    **Shape.** ``(N, E)`` gives a projection ``(N, width)`` and an encoded row ``(N, D)``.
    """

    acts_on_last_axis = True

    def __init__(self, projection: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.projection, self.decoder = projection, decoder

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.projection(x), self.decoder(x)


def subsets(columns: Columns, n_subsets: int, overlap: float) -> list[list[int]]:
    """The encoded columns of each subset: the features are cut into equal runs, in their order, and each run takes the
    ``overlap`` of its length from the one before it, the first from the one after it. Fewer where there are too few
    features for so many."""
    n = min(n_subsets, columns.n_features)
    bounds = [round(k * columns.n_features / n) for k in range(n + 1)]
    found = []
    for k in range(n):
        start, stop = bounds[k], bounds[k + 1]
        shared = round(overlap * (stop - start))
        chosen = range(0, min(stop + shared, columns.n_features)) if k == 0 else range(max(start - shared, 0), stop)
        found.append([column for feature in chosen for column in columns.of_feature(feature)])
    return found


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Normalised temperature-scaled cross-entropy: of 2N embeddings each tells its other one from 2N - 2 others.

    **Shape.** ``(N, E)`` twice gives a scalar. Source: Chen et al. 2020, https://arxiv.org/abs/2002.05709, equation 1.
    """
    n = len(first)
    both = torch.cat([first, second])
    logits = cosine_similarities(both, both) / temperature
    itself = torch.eye(2 * n, dtype=torch.bool, device=both.device)
    positive_pairs = torch.cat([logits.diagonal(offset=n), logits.diagonal(offset=-n)])
    return (logits.masked_fill(itself, -math.inf).logsumexp(dim=-1) - positive_pairs).mean()


def _mean(losses: list[Tensor]) -> Tensor:
    return torch.stack(losses).mean()
