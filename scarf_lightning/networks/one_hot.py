"""The input layer: categorical codes become one-hot columns."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class OneHot(nn.Module):
    """Encode raw features: numeric columns pass, a categorical column becomes one column a category.

    **Shape.** Input ``(..., M)`` with codes in the categorical columns, output ``(..., D)``, columns in their order.

    Args:
        n_categories: for each raw column how many categories it has, 0 for a numeric one.
    """

    source: Tensor
    code: Tensor
    is_categorical: Tensor

    def __init__(self, n_categories: Sequence[int]) -> None:
        super().__init__()
        encoded = [(m, code) for m, count in enumerate(n_categories) for code in range(max(count, 1))]
        source = torch.tensor([m for m, _ in encoded])
        self.register_buffer("source", source, persistent=False)
        self.register_buffer("code", torch.tensor([code for _, code in encoded]), persistent=False)
        self.register_buffer("is_categorical", torch.tensor(n_categories)[source] > 0, persistent=False)
        self._is_identity = not any(n_categories)

    @property
    def width(self) -> int:
        """D, the number of encoded columns."""
        return len(self.source)

    def forward(self, x: Tensor) -> Tensor:
        if self._is_identity:
            return x
        spread = x.index_select(-1, self.source)
        return torch.where(self.is_categorical, (spread == self.code).to(x.dtype), spread)
