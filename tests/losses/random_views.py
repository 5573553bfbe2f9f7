"""Random inputs of losses, and what they give for one trial at a time."""

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.promises import assert_same_numbers

SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 6))
"""Of ``(N, E)``."""


def views(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Two views: of one trial with ``(N, E)``, of a stack with ``(T, N, E)``."""
    random = torch.Generator().manual_seed(seed)
    first, second = torch.randn(2, *shape, generator=random, dtype=torch.float64).to(dtype)
    return first, second


def gradients(loss: Callable[..., Tensor], *stacked: Tensor) -> Tensor:
    """Of the loss of a stack by all its inputs, one after the other on the last axis."""
    inputs = [z.clone().requires_grad_() for z in stacked]
    return torch.cat(torch.autograd.grad(loss(*inputs).sum(), inputs), dim=-1)


def one_trial_at_a_time(function: Callable[..., Tensor], *stacked: Tensor) -> Tensor:
    """What a function of stacks gives for stacks of one, one after the other."""
    alone = [[z[t : t + 1].clone() for z in stacked] for t in range(len(stacked[0]))]
    return torch.cat([function(*trial) for trial in alone])


def assert_a_stack_is_a_loop_over_trials(loss: Callable[..., Tensor], *stacked: Tensor) -> None:
    """Each trial and its gradient are the same, bit for bit where the kernels are exact; and what a trial gets is the
    plain loss of its own rows."""

    def slopes(*inputs: Tensor) -> Tensor:
        return gradients(loss, *inputs)

    together = loss(*stacked)
    assert_same_numbers(together, one_trial_at_a_time(loss, *stacked))
    assert_same_numbers(slopes(*stacked), one_trial_at_a_time(slopes, *stacked))
    plain = torch.stack([loss(*trial) for trial in zip(*stacked, strict=True)])
    exact = together.dtype == torch.float64
    torch.testing.assert_close(together, plain, atol=1e-12 if exact else 1e-5, rtol=1e-12 if exact else 1e-5)
