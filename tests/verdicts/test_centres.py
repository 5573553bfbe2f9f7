"""The median table: against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.intervals import FEWEST_TABLES
from scarf_lightning.verdicts.centres import (
    median_gain,
    median_levels,
)


def gains_of(seed: int, n: int, mean: float = 0.01, spread: float = 0.03) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, size=n)


@given(seed=st.integers(0, 1000), n=st.integers(FEWEST_TABLES, 70), level=st.sampled_from([0.8, 0.95]))
@settings(max_examples=15)
def test_the_median_has_the_exact_interval_of_scipy(seed: int, n: int, level: float) -> None:
    gains = gains_of(seed, n)

    median, low, high = median_gain(gains, level=level)

    expected = stats.quantile_test(gains, q=0, p=0.5).confidence_interval(level)
    assert median == np.median(gains)
    assert (low, high) == (expected.low, expected.high)


@given(seed=st.integers(0, 1000), n=st.integers(FEWEST_TABLES, 40), decimals=st.integers(1, 5))
@settings(max_examples=15)
def test_a_value_lies_in_the_medians_interval_where_its_test_does_not_reject_it(
    seed: int, n: int, decimals: int
) -> None:
    """Also with ties, of gains that are rounded."""
    gains = gains_of(seed, n).round(decimals)

    _, low, high = median_gain(gains)

    for value in (*gains, *np.linspace(gains.min(), gains.max(), 9)):
        assert (low <= value <= high) == (min(median_levels(gains, float(value))) > 0.025)


def test_the_medians_levels_are_those_of_the_sign_test_and_ties_speak_for_neither() -> None:
    gains = gains_of(1, 34)
    above = stats.binomtest(int((gains > 0).sum()), 34, 0.5, alternative="greater").pvalue
    assert median_levels(gains, 0.0)[0] == pytest.approx(above)
    assert median_levels(-gains, 0.0) == median_levels(gains, 0.0)[::-1]
    # Twenty tables gain, fourteen are equal: the median may be zero.
    assert median_levels(np.repeat([0.0, 0.1], [14, 20]), 0.0)[0] > 0.05
    assert median_levels(np.zeros(20), 0.0) == (1.0, 1.0)
    assert median_gain(np.array([0.01, 0.02, 0.04, 0.05, 0.03])) == (
        pytest.approx(0.03), pytest.approx(math.nan, nan_ok=True), pytest.approx(math.nan, nan_ok=True)
    )  # fmt: skip
    assert median_gain(np.full(8, 0.25)) == (0.25, 0.25, 0.25)
    for level, fewest in ((0.95, 6), (0.975, 7), (0.99, 8)):
        assert median_gain(np.arange(fewest), level=level)[1:] == (0, fewest - 1)
        assert np.isnan(median_gain(np.arange(fewest - 1), level=level)[1:]).all(), "nothing is rejected"
