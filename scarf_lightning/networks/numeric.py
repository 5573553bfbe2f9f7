"""What networks with numerical embeddings share (Gorishniy et al. 2022, https://arxiv.org/abs/2203.05556)."""

import math

import torch
from torch import Tensor, nn

from .columns import Columns


class LinearReLUPerFeature(nn.Module):
    """A linear layer and a ReLU for each feature: what the paper writes LR after an encoding of its numbers.

    **Shape.** Input ``(N, F, n_in)``, output ``(N, F, n_out)``.
    """

    def __init__(self, n_features: int, n_in: int, n_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(n_features, n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_features, n_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return ((x.transpose(0, 1) @ self.weight).transpose(0, 1) + self.bias).relu()


class WithNumericEmbeddings(nn.Module):
    """A network on embeddings of the numeric features, side by side, followed by the one-hot columns as they are.

    **Shape.** Encoded rows ``(N, D)`` to what the ``network`` makes of ``(N, F * embedding + D - F)``.

    Args:
        columns: of the table, F of them numeric.
        embedding: from numbers ``(N, F)`` to ``(N, F, embedding)``.
        network: what follows.
    """

    def __init__(self, columns: Columns, embedding: nn.Module, network: nn.Module) -> None:
        super().__init__()
        numeric = set(columns.numeric)
        self.numeric = columns.numeric
        self.others = [column for column in range(columns.n_encoded) if column not in numeric]
        self.embedding, self.network = embedding, network

    def forward(self, x: Tensor) -> Tensor:
        parts = []
        if self.numeric:
            parts.append(self.embedding(x[:, self.numeric]).flatten(1))
        if self.others:
            parts.append(x[:, self.others])
        out: Tensor = self.network(torch.cat(parts, dim=1))
        return out
