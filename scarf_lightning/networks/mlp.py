"""The paper's network (section 4, "Model architecture"): linear layers with a ReLU between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from torch import Tensor, nn

from ..limits import Limit
from .base import Network
from .columns import Columns
from .dropout import Dropout


class ReLUNetwork(nn.Module):
    """Linear layers with a ReLU between them.

    **Shape.** Input ``(..., widths[0])``, output ``(..., widths[-1])``.

    Args:
        widths: of the input and of each layer's output.
        final_relu: whether a ReLU follows the last layer too.
        dropout: rate of the units left out after every layer but the last.
        final_dropout: whether the last layer's units are left out too, as those of an encoder are.
    """

    acts_on_last_axis = True

    def __init__(
        self,
        widths: Sequence[int],
        *,
        final_relu: bool = False,
        dropout: float | None = None,
        final_dropout: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(n_in, n_out) for n_in, n_out in pairwise(widths))
        self.dropout = Dropout(dropout or 0.0)
        self.final_relu, self.final_dropout = final_relu, final_dropout

    def forward(self, x: Tensor) -> Tensor:
        last = len(self.layers) - 1
        for position, layer in enumerate(self.layers):
            x = layer(x)
            if position < last or self.final_relu:
                x = x.relu_()  # of the layer's own output, which nothing else reads
            if position < last or self.final_dropout:
                x = self.dropout(x)
        return x


@dataclass
class MLP(Network):
    """f of the paper: ``depth`` linear layers of ``width``, each followed by a ReLU, the last one unless told."""

    name: ClassVar[str] = "mlp"
    limits: ClassVar[dict[str, Limit]] = {"width": "[1, 100000]", "depth": "[1, 1000]"}
    starts_as_built: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Any]] = {"width": ("one_of", 64, 128, 256, 512)}
    width: int = 256
    depth: int = 4
    final_relu: bool = True

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        widths = [columns.n_encoded, *[self.width] * self.depth]
        return ReLUNetwork(widths, final_relu=self.final_relu, dropout=dropout, final_dropout=True)
