"""The paper's networks: encoder f, pre-training head g, classification head h (section 4, "Model architecture")."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..randomness import StackedGenerator
from .initialisation import Initialisation
from .mlp import StackedMLP
from .one_hot import OneHot


class Encoder(nn.Module):
    """f: one-hot input layer and ``depth`` linear layers of ``width``, each followed by a ReLU.

    **Shape.** Raw features ``(T, N, M)`` to ``(T, N, width)``. ``body`` takes encoded features ``(T, N, D)``, for views
    that are made after the encoding. ``missing``, where asked for, is a learnable value of each encoded column,
    ``(T, 1, D)``, that starts at 0.
    """

    def __init__(
        self,
        n_categories: Sequence[int],
        random: StackedGenerator,
        init: Initialisation,
        *,
        width: int = 256,
        depth: int = 4,
        final_relu: bool = True,
        learns_missing_values: bool = False,
    ) -> None:
        super().__init__()
        self.one_hot = OneHot(n_categories)
        self.width = width
        self.missing: nn.Parameter | None = None
        if learns_missing_values:
            self.missing = nn.Parameter(torch.zeros(len(random), 1, self.one_hot.width, dtype=torch.float32))
        self.body = StackedMLP([self.one_hot.width, *[width] * depth], random, init, final_relu=final_relu)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(self.one_hot(x))
        return out


class Head(StackedMLP):
    """g or h: ``depth`` linear layers with a ReLU between them, hidden ones of ``width``.

    **Shape.** ``(T, N, n_in)`` to ``(T, N, n_out)``.
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        random: StackedGenerator,
        init: Initialisation,
        *,
        width: int = 256,
        depth: int = 2,
    ) -> None:
        super().__init__([n_in, *[width] * (depth - 1), n_out], random, init, final_relu=False)
