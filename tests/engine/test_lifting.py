"""T plain networks as one: each computes what it computes alone, whichever way it is lifted."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.engine.lifting import Vmapped, acts_on_last_axis, let_leave, lift, load_state, per_trial, state
from scarf_lightning.engine.linear import StackedLinear
from scarf_lightning.networks import ReLUNetwork

T, N = 3, 7


class Pooled(nn.Module):
    """Acts on more than the last axis: a row is compared with the mean of its mini-batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(4, 6), nn.LayerNorm(6)
        self.shift = nn.Parameter(torch.randn(6))
        self.register_buffer("scale", torch.rand(6))

    def forward(self, x: Tensor) -> Tensor:
        out = self.norm(self.layer(x)) * self.scale + self.shift
        return out - out.mean(dim=0)


KINDS: dict[str, Callable[[], nn.Module]] = {
    "the paper's": lambda: ReLUNetwork([4, 8, 6]),
    "layers in a row": lambda: nn.Sequential(nn.Linear(4, 5), nn.GELU(), nn.Sequential(nn.Linear(5, 6), nn.Tanh())),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 6, bias=False), nn.ReLU()),
    "any": Pooled,
}


def networks(kind: str, n: int = T) -> list[nn.Module]:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return [KINDS[kind]().double() for _ in range(n)]


def rows(n: int = T) -> Tensor:
    return torch.randn(n, N, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_gradients_are_those_of_each_network_alone(kind: str) -> None:
    singles, x = networks(kind), rows()
    lifted = lift(singles)
    assert isinstance(lifted, Vmapped) is (kind == "any")
    out = lifted(x)
    out.square().sum().backward()
    for t, single in enumerate(singles):
        own = single(x[t])
        own.square().sum().backward()
        torch.testing.assert_close(out[t], own, rtol=1e-12, atol=1e-12)
    gradients = sorted(p.grad[0].norm().item() for p in lifted.parameters() if p.requires_grad)
    expected = sorted(p.grad.norm().item() for p in singles[0].parameters())
    assert gradients == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_networks_given_are_left_alone(kind: str) -> None:
    singles = networks(kind)
    before = [parameter.clone() for single in singles for parameter in single.parameters()]
    lifted = lift(singles)
    with torch.no_grad():
        for parameter in lifted.parameters():
            parameter.zero_()
    after = [parameter for single in singles for parameter in single.parameters()]
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))


def test_what_acts_on_the_last_axis_is_told_by_its_layers() -> None:
    assert all(acts_on_last_axis(KINDS[kind]()) for kind in KINDS if kind != "any")
    assert not acts_on_last_axis(Pooled())
    assert not acts_on_last_axis(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)))
    assert not acts_on_last_axis(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    word = ReLUNetwork([4, 4])
    word.extra = nn.BatchNorm1d(4)
    assert not acts_on_last_axis(word), "its own word does not answer for its children"


def test_the_papers_network_keeps_its_names() -> None:
    lifted = lift(networks("the paper's"))
    assert {name: tuple(tensor.shape) for name, tensor in state(lifted).items()} == {
        "layers.0.weight": (T, 4, 8), "layers.0.bias": (T, 1, 8),
        "layers.1.weight": (T, 8, 6), "layers.1.bias": (T, 1, 6),
    }  # fmt: skip
    assert isinstance(lifted.layers[0], StackedLinear)


@pytest.mark.parametrize("kind", KINDS)
def test_trials_that_leave_take_their_parameters_buffers_and_moments(kind: str) -> None:
    lifted, x = lift(networks(kind)), rows()
    optimizer = torch.optim.Adam([p for p in lifted.parameters() if p.requires_grad])
    lifted(x).square().sum().backward()
    optimizer.step()
    whole = lifted(x).detach()
    moments = {p: optimizer.state[p]["exp_avg"].clone() for p in optimizer.state}
    let_leave(lifted, optimizer, torch.tensor([2, 0]))
    assert torch.equal(lifted(x[[2, 0]]), whole[[2, 0]])
    for parameter, moment in moments.items():
        assert torch.equal(optimizer.state[parameter]["exp_avg"], moment[[2, 0]])
        assert parameter.grad is None
    everyone = {name: torch.cat([tensor, tensor]) for name, tensor in state(lifted).items()}
    load_state(lifted, everyone)
    assert lifted(x[[2, 0, 2, 0]]).shape == (4, N, 6)


def test_a_function_of_one_trial_is_given_each_trials_tensors() -> None:
    x, y = rows(), rows() + 1
    found = per_trial(lambda a, b, weights, nested: (a * b).sum() + nested[0].sum(), x, y, None, (y,))
    expected = torch.stack([(a * b).sum() + b.sum() for a, b in zip(x, y, strict=True)])
    torch.testing.assert_close(found, expected)
    alone = per_trial(lambda a: a.logsumexp(dim=-1).mean(), x[[1]])
    assert torch.equal(alone[0], per_trial(lambda a: a.logsumexp(dim=-1).mean(), x)[1])
