"""How the weights and biases of linear layers start."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Initialisation:
    """Distributions of the initial parameters of a linear layer with ``n_in`` inputs and ``n_out`` outputs.

    Weights are uniform on [-b, b]: Glorot b = sqrt(6 / (n_in + n_out)) (the default: it lands nearest to the paper's
    published accuracies), He sqrt(6 / n_in), LeCun sqrt(3 / n_in), PyTorch's default 1 / sqrt(n_in). Biases are zero,
    or as PyTorch's default uniform on [-1 / sqrt(n_in), 1 / sqrt(n_in)].
    """

    weight: str = "glorot_uniform"
    bias: str = "zeros"

    @torch.no_grad()
    def apply(self, module: nn.Module, random: torch.Generator) -> None:
        """Draw the parameters of all linear layers of a module anew, layer by layer."""
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                weight, bias = self._draw(layer.in_features, layer.out_features, random)
                layer.weight.copy_(weight.T)
                if layer.bias is not None:
                    layer.bias.copy_(bias)

    def _draw(self, n_in: int, n_out: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
        """Weight ``(n_in, n_out)`` and bias ``(n_out,)``, float32 whatever the default dtype is."""
        bound = {
            "glorot_uniform": math.sqrt(6 / (n_in + n_out)),
            "he_uniform": math.sqrt(6 / n_in),
            "lecun_uniform": math.sqrt(3 / n_in),
            "pytorch": 1 / math.sqrt(n_in),
        }[self.weight]
        weight = (2 * torch.rand(n_in, n_out, generator=random, dtype=torch.float32) - 1) * bound
        if self.bias == "zeros":
            return weight, torch.zeros(n_out)
        return weight, (2 * torch.rand(n_out, generator=random, dtype=torch.float32) - 1) / math.sqrt(n_in)
