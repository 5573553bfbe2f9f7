"""The ReLU network of T trials."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor, nn

from ..randomness import StackedGenerator
from .initialisation import Initialisation
from .linear import StackedLinear


class StackedMLP(nn.Module):
    """Linear layers with a ReLU between them.

    **Shape.** Input ``(T, N, widths[0])``, output ``(T, N, widths[-1])``.

    Args:
        widths: of the input and of each layer's output.
        random: the stream that all weights are drawn from, layer by layer.
        init: how weights and biases start.
        final_relu: whether a ReLU follows the last layer too.
    """

    def __init__(
        self, widths: Sequence[int], random: StackedGenerator, init: Initialisation, *, final_relu: bool
    ) -> None:
        super().__init__()
        pairs = pairwise(widths)
        self.layers = nn.ModuleList(StackedLinear(n_in, n_out, random, init) for n_in, n_out in pairs)
        self.final_relu, self.n_out = final_relu, widths[-1]

    def forward(self, x: Tensor, between: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """``between`` is applied to the output of every layer but the last."""
        last = len(self.layers) - 1
        for position, layer in enumerate(self.layers):
            x = layer(x)
            if position < last or self.final_relu:
                x = x.relu()
            if position < last and between is not None:
                x = between(x)
        return x
