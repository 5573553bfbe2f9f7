"""The paper's network on periodic embeddings of the numeric features (Gorishniy et al. 2022, section 3.3)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..settings import at_least, positive
from .base import Network
from .columns import Columns
from .mlp import ReLUNetwork
from .numeric import LinearReLUPerFeature, WithNumericEmbeddings


class Periodic(nn.Module):
    """concat(cos(v), sin(v)) of v = 2 pi c x, with learned frequencies c that start as N(0, ``scale`` squared).

    Frequencies beyond three standard deviations are drawn anew, as in the authors' package `rtdl_num_embeddings`.

    **Shape.** Input ``(N, F)``, output ``(N, F, 2 * frequencies)``.
    """

    def __init__(self, n_features: int, frequencies: int, scale: float) -> None:
        super().__init__()
        self.frequency = nn.Parameter(torch.empty(n_features, frequencies))
        nn.init.trunc_normal_(self.frequency, std=scale, a=-3 * scale, b=3 * scale)

    def forward(self, x: Tensor) -> Tensor:
        angle = 2 * math.pi * self.frequency * x.unsqueeze(-1)
        return torch.cat([angle.cos(), angle.sin()], dim=-1)


@dataclass
class MLPPLR(Network):
    """An MLP on PLR embeddings (periodic, linear, ReLU) of the numeric features; categories stay one-hot columns.

    ``frequencies``, ``frequency_scale`` and ``embedding`` are the defaults of the authors' package.
    """

    name: ClassVar[str] = "mlp_plr"
    starts_as_built: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Any]] = {"width": ("one_of", 64, 128, 256, 512)}
    width: int = 256
    depth: int = 4
    final_relu: bool = True
    frequencies: int = 48
    frequency_scale: float = 0.01
    embedding: int = 24

    def __post_init__(self) -> None:
        for option in ("width", "depth", "frequencies"):
            at_least(self, option, 1)
        at_least(self, "embedding", 2)
        positive(self, "frequency_scale")

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        n_numeric = len(columns.numeric)
        embedding = nn.Sequential(
            Periodic(n_numeric, self.frequencies, self.frequency_scale),
            LinearReLUPerFeature(n_numeric, 2 * self.frequencies, self.embedding),
        )
        widths = [columns.n_encoded + n_numeric * (self.embedding - 1), *[self.width] * self.depth]
        mlp = ReLUNetwork(widths, final_relu=self.final_relu, dropout=dropout, final_dropout=True)
        return WithNumericEmbeddings(columns, embedding, mlp)
