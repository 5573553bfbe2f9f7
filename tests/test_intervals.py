"""The interval of a mean over trials, against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import special, stats

from scarf_lightning.intervals import (
    TEST_TO_TRAIN,
    mean_interval,
    median_sizes,
    overlap_ratio,
    student_quantile,
)
from scarf_lightning.metrics import metric_named

FREEDOMS = [1, 2.5, 9, 141.7, 1e9]
LEVELS = [0.5, 0.95, 1 - 1e-6]


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_quantile_of_student_is_the_one_of_scipy_to_the_last_bit(freedom: float) -> None:
    assert student_quantile(freedom) == float(special.stdtrit(freedom, 0.975))
    for level in LEVELS:
        probability = (1 + level) / 2
        assert student_quantile(freedom, probability) == float(special.stdtrit(freedom, probability))
        assert student_quantile(freedom, probability) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9)


@pytest.mark.parametrize("n", [3, 5, 30])
def test_the_interval_is_students_with_the_correction_for_overlap(n: int) -> None:
    values = np.random.default_rng(n).normal(0.7, 0.02, size=n)

    mean, low, high = mean_interval(values, 0.25)

    scale = values.std(ddof=1) * math.sqrt(1 / n + 0.25)
    assert mean == pytest.approx(values.mean(), abs=1e-15)
    assert (low, high) == pytest.approx(stats.t.interval(0.95, n - 1, loc=values.mean(), scale=scale), abs=1e-12)


def test_an_interval_stays_within_the_bounds_and_two_trials_have_none() -> None:
    accuracy, log_loss = (metric_named(name).bounds for name in ("accuracy", "log_loss"))
    assert mean_interval([0.9, 0.95, 1.0], bounds=accuracy).high == 1.0
    assert mean_interval([0.01, 0.9, 0.5], bounds=log_loss).low == 0.0
    assert mean_interval([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5)
    mean, *ends = mean_interval([0.25, 0.35])
    assert mean == pytest.approx(0.3)
    assert np.isnan(ends).all()


def test_a_level_that_never_varies_has_the_interval_of_rows_that_none_tested() -> None:
    bounds = metric_named("accuracy").bounds
    _, low, high = mean_interval([1.0] * 10, n_test=30, bounds=bounds)

    assert stats.binom.cdf(0, 150, 1 - low) == pytest.approx(0.05)
    assert high == 1.0
    assert mean_interval([2.0] * 3, n_test=30, bounds=metric_named("rmse").bounds) == (2.0, 2.0, 2.0), "has no largest"


def test_few_labels_overlap_less() -> None:
    assert overlap_ratio(20, 70) == overlap_ratio(20, 70, 70) == TEST_TO_TRAIN
    assert overlap_ratio(20, 70, 7, 0.0) == pytest.approx((7 / 90) / (1 - 7 / 90))
    assert overlap_ratio(20, 70, 7, 1.0) == pytest.approx((20 / 90) / (1 - 20 / 90))


def test_the_sizes_are_those_of_the_median_trial() -> None:
    sizes = {"n_test": [20.0, 10, 30], "n_train": [70.0] * 3, "n_labelled": [7.0, 70, 9]}
    assert median_sizes(sizes) == (20, 70, 9)
    for older in ({}, sizes | {"n_train": [None, float("nan")]}):
        assert median_sizes(older) == (TEST_TO_TRAIN, 1, None)
