"""T plain networks as one: each computes what it computes alone, whichever way it is lifted."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode

from scarf_lightning.engine.lifting import (
    StackedLinear,
    Vmapped,
    VmappedLayerNorm,
    VmappedLinear,
    _beside_rows,
    _of_all_trials,
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


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def layers(n_trials: int, n_in: int, n_out: int) -> list[nn.Linear]:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return [nn.Linear(n_in, n_out) for _ in range(n_trials)]


def stacked(n_trials: int, n_in: int, n_out: int) -> StackedLinear:
    return StackedLinear(layers(n_trials, n_in, n_out))


def plain(layer: StackedLinear, trial: int) -> nn.Linear:
    """A layer of torch's own with the weights of one trial."""
    linear = nn.Linear(*layer.weight.shape[1:]).to(layer.weight.dtype)
    with torch.no_grad():
        linear.weight.copy_(layer.weight[trial].T)
        linear.bias.copy_(layer.bias[trial, 0])
    return linear


@given(n_trials=st.integers(1, 4), n_rows=st.integers(1, 6), n_in=st.integers(1, 5), n_out=st.integers(1, 5))
@settings(max_examples=15)
def test_each_trial_is_a_linear_layer_of_its_own(n_trials: int, n_rows: int, n_in: int, n_out: int) -> None:
    layer = stacked(n_trials, n_in, n_out).double()
    assert layer.weight.shape == (n_trials, n_in, n_out)
    assert layer.bias.shape == (n_trials, 1, n_out)
    x = normal(n_trials, n_rows, n_in).requires_grad_()
    out = layer(x)
    assert out.shape == (n_trials, n_rows, n_out)
    probe = normal(*out.shape, seed=1)
    (out * probe).sum().backward()
    for t in range(n_trials):
        single, own_x = plain(layer, t), x[t].detach().clone().requires_grad_()
        own = single(own_x)
        (own * probe[t]).sum().backward()
        for got, expected in (
            (out[t], own),
            (x.grad[t], own_x.grad),
            (layer.weight.grad[t], single.weight.grad.T),
            (layer.bias.grad[t, 0], single.bias.grad),
        ):
            torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("n_rows", "n_in", "n_out"),
    [(128, 30, 256), (128, 256, 256), (40, 256, 3), (2, 5, 3), (128, 1, 256), (128, 256, 1), (128, 1, 1), (128, 5, 1)],
)
def test_a_trial_computes_the_same_bits_alone_and_in_a_stack(n_rows: int, n_in: int, n_out: int) -> None:
    layer = stacked(8, n_in, n_out)
    x, probe = normal(8, n_rows, n_in, dtype=torch.float32), normal(8, n_rows, n_out, seed=1, dtype=torch.float32)
    x.requires_grad_()
    out = layer(x)
    (out * probe).sum().backward()
    for kept in ([4], [7, 2, 3]):
        some = stacked(8, n_in, n_out)
        for parameter in some.parameters():
            parameter.data = parameter.data[kept]
        own_x = x.detach()[kept].requires_grad_()
        own = some(own_x)
        (own * probe[kept]).sum().backward()
        assert_same_numbers(own, out[kept])
        assert_same_numbers(own_x.grad, x.grad[kept])
        assert_same_numbers(some.weight.grad, layer.weight.grad[kept])
        assert_same_numbers(some.bias.grad, layer.bias.grad[kept])


def test_weight_and_bias_are_those_of_the_layers_which_may_have_none() -> None:
    singles = layers(2, 4, 3)
    layer = StackedLinear(singles)
    assert torch.equal(layer.weight, torch.stack([single.weight.T for single in singles]))
    assert torch.equal(layer.bias, torch.stack([single.bias[None] for single in singles]))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    single = nn.Linear(4, 3, bias=False)
    layer, x = StackedLinear([single]), normal(1, 5, 4, dtype=torch.float32)
    torch.testing.assert_close(layer(x)[0], single(x[0]))
    assert [name for name, parameter in layer.named_parameters() if parameter.requires_grad] == ["weight"]


def test_a_parameter_that_is_frozen_stays_frozen() -> None:
    networks = [nn.Sequential(nn.Linear(3, 2), nn.PReLU()) for _ in range(2)]
    for network in networks:
        network[1].weight.requires_grad_(False)
    assert [parameter.requires_grad for parameter in Vmapped(networks).parameters()] == [True, True, False]


LAYER_NORM_T = 3


def norms(*, affine: bool = True, bias: bool = True) -> list[nn.LayerNorm]:
    random = torch.Generator().manual_seed(0)
    made = [nn.LayerNorm((4, 5), eps=1e-3, elementwise_affine=affine, bias=bias) for _ in range(LAYER_NORM_T)]
    with torch.no_grad():
        for norm in made:
            for parameter in norm.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=random))
    return made


def layer_norm_rows() -> Tensor:
    return torch.randn(LAYER_NORM_T, 7, 4, 5, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"affine": False}], ids=str)
def test_outputs_and_gradients_are_those_of_each_trial_alone(options: dict[str, bool]) -> None:
    singles = norms(**options)
    stacked, x = Vmapped([nn.Sequential(norm) for norm in singles]), layer_norm_rows().requires_grad_()
    assert isinstance(stacked.network[0], VmappedLayerNorm)  # type: ignore[index]

    out = stacked(x)
    out.square().sum().backward()

    assert x.grad is not None
    for trial, norm in enumerate(singles):
        own = layer_norm_rows()[trial].requires_grad_()
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
    out = Vmapped([OnConstant(norm) for norm in singles])(layer_norm_rows())
    for trial, norm in enumerate(singles):
        assert torch.equal(out[trial], OnConstant(norm)(layer_norm_rows()[trial]))


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"affine": False}], ids=str)
def test_an_accelerator_normalises_all_trials_by_one_kernel(options: dict[str, bool]) -> None:
    singles, rows = norms(**options), layer_norm_rows()
    parameters = [dict(norm.named_parameters()) for norm in singles]
    stacked = [
        torch.stack([own[name] for own in parameters]) if name in parameters[0] else None for name in ("weight", "bias")
    ]
    scales, shifts = (_beside_rows(each, None if each is None else 0, rows.dim()) for each in stacked)

    out = _of_all_trials(rows, scales, shifts, (4, 5), 1e-3)

    for trial, norm in enumerate(singles):
        torch.testing.assert_close(out[trial], norm(rows[trial]), rtol=1e-6, atol=1e-6)

    network = Vmapped([nn.Sequential(norm) for norm in singles]).to("meta")
    with Kernels() as kernels:
        assert network(rows.to("meta")).shape == rows.shape
    assert kernels.names.count("native_layer_norm") == 1


def test_an_accelerator_normalises_shared_rows_for_each_trial() -> None:
    rows = torch.empty(7, 4, 5, device="meta")
    network = Vmapped([nn.Sequential(norm) for norm in norms()]).to("meta")
    weights = dict(network.network.named_parameters())

    def run_trial(weights: dict[str, Tensor]) -> Tensor:
        out: Tensor = functional_call(network.network, weights, (rows,))
        return out

    assert torch.vmap(run_trial)(weights).shape == (LAYER_NORM_T, 7, 4, 5)


class Kernels(TorchDispatchMode):
    """Collects the names of the operations that run within it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


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


@pytest.mark.parametrize(
    ("n_in", "n_out", "bias"), [(1, 1, True), (1, 5, False), (5, 1, True), (5, 7, False), (16, 32, True)]
)
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
