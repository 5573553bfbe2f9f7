import pytest
import torch
from torch import nn

from scarf_lightning.networks import BatchNorm, Columns, Dropout
from scarf_lightning.networks.resnet import ResNet
from tests.networks.in_a_stack import KINDS_OF_TABLES, assert_lifted_is_a_loop, assert_same, make_table, train

COLUMNS = Columns((0, 3, 0))


@pytest.mark.parametrize("width", [16, 12, 1])
def test_a_trial_alone_is_that_trial_among_four(width: int) -> None:
    network, table = ResNet(width=width, hidden_factor=1.7), make_table((0, 4, 0, 1))
    assert_same(train(network, table, [2]), train(network, table, [0, 1, 2, 3]))


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_it_is_a_loop_over_single_networks(kind: str) -> None:
    assert_lifted_is_a_loop(ResNet(width=6, depth=2, hidden_dropout=0.0), Columns(KINDS_OF_TABLES[kind]))


@pytest.mark.parametrize("training", [True, False])
def test_it_is_the_papers_equations(training: bool) -> None:
    """Section 3.2, with torch's own batch normalisation."""
    module = ResNet(width=6, depth=2, hidden_factor=1.5, hidden_dropout=0.0).build(COLUMNS, None).double()
    x = torch.randn(20, COLUMNS.n_encoded, dtype=torch.float64)
    module(x + 1)  # moves the running statistics from where they start
    first, *blocks, norm, _ = module.train(training)
    assert len(blocks) == 2

    expected = first(x)
    for block in blocks:
        hidden = nn.functional.linear(torchs(block.norm)(expected), block.widen.weight, block.widen.bias).relu()
        assert hidden.shape == (20, 9)
        expected = expected + nn.functional.linear(hidden, block.narrow.weight, block.narrow.bias)
    expected = torchs(norm)(expected).relu()

    torch.testing.assert_close(module(x), expected, rtol=1e-12, atol=1e-12)


def torchs(norm: BatchNorm) -> nn.BatchNorm1d:
    """The built-in layer in the state of ours."""
    layer = nn.BatchNorm1d(len(norm.weight)).double().train(norm.training)
    layer.load_state_dict(
        {
            "weight": norm.weight,
            "bias": norm.bias,
            "running_mean": norm.mean,
            "running_var": norm.variance,
            "num_batches_tracked": torch.tensor(1),
        }
    )
    return layer


def test_the_method_dropout_sets_the_rate_of_hidden_units() -> None:
    rates = [part.rate for part in ResNet(depth=1).build(COLUMNS, 0.4).modules() if isinstance(part, Dropout)]
    assert rates == [0.4, 0.0]
    rates = [part.rate for part in ResNet(depth=1).build(COLUMNS, None).modules() if isinstance(part, Dropout)]
    assert rates == [0.15, 0.0]


def test_a_hidden_layer_without_units_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden_factor must leave a hidden layer of at least one unit"):
        ResNet(hidden_factor=0.001)
