import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from scarf_lightning.networks import Columns, Dropout
from scarf_lightning.networks.mlp_ple import MLPPLE, PiecewiseLinear
from tests.networks.in_a_stack import KINDS_OF_TABLES, assert_lifted_is_a_loop, assert_same, make_table, train

COLUMNS = Columns((3, 0, 1, 0))
SMALL = {"width": 9, "depth": 2}


@pytest.mark.parametrize("kind", ["every kind of column", "one number", "categories"])
@pytest.mark.parametrize("sizes", [{"bins": 5, "embedding": 3}, {"bins": 2, "embedding": 2}])
def test_a_trial_alone_is_that_trial_among_four(kind: str, sizes: dict[str, int]) -> None:
    network, table = MLPPLE(**SMALL, **sizes), make_table(KINDS_OF_TABLES[kind])
    assert_same(train(network, table, [2]), train(network, table, [0, 1, 2, 3]))


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_it_is_a_loop_over_single_networks(kind: str) -> None:
    assert_lifted_is_a_loop(MLPPLE(**SMALL, bins=4, embedding=3), Columns(KINDS_OF_TABLES[kind]))


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


def quantile(ordered: list[float], share: Fraction) -> float:
    """By linear interpolation between the two rows around it."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + float(place - below) * (ordered[above] - ordered[below])


@given(
    values=st.lists(st.integers(-3, 3), min_size=2, max_size=30),
    asked=st.lists(st.floats(-6, 6), min_size=1, max_size=5),
    bins=st.integers(1, 6),
)
def test_it_is_the_papers_equation(values: list[int], asked: list[float], bins: int) -> None:
    """With ties, with fewer distinct quantiles than bins, and with numbers beyond the edges."""
    encoding = PiecewiseLinear(2, bins).double()
    other = [value * 1.5 for value in values]
    encoding.fit(torch.tensor([values, other], dtype=torch.float64).T)
    got = encoding(torch.tensor([asked, asked], dtype=torch.float64).T)
    for feature, column in enumerate((values, other)):
        edges = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)))
        expected = [encode(x, edges, bins) for x in asked]
        np.testing.assert_allclose(got[:, feature], expected, rtol=1e-9, atol=1e-9)


def test_it_is_the_authors_package() -> None:
    authors = pytest.importorskip("rtdl_num_embeddings")
    random = torch.Generator().manual_seed(0)
    rows, x = torch.randn(60, 3, generator=random), torch.randn(9, 3, generator=random) * 2
    rows[:, 1] = rows[:, 1].round()
    theirs = authors.PiecewiseLinearEncoding(authors.compute_bins(rows, n_bins=8))
    ours = PiecewiseLinear(3, 8)
    ours.fit(rows)
    got = ours(x).flatten(1)
    torch.testing.assert_close(got[:, got.abs().sum(dim=0) > 0], without_zeros(theirs(x)))


def without_zeros(encoded: Tensor) -> Tensor:
    return encoded[:, encoded.abs().sum(dim=0) > 0]


def test_bins_are_those_of_the_trials_training_rows_and_travel_with_the_weights() -> None:
    network, table = MLPPLE(**SMALL, bins=4, embedding=3), make_table((0, 0, 3))
    trained = train(network, table, [0, 1])
    starts = {phase: fit.weights for phase, fit in (("pre", trained.pretraining), ("fine", trained.finetuning))}
    pretrained = starts["pre"]["encoder.body.network.embedding.0.start"]
    assert pretrained.shape == (2, 2, 4)
    assert not torch.equal(pretrained[0], pretrained[1])
    assert torch.equal(starts["fine"]["classifier.encoder.body.network.embedding.0.start"], pretrained)


def test_a_constant_column_tells_nothing() -> None:
    encoding = PiecewiseLinear(1, 4)
    encoding.fit(torch.zeros(9, 1))
    assert torch.equal(encoding(torch.tensor([[0.0], [5.0], [-5.0]])), torch.zeros(3, 1, 4))


def test_the_mlp_takes_the_method_dropout() -> None:
    module = MLPPLE().build(COLUMNS, 0.4)
    assert [part.rate for part in module.modules() if isinstance(part, Dropout)] == [0.4]
    assert module.network.layers[0].in_features == 2 * 24 + 4


@pytest.mark.parametrize("options", [{"bins": 1}, {"embedding": 1}, {"width": 0}, {"depth": 0}])
def test_bad_options_are_refused_by_name(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        MLPPLE(**options)
