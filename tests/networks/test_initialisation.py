import math
from collections.abc import Callable

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from scarf_lightning.nn import Initialisation
from scarf_lightning.randomness import StackedGenerator

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


@pytest.mark.parametrize("scheme", BOUNDS)
def test_weights_are_uniform_within_their_bound(scheme: str) -> None:
    weight, _ = Initialisation(scheme).draw(N_IN, N_OUT, StackedGenerator([1, 2, 3]))
    assert weight.shape == (3, N_IN, N_OUT)
    assert weight.dtype == torch.float32
    bound = BOUNDS[scheme]
    for drawn in weight:
        assert drawn.abs().max() <= bound * (1 + 1e-6)
        assert drawn.min() < -0.999 * bound
        assert drawn.max() > 0.999 * bound
        # The sample variance of n uniform draws has a relative deviation of sqrt(0.8 / n).
        assert drawn.var().item() == pytest.approx(bound**2 / 3, rel=5 * math.sqrt(0.8 / drawn.numel()))
        assert stats.kstest(drawn.flatten().numpy() / bound, stats.uniform(-1, 2).cdf).pvalue > 1e-3


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
    weight, _ = Initialisation(scheme).draw(N_IN, N_OUT, StackedGenerator([4]))
    assert stats.ks_2samp(weight.flatten().numpy(), torch_linear(function).numpy()).pvalue > 1e-3


def test_the_default_is_glorot_with_biases_of_zero() -> None:
    weight, bias = Initialisation().draw(N_IN, N_OUT, StackedGenerator([1, 2]))
    assert torch.equal(weight, Initialisation("glorot_uniform", "zeros").draw(N_IN, N_OUT, StackedGenerator([1, 2]))[0])
    assert torch.equal(bias, torch.zeros(2, 1, N_OUT))


def test_biases_as_pytorch_starts_them() -> None:
    n_out = 4000
    weight, bias = Initialisation("pytorch", "pytorch").draw(25, n_out, StackedGenerator([1, 2]))
    assert bias.shape == (2, 1, n_out)
    assert bias.dtype == torch.float32
    plain = nn.Linear(25, n_out).bias.detach().numpy()
    for drawn in bias:
        assert drawn.abs().max() <= 0.2 * (1 + 1e-6)
        assert drawn.var().item() == pytest.approx(0.2**2 / 3, rel=5 * math.sqrt(0.8 / n_out))
        assert stats.ks_2samp(drawn[0].numpy(), plain).pvalue > 1e-4
    assert not torch.equal(bias[0, 0], weight[0, 0])


@pytest.mark.parametrize("scheme", BOUNDS)
@pytest.mark.parametrize("bias_scheme", ["zeros", "pytorch"])
def test_a_trials_parameters_do_not_depend_on_the_stack(scheme: str, bias_scheme: str) -> None:
    init = Initialisation(scheme, bias_scheme)
    weight, bias = init.draw(7, 5, StackedGenerator(range(10)))
    for trial in range(10):
        alone_weight, alone_bias = init.draw(7, 5, StackedGenerator([trial]))
        assert torch.equal(alone_weight[0], weight[trial])
        assert torch.equal(alone_bias[0], bias[trial])
    assert len({tuple(w.flatten().tolist()) for w in weight}) == 10


def test_the_scheme_of_the_biases_does_not_change_the_weights() -> None:
    drawn = [Initialisation(bias=bias).draw(7, 5, StackedGenerator([1]))[0] for bias in ("zeros", "pytorch")]
    assert torch.equal(*drawn)


@pytest.mark.usefixtures("float64_default")
def test_weights_are_those_of_float32_whatever_the_default_dtype() -> None:
    weight, _ = Initialisation().draw(7, 5, StackedGenerator([1]))
    assert weight.dtype == torch.float32
    bias = Initialisation(bias="pytorch").draw(7, 5, StackedGenerator([1]))[1]
    assert bias.dtype == torch.float32


@pytest.mark.usefixtures("float64_default")
def test_biases_of_zero_are_float32_whatever_the_default_dtype() -> None:
    assert Initialisation().draw(7, 5, StackedGenerator([1]))[1].dtype == torch.float32
