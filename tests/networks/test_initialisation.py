import math
from collections.abc import Callable

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from scarf_lightning.networks import Initialisation

N_IN, N_OUT = 150, 60
BOUNDS = {
    "glorot_uniform": math.sqrt(6 / (N_IN + N_OUT)),
    "he_uniform": math.sqrt(6 / N_IN),
    "lecun_uniform": math.sqrt(3 / N_IN),
    "pytorch": 1 / math.sqrt(N_IN),
}


def torch_linear(function: Callable[[Tensor], Tensor] | None) -> Tensor:
    """The weight of a plain linear layer as torch starts it."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layer = nn.Linear(N_IN, N_OUT)
        if function is not None:
            function(layer.weight)
    return layer.weight.detach().flatten()


def drawn(init: Initialisation, n_in: int = N_IN, n_out: int = N_OUT, seed: int = 1) -> nn.Linear:
    layer = nn.Linear(n_in, n_out)
    init.apply(layer, torch.Generator().manual_seed(seed))
    return layer


@pytest.mark.parametrize("scheme", BOUNDS)
def test_weights_are_uniform_within_their_bound(scheme: str) -> None:
    weight, bound = drawn(Initialisation(scheme)).weight.detach(), BOUNDS[scheme]
    assert weight.abs().max() <= bound * (1 + 1e-6)
    assert weight.min() < -0.999 * bound
    assert weight.max() > 0.999 * bound
    # The sample variance of n uniform draws has a relative deviation of sqrt(0.8 / n).
    assert weight.var().item() == pytest.approx(bound**2 / 3, rel=5 * math.sqrt(0.8 / weight.numel()))
    assert stats.kstest(weight.flatten().numpy() / bound, stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("scheme", "variance"), [("glorot_normal", 2 / (N_IN + N_OUT)), ("he_normal", 2 / N_IN), ("lecun_normal", 1 / N_IN)]
)
def test_weights_are_normal_and_cut_and_have_the_variance_of_the_scheme(scheme: str, variance: float) -> None:
    weight = drawn(Initialisation(scheme)).weight.detach().flatten().double().numpy()
    cut = stats.truncnorm(-2, 2)
    assert weight.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / weight.size))
    assert stats.kstest(weight / math.sqrt(variance) * cut.std(), cut.cdf).pvalue > 1e-3
    assert abs(weight).max() <= 2 * math.sqrt(variance) / cut.std() * (1 + 1e-6)


@pytest.mark.parametrize(
    ("scheme", "function"),
    [
        ("glorot_uniform", nn.init.xavier_uniform_),
        ("he_uniform", lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu")),
        ("lecun_uniform", lambda w: nn.init.kaiming_uniform_(w, nonlinearity="linear")),
        ("pytorch", None),
    ],
)
def test_weights_are_distributed_as_torchs(scheme: str, function: Callable[[Tensor], Tensor] | None) -> None:
    weight = drawn(Initialisation(scheme), seed=4).weight.detach()
    assert stats.ks_2samp(weight.flatten().numpy(), torch_linear(function).numpy()).pvalue > 1e-3


def test_the_default_is_glorot_with_biases_of_zero() -> None:
    layer, named = drawn(Initialisation()), drawn(Initialisation("glorot_uniform", "zeros"))
    assert torch.equal(layer.weight, named.weight)
    assert torch.equal(layer.bias, torch.zeros(N_OUT))


def test_biases_as_pytorch_starts_them() -> None:
    n_out = 4000
    bias = drawn(Initialisation("pytorch", "pytorch"), 25, n_out).bias.detach()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        plain = nn.Linear(25, n_out).bias.detach().numpy()
    assert bias.abs().max() <= 0.2 * (1 + 1e-6)
    assert bias.var().item() == pytest.approx(0.2**2 / 3, rel=5 * math.sqrt(0.8 / n_out))
    assert stats.ks_2samp(bias.numpy(), plain).pvalue > 1e-4


def test_the_scheme_of_the_biases_does_not_change_the_weights_of_a_layer() -> None:
    assert torch.equal(drawn(Initialisation(bias="zeros")).weight, drawn(Initialisation(bias="pytorch")).weight)


def test_layers_are_drawn_one_after_the_other_and_alone() -> None:
    """A layer that is no linear one keeps what it has, and takes nothing from the stream."""
    network = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Sequential(nn.Linear(4, 4)))
    Initialisation().apply(network, torch.Generator().manual_seed(3))
    random = torch.Generator().manual_seed(3)
    for layer in (network[0], network[2][0]):
        expected = (2 * torch.rand(4, 4, generator=random) - 1) * math.sqrt(6 / 8)
        assert torch.equal(layer.weight, expected.T)
    assert torch.equal(network[1].weight, torch.ones(4))


@pytest.mark.usefixtures("float64_default")
def test_numbers_are_those_of_float32_whatever_the_default_dtype() -> None:
    layer = nn.Linear(7, 5, dtype=torch.float64)
    Initialisation(bias="pytorch").apply(layer, torch.Generator().manual_seed(1))
    single = drawn(Initialisation(bias="pytorch"), 7, 5).to(torch.float32)
    torch.testing.assert_close(layer.weight, single.weight.double(), rtol=1e-6, atol=0)
    torch.testing.assert_close(layer.bias, single.bias.double(), rtol=1e-6, atol=0)
