"""The paper's network on periodic embeddings of the numeric features (Gorishniy et al. 2022, section 3.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..limits import Limit
from .numeric import MLPOnEmbeddings


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
class MLPPLR(MLPOnEmbeddings):
    """An MLP on PLR embeddings of the numeric features: periodic, linear, ReLU.

    ``frequencies`` and ``frequency_scale`` are the defaults of the authors' package.
    """

    name: ClassVar[str] = "mlp_plr"
    typical_cost: ClassVar[float] = 3.0
    limits: ClassVar[dict[str, Limit]] = {"frequencies": "[1, inf)", "frequency_scale": "(0, inf)"}
    frequencies: int = 48
    frequency_scale: float = 0.01

    def encoding(self, n_features: int) -> tuple[nn.Module, int]:
        return Periodic(n_features, self.frequencies, self.frequency_scale), 2 * self.frequencies
