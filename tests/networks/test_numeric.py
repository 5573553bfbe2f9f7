import math

import pytest
import torch
from torch import nn

from scarf_lightning.networks.numeric import LinearReLUPerFeature

N_FEATURES, N_IN, N_OUT = 60, 25, 50


def test_every_feature_starts_as_a_linear_layer_of_torchs() -> None:
    """Uniform within 1 / sqrt(inputs), weights and biases."""
    torch.manual_seed(0)
    layer, plain = LinearReLUPerFeature(N_FEATURES, N_IN, N_OUT), nn.Linear(N_IN, 60 * N_OUT)
    for ours, theirs in ((layer.weight, plain.weight), (layer.bias, plain.bias)):
        assert ours.abs().max() <= 0.2 * (1 + 1e-6)
        assert ours.min() < -0.199
        assert ours.max() > 0.199
        # The sample variance of n uniform draws has a relative deviation of sqrt(0.8 / n).
        for drawn in (ours, theirs):
            assert drawn.var().item() == pytest.approx(0.2**2 / 3, rel=5 * math.sqrt(0.8 / drawn.numel()))


def test_each_feature_has_a_layer_of_its_own() -> None:
    torch.manual_seed(0)
    layer, x = LinearReLUPerFeature(3, 2, 4), torch.randn(7, 3, 2)
    for feature in range(3):
        alone = nn.functional.linear(x[:, feature], layer.weight[feature].T, layer.bias[feature]).relu()
        torch.testing.assert_close(layer(x)[:, feature], alone)
