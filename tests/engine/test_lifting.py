"""T plain networks as one: each computes what it computes alone, whichever way it is lifted."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.engine.lifting import (
    StackedLinear,
    Vmapped,
    VmappedLayerNorm,
    VmappedLinear,
    _broadcast_to_rows,
    _normalise_together,
    acts_on_last_axis,
    give_streams,
    let_leave,
    lift,
    load_state,
    state,
    unlift,
)
from scarf_lightning.networks import BatchNorm, Dropout, ReLUNetwork
from scarf_lightning.randomness import StackedGenerator
from tests.promises import assert_same_numbers
from tests.stacks import normal

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


class Tokens(nn.Module):
    """A linear layer on tokens ``(N, S, n_in)``, which the rows are cut into."""

    def __init__(self, n_in: int, n_out: int, *, bias: bool = True) -> None:
        super().__init__()
        self.n_in, self.layer = n_in, nn.Linear(n_in, n_out, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.unflatten(1, (-1, self.n_in)))


KINDS: dict[str, Callable[[], nn.Module]] = {
    "the paper's": lambda: ReLUNetwork([4, 8, 6]),
    "layers in a row": lambda: nn.Sequential(nn.Linear(4, 5), nn.GELU(), nn.Sequential(nn.Linear(5, 6), nn.Tanh())),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 6, bias=False), nn.ReLU()),
    "any": Pooled,
}
LAYER_NORMS = [{}, {"bias": False}, {"elementwise_affine": False}]
OF_TOKENS = [(1, 5, False), (5, 1, True), (16, 32, True)]
"""Inputs and outputs of a token, and whether there is a bias."""


def several(make: Callable[[], nn.Module], n: int = T) -> list[nn.Module]:
    """Networks of one kind in double precision, none of whose weights are alike."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        made = [make().double() for _ in range(n)]
        for parameter in (each for network in made for each in network.parameters()):
            nn.init.normal_(parameter)
    return made


def networks(kind: str, n: int = T) -> list[nn.Module]:
    return several(KINDS[kind], n)


def norms(**options: bool) -> list[nn.Module]:
    return several(lambda: nn.LayerNorm((4, 5), eps=1e-3, **options))


def layer_norm_rows() -> Tensor:
    return normal(T, N, 4, 5, seed=1)


def tokens(n_in: int, n_out: int, bias: bool, n: int = T) -> list[nn.Module]:
    return several(lambda: Tokens(n_in, n_out, bias=bias), n)


def linear(n_in: int, n_out: int, n: int = T) -> list[nn.Module]:
    return several(lambda: nn.Linear(n_in, n_out), n)


def gradients_of_each(lifted: nn.Module, like: list[nn.Module]) -> list[list[Tensor]]:
    """Those of each trial's parameters, laid out as in its own network; the weights are lost."""
    for parameter in lifted.parameters():
        if parameter.grad is not None:
            parameter.data = parameter.grad
    return [list(network.parameters()) for network in unlift(lifted, deepcopy(like))]


@pytest.mark.parametrize(
    ("singles", "shape", "rounding"),
    [
        *[(networks(kind), (N, 4), 1e-12) for kind in KINDS],
        # A single row, input, output or trial.
        *[(linear(3, 4, 3), (2, 3), 1e-12), (linear(5, 1, 1), (6, 5), 1e-12), (linear(1, 5, 4), (1, 1), 1e-12)],
        *[([nn.Sequential(each) for each in norms(**options)], (N, 4, 5), 0) for options in LAYER_NORMS],
        *[(tokens(*of), (9, 3 * of[0]), 1e-12) for of in OF_TOKENS],
    ],
)
def test_outputs_and_gradients_are_those_of_each_network_alone(
    singles: list[nn.Module], shape: tuple[int, ...], rounding: float
) -> None:
    lifted, x = lift(singles), normal(len(singles), *shape).requires_grad_()
    out = lifted(x)
    probe = normal(*out.shape, seed=2)
    (out * probe).sum().backward()
    of_each = gradients_of_each(lifted, singles)
    for t, single in enumerate(singles):
        own_x = x[t].detach().requires_grad_()
        own = single(own_x)
        (own * probe[t]).sum().backward()
        expected = [own, own_x.grad, *(parameter.grad for parameter in single.parameters())]
        for got, right in zip([out[t], x.grad[t], *of_each[t]], expected, strict=True):
            torch.testing.assert_close(got, right, rtol=rounding, atol=rounding)


WIDE = [(128, 30, 256), (128, 256, 256), (40, 256, 3), (2, 5, 3), (128, 256, 1), (128, 1, 1)]
"""Rows, inputs and outputs of a linear layer."""


@pytest.mark.parametrize(
    ("singles", "n_rows", "width"),
    [
        *[(linear(n_in, n_out, 8), n_rows, n_in) for n_rows, n_in, n_out in WIDE],
        *[(tokens(*of, n=8), 9, 3 * of[0]) for of in OF_TOKENS],
    ],
)
def test_a_trial_computes_the_same_bits_alone_and_in_a_stack(singles: list[nn.Module], n_rows: int, width: int) -> None:
    x = normal(8, n_rows, width, dtype=torch.float32)

    def step(trials: list[int]) -> list[Tensor]:
        lifted, own_x = lift([singles[trial].float() for trial in trials]), x[trials].requires_grad_()
        out = lifted(own_x)
        probe = normal(8, *out.shape[1:], seed=1, dtype=torch.float32)
        (out * probe[trials]).sum().backward()
        return [out, own_x.grad, *(each.grad for each in lifted.parameters() if each.grad is not None)]

    whole = step(list(range(8)))
    for kept in ([4], [7, 2, 3]):
        for some, all_of_them in zip(step(kept), whole, strict=True):
            assert_same_numbers(some, all_of_them[kept])


@pytest.mark.parametrize("kind", KINDS)
def test_networks_come_back_as_they_were_lifted_and_are_left_alone_meanwhile(kind: str) -> None:
    singles, others = networks(kind), [KINDS[kind]().double() for _ in range(T)]
    before = deepcopy(singles)
    lifted = lift(singles)

    unlift(lifted, others)
    with torch.no_grad():
        for parameter in lifted.parameters():
            parameter.zero_()

    for own, single, kept in zip(others, singles, before, strict=True):
        for name, weight in kept.state_dict().items():
            assert torch.equal(own.state_dict()[name], weight)
            assert torch.equal(single.state_dict()[name], weight)


def test_what_acts_on_the_last_axis_is_told_by_its_layers() -> None:
    assert all(acts_on_last_axis(KINDS[kind]()) for kind in KINDS if kind != "any")
    for other in (nn.LayerNorm(4), nn.BatchNorm1d(4), Pooled()):
        assert not acts_on_last_axis(nn.Sequential(nn.Linear(4, 4), other))
    word = ReLUNetwork([4, 4])
    word.extra = nn.BatchNorm1d(4)
    assert not acts_on_last_axis(word), "its own word does not answer for its children"


@pytest.mark.parametrize("kind", KINDS)
def test_trials_that_leave_take_their_parameters_buffers_and_moments(kind: str) -> None:
    lifted, x = lift(networks(kind)), normal(T, N, 4)
    optimizer = torch.optim.Adam([p for p in lifted.parameters() if p.requires_grad])
    lifted(x).square().sum().backward()
    optimizer.step()
    whole = lifted(x).detach()
    before = deepcopy(optimizer.state_dict()["state"])
    let_leave(lifted, optimizer, torch.tensor([2, 0]))
    assert torch.equal(lifted(x[[2, 0]]), whole[[2, 0]])
    for place, moments in optimizer.state_dict()["state"].items():
        assert torch.equal(moments["exp_avg"], before[place]["exp_avg"][[2, 0]])
        assert torch.equal(moments["exp_avg_sq"], before[place]["exp_avg_sq"][[2, 0]])
        assert torch.equal(moments["step"], before[place]["step"]), "it belongs to all"
    assert all(parameter.grad is None for parameter in lifted.parameters())
    load_state(lifted, {name: torch.cat([tensor, tensor]) for name, tensor in state(lifted).items()})
    assert lifted(x[[2, 0, 2, 0]]).shape == (4, N, 6)


def test_a_parameter_that_is_frozen_stays_frozen() -> None:
    networks = [nn.Sequential(nn.Linear(3, 2), nn.PReLU()) for _ in range(2)]
    for network in networks:
        network[1].weight.requires_grad_(False)
    assert [parameter.requires_grad for parameter in Vmapped(networks).parameters()] == [True, True, False]


def test_rows_that_are_the_same_in_all_trials_are_normalised_for_each() -> None:
    class OnConstant(nn.Module):
        def __init__(self, norm: nn.LayerNorm) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = x + self.norm(torch.arange(20.0, dtype=x.dtype).reshape(1, 4, 5))
            return out

    singles = norms()
    out = Vmapped([OnConstant(norm) for norm in singles])(layer_norm_rows())
    for trial, norm in enumerate(singles):
        assert torch.equal(out[trial], OnConstant(norm)(layer_norm_rows()[trial]))


@pytest.mark.parametrize("options", LAYER_NORMS)
def test_an_accelerator_normalises_all_trials_at_once(options: dict[str, bool]) -> None:
    singles, rows = norms(**options), layer_norm_rows()
    weights = [
        torch.stack([getattr(norm, name) for norm in singles]) if getattr(singles[0], name) is not None else None
        for name in ("weight", "bias")
    ]
    scales, shifts = (_broadcast_to_rows(each, None if each is None else 0, rows.dim()) for each in weights)

    out = _normalise_together(rows, scales, shifts, (4, 5), 1e-3)

    for trial, norm in enumerate(singles):
        torch.testing.assert_close(out[trial], norm(rows[trial]), rtol=1e-6, atol=1e-6)
    lifted = Vmapped([nn.Sequential(norm) for norm in singles]).to("meta")
    assert lifted(rows.to("meta")).shape == rows.shape


def test_the_state_keeps_its_names_and_holds_buffers() -> None:
    alone = nn.Sequential(nn.Linear(3, 4), BatchNorm(4))
    stacked = state(lift([alone, nn.Sequential(nn.Linear(3, 4), BatchNorm(4))]))
    assert list(stacked) == [f"network.{name}" for name in alone.state_dict()]
    for name, value in alone.state_dict().items():
        assert stacked[f"network.{name}"].shape == (2, *value.shape)
        assert torch.equal(stacked[f"network.{name}"][0], value)
    of_the_paper = state(lift(networks("the paper's")))
    assert {name: tuple(tensor.shape) for name, tensor in of_the_paper.items()} == {
        "layers.0.weight": (T, 4, 8), "layers.0.bias": (T, 1, 8),
        "layers.1.weight": (T, 8, 6), "layers.1.bias": (T, 1, 6),
    }  # fmt: skip


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


def test_a_network_is_lifted_by_the_quickest_way_that_serves_it() -> None:
    assert isinstance(lift(networks("the paper's")).layers[0], StackedLinear)
    assert isinstance(lift(networks("any")).network.layer, VmappedLinear)
    assert isinstance(lift([nn.Sequential(each) for each in norms()]).network[0], VmappedLayerNorm)
