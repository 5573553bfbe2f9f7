"""Dropout whose masks come from the trial's own stream (Srivastava et al. 2014)."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..randomness import StackedGenerator


class Dropout(nn.Module):
    """Leaves out a share ``rate`` of the units while training, and scales up the others.

    Inside a stack ``random`` is the stream of each trial, which makes a trial's masks independent of its company; alone
    it is `torch.nn.Dropout`.
    """

    acts_on_last_axis = True

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.random: StackedGenerator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if self.random is None:
            return F.dropout(x, self.rate)
        kept = _Kept.apply(x, self.rate, self.random)  # type: ignore[no-untyped-call]
        return torch.where(kept, x / (1 - self.rate), 0.0)


class _Kept(torch.autograd.Function):
    """Which units stay. Under vmap it sees the whole stack, so that each trial draws from its own stream."""

    @staticmethod
    def forward(x: Tensor, rate: float, random: StackedGenerator) -> Tensor:
        return random.uniform(*x.shape[1:]) >= rate

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        return None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, rate: float, random: StackedGenerator) -> tuple[Tensor, int]:
        return random.uniform(*x.movedim(in_dims[0], 0).shape[1:]) >= rate, 0
