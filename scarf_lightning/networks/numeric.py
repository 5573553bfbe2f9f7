"""What networks with numerical embeddings share (Gorishniy et al. 2022, https://arxiv.org/abs/2203.05556)."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..limits import Limit
from .base import Network
from .columns import Columns
from .mlp import ReLUNetwork


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


@dataclass
class MLPOnEmbeddings(Network):
    """The paper's network on numbers ``embedding`` wide each; categories stay one-hot columns.

    The width of an embedding is by default that of the authors' package `rtdl_num_embeddings`.
    """

    limits: ClassVar[dict[str, Limit]] = {"width": "[1, 100000]", "depth": "[1, 1000]", "embedding": "[2, 100000]"}
    starts_as_built: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Any]] = {"width": ("one_of", 64, 128, 256, 512)}
    width: int = 256
    depth: int = 4
    final_relu: bool = True
    embedding: int = 24

    @abstractmethod
    def encoding(self, n_features: int) -> tuple[nn.Module, int]:
        """What comes before linear layer and ReLU: a module from ``(N, F)`` to ``(N, F, K)``, and K."""

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        n_numeric = len(columns.numeric)
        encoding, n_components = self.encoding(n_numeric)
        embedding = nn.Sequential(encoding, LinearReLUPerFeature(n_numeric, n_components, self.embedding))
        widths = [columns.n_encoded + n_numeric * (self.embedding - 1), *[self.width] * self.depth]
        mlp = ReLUNetwork(widths, final_relu=self.final_relu, dropout=dropout, final_dropout=True)
        return WithNumericEmbeddings(columns, embedding, mlp)
