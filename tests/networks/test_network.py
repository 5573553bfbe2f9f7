"""Columns of a table, and the layers that networks share, against those of torch."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.preprocessing import OneHotEncoder
from torch import nn

from scarf_lightning.networks import BatchNorm, Columns, Dropout, OneHot, initialise
from scarf_lightning.randomness import StackedGenerator
from tests.networks.in_a_stack import KINDS_OF_TABLES, make_table


@pytest.mark.parametrize("n_categories", KINDS_OF_TABLES.values(), ids=KINDS_OF_TABLES)
def test_columns_are_those_of_the_table(n_categories: tuple[int, ...]) -> None:
    table = make_table(n_categories)

    columns = Columns.of(table.columns)

    assert (columns.n_categories, columns.gaps) == (n_categories, ())
    assert columns.n_encoded == table.n_encoded


@pytest.mark.parametrize(
    ("n_categories", "gaps", "numeric", "categorical", "owners"),
    [
        ((0, 3, 0, 1), (), [0, 4], [slice(1, 4), slice(5, 6)], [0, 1, 1, 1, 2, 3]),
        ((0, 3, 0), (True, False, False), [0, 5], [slice(1, 2), slice(2, 5)], [0, 0, 1, 1, 1, 2]),
    ],
)
def test_encoded_columns_of_each_feature(
    n_categories: tuple[int, ...],
    gaps: tuple[bool, ...],
    numeric: list[int],
    categorical: list[slice],
    owners: list[int],
) -> None:
    """A number that shows its gaps has two columns."""
    columns = Columns(n_categories, gaps=gaps)
    assert (columns.n_features, columns.n_encoded) == (len(n_categories), len(owners))
    assert (columns.numeric, columns.categorical, columns.owners) == (numeric, categorical, owners)
    for feature in range(columns.n_features):
        assert [place for place, owner in enumerate(owners) if owner == feature] == [*columns.encoded_columns(feature)]


def raw_features(n_categories: list[int], n_rows: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    columns = [random.integers(count, size=n_rows) if count else random.normal(size=n_rows) for count in n_categories]
    return np.column_stack(columns).astype(np.float64)


def encoded_by_scikit_learn(x: np.ndarray, n_categories: list[int]) -> np.ndarray:
    parts = []
    for column, count in zip(x.T[:, :, None], n_categories, strict=True):
        known = [np.arange(count, dtype=np.float64)]
        parts.append(OneHotEncoder(categories=known, sparse_output=False).fit_transform(column) if count else column)
    return np.concatenate(parts, axis=1)


@given(
    n_categories=st.lists(st.sampled_from([0, 0, 1, 2, 3, 7]), min_size=1, max_size=6),
    n_rows=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_columns_are_encoded_as_by_scikit_learn(n_categories: list[int], n_rows: int, seed: int) -> None:
    x = raw_features(n_categories, n_rows, seed)
    expected = encoded_by_scikit_learn(x, n_categories)
    one_hot = OneHot(n_categories)
    encoded = one_hot(torch.from_numpy(x))
    assert expected.shape[1] == sum(max(count, 1) for count in n_categories)
    assert (encoded.numpy() == expected).all()


RATE = 0.3


def test_units_are_left_out_at_the_rate_and_the_others_scaled_up() -> None:
    dropout = Dropout(RATE)
    dropout.random = StackedGenerator([1, 2])
    out = dropout(torch.full((2, 500, 40), 7.0))
    kept = out != 0
    assert torch.equal(out[kept], torch.full((2, 500, 40), 7.0)[kept] / (1 - RATE))
    for trial in kept:
        assert trial.float().mean().item() == pytest.approx(1 - RATE, abs=0.015)  # four standard errors
    assert not torch.equal(kept[0], kept[1])


def test_alone_it_is_torchs() -> None:
    x = torch.ones(1000, 10)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        found = Dropout(RATE)(x)
        torch.manual_seed(0)
        expected = torch.nn.functional.dropout(x, RATE)
    assert torch.equal(found, expected)


def test_under_vmap_a_trials_masks_and_gradients_are_those_that_it_has_alone() -> None:
    x = torch.randn(4, 6, 5, requires_grad=True)
    among, alone = Dropout(RATE), Dropout(RATE)
    among.random = StackedGenerator([11, 12, 13, 14])
    alone.random = StackedGenerator([13])
    whole = torch.vmap(among)(x)
    whole.sum().backward()
    assert torch.equal(x.grad, torch.where(whole != 0, 1 / (1 - RATE), 0.0))
    assert torch.equal(torch.vmap(alone)(x[[2]])[0], whole[2])
    among.random.reset()
    assert torch.equal(among(x), whole), "with and without vmap alike"


@given(width=st.integers(1, 5), n=st.integers(2, 9), momentum=st.floats(0.01, 0.9), seed=st.integers(0, 99))
def test_it_is_torchs_layer(width: int, n: int, momentum: float, seed: int) -> None:
    """Outputs and gradients of three steps, and outputs in evaluation after them."""
    torch.manual_seed(seed)
    ours = BatchNorm(width, momentum=momentum).double()
    theirs = nn.BatchNorm1d(width, momentum=momentum).double()
    with torch.no_grad():
        theirs.weight.copy_(ours.weight.normal_())
        theirs.bias.copy_(ours.bias.normal_())
    x = torch.randn(n, width, dtype=torch.float64, requires_grad=True)
    for step in range(3):
        results = [layer((step + 1) * x + step) for layer in (ours, theirs)]
        torch.testing.assert_close(*results)
        probe = torch.randn_like(x)
        of_both = [
            torch.autograd.grad((out * probe).sum(), [x, layer.weight, layer.bias])
            for out, layer in zip(results, (ours, theirs), strict=True)
        ]
        torch.testing.assert_close(*of_both)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))


N_IN, N_OUT = 150, 60
BOUNDS = {
    "glorot_uniform": math.sqrt(6 / (N_IN + N_OUT)),
    "he_uniform": math.sqrt(6 / N_IN),
    "lecun_uniform": math.sqrt(3 / N_IN),
    "pytorch": 1 / math.sqrt(N_IN),
}


def drawn(scheme: str, n_in: int = N_IN, n_out: int = N_OUT, seed: int = 1) -> nn.Linear:
    layer = nn.Linear(n_in, n_out)
    initialise(layer, scheme, torch.Generator().manual_seed(seed))
    return layer


@pytest.mark.parametrize("scheme", BOUNDS)
def test_weights_are_uniform_within_their_bound(scheme: str) -> None:
    weight, bound = drawn(scheme).weight.detach(), BOUNDS[scheme]
    assert weight.abs().max() <= bound * (1 + 1e-6)
    assert weight.min() < -0.999 * bound
    assert weight.max() > 0.999 * bound
    # The sample variance of n uniform draws has a relative deviation of sqrt(0.8 / n).
    assert weight.var().item() == pytest.approx(bound**2 / 3, rel=5 * math.sqrt(0.8 / weight.numel()))
    assert stats.kstest(weight.flatten().numpy() / bound, stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("scheme", "variance"), [("glorot_normal", 2 / (N_IN + N_OUT)), ("he_normal", 2 / N_IN)])
def test_weights_are_normal_and_cut_and_have_the_variance_of_the_scheme(scheme: str, variance: float) -> None:
    weight = drawn(scheme).weight.detach().flatten().double().numpy()
    cut = stats.truncnorm(-2, 2)
    assert weight.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / weight.size))
    assert stats.kstest(weight / math.sqrt(variance) * cut.std(), cut.cdf).pvalue > 1e-3
    assert abs(weight).max() <= 2 * math.sqrt(variance) / cut.std() * (1 + 1e-6)
