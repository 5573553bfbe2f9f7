"""The step of a stack's Adam, bit for bit PyTorch's own."""

import pytest
import torch
from torch import Tensor

from scarf_lightning.engine.adam import StackAdam


def trained(kind: type[torch.optim.Adam], **options: float) -> list[Tensor]:
    """Parameters after six steps: the first never has a gradient, the last from the fourth step on."""
    random = torch.Generator().manual_seed(0)
    parameters = [torch.randn(3, 16, 8, generator=random).requires_grad_() for _ in range(4)]
    optimizer = kind(
        [{"params": parameters[:2], "fused": True}, {"params": parameters[2:], "fused": False}], lr=0.01, **options
    )
    for step in range(6):
        for parameter in parameters[1 : 3 if step < 3 else 4]:
            parameter.grad = torch.randn(parameter.shape, generator=random)
        if step == 4:
            optimizer.param_groups[0]["lr"] = 0.003
        if isinstance(optimizer, StackAdam):
            optimizer.advance()
        else:
            optimizer.step()
    assert [int(optimizer.state[parameter]["step"]) for parameter in parameters[1:]] == [6, 6, 3]
    assert parameters[0] not in optimizer.state
    return parameters


@pytest.mark.parametrize(("eps", "weight_decay"), [(1e-7, 0.0), (1e-3, 0.1)])
def test_a_step_is_that_of_torchs_adam(eps: float, weight_decay: float) -> None:
    ours, theirs = (trained(kind, eps=eps, weight_decay=weight_decay) for kind in (StackAdam, torch.optim.Adam))
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other)
