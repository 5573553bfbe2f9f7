"""How weights and biases start."""

import math
from dataclasses import dataclass

from torch import Tensor

from ..randomness import StackedGenerator


@dataclass(frozen=True)
class Initialisation:
    """Distributions of the initial parameters of a linear layer with ``n_in`` inputs and ``n_out`` outputs.

    Weights are uniform on [-b, b]: Glorot b = sqrt(6 / (n_in + n_out)) (the default: it lands nearest to the paper's
    published accuracies), He sqrt(6 / n_in), LeCun sqrt(3 / n_in), PyTorch's default 1 / sqrt(n_in). Biases are zero,
    or as PyTorch's default uniform on [-1 / sqrt(n_in), 1 / sqrt(n_in)].
    """

    weight: str = "glorot_uniform"
    bias: str = "zeros"

    def draw(self, n_in: int, n_out: int, random: StackedGenerator) -> tuple[Tensor, Tensor]:
        """Weight ``(T, n_in, n_out)`` and bias ``(T, 1, n_out)``, float32."""
        bound = {
            "glorot_uniform": math.sqrt(6 / (n_in + n_out)),
            "he_uniform": math.sqrt(6 / n_in),
            "lecun_uniform": math.sqrt(3 / n_in),
            "pytorch": 1 / math.sqrt(n_in),
        }[self.weight]
        weight = (2 * random.uniform(n_in, n_out) - 1) * bound
        if self.bias == "zeros":
            return weight, weight.new_zeros(len(random), 1, n_out)
        return weight, (2 * random.uniform(1, n_out) - 1) / math.sqrt(n_in)
