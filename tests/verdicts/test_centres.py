"""The median table and the mean over tables: against SciPy, on measured gains, and what lies outside."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.verdicts.centres import (
    FEWEST_DATASETS,
    FEWEST_TABLES,
    UNSEEN,
    mean_gain,
    mean_levels,
    median_gain,
    median_levels,
)
from tools.benchmarks.calibration import gains_of_study


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


def test_few_datasets_have_no_mean_interval_and_equal_ones_no_width() -> None:
    few, low, high = mean_gain(np.arange(FEWEST_DATASETS - 1.0))

    assert few == pytest.approx((FEWEST_DATASETS - 2) / 2)
    assert math.isnan(low)
    assert math.isnan(high)
    assert mean_levels(np.full(FEWEST_DATASETS - 1, 0.1), 0.0) == (1.0, 1.0)
    assert mean_gain(np.full(30, 0.25)) == (0.25, 0.25, 0.25)
    assert mean_levels(np.full(30, 0.25), 0.0) == (0.0, 1.0)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_means_interval_is_never_narrower_than_students_and_reaches_to_the_side_of_the_tail(level: float) -> None:
    gains = np.random.default_rng(3).exponential(size=FEWEST_DATASETS)
    stricter = 1 - (1 - level) / UNSEEN
    student = stats.t.interval(stricter, len(gains) - 1, loc=gains.mean(), scale=stats.sem(gains))

    mean, low, high = mean_gain(gains, level=level)
    mirrored = mean_gain(-gains, level=level)

    assert mean == pytest.approx(gains.mean())
    assert low == pytest.approx(student[0])
    assert high > student[1] + 0.05
    assert mirrored == pytest.approx((-mean, -high, -low))


@pytest.mark.parametrize("skewed", [False, True])
def test_the_means_levels_agree_with_its_interval(skewed: bool) -> None:
    gains = np.random.default_rng(3).exponential(size=31) if skewed else gains_of(3, 31)

    mean, low, high = mean_gain(gains)

    width = high - low
    for value in np.linspace(low - width / 4, high + width / 4, 12):
        assert (low <= value <= high) == (min(mean_levels(gains, float(value))) > 0.025), value
    assert mean_levels(gains, mean)[0] > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("competitor", ["SCARF", "RealMLP with SCARF, corruption.rate=0.3"])
def test_neither_claims_a_direction_too_often_on_measured_gains_shifted_to_zero(competitor: str) -> None:
    """Tables drawn from gains on 34, of which three in four are near zero."""
    gains, _ = gains_of_study(competitor, "20")
    random = np.random.default_rng(0)
    false_median = false_mean = 0
    draws = 400
    for _ in range(draws):
        drawn = random.choice(gains, len(gains))
        false_median += 2 * min(median_levels(drawn, float(np.median(gains)))) <= 0.05
        false_mean += 2 * min(mean_levels(drawn, float(gains.mean()))) <= 0.05

    error = math.sqrt(0.05 * 0.95 / draws)
    assert false_median / draws <= 0.05 + 2 * error
    assert false_mean / draws <= 0.05 + 2 * error
