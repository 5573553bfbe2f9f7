"""The encoder f of a stack, with its input layer."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..networks import Columns, OneHot
from .lifting import lift


class Encoder(nn.Module):
    """f of T trials: the one-hot input layer, and a network on encoded rows.

    **Shape.** Raw features ``(T, N, M)`` to embeddings ``(T, N, E)``; ``width`` is E. ``body`` takes encoded features
    ``(T, N, D)``, for views that are made after the encoding. ``missing``, where asked for, is a learnable value of
    each encoded column, ``(T, 1, D)``, that starts at 0.
    """

    def __init__(
        self, columns: Columns, networks: Sequence[nn.Module], width: int, *, learns_missing_values: bool = False
    ) -> None:
        super().__init__()
        self.columns, self.width, self.is_frozen = columns, width, False
        self.one_hot = OneHot(columns.n_categories)
        self.missing: nn.Parameter | None = None
        if learns_missing_values:
            self.missing = nn.Parameter(torch.zeros(len(networks), 1, columns.n_encoded, dtype=torch.float32))
        self.body = lift(networks)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(self.one_hot(x))
        return out

    def freeze(self) -> None:
        """Learn no more. In training, too, `FinetuneModule` keeps a frozen encoder as it is in evaluation."""
        self.is_frozen = True
        self.requires_grad_(False)


class Classifier(nn.Module):
    """h after f.

    **Shape.** Raw features ``(T, N, M)`` to logits ``(T, N, C)``.
    """

    def __init__(self, encoder: Encoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, x: Tensor) -> Tensor:
        return self.of_encoded(self.encoder.one_hot(x))

    def of_encoded(self, encoded: Tensor) -> Tensor:
        """Encoded features ``(T, N, D)`` to logits ``(T, N, C)``."""
        logits: Tensor = self.head(self.encoder.body(encoded))
        return logits
