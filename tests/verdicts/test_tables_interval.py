"""Intervals of means over tables, and what lies outside."""

import math

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.verdicts.intervals import FEWEST_DATASETS, datasets_interval, outlying


def test_few_datasets_have_no_interval_and_equal_ones_no_width() -> None:
    few, low, high = datasets_interval(np.arange(FEWEST_DATASETS - 1.0))

    assert few == pytest.approx((FEWEST_DATASETS - 2) / 2)
    assert math.isnan(low)
    assert math.isnan(high)
    assert datasets_interval(np.full(30, 0.25)) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_never_narrower_than_students_and_reaches_farther_on_the_side_of_the_tail(level: float) -> None:
    gains = np.random.default_rng(3).exponential(size=FEWEST_DATASETS)
    student = stats.t.interval(level, len(gains) - 1, loc=gains.mean(), scale=stats.sem(gains))

    mean, low, high = datasets_interval(gains, level=level)
    mirrored = datasets_interval(-gains, level=level)

    assert mean == pytest.approx(gains.mean())
    assert low == pytest.approx(student[0])
    assert high > student[1] + 0.05
    assert mirrored == pytest.approx((-mean, -high, -low))


def test_what_lies_outside_is_beyond_tukeys_fences() -> None:
    inside = np.arange(20.0)  # quartiles 4.75 and 14.25 at 23 values: fences below -10 and above 30
    means = np.concatenate([[-40.0], inside, [40.0, 25.0]])

    found = outlying(means)

    assert means[found].tolist() == [-40.0, 40.0]
    assert outlying(np.array([0.0, 0.0, 9.0])).tolist() == [False] * 3, "three cannot say what is usual"
    assert outlying(np.array([0.0, 0.0, 9.0])).dtype == bool
