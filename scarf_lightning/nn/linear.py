"""The linear layer of T independent networks."""

import torch
from torch import Tensor, nn

from ..randomness import StackedGenerator
from .initialisation import Initialisation


class StackedLinear(nn.Module):
    """One linear layer a trial: y_t = x_t W_t + b_t.

    **Shape.** Weight ``(T, n_in, n_out)``, bias ``(T, 1, n_out)``; input ``(T, N, n_in)``, output ``(T, N, n_out)``.
    A batched product computes each trial as it would alone, bit for bit on a CPU.
    """

    def __init__(self, n_in: int, n_out: int, random: StackedGenerator, init: Initialisation) -> None:
        super().__init__()
        weight, bias = init.draw(n_in, n_out, random)
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)
