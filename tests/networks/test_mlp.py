"""The paper's network, with and without embeddings of numbers, against the equations and the authors' packages."""

import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from scarf_lightning.networks import Columns, Dropout, Network, ReLUNetwork
from scarf_lightning.networks.mlp import (
    MLP,
    MLPPLE,
    MLPPLR,
    LinearReLUPerFeature,
    PiecewiseLinear,
)
from tests.networks.in_a_stack import KINDS_OF_TABLES, assert_alone_is_among, assert_lifted_is_a_loop, make_table, train
from tests.stacks import normal


def plain(network: ReLUNetwork, *, is_encoder: bool) -> nn.Sequential:
    parts: list[nn.Module] = []
    for layer in network.layers:
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts if is_encoder else parts[:-1])


@pytest.mark.parametrize("is_encoder", [False, True])
@pytest.mark.parametrize("widths", [[3, 2], [5, 8, 7, 3]])
def test_linear_layers_with_a_relu_between_them(widths: list[int], is_encoder: bool) -> None:
    """Its gradients are those of layers that overwrite nothing."""
    network = ReLUNetwork(widths, is_encoder=is_encoder).double()
    x, parameters = normal(6, widths[0]).requires_grad_(), list(network.parameters())
    outputs = network(x), plain(network, is_encoder=is_encoder)(x)
    assert torch.equal(*outputs)
    gradients = (torch.autograd.grad(output.square().sum(), [x, *parameters]) for output in outputs)
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_the_papers_encoder_has_its_layers() -> None:
    network = MLP().build(Columns((0, 3, 0, 1, 5)), None)
    assert [(layer.in_features, layer.out_features) for layer in network.layers] == [(11, 256), *[(256, 256)] * 3]
    assert network.is_encoder
    assert MLP(width=4, depth=1).build(Columns((0,)), None)(torch.ones(3, 1)).shape == (3, 4)


N_FEATURES, N_IN, N_OUT = 60, 25, 50


def test_every_feature_starts_as_a_linear_layer_of_torchs() -> None:
    """Uniform within 1 / sqrt(inputs), weights and biases."""
    torch.manual_seed(0)
    layer = LinearReLUPerFeature(N_FEATURES, N_IN, N_OUT)
    for drawn in (layer.weight, layer.bias):
        assert 0.199 < drawn.abs().max() <= 0.2 * (1 + 1e-6)
        # The sample variance of n uniform draws has a relative deviation of sqrt(0.8 / n).
        assert drawn.var().item() == pytest.approx(0.2**2 / 3, rel=5 * math.sqrt(0.8 / drawn.numel()))


COLUMNS = Columns((3, 0, 1, 0))
PLE_SMALL = {"width": 9, "depth": 2}
SMALL = {**PLE_SMALL, "frequency_scale": 0.3}


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        (MLPPLR(**SMALL, frequencies=5, embedding=3), "every kind of column"),
        (MLPPLR(**SMALL, frequencies=1, embedding=2), "one number"),
        (MLPPLE(**PLE_SMALL, bins=5, embedding=3), "every kind of column"),
        (MLPPLE(**PLE_SMALL, bins=2, embedding=2), "categories"),
    ],
)
def test_a_trial_alone_is_that_trial_among_three(network: Network, kind: str) -> None:
    assert_alone_is_among(network, make_table(KINDS_OF_TABLES[kind]))


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
@pytest.mark.parametrize(
    "network", [MLPPLR(**SMALL, frequencies=4, embedding=3), MLPPLE(**PLE_SMALL, bins=4, embedding=3)]
)
def test_it_is_a_loop_over_single_networks(network: Network, kind: str) -> None:
    assert_lifted_is_a_loop(network, Columns(KINDS_OF_TABLES[kind]))


def test_it_is_the_authors_package_with_its_defaults() -> None:
    authors = pytest.importorskip("rtdl_num_embeddings")
    theirs = authors.PeriodicEmbeddings(2, 3, n_frequencies=4, frequency_init_scale=0.3, lite=False)
    ours = MLPPLR(**SMALL, frequencies=4, embedding=3).build(COLUMNS, None).embedding
    with torch.no_grad():
        theirs.periodic.weight.copy_(ours[0].frequency)
        theirs.linear.weight.copy_(ours[1].weight)
        theirs.linear.bias.copy_(ours[1].bias)
    x = torch.randn(8, 2)
    torch.testing.assert_close(ours(x), theirs(x))
    defaults, usual = inspect.signature(authors.PeriodicEmbeddings).parameters, MLPPLR()
    assert (usual.frequencies, usual.embedding) == tuple(defaults[n].default for n in ("n_frequencies", "d_embedding"))
    assert usual.frequency_scale == 10 * defaults["frequency_init_scale"].default


@pytest.mark.parametrize("network", [MLPPLR(), MLPPLE()], ids=lambda each: each.name)
def test_the_mlp_is_the_papers_and_takes_the_method_dropout(network: Network) -> None:
    module = network.build(COLUMNS, 0.4)
    assert isinstance(module.network, ReLUNetwork)
    widths = [(layer.in_features, layer.out_features) for layer in module.network.layers]
    assert widths == [(2 * 24 + 4, 256), (256, 256), (256, 256), (256, 256)]
    assert [part.rate for part in module.modules() if isinstance(part, Dropout)] == [0.4]


def encode(x: float, edges: np.ndarray, n_bins: int) -> list[float]:
    """Equation 1 of the paper for one number."""
    out = [0.0] * n_bins
    last = len(edges) - 1
    for t in range(1, last + 1):
        if x < edges[t - 1] and t > 1:
            out[t - 1] = 0.0
        elif x >= edges[t] and t < last:
            out[t - 1] = 1.0
        else:
            out[t - 1] = (x - edges[t - 1]) / (edges[t] - edges[t - 1])
    return out


@given(
    values=st.lists(st.integers(-3, 3), min_size=2, max_size=30),
    points=st.lists(st.floats(-6, 6), min_size=1, max_size=5),
    bins=st.integers(1, 6),
)
def test_it_is_the_papers_equation(values: list[int], points: list[float], bins: int) -> None:
    """With ties, with fewer distinct quantiles than bins, and with numbers beyond the edges."""
    encoding = PiecewiseLinear(2, bins).double()
    other = [value * 1.5 for value in values]
    encoding.fit(torch.tensor([values, other], dtype=torch.float64).T)
    got = encoding(torch.tensor([points, points], dtype=torch.float64).T)
    for feature, column in enumerate((values, other)):
        edges = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)))
        expected = [encode(x, edges, bins) for x in points]
        np.testing.assert_allclose(got[:, feature], expected, rtol=1e-9, atol=1e-9)


def test_bins_are_those_of_the_trials_training_rows_and_travel_with_the_weights() -> None:
    network, table = MLPPLE(**PLE_SMALL, bins=4, embedding=3), make_table((0, 0, 3))
    pretraining, finetuning, _ = train(network, table, [0, 1])
    pretrained = pretraining.weights["encoder.body.network.embedding.0.start"]
    assert pretrained.shape == (2, 2, 4)
    assert not torch.equal(pretrained[0], pretrained[1])
    assert torch.equal(finetuning.weights["classifier.encoder.body.network.embedding.0.start"], pretrained)
