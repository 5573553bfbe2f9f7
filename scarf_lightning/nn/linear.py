"""The linear layer of T independent networks."""

import torch
import torch.nn.functional as F
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
        bias: Tensor = self.bias
        weight: Tensor = self.weight
        # A dimension of one takes another path through the product, on which the stack's size shows in the last bit.
        if weight.shape[1] == 1:
            x, weight = F.pad(x, (0, 1)), F.pad(weight, (0, 0, 0, 1))
        if weight.shape[2] == 1:
            return torch.baddbmm(F.pad(bias, (0, 1)), x, F.pad(weight, (0, 1)))[..., :1]
        return torch.baddbmm(bias, x, weight)
