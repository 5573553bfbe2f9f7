"""Measures of how embeddings lie in space."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from ..losses.loss import squared_distance
from ..losses.loss import uniformity as spread


def alignment(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Mean over rows of the squared distance between the directions of two views: 0 (the same) to 4 (opposite).

    Wang and Isola 2020, https://arxiv.org/abs/2005.10242, with alpha = 2. **Shape.** ``(n, E)`` twice.
    """
    return float(squared_distance(_unit(first), _unit(second)))


def uniformity(embeddings: NDArray[Any], t: float = 2.0) -> float:
    """log of the mean over pairs of exp(-t d^2), d the distance of their directions: 0 for one point, less if spread.

    Wang and Isola 2020. **Shape.** ``(n, E)``.
    """
    return float(spread(_unit(embeddings), t))


def effective_rank(embeddings: NDArray[Any]) -> float:
    """exp of the entropy of the normalised singular values: how many dimensions the rows fill, 1 to min(n, E).

    Roy and Vetterli 2007, "The effective rank"; for embeddings Garrido et al. 2023, https://arxiv.org/abs/2210.02885.
    The rows are not centred. Rows of zeros have rank 0. **Shape.** ``(n, E)``.
    """
    matrix = np.asarray(embeddings, dtype=np.float64)
    singular = np.linalg.svd(matrix, compute_uv=False)
    # Rows of zeros have no direction.
    if not singular.any():
        return 0.0
    share = singular[singular > 0] / singular.sum()
    entropy = -(share * np.log(share)).sum()
    return float(np.exp(entropy))


def _unit(embeddings: NDArray[Any]) -> torch.Tensor:
    """Directions, float64 ``(1, n, E)``; an embedding of zeros has none and stays."""
    matrix = np.asarray(embeddings, dtype=np.float64)
    directions = F.normalize(torch.from_numpy(matrix), dim=-1)
    return directions[None]
