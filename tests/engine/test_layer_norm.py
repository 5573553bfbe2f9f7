"""Layer normalisation inside `torch.vmap`: what `torch.nn.LayerNorm` gives each trial alone, bit for bit."""

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.engine.layer_norm import VmappedLayerNorm
from scarf_lightning.engine.lifting import Vmapped

T = 3


def norms(*, affine: bool = True, bias: bool = True) -> list[nn.LayerNorm]:
    random = torch.Generator().manual_seed(0)
    made = [nn.LayerNorm((4, 5), eps=1e-3, elementwise_affine=affine, bias=bias) for _ in range(T)]
    with torch.no_grad():
        for norm in made:
            for parameter in norm.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=random))
    return made


def rows() -> Tensor:
    return torch.randn(T, 7, 4, 5, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"affine": False}], ids=str)
def test_outputs_and_gradients_are_those_of_each_trial_alone(options: dict[str, bool]) -> None:
    singles = norms(**options)
    stacked, x = Vmapped([nn.Sequential(norm) for norm in singles]), rows().requires_grad_()
    assert isinstance(stacked.network[0], VmappedLayerNorm)  # type: ignore[index]

    out = stacked(x)
    out.square().sum().backward()

    assert x.grad is not None
    for trial, norm in enumerate(singles):
        own = rows()[trial].requires_grad_()
        expected = norm(own)
        expected.square().sum().backward()
        assert torch.equal(out[trial], expected)
        assert own.grad is not None
        assert torch.equal(x.grad[trial], own.grad)
        for stacked_parameter, parameter in zip(stacked.parameters(), norm.parameters(), strict=True):
            assert stacked_parameter.grad is not None
            assert parameter.grad is not None
            assert torch.equal(stacked_parameter.grad[trial], parameter.grad)


def test_rows_that_are_the_same_in_all_trials_are_normalised_for_each() -> None:
    class OnConstant(nn.Module):
        def __init__(self, norm: nn.LayerNorm) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = x + self.norm(torch.arange(20.0).reshape(1, 4, 5))
            return out

    singles = norms()
    out = Vmapped([OnConstant(norm) for norm in singles])(rows())
    for trial, norm in enumerate(singles):
        assert torch.equal(out[trial], OnConstant(norm)(rows()[trial]))
