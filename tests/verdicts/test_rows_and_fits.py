"""The parts of an error: by hand, and each against worlds in which only that part is there."""

import math

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.verdicts.rows_and_fits import (
    MOST_FREEDOM,
    OF_BOUND,
    ErrorParts,
    error_parts,
    units_of,
    unseen_values,
)


def drawn(
    trials: int = 10, n: int = 400, n_test: int = 80, *, rows: float = 0.0, fits: float = 0.0, noise: float = 0.0,
    seed: int = 0,
) -> ErrorParts:  # fmt: skip
    """Random splits of one table whose rows, fits, and rows anew in each trial have these standard deviations."""
    random = np.random.default_rng(seed)
    rows_variance = random.normal(scale=rows, size=n) if rows else np.zeros(n)
    units = [random.permutation(n)[:n_test] for _ in range(trials)]
    values = [rows_variance[its] + random.normal() * fits + random.normal(size=n_test) * noise for its in units]
    return error_parts(values, units, n_trained=0)


def test_trials_on_the_same_rows_add_the_spread_of_rows_and_that_of_trials() -> None:
    """The closed form of fixed splits: what rows explain of the spread of trials is in the part of the rows."""
    random = np.random.default_rng(4)
    table = random.normal(size=60) + random.normal(scale=1.5, size=(4, 1)) + random.normal(size=(4, 60))

    found = error_parts(list(table), [np.arange(60)] * 4, n_trained=0)

    assert found.rows_variance == pytest.approx(table.mean(axis=0).var(ddof=1) / 60)
    explained = table.var(axis=1, ddof=1).mean() / 60
    assert found.fits_variance == pytest.approx((table.mean(axis=1).var(ddof=1) - explained) / 4)
    assert (found.common, found.n_tested) == (1.0, 60)
    assert error_parts(list(table), [np.arange(60)] * 4, n_trained=40) == found, "rows that all test never train"


def test_splits_that_share_no_row_have_the_error_of_a_mean_of_independent_rows() -> None:
    """K-fold cross-validation, where each row is tested once: the variance of all values over their number."""
    values = np.random.default_rng(7).normal(size=(5, 20))

    found = error_parts(list(values), list(np.arange(100).reshape(5, 20)), n_trained=0)

    assert found.common == 0
    assert found.rows_variance == pytest.approx(values.var(ddof=1) / 100)
    constant = error_parts([np.full(20, 0.5)] * 3, [np.arange(20)] * 3)
    assert (constant.error, constant.freedom, constant.reach) == (0.0, MOST_FREEDOM, 1.0)
    assert error_parts([np.zeros(5), np.ones(5)], [np.arange(5)] * 2).reach == 0


@pytest.mark.parametrize(
    "world", [{"rows": 1.0}, {"fits": 0.1}, {"noise": 1.0}, {"rows": 0.7, "fits": 0.1, "noise": 0.7}]
)
def test_each_part_is_what_the_world_has_and_the_error_is_that_of_the_mean(world: dict[str, float]) -> None:
    """With one part left out, an error of at least one world would be too small by half."""
    found = [drawn(**world, seed=seed) for seed in range(100)]
    # Rows: 400 values, weighted by how often a row is tested. Fits: a value a trial. Noise: one a tested row.
    rows_variance = world.get("rows", 0) ** 2 * (1 / (10 * 80) + (1 - 1 / 10) / 400)
    fits_variance, noise = world.get("fits", 0) ** 2 / 10, world.get("noise", 0) ** 2 / (10 * 80)

    error = math.sqrt(np.mean([each.error**2 for each in found]))
    assert error == pytest.approx(math.sqrt(rows_variance + fits_variance + noise), rel=0.15)
    if not noise:
        assert np.mean([each.rows_variance for each in found]) == pytest.approx(rows_variance, rel=0.06, abs=2e-5)
        # A part cannot be negative, so that chance leaves a little where there is none.
        assert np.mean([each.fits_variance for each in found]) == pytest.approx(fits_variance, rel=0.15, abs=4e-4)


def test_rows_that_train_and_test_take_a_part_of_what_bounds_it() -> None:
    """By hand: two trials share three of their four rows, whose values change with variance 2, and draw from 4 / 0.75
    rows, of which they train on one or on all that they do not test."""
    values = [np.array([0.0, 4.0, 1.0, 3.0]), np.array([2.0, 6.0, 3.0, 5.0])]
    values[1][[0, 1, 2]] -= np.array([0.0, 4.0, 2.0])
    rows = [np.array([0, 1, 2, 3]), np.array([0, 1, 2, 4])]
    deviations = np.array([its - its.mean() for its in values])[:, :3]
    within = deviations.var(axis=0, ddof=1).mean()

    without, one, rest = (error_parts(values, rows, n_trained=number) for number in (0, 1, math.inf))

    assert one.common == 0.75
    for found, share in ((one, 0.75 / 4), (rest, 0.25)):
        added = OF_BOUND * within * share / (1 - share) / 5
        assert found.rows_variance - without.rows_variance == pytest.approx(added)
        assert found.fits_variance == without.fits_variance


def test_where_the_number_of_training_rows_is_unknown_at_most_95_percent_train() -> None:
    """Two trials share one of their 40 rows, so there are 1,600."""
    values = list(np.random.default_rng(3).normal(size=(2, 40)))
    rows = [np.arange(40), np.arange(39, 79)]

    known, unknown = (error_parts(values, rows, n_trained=number) for number in (0.95 * 1600, math.inf))

    assert unknown.rows_variance == pytest.approx(known.rows_variance)


def test_a_share_of_zero_has_the_interval_of_the_rule_of_three() -> None:
    """None of a hundred rows is wrong: up to 3 in a hundred may be (0.05 ** (1 / 100) are 97 %)."""
    right = [np.ones(100)] * 4

    found = error_parts(right, [np.arange(100)] * 4, unseen=np.array([[1.0, 0.0]]))

    assert stats.t.ppf(0.975, found.freedom) * found.error == pytest.approx(1 - 0.05 ** (1 / 100), rel=0.05)


def test_rows_that_no_trial_shows_are_of_each_class_once() -> None:
    """By hand: recall of class 0 counts by 1 / (2 * 0.75), of class 1 by 1 / (2 * 0.25), around 0.5 and 0.8."""
    added = np.array([[0.8 + 0.5 / 1.5, 0.8 - 0.5 / 1.5], [0.8 + 0.2 / 0.5, 0.8 - 0.8 / 0.5], [np.nan, np.nan]])

    values = unseen_values([added, added])

    assert sorted(values.ravel()) == pytest.approx(sorted(added[:2].ravel()))
    assert len(unseen_values([added, np.full((3, 2), np.nan)])) == 0, "AUROC is not that of the predicted classes"


def test_more_trials_lower_the_part_of_rows_to_that_of_the_table_and_no_further() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=400)
    units = [random.permutation(400)[:80] for _ in range(40)]
    few = error_parts([rows[its] for its in units[:5]], units[:5], n_trained=0)
    many = error_parts([rows[its] for its in units], units, n_trained=0)

    assert few.expected(40).rows_variance == pytest.approx(many.rows_variance, rel=0.25)
    assert few.expected(10**6).rows_variance == pytest.approx(1 / 400, rel=0.25)


def test_groups_are_the_rows_that_the_same_trials_test() -> None:
    groups = np.repeat(np.arange(12), 5)
    random = np.random.default_rng(0)
    rows = [np.flatnonzero(np.isin(groups, random.permutation(12)[:3])) for _ in range(20)]

    units = units_of(rows, [np.arange(len(each)) for each in rows], "group")

    for each, its in zip(rows, units, strict=True):
        assert len(set(zip(groups[each].tolist(), its.tolist(), strict=True))) == 3
    values = [groups[each] * 1.0 for each in rows]
    assert error_parts(values, units).error == pytest.approx(error_parts(values, [groups[each] for each in rows]).error)


def test_copies_are_one_unit_and_leaves_of_a_tree_are_not() -> None:
    rows = [np.array([0, 1, 2, 3]), np.array([3, 2, 1, 0])]

    copies = units_of(rows, [np.array([7, 7, 8, 9]), np.array([1, 2, 3, 3])])
    many = [np.arange(30)] * 2
    leaves = units_of(many, [np.arange(30) // 15] * 2)

    assert copies[0][0] == copies[0][1] == copies[1][2] == copies[1][3]
    assert len(set(copies[0].tolist())) == 3
    assert [each.tolist() for each in leaves] == [each.tolist() for each in many]


def test_few_rows_that_carry_the_error_leave_few_degrees_of_freedom() -> None:
    """Three rows of six hundred differ: a normal interval would hold the truth too rarely."""
    few = np.zeros(600)
    few[:3] = 1.0
    random = np.random.default_rng(1)
    units = [random.permutation(600)[:120] for _ in range(30)]

    rare = error_parts([few[its] for its in units], units)
    common = error_parts([random.normal(size=600)[its] for its in units], units)

    assert rare.freedom < 10
    assert common.freedom > 100
