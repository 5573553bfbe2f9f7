"""The paper's network on piecewise linear embeddings of the numeric features (Gorishniy et al. 2022, section 3.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..limits import Limit
from .numeric import MLPOnEmbeddings, WithNumericEmbeddings


class PiecewiseLinear(nn.Module):
    """How far a number is through each of its feature's bins (equation 1): 0 before a bin, 1 behind it.

    The first bin goes below 0 and the last above 1, for numbers beyond the edges. Edges are quantiles of the training
    rows, equal ones but once (section 3.2.1); the components of a feature with fewer bins end with zeros. The bins are
    buffers, so that they travel with the weights; until they are `fit` each feature has one, from 0 to 1.

    **Shape.** Input ``(N, F)``, output ``(N, F, bins)``.
    """

    start: Tensor
    size: Tensor
    lowest: Tensor
    highest: Tensor

    def __init__(self, n_features: int, bins: int) -> None:
        super().__init__()
        for name in ("start", "size", "lowest", "highest"):
            self.register_buffer(name, torch.empty(n_features, bins))
        self._set([torch.tensor([0.0, 1.0])] * n_features)

    @torch.no_grad()
    def fit(self, x: Tensor) -> None:
        """Set the bins to quantiles of numbers ``(n, F)``."""
        # Places between rows are counted in whole numbers: a rounded one would make a bin of no width of its own.
        bins = self.start.shape[1]
        place = torch.arange(bins + 1, device=x.device) * (len(x) - 1)
        below = place // bins
        above = (below + 1).clamp_max(len(x) - 1)
        ordered = x.to(self.start).sort(dim=0).values
        share = ((place % bins).to(ordered) / bins).unsqueeze(-1)
        edges = torch.lerp(ordered[below], ordered[above], share)
        self._set([torch.unique(feature) for feature in edges.T])

    def _set(self, edges: Sequence[Tensor]) -> None:
        self.start.zero_()
        self.size.fill_(math.inf)  # of bins that a feature does not have: whatever is divided by it is 0
        self.lowest.zero_()
        self.highest.fill_(1)
        for feature, own in enumerate(edges):
            bins = len(own) - 1
            if bins == 0:  # a constant tells nothing
                continue
            self.start[feature, :bins] = own[:-1]
            self.size[feature, :bins] = own.diff()
            self.lowest[feature, 0], self.highest[feature, bins - 1] = -math.inf, math.inf

    def forward(self, x: Tensor) -> Tensor:
        progress = (x.unsqueeze(-1) - self.start) / self.size
        return progress.maximum(self.lowest).minimum(self.highest)


@dataclass
class MLPPLE(MLPOnEmbeddings):
    """An MLP on Q-LR embeddings of the numeric features: piecewise linear encoding by quantiles, linear, ReLU.

    ``bins`` is the default of the authors' package.
    """

    name: ClassVar[str] = "mlp_ple"
    typical_cost: ClassVar[float] = 2.0
    limits: ClassVar[dict[str, Limit]] = {"bins": "[2, inf)"}
    bins: int = 48

    def encoding(self, n_features: int) -> tuple[nn.Module, int]:
        return PiecewiseLinear(n_features, self.bins), self.bins

    def prepare(self, module: nn.Module, rows: Tensor) -> None:
        assert isinstance(module, WithNumericEmbeddings)
        for part in module.embedding.children():
            if isinstance(part, PiecewiseLinear):
                part.fit(rows[:, module.numeric])
