import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from scarf_lightning.engine.linear import StackedLinear
from tests.promises import assert_same_numbers


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


@pytest.mark.parametrize(("n_rows", "n_in", "n_out"), [(128, 30, 256), (128, 256, 256), (40, 256, 3), (2, 5, 3)])
def test_a_trial_computes_the_same_bits_alone_and_in_a_stack(n_rows: int, n_in: int, n_out: int) -> None:
    layer = stacked(10, n_in, n_out)
    x, probe = normal(10, n_rows, n_in, dtype=torch.float32), normal(10, n_rows, n_out, seed=1, dtype=torch.float32)
    x.requires_grad_()
    out = layer(x)
    (out * probe).sum().backward()
    for kept in ([4], [7, 2, 3]):
        some = stacked(10, n_in, n_out)
        for parameter in some.parameters():
            parameter.data = parameter.data[kept]
        own_x = x.detach()[kept].requires_grad_()
        own = some(own_x)
        (own * probe[kept]).sum().backward()
        assert_same_numbers(own, out[kept])
        assert_same_numbers(own_x.grad, x.grad[kept])
        assert_same_numbers(some.weight.grad, layer.weight.grad[kept])
        assert_same_numbers(some.bias.grad, layer.bias.grad[kept])


def test_weight_and_bias_are_those_of_the_layers() -> None:
    singles = layers(2, 4, 3)
    layer = StackedLinear(singles)
    assert torch.equal(layer.weight, torch.stack([single.weight.T for single in singles]))
    assert torch.equal(layer.bias, torch.stack([single.bias[None] for single in singles]))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]


def test_layers_without_a_bias_stay_without() -> None:
    single = nn.Linear(4, 3, bias=False)
    layer = StackedLinear([single])
    x = normal(1, 5, 4, dtype=torch.float32)
    torch.testing.assert_close(layer(x)[0], single(x[0]))
    assert [name for name, parameter in layer.named_parameters() if parameter.requires_grad] == ["weight"]


@pytest.mark.parametrize(("n_in", "n_out"), [(1, 256), (256, 1), (1, 1), (1, 3), (5, 1)])
def test_widths_of_one_compute_the_same_bits_alone_and_in_a_stack(n_in: int, n_out: int) -> None:
    random = torch.Generator().manual_seed(0)
    x, probe = torch.randn(6, 128, n_in, generator=random), torch.randn(6, 128, n_out, generator=random)
    found = []
    for kept in ([4], list(range(6))):
        every = layers(6, n_in, n_out)
        layer = StackedLinear([every[trial] for trial in kept])
        own = x[kept].requires_grad_()
        out = layer(own)
        (out * probe[kept]).sum().backward()
        t = kept.index(4)
        found.append([out[t], own.grad[t], layer.weight.grad[t], layer.bias.grad[t]])
    for alone, among in zip(*found, strict=True):
        assert_same_numbers(alone, among)
