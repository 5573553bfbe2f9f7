from decimal import Decimal

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scarf_lightning.corruption.selection import Bernoulli, Exact, Selection, Shared, largest, n_selected
from scarf_lightning.randomness import StackedGenerator


@pytest.mark.parametrize(
    ("rate", "n_features", "q"),
    [
        (0.6, 30, 18),
        (0.7, 180, 126),
        (0.6, 4, 2),
        (0.1, 4, 0),
        (0.9, 10, 9),
        (0.3, 10, 3),
        (1.0, 7, 7),
        (0.58, 100, 58),
    ],
)
def test_q_is_the_exact_floor(rate: float, n_features: int, q: int) -> None:
    """Algorithm 1, line 3."""
    assert n_selected(rate, n_features) == q


@given(hundredths=st.integers(1, 100), n_features=st.integers(1, 2000))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_q_agrees_with_decimal_arithmetic(hundredths: int, n_features: int) -> None:
    rate = Decimal(hundredths) / 100
    assert n_selected(float(rate), n_features) == int(rate * n_features)


@given(
    rate=st.sampled_from([0.1, 0.25, 0.5, 0.6, 0.9, 1.0]),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(1, 40)),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_exactly_q_features_of_every_row(rate: float, shape: tuple[int, int, int], seed: int) -> None:
    n_trials, n_rows, n_features = shape
    random = StackedGenerator([seed + t for t in range(n_trials)])
    mask = Exact().mask(rate, n_rows, n_features, random)
    assert mask.shape == shape
    assert (mask.sum(dim=-1) == n_selected(rate, n_features)).all()


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(1, 40)),
    n_values=st.sampled_from([1, 2, 5, 50, 10**6]),
    data=st.data(),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_largest_are_those_of_topk_also_where_some_are_equal(
    shape: tuple[int, int, int], n_values: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(0, shape[-1]))
    values = torch.randint(n_values, shape, generator=torch.Generator().manual_seed(n_values)) / n_values
    expected = torch.zeros(shape, dtype=torch.bool)
    for place in np.ndindex(*shape[:-1]):
        expected[place][values[place].topk(k, sorted=False).indices] = True
    assert torch.equal(largest(values, k), expected)


def test_sets_are_uniform_and_rows_independent() -> None:
    """All ten pairs among five features are equally likely, and a row's set says nothing of the next one's."""
    mask = Exact().mask(0.4, 20_000, 5, StackedGenerator([1]))[0]
    pairs = mask.double() @ torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0], dtype=torch.float64)
    _, counts = np.unique(pairs.numpy(), return_counts=True)
    assert len(counts) == 10
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    table = np.histogram2d(pairs[:-1:2].numpy(), pairs[1::2].numpy(), bins=[*np.unique(pairs.numpy()).tolist(), 25])[0]
    assert scipy.stats.chi2_contingency(table).pvalue > 1e-3


def test_trials_select_differently() -> None:
    mask = Exact().mask(0.5, 50, 10, StackedGenerator([1, 2]))
    assert not torch.equal(mask[0], mask[1])


class TestBernoulli:
    @pytest.mark.parametrize("rate", [0.01, 0.3, 0.6, 1.0])
    def test_at_least_one_feature_of_every_row(self, rate: float) -> None:
        mask = Bernoulli().mask(rate, 2000, 6, StackedGenerator([3, 4]))
        assert mask.any(dim=-1).all()

    def test_counts_are_binomial_but_for_the_empty_set(self) -> None:
        rate, n = 0.3, 20_000
        counts = Bernoulli().mask(rate, n, 5, StackedGenerator([1]))[0].sum(dim=-1)
        expected = scipy.stats.binom.pmf(np.arange(6), 5, rate)
        expected[1] += expected[0]  # the empty set becomes a set of one
        observed = np.bincount(counts.numpy(), minlength=6)
        assert observed[0] == 0
        assert scipy.stats.chisquare(observed[1:], expected[1:] * n).pvalue > 1e-3

    def test_every_feature_is_as_likely_and_independent(self) -> None:
        mask = Bernoulli().mask(0.6, 20_000, 5, StackedGenerator([2]))[0].numpy()
        assert scipy.stats.chisquare(mask.sum(axis=0)).pvalue > 1e-3
        correlation = np.corrcoef(mask.T)
        assert np.abs(correlation - np.eye(5)).max() < 0.05

    def test_the_forced_feature_is_uniform(self) -> None:
        mask = Bernoulli().mask(1e-6, 20_000, 5, StackedGenerator([2]))[0]
        assert (mask.sum(dim=-1) == 1).all()
        assert scipy.stats.chisquare(mask.sum(dim=0).numpy()).pvalue > 1e-3


class TestShared:
    def test_one_set_of_q_features_within_a_batch(self) -> None:
        mask = Shared().mask(0.6, 50, 10, StackedGenerator([1, 2]))
        assert mask.shape == (2, 50, 10)
        assert (mask.sum(dim=-1) == 6).all()
        assert (mask == mask[:, :1]).all()
        assert not torch.equal(mask[0], mask[1]), "each trial has its own"

    def test_another_set_for_the_next_batch(self) -> None:
        random = StackedGenerator([1])
        masks = [Shared().mask(0.5, 3, 10, random)[0, 0] for _ in range(20)]
        assert len({tuple(mask.tolist()) for mask in masks}) > 10


@pytest.mark.parametrize("selection", [Exact(), Bernoulli(), Shared()])
def test_a_trial_selects_alike_in_any_company(selection: Selection) -> None:
    alone = selection.mask(0.6, 9, 7, StackedGenerator([5]))
    among = selection.mask(0.6, 9, 7, StackedGenerator([4, 5, 6]))
    assert torch.equal(alone[0], among[1])
