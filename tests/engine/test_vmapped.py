"""Networks of any kind in a stack: linear layers inside `torch.vmap`, dropout, and what the state holds."""

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.engine.lifting import Vmapped, give_streams, lift, state
from scarf_lightning.engine.linear import VmappedLinear
from scarf_lightning.networks import BatchNorm, Dropout
from scarf_lightning.randomness import StackedGenerator


class Tokens(nn.Module):
    """A linear layer on tokens ``(N, S, n_in)``, which the rows are cut into."""

    def __init__(self, n_in: int, n_out: int, *, bias: bool = True) -> None:
        super().__init__()
        self.n_in, self.layer = n_in, nn.Linear(n_in, n_out, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.unflatten(1, (-1, self.n_in)))


def tokens(trials: list[int], n_in: int, n_out: int, *, bias: bool = True) -> list[Tokens]:
    modules = []
    for trial in trials:
        torch.manual_seed(trial)
        modules.append(Tokens(n_in, n_out, bias=bias))
    return modules


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (1, 5), (5, 1), (5, 7), (16, 32)])
def test_a_linear_layer_on_tokens(n_in: int, n_out: int, bias: bool) -> None:
    """It is the layer of each trial, and the same bits alone and among six, whatever its widths."""
    x, probe = torch.randn(6, 9, 3 * n_in), torch.randn(6, 9, 3, n_out)
    found = []
    for trials in (list(range(6)), [4]):
        stacked = lift(tokens(trials, n_in, n_out, bias=bias))
        assert isinstance(stacked, Vmapped)
        own = x[trials].clone().requires_grad_()
        out = stacked(own)
        (out * probe[trials]).sum().backward()
        position = trials.index(4)
        gradients = [parameter.grad[position] for parameter in stacked.parameters()]
        found.append([out[position], own.grad[position], *gradients])
    assert all(torch.equal(among, alone) for among, alone in zip(*found, strict=True))

    (plain,) = tokens([4], n_in, n_out, bias=bias)
    own = x[4].clone().requires_grad_()
    out = plain(own)
    (out * probe[4]).sum().backward()
    expected = [out, own.grad, *(parameter.grad for parameter in plain.parameters())]
    assert len(expected) == len(found[0])
    for got, right in zip(found[0], expected, strict=True):
        torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-5)


def test_the_state_keeps_its_names_and_holds_buffers() -> None:
    alone = nn.Sequential(nn.Linear(3, 4), BatchNorm(4))
    stacked = lift([alone, nn.Sequential(nn.Linear(3, 4), BatchNorm(4))])
    assert isinstance(stacked.network[0], VmappedLinear)
    assert list(state(stacked)) == [f"network.{name}" for name in alone.state_dict()]
    for name, value in alone.state_dict().items():
        assert state(stacked)[f"network.{name}"].shape == (2, *value.shape)
        assert torch.equal(state(stacked)[f"network.{name}"][0], value)
    assert type(alone[0]) is nn.Linear, "the network that was given stays as it is"


def test_dropout_inside_is_drawn_from_the_stream_of_each_trial() -> None:
    def kept(seeds: list[int]) -> Tensor:
        stacked = lift([nn.Sequential(BatchNorm(50), Dropout(0.5)) for _ in seeds]).eval()
        stacked.network[1].train()
        give_streams(stacked, StackedGenerator(seeds))
        return stacked(torch.ones(len(seeds), 8, 50)) > 0

    among = kept([5, 6, 7])
    assert not torch.equal(among[0], among[1])
    assert among.float().mean() == pytest.approx(0.5, abs=0.1)
    assert torch.equal(kept([6])[0], among[1])
