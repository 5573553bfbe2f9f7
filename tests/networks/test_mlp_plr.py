import inspect
import math

import pytest
import torch

from scarf_lightning.networks import Columns, Dropout, ReLUNetwork
from scarf_lightning.networks.mlp_plr import MLPPLR, Periodic
from scarf_lightning.networks.numeric import WithNumericEmbeddings
from tests.networks.in_a_stack import KINDS_OF_TABLES, assert_lifted_is_a_loop, assert_same, make_table, train

COLUMNS = Columns((3, 0, 1, 0))
SMALL = {"width": 9, "depth": 2, "frequency_scale": 0.3}


@pytest.mark.parametrize("kind", ["every kind of column", "one number", "categories"])
@pytest.mark.parametrize("sizes", [{"frequencies": 5, "embedding": 3}, {"frequencies": 1, "embedding": 2}])
def test_a_trial_alone_is_that_trial_among_four(kind: str, sizes: dict[str, int]) -> None:
    network, table = MLPPLR(**SMALL, **sizes), make_table(KINDS_OF_TABLES[kind])
    assert_same(train(network, table, [2]), train(network, table, [0, 1, 2, 3]))


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_it_is_a_loop_over_single_networks(kind: str) -> None:
    assert_lifted_is_a_loop(MLPPLR(**SMALL, frequencies=4, embedding=3), Columns(KINDS_OF_TABLES[kind]))


def test_it_is_the_papers_equations() -> None:
    """Section 3.3, one number after the other; categories pass as they are, behind the numbers."""
    module = MLPPLR(**SMALL, frequencies=4, embedding=3).build(COLUMNS, None).double()
    assert isinstance(module, WithNumericEmbeddings)
    periodic, linear = module.embedding
    x = torch.randn(5, COLUMNS.n_encoded, dtype=torch.float64)
    rows = []
    for row in x:
        parts = []
        for feature, column in enumerate((3, 5)):
            angles = [2 * math.pi * c.item() * row[column].item() for c in periodic.frequency[feature]]
            encoded = torch.tensor([*map(math.cos, angles), *map(math.sin, angles)], dtype=torch.float64)
            parts.append((encoded @ linear.weight[feature] + linear.bias[feature]).clamp_min(0))
        rows.append(torch.cat([*parts, row[[0, 1, 2, 4]]]))
    torch.testing.assert_close(module(x), module.network(torch.stack(rows)), rtol=1e-12, atol=1e-12)


def test_it_is_the_authors_package() -> None:
    authors = pytest.importorskip("rtdl_num_embeddings")
    theirs = authors.PeriodicEmbeddings(2, 3, n_frequencies=4, frequency_init_scale=0.3, lite=False)
    ours = MLPPLR(**SMALL, frequencies=4, embedding=3).build(COLUMNS, None).embedding
    with torch.no_grad():
        theirs.periodic.weight.copy_(ours[0].frequency)
        theirs.linear.weight.copy_(ours[1].weight)
        theirs.linear.bias.copy_(ours[1].bias)
    x = torch.randn(8, 2)
    torch.testing.assert_close(ours(x), theirs(x))


def test_its_defaults_are_those_of_the_authors_package() -> None:
    authors = pytest.importorskip("rtdl_num_embeddings")
    theirs = inspect.signature(authors.PeriodicEmbeddings).parameters
    ours = MLPPLR()
    assert (ours.frequencies, ours.frequency_scale, ours.embedding) == (
        theirs["n_frequencies"].default,
        theirs["frequency_init_scale"].default,
        theirs["d_embedding"].default,
    )


def test_frequencies_start_normal_and_within_three_deviations() -> None:
    torch.manual_seed(0)
    frequency = Periodic(50, 200, 0.2).frequency.detach()
    assert frequency.abs().max() <= 0.6
    assert frequency.std() == pytest.approx(0.2, rel=0.05)


def test_the_mlp_is_the_papers_and_takes_the_method_dropout() -> None:
    module = MLPPLR().build(COLUMNS, 0.4)
    assert isinstance(module.network, ReLUNetwork)
    widths = [(layer.in_features, layer.out_features) for layer in module.network.layers]
    assert widths == [(2 * 24 + 4, 256), (256, 256), (256, 256), (256, 256)]
    assert [part.rate for part in module.modules() if isinstance(part, Dropout)] == [0.4]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"frequencies": 0}, "frequencies"),
        ({"frequency_scale": 0.0}, "frequency_scale"),
        ({"embedding": 1}, "embedding"),
    ],
)
def test_bad_options_are_refused_by_name(options: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        MLPPLR(**options)
