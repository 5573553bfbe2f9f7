from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.nn import Encoder, Head, Initialisation, StackedMLP
from scarf_lightning.randomness import StackedGenerator
from tests.promises import assert_same_numbers

T = 4
N_CATEGORIES = [0, 3, 0, 1, 5]
INIT = Initialisation("glorot_uniform", "pytorch")  # biases that are not zero show where they are added


def generator(trials: Sequence[int] = range(T)) -> StackedGenerator:
    return StackedGenerator([100 + trial for trial in trials])


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def plain(network: StackedMLP, trial: int, *, final_relu: bool) -> nn.Sequential:
    """One trial's network, of torch's own layers."""
    parts: list[nn.Module] = []
    for layer in network.layers:
        linear = nn.Linear(*layer.weight.shape[1:]).to(layer.weight.dtype)
        with torch.no_grad():
            linear.weight.copy_(layer.weight[trial].T)
            linear.bias.copy_(layer.bias[trial, 0])
        parts += [linear, nn.ReLU()]
    return nn.Sequential(*parts if final_relu else parts[:-1])


def assert_trials_are_plain_networks(network: StackedMLP, x: Tensor, out: Tensor, *, final_relu: bool) -> None:
    """Outputs and gradients of the sum over trials are those of each network alone, given its encoded input ``x``."""
    probe = normal(*out.shape, seed=9)
    (out * probe).sum().backward()
    for t in range(len(x)):
        single = plain(network, t, final_relu=final_relu)
        own = single(x[t])
        (own * probe[t]).sum().backward()
        torch.testing.assert_close(out[t], own, rtol=1e-12, atol=1e-12)
        linears = [part for part in single if isinstance(part, nn.Linear)]
        for layer, linear in zip(network.layers, linears, strict=True):
            torch.testing.assert_close(layer.weight.grad[t], linear.weight.grad.T, rtol=1e-12, atol=1e-12)
            torch.testing.assert_close(layer.bias.grad[t, 0], linear.bias.grad, rtol=1e-12, atol=1e-12)
            assert linear.weight.grad.abs().max() > 0


def raw_features(n_rows: int) -> np.ndarray:
    random = np.random.default_rng(0)
    columns = [random.integers(c, size=(T, n_rows)) if c else random.normal(size=(T, n_rows)) for c in N_CATEGORIES]
    return np.stack(columns, axis=-1).astype(np.float64)


def encode(raw: np.ndarray) -> np.ndarray:
    parts = [np.eye(c)[raw[..., m].astype(int)] if c else raw[..., m, None] for m, c in enumerate(N_CATEGORIES)]
    return np.concatenate(parts, axis=-1)


@pytest.mark.parametrize("final_relu", [False, True])
@pytest.mark.parametrize("widths", [[3, 2], [5, 8, 8, 4], [6, 9, 7, 3]])
def test_an_mlp_is_a_plain_network_a_trial(widths: list[int], final_relu: bool) -> None:
    mlp = StackedMLP(widths, generator(), INIT, final_relu=final_relu).double()
    x = normal(T, 9, widths[0])
    out = mlp(x)
    assert out.shape == (T, 9, widths[-1])
    assert_trials_are_plain_networks(mlp, x, out, final_relu=final_relu)


@pytest.mark.parametrize("final_relu", [False, True])
def test_an_encoder_is_a_plain_network_on_one_hot_columns(final_relu: bool) -> None:
    encoder = Encoder(N_CATEGORIES, generator(), INIT, width=12, depth=3, final_relu=final_relu).double()
    raw = raw_features(11)
    out = encoder(torch.from_numpy(raw))
    assert out.shape == (T, 11, 12)
    assert encoder.width == 12
    assert (bool((out < 0).any())) is not final_relu
    encoded = torch.from_numpy(encode(raw))
    assert torch.equal(encoder.body(encoded), out)
    assert_trials_are_plain_networks(encoder.body, encoded, out, final_relu=final_relu)


def test_a_head_is_a_plain_network_that_ends_linearly() -> None:
    head = Head(6, 3, generator(), INIT, width=10, depth=3).double()
    x = normal(T, 8, 6)
    out = head(x)
    assert (out < 0).any()
    assert_trials_are_plain_networks(head, x, out, final_relu=False)


def test_the_papers_networks_have_its_layers() -> None:
    encoder = Encoder(N_CATEGORIES, generator(), INIT)
    shapes = [tuple(layer.weight.shape) for layer in encoder.body.layers]
    assert shapes == [(T, 11, 256), (T, 256, 256), (T, 256, 256), (T, 256, 256)]
    assert encoder.body.final_relu
    head = Head(256, 7, generator(), INIT)
    assert [tuple(layer.weight.shape) for layer in head.layers] == [(T, 256, 256), (T, 256, 7)]
    linear = Head(256, 7, generator(), INIT, depth=1)
    assert [tuple(layer.weight.shape) for layer in linear.layers] == [(T, 256, 7)]


def test_every_layer_and_every_trial_starts_with_weights_of_its_own() -> None:
    mlp = StackedMLP([6, 6, 6, 6], generator(), INIT, final_relu=False)
    weights = {tuple(w.flatten().tolist()) for layer in mlp.layers for w in layer.weight}
    assert len(weights) == 3 * T


@pytest.mark.parametrize("asked", [[2], [3, 0]])
def test_a_trials_initial_weights_do_not_depend_on_the_stack(asked: list[int]) -> None:
    for make in (
        lambda random: Encoder(N_CATEGORIES, random, INIT, width=12),
        lambda random: Head(6, 3, random, INIT, width=10),
    ):
        every, some = make(generator()), make(generator(asked))
        parameters = dict(some.named_parameters())
        assert len(parameters) in (4, 8)
        for name, parameter in every.named_parameters():
            assert torch.equal(parameters[name], parameter[asked])


def test_another_trials_loss_leaves_no_gradient() -> None:
    encoder = Encoder(N_CATEGORIES, generator(), INIT, width=12).double()
    encoder(torch.from_numpy(raw_features(11)))[1].sum().backward()
    for parameter in encoder.parameters():
        assert parameter.grad[[0, 2, 3]].abs().max() == 0
        assert parameter.grad[1].abs().max() > 0


def test_a_trial_computes_the_same_bits_alone_and_in_a_stack() -> None:
    raw = torch.from_numpy(raw_features(128)).float()
    whole = Encoder(N_CATEGORIES, generator(), INIT)
    out = whole(raw)
    for trial in range(T):
        alone = Encoder(N_CATEGORIES, generator([trial]), INIT)
        assert_same_numbers(alone(raw[[trial]])[0], out[trial])
