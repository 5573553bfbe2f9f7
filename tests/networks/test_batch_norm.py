import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from scarf_lightning.networks import BatchNorm


@given(width=st.integers(1, 5), n=st.integers(2, 9), momentum=st.floats(0.01, 0.9), seed=st.integers(0, 99))
def test_it_is_torchs_layer(width: int, n: int, momentum: float, seed: int) -> None:
    """Outputs and gradients of three steps, and outputs in evaluation after them."""
    torch.manual_seed(seed)
    ours = BatchNorm(width, momentum=momentum).double()
    theirs = nn.BatchNorm1d(width, momentum=momentum).double()
    with torch.no_grad():
        for mine, other in ((ours.weight, theirs.weight), (ours.bias, theirs.bias)):
            mine.normal_()
            other.copy_(mine)
    for _ in range(3):
        x = torch.randn(n, width, dtype=torch.float64) * 3 + 1
        own, other = x.clone().requires_grad_(), x.clone().requires_grad_()
        out, expected = ours(own), theirs(other)
        probe = torch.randn_like(out)
        (out * probe).sum().backward()
        (expected * probe).sum().backward()
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(own.grad, other.grad)
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
    torch.testing.assert_close(ours.bias.grad, theirs.bias.grad)
    x = torch.randn(n, width, dtype=torch.float64)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))
