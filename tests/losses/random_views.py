"""Random inputs of losses, and a loss that is asked one trial at a time."""

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 6))
"""Of ``(T, N, E)``."""


def views(
    n_trials: int, n_rows: int, width: int, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Two views, ``(T, N, E)`` each."""
    random = torch.Generator().manual_seed(seed)
    first, second = torch.randn(2, n_trials, n_rows, width, generator=random, dtype=torch.float64).to(dtype)
    return first, second


def lengths(n_trials: int, n_rows: int, seed: int = 0) -> Tensor:
    """A factor for each row, between 0.1 and 10."""
    random = torch.Generator().manual_seed(seed)
    return 10 ** (2 * torch.rand(n_trials, n_rows, 1, generator=random, dtype=torch.float64) - 1)


def rotation(width: int) -> Tensor:
    random = torch.Generator().manual_seed(2)
    return torch.linalg.qr(torch.randn(width, width, generator=random, dtype=torch.float64))[0]


def one_trial_at_a_time(loss: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """What ``loss`` gives on each trial alone, one after the other."""
    alone = [[z[t : t + 1].clone() for z in inputs] for t in range(len(inputs[0]))]
    return torch.cat([loss(*trial) for trial in alone])
