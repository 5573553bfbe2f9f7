"""The interval of a mean over trials, against scipy and by hand."""

import pytest
from scipy import special, stats

from scarf_lightning.intervals import (
    TEST_TO_TRAIN,
    level_interval,
    median_sizes,
    overlap_ratio,
    student_quantile,
)

FREEDOMS = [1, 2.5, 9, 141.7, 1e9]
LEVELS = [0.5, 0.95, 1 - 1e-6]


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_quantile_of_student_is_the_one_of_scipy_to_the_last_bit(freedom: float) -> None:
    assert student_quantile(freedom) == float(special.stdtrit(freedom, 0.975))
    for level in LEVELS:
        probability = (1 + level) / 2
        assert student_quantile(freedom, probability) == float(special.stdtrit(freedom, probability))
        assert student_quantile(freedom, probability) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9)


def test_few_labels_overlap_less() -> None:
    assert overlap_ratio(20, 70) == overlap_ratio(20, 70, 70) == TEST_TO_TRAIN
    assert overlap_ratio(20, 70, 7, 0.0) == pytest.approx((7 / 90) / (1 - 7 / 90))
    assert overlap_ratio(20, 70, 7, 1.0) == pytest.approx((20 / 90) / (1 - 20 / 90))


def test_the_sizes_are_those_of_the_median_trial() -> None:
    sizes = {"n_test": [20.0, 10, 30], "n_train": [70.0] * 3, "n_labelled": [7.0, 70, 9]}
    assert median_sizes(sizes) == (20, 70, 9)
    for older in ({}, sizes | {"n_train": [None, float("nan")]}):
        assert median_sizes(older) == (TEST_TO_TRAIN, 1, None)


@pytest.mark.parametrize(("n_right", "n_rows"), [(9, 10), (1, 40), (199, 200)])
def test_a_level_of_independent_rows_has_the_interval_of_wilson(n_right: int, n_rows: int) -> None:
    share = n_right / n_rows
    expected = stats.binomtest(n_right, n_rows).proportion_ci(0.95, method="wilson")

    # Percentages of the same rows have the interval of the shares.
    for scale in (1, 100):
        error = scale * (share * (1 - share) / n_rows) ** 0.5
        found = level_interval(scale * share, error, 1e9, (0, scale))
        assert found == pytest.approx((scale * share, scale * expected.low, scale * expected.high), rel=1e-6)
        assert 0 < found.low < found.high < scale
