"""How the weights and biases of linear layers start."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

DEVIATION_LEFT = 0.8796256610342398
"""Standard deviation of a standard normal variable that is cut at -2 and 2."""


@dataclass(frozen=True)
class Initialisation:
    """Distributions of the initial parameters of a linear layer with ``n_in`` inputs and ``n_out`` outputs.

    Weights have the variance 2 / (n_in + n_out) (Glorot's, the default: it lands nearest to the paper's published
    accuracies), 2 / n_in (He), 1 / n_in (LeCun) or 1 / (3 n_in) (PyTorch's default). They are uniform, or normal and
    cut at two standard deviations before the cut, as Keras and Flax draw them. Biases are zero, or as PyTorch's default
    uniform on [-1 / sqrt(n_in), 1 / sqrt(n_in)].
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
        scheme, _, shape = self.weight.partition("_")
        if shape == "normal":
            variance = {"glorot": 2 / (n_in + n_out), "he": 2 / n_in, "lecun": 1 / n_in}[scheme]
            before = math.sqrt(variance) / DEVIATION_LEFT
            weight = torch.empty(n_in, n_out, dtype=torch.float32)
            nn.init.trunc_normal_(weight, std=before, a=-2 * before, b=2 * before, generator=random)
        else:
            bound = {
                "glorot": math.sqrt(6 / (n_in + n_out)),
                "he": math.sqrt(6 / n_in),
                "lecun": math.sqrt(3 / n_in),
                "pytorch": 1 / math.sqrt(n_in),
            }[scheme]
            weight = (2 * torch.rand(n_in, n_out, generator=random, dtype=torch.float32) - 1) * bound
        if self.bias == "zeros":
            return weight, torch.zeros(n_out)
        return weight, (2 * torch.rand(n_out, generator=random, dtype=torch.float32) - 1) / math.sqrt(n_in)
