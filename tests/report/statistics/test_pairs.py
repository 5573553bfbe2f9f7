import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.report.statistics import TEST_TO_TRAIN, TTest, holm, paired_test, welch_test

RANDOM = np.random.default_rng(4)
FIRST = RANDOM.normal(0.80, 0.02, (6, 9))
SECOND = RANDOM.normal(0.81, 0.05, (6, 9))


def welch(first: np.ndarray, second: np.ndarray) -> TTest:
    summaries = [(x.mean(axis=-1), x.var(axis=-1, ddof=1), x.shape[-1]) for x in (first, second)]
    return welch_test(*summaries[0], *summaries[1])


@pytest.mark.parametrize("trials", [9, 4, 2])
def test_welch_equals_scipy(trials: int) -> None:
    found = welch(FIRST, SECOND[:, :trials])
    expected = stats.ttest_ind(FIRST, SECOND[:, :trials], axis=1, equal_var=False)

    np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(found.df, expected.df, rtol=1e-12)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-12)


def test_welch_by_hand() -> None:
    # Errors 1/2 and 1/2 add up to 1; df = 1 / (0.25/1 + 0.25/1) = 2; for two degrees p = 1 - t / sqrt(2 + t^2).
    found = welch_test(3.0, 1.0, 2, 1.0, 1.0, 2)

    assert (found.statistic, found.df) == (2.0, 2.0)
    assert found.p == pytest.approx(1 - 2 / math.sqrt(6), rel=1e-12)


@pytest.mark.parametrize(("other", "p"), [(0.1, 1.0), (0.2, 0.0)])
def test_two_constant_samples_tie_if_equal_and_else_are_decided(other: float, p: float) -> None:
    assert welch(np.full(3, 0.1), np.full(7, other)).p == p  # 0.1 summed 3 and 7 times: means that differ in a last bit


def test_one_constant_sample_leaves_a_one_sample_test() -> None:
    found = welch(FIRST[0], np.full(5, 0.79))

    assert found.p == pytest.approx(stats.ttest_1samp(FIRST[0], 0.79).pvalue, rel=1e-9)


def test_a_single_trial_cannot_be_tested() -> None:
    for n, n2 in [(1, 30), (30, 1), (1, 1), (0, 30)]:
        assert np.isnan(welch_test(0.9, 0.01, n, 0.8, 0.01, n2)).all()


def test_paired_equals_scipy_over_the_trials_in_common() -> None:
    first, second = FIRST.copy(), SECOND.copy()
    first[0, 2] = second[0, 5] = second[1, :4] = np.nan

    found = paired_test(first, second)

    expected = stats.ttest_rel(first, second, axis=1, nan_policy="omit")
    np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-12)
    np.testing.assert_array_equal(found.df, [6, 4, 8, 8, 8, 8])


def test_corrected_by_hand() -> None:
    # Differences 1 to 5: mean 3, variance 2.5, factor 1/5 + 1/4, so t = 3 / sqrt(1.125) = 2 sqrt(2). For four degrees
    # p = 1 - s (1 + c^2 / 2), where tan = t / sqrt(4), so s^2 = 2/3 and c^2 = 1/3.
    found = paired_test(np.arange(1.0, 6) + 10, np.full(5, 10.0), test_to_train=0.25)

    assert found.statistic == pytest.approx(2 * math.sqrt(2), rel=1e-12)
    assert found.df == 4
    assert found.p == pytest.approx(1 - math.sqrt(2 / 3) * 7 / 6, rel=1e-12)


def test_corrected_shrinks_the_statistic_by_the_factor_of_the_variance() -> None:
    plain, corrected = paired_test(FIRST, SECOND), paired_test(FIRST, SECOND, test_to_train=TEST_TO_TRAIN)

    np.testing.assert_allclose(corrected.statistic, plain.statistic / math.sqrt(1 + 9 * 20 / 70), rtol=1e-12)


@pytest.mark.parametrize(("shift", "p"), [(0.0, 1.0), (0.1, 0.0)])
def test_equal_differences_tie_if_zero_and_else_are_decided(shift: float, p: float) -> None:
    assert paired_test(FIRST[0] + shift, FIRST[0]).p == p


@pytest.mark.parametrize(("part", "p"), [(3e-13, 1.0), (3e-12, 0.0), (1e-9, 0.0)])
def test_a_difference_below_a_million_millionth_of_the_means_is_rounding(part: float, p: float) -> None:
    """Both tests, at both ends of the scale that accuracies and losses have."""
    for mean in (0.8, 1e-6, 1e4):
        assert welch(np.full(3, mean), np.full(3, mean * (1 + part))).p == p
        assert paired_test(np.full(3, mean), np.full(3, mean * (1 + part))).p == p


def test_a_spread_is_rounding_by_the_larger_mean() -> None:
    """Whichever comes first; by the smaller mean, a zero, no spread would be."""
    nearly_equal, zeros = np.array([1.0, 1.0 + 1e-13]), np.zeros(2)
    assert welch(nearly_equal, zeros).p == welch(zeros, nearly_equal).p == 0
    assert welch(np.array([1.0, 1.0 + 1e-11]), zeros).p > 0


def test_one_trial_in_common_cannot_be_paired() -> None:
    found = paired_test(np.array([0.5, 0.6, np.nan]), np.array([np.nan, 0.5, 0.6]))

    assert np.isnan(found).all()


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),  # R: p.adjust(p, "holm")
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([0.02, math.nan, 0.01], [0.02, math.nan, 0.02]),
    ],
)
def test_holm_by_hand(raw: list[float], adjusted: list[float]) -> None:
    np.testing.assert_allclose(holm(raw), adjusted, rtol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_the_raw_and_bonferroni_and_keeps_the_order(raw: list[float]) -> None:
    p, adjusted = np.array(raw), holm(raw)

    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(len(p) * p, 1)).all()
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()


def test_holm_corrects_each_column_by_itself() -> None:
    p = RANDOM.random((5, 3))

    np.testing.assert_array_equal(holm(p), np.stack([holm(column) for column in p.T], axis=1))
    np.testing.assert_array_equal(holm(p, axis=1), holm(p.T).T)
