"""ResNet for tables (Gorishniy et al. 2021, section 3.2, https://arxiv.org/abs/2106.11959)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..options.option import option
from .layers import BatchNorm, Dropout
from .network import Columns, Network


class ResNetBlock(nn.Module):
    """x + Dropout(Linear(Dropout(ReLU(Linear(BatchNorm(x)))))).

    **Shape.** Input and output ``(..., N, width)``; ``hidden`` is the width between the linear layers.
    """

    def __init__(self, width: int, hidden: int, *, hidden_dropout: float, residual_dropout: float) -> None:
        super().__init__()
        self.norm = BatchNorm(width)
        self.widen, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.hidden_dropout, self.residual_dropout = Dropout(hidden_dropout), Dropout(residual_dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.hidden_dropout(self.widen(self.norm(x)).relu())
        out: Tensor = x + self.residual_dropout(self.narrow(hidden))
        return out


@dataclass
class ResNet(Network):
    """A linear layer, ``depth`` blocks, and ReLU(BatchNorm(x)): the paper's network before its last linear layer.

    Differs from the paper: the defaults are the example of the authors' package `rtdl_revisiting_models`.

    ``method=dropout`` replaces ``hidden_dropout``. Batch statistics of pre-training are taken over all views of a
    mini-batch at once. Validation and test use the running ones.
    """

    name: ClassVar[str] = "resnet"
    label: ClassVar[str] = "ResNet"
    paper: ClassVar[str] = "Gorishniy et al., 2021, arXiv:2106.11959"
    typical_cost: ClassVar[float] = 1.5
    search_space: ClassVar[dict[str, Any]] = {"width": ("one_of", 64, 128, 192, 256, 512)}
    width: int = option(192, "units of a layer", "[1, 100000]")
    depth: int = option(2, "number of blocks", "[1, 1000]")
    hidden_factor: float = option(2.0, "width of a block's hidden layer, divided by width", "(0, 1000]")
    hidden_dropout: float = option(0.15, "dropout rate after a block's first layer", "[0, 1)")
    residual_dropout: float = option(0.0, "dropout rate before a block is added to its input", "[0, 1)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.width * self.hidden_factor >= 1:
            raise ValueError(f"hidden_factor must leave a hidden layer of at least one unit, not {self.hidden_factor}")

    def build(self, columns: Columns, dropout: float | None) -> nn.Module:
        hidden_dropout = self.hidden_dropout if dropout is None else dropout
        hidden = int(self.width * self.hidden_factor)
        blocks = [
            ResNetBlock(self.width, hidden, hidden_dropout=hidden_dropout, residual_dropout=self.residual_dropout)
            for _ in range(self.depth)
        ]
        return nn.Sequential(nn.Linear(columns.n_encoded, self.width), *blocks, BatchNorm(self.width), nn.ReLU())
