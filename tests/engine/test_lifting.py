"""T plain networks as one: each computes what it computes alone, whichever way it is lifted."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode

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
LAYER_NORMS = {"norm": {}, "no shift": {"bias": False}, "no weights": {"elementwise_affine": False}}
OF_TOKENS = [(1, 1, True), (1, 5, False), (5, 1, True), (5, 7, False), (16, 32, True)]
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


def norms(kind: str = "norm") -> list[nn.Module]:
    return several(lambda: nn.LayerNorm((4, 5), eps=1e-3, **LAYER_NORMS[kind]))


def rows(n: int = T) -> Tensor:
    return normal(n, N, 4, seed=1)


def layer_norm_rows() -> Tensor:
    return normal(T, N, 4, 5, seed=1)


def gradients_of_each(lifted: nn.Module, like: list[nn.Module]) -> list[list[Tensor]]:
    """Those of each trial's parameters, laid out as in its own network; the weights are lost."""
    for parameter in lifted.parameters():
        if parameter.grad is not None:
            parameter.data = parameter.grad
    return [list(network.parameters()) for network in unlift(lifted, deepcopy(like))]


@pytest.mark.parametrize(
    ("singles", "shape", "kind", "rounding"),
    [
        *[
            pytest.param(networks(kind), (N, 4), Vmapped if kind == "any" else nn.Module, 1e-12, id=kind)
            for kind in KINDS
        ],
        # A single row, input, output or trial.
        *[
            pytest.param(several(lambda n=(n_in, n_out): nn.Linear(*n), n), (n_rows, n_in), StackedLinear, 1e-12,
                         id=f"{n} of {n_rows} x {n_in} x {n_out}")
            for n, n_rows, n_in, n_out in [(3, 2, 3, 4), (1, 6, 5, 1), (4, 1, 1, 5), (2, 1, 1, 1)]
        ],
        *[pytest.param([nn.Sequential(each) for each in norms(kind)], (N, 4, 5), Vmapped, 0, id=kind)
          for kind in LAYER_NORMS],
        *[
            pytest.param(several(lambda of=(n_in, n_out), bias=bias: Tokens(*of, bias=bias)), (9, 3 * n_in), Vmapped,
                         1e-12, id=f"tokens {n_in} x {n_out}")
            for n_in, n_out, bias in OF_TOKENS
        ],
    ],
)  # fmt: skip
def test_outputs_and_gradients_are_those_of_each_network_alone(
    singles: list[nn.Module], shape: tuple[int, ...], kind: type[nn.Module], rounding: float
) -> None:
    lifted, x = lift(singles), normal(len(singles), *shape).requires_grad_()
    assert isinstance(lifted, kind)
    assert isinstance(lifted, Vmapped) is (kind is Vmapped)
    if isinstance(singles[0], nn.Sequential) and isinstance(singles[0][0], nn.LayerNorm):
        assert isinstance(lifted.network[0], VmappedLayerNorm)
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


WIDE = [
    (128, 30, 256), (128, 256, 256), (40, 256, 3), (2, 5, 3), (128, 1, 256), (128, 256, 1), (128, 1, 1), (128, 5, 1),
]  # fmt: skip
"""Rows, inputs and outputs of a linear layer."""


@pytest.mark.parametrize(
    ("make", "n_rows", "width"),
    [
        *[
            pytest.param(lambda of=(n_in, n_out): nn.Linear(*of), n, n_in, id=f"{n} x {n_in} x {n_out}")
            for n, n_in, n_out in WIDE
        ],
        *[
            pytest.param(lambda of=(n_in, n_out), bias=bias: Tokens(*of, bias=bias), 9, 3 * n_in,
                         id=f"tokens {n_in} x {n_out}")
            for n_in, n_out, bias in OF_TOKENS
        ],
    ],
)  # fmt: skip
def test_a_trial_computes_the_same_bits_alone_and_in_a_stack(
    make: Callable[[], nn.Module], n_rows: int, width: int
) -> None:
    singles, x = [each.float() for each in several(make, 8)], normal(8, n_rows, width, dtype=torch.float32)

    def step(trials: list[int]) -> list[Tensor]:
        lifted, own_x = lift([singles[trial] for trial in trials]), x[trials].requires_grad_()
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
    before = [parameter.clone() for single in singles for parameter in single.parameters()]
    lifted = lift(singles)

    returned = unlift(lifted, others)

    assert all(own is other for own, other in zip(returned, others, strict=True))
    for own, single in zip(returned, singles, strict=True):
        assert all(torch.equal(weight, own.state_dict()[name]) for name, weight in single.state_dict().items())
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


def test_weight_and_bias_are_those_of_the_layers_which_may_have_none() -> None:
    singles = several(lambda: nn.Linear(4, 3), 2)
    layer = StackedLinear(singles)
    assert torch.equal(layer.weight, torch.stack([single.weight.T for single in singles]))
    assert torch.equal(layer.bias, torch.stack([single.bias[None] for single in singles]))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    layer = StackedLinear([nn.Linear(4, 3, bias=False)])
    assert [name for name, parameter in layer.named_parameters() if parameter.requires_grad] == ["weight"]


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


@pytest.mark.parametrize("kind", LAYER_NORMS)
def test_an_accelerator_normalises_all_trials_by_one_kernel(kind: str) -> None:
    singles, rows = norms(kind), layer_norm_rows()
    parameters = [dict(norm.named_parameters()) for norm in singles]
    stacked = [
        torch.stack([own[name] for own in parameters]) if name in parameters[0] else None for name in ("weight", "bias")
    ]
    scales, shifts = (_broadcast_to_rows(each, None if each is None else 0, rows.dim()) for each in stacked)

    out = _normalise_together(rows, scales, shifts, (4, 5), 1e-3)

    for trial, norm in enumerate(singles):
        torch.testing.assert_close(out[trial], norm(rows[trial]), rtol=1e-6, atol=1e-6)

    network = Vmapped([nn.Sequential(norm) for norm in singles]).to("meta")
    with Kernels() as kernels:
        assert network(rows.to("meta")).shape == rows.shape
    assert kernels.names.count("native_layer_norm") == 1


def test_an_accelerator_normalises_shared_rows_for_each_trial() -> None:
    rows = torch.empty(N, 4, 5, device="meta")
    network = Vmapped([nn.Sequential(norm) for norm in norms()]).to("meta")
    weights = dict(network.network.named_parameters())

    def run_trial(weights: dict[str, Tensor]) -> Tensor:
        out: Tensor = functional_call(network.network, weights, (rows,))
        return out

    assert torch.vmap(run_trial)(weights).shape == (T, N, 4, 5)


class Kernels(TorchDispatchMode):
    """Collects the names of the operations that run within it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


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


class Branching(nn.Module):
    """A network that no vmap runs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out if out.mean() > 0 else -out


def test_an_error_of_vmap_comes_without_the_advice_of_torch() -> None:
    with pytest.raises(RuntimeError, match=r"^vmap: It looks like .* control flow\.$"):
        lift([Branching(), Branching()])(torch.ones(2, 4, 3))
