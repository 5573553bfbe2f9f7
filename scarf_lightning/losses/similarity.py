"""Cosines between the rows of two views."""

import torch.nn.functional as F
from torch import Tensor


def cosine_similarities(first: Tensor, second: Tensor) -> Tensor:
    """s_ij, the cosine of row i of the first and row j of the second: ``(T, N, E)`` twice gives ``(T, N, N)``."""
    return F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).mT
