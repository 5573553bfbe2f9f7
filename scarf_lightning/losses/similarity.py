"""Inner products and cosines between the rows of two views."""

import torch.nn.functional as F
from torch import Tensor


def cosine_similarities(first: Tensor, second: Tensor) -> Tensor:
    """s_ij, the cosine of row i of the first and row j of the second: ``(N, E)`` twice gives ``(N, N)``."""
    return inner_products(F.normalize(first, dim=-1), F.normalize(second, dim=-1))


def inner_products(first: Tensor, second: Tensor) -> Tensor:
    """The inner product of row i of the first and row j of the second: ``(N, E)`` twice gives ``(N, N)``."""
    if first.shape[-1] == 1:  # a dimension of one takes another path, on which the stack's size shows in the last bit
        first, second = F.pad(first, (0, 1)), F.pad(second, (0, 1))
    return first @ second.mT
