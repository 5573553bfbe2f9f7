"""Standard errors and intervals of means, against Welch's test of SciPy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.report.statistics.intervals import (
    FEWEST_DATASETS,
    bootstrapped_error,
    datasets_interval,
    fixed_error,
    outlying,
    share_of_test,
)


def rows_of(trials: int = 4, n: int = 60) -> np.ndarray:
    random = np.random.default_rng(trials)
    return random.normal(size=n) + random.normal(scale=0.5, size=(trials, 1)) + random.normal(size=(trials, n))


def welch(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The standard error of the difference of two means, and its degrees of freedom."""
    found = stats.ttest_ind(first, second, equal_var=False)
    return abs(first.mean() - second.mean()) / abs(found.statistic), found.df


def test_the_error_of_shared_rows_adds_that_of_rows_and_that_of_seeds() -> None:
    rows = rows_of()
    apart = rows.mean(axis=0) + 1  # Welch's statistic needs means that differ

    assert fixed_error(rows) == pytest.approx(welch(apart, rows.mean(axis=1)))


def test_rows_in_time_count_by_ten_blocks_of_neighbours() -> None:
    rows = rows_of(n=63)
    blocks = [part.mean() for part in np.array_split(rows.mean(axis=0), 10)]

    found = fixed_error(rows, in_time=True)

    assert found == pytest.approx(welch(np.array(blocks) + 1, rows.mean(axis=1)))
    assert fixed_error(rows[:, :7], in_time=True) == fixed_error(rows[:, :7]), "a row is the smallest block"


def test_equal_values_have_no_error() -> None:
    assert fixed_error(np.full((3, 20), 0.5)) == (0.0, math.inf)


@pytest.mark.parametrize("in_time", [False, True])
def test_the_bootstrap_of_a_mean_has_the_error_of_a_mean(in_time: bool) -> None:
    rows = rows_of(n=400)

    error, freedom = bootstrapped_error(lambda chosen: rows[:, chosen].mean(axis=1), 400, in_time=in_time)

    expected, of_expected = fixed_error(rows, in_time=in_time)
    assert error == pytest.approx(expected, rel=0.15)
    assert freedom == pytest.approx(of_expected, rel=0.5)


def test_a_trial_whose_metric_is_undefined_on_a_draw_is_left_out_of_it() -> None:
    rows = np.array([[1.0], [1.0 + 1e-6]]) * rows_of(trials=1, n=40)

    def undefined_without_the_first_row(chosen: np.ndarray) -> np.ndarray:
        return rows[:, chosen].mean(axis=1) if 0 in chosen else np.array([rows[0, chosen].mean(), np.nan])

    error, _ = bootstrapped_error(undefined_without_the_first_row, 40)

    expected, _ = bootstrapped_error(lambda chosen: rows[:, chosen].mean(axis=1), 40)
    assert error == pytest.approx(expected, rel=1e-3)


def test_the_share_of_the_test_rows() -> None:
    """Two trials with means 1 and 3, so of variance 2, and four rows of variances 4 and 12."""
    rows = np.array([1 + math.sqrt(3) * np.array([1, 1, -1, -1]), 3 + 3 * np.array([1, 1, -1, -1])])

    assert share_of_test(rows) == pytest.approx((4 + 12) / 2 / 4 / 2)
    assert share_of_test(10 * np.array([[1.0, -1.0, 0.0], [1.0, -1.1, 0.0]])) == 1, "a share is at most one"
    assert share_of_test(np.array([[1.0, 2.0], [2.0, 1.0]])) == 1, "trials do not differ"
    assert share_of_test(rows[:1]) == 1, "one trial shows no spread"


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
