"""Values of test rows, against the jackknife; and the parts of an error, each in worlds where only it is there."""

import math

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.metrics import METRICS, Metric, metric_named
from scarf_lightning.verdicts import rows_and_fits
from scarf_lightning.verdicts.rows_and_fits import (
    FORMULAS,
    MOST_FREEDOM,
    OF_BOUND,
    ErrorParts,
    added_values,
    error_parts,
    jackknifed,
    row_values,
    units_of,
    unseen_values,
)


def predictions_of(metric: Metric, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Predictions with ties and labels that they partly fit; one class in ten rows."""
    random = np.random.default_rng(3)
    if "number" in metric.targets:
        labels = random.normal(size=n)
        return (labels + random.normal(size=n)).round(1), labels
    labels = random.choice(3, n, p=[0.1, 0.3, 0.6])
    scores = random.normal(size=(n, 3)).round(1)
    scores[np.arange(n), labels] += 1
    probabilities = np.exp(scores)
    return probabilities / probabilities.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("name", FORMULAS)
def test_the_values_of_rows_are_those_of_the_jackknife(name: str) -> None:
    metric = metric_named(name)
    predictions, labels = predictions_of(metric)

    value = metric.function(predictions, labels)
    values, expected = row_values(metric, predictions, labels), jackknifed(metric, predictions, labels, value)

    assert values.mean() == pytest.approx(value, abs=1e-12)
    assert np.corrcoef(values, expected)[0, 1] > 0.998
    assert values.std() == pytest.approx(expected.std(), rel=0.05)


def test_the_values_of_auroc_have_the_variance_of_delong() -> None:
    """By hand: each positive's share of negatives below it, and each negative's share of positives above it."""
    random = np.random.default_rng(0)
    labels = (np.arange(50) < 15).astype(int)
    scores = random.normal(size=50).round(1) + labels
    positive, negative = scores[labels == 1], scores[labels == 0]
    placements = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    expected = placements.mean(axis=1).var(ddof=1) / 15 + placements.mean(axis=0).var(ddof=1) / 35

    values = row_values(metric_named("auroc"), np.column_stack([-scores, scores]), labels)

    assert values.mean() == pytest.approx(placements.mean())
    # The jackknife of the whole sample divides each side by one less than it has, as DeLong does.
    assert (values - values.mean()) @ (values - values.mean()) / 49**2 == pytest.approx(
        placements.mean(axis=1).var(ddof=0) * 15 / 14**2 + placements.mean(axis=0).var(ddof=0) * 35 / 34**2
    )
    assert ((values - values.mean()) ** 2).sum() / 49**2 == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("name", sorted({each.name for each in METRICS} - set(FORMULAS)))
def test_a_metric_without_a_formula_is_jackknifed(name: str) -> None:
    metric = metric_named(name)
    predictions, labels = predictions_of(metric, 60)
    without = [metric.function(np.delete(predictions, row, 0), np.delete(labels, row)) for row in range(60)]

    values = row_values(metric, predictions, labels)

    assert values.mean() == pytest.approx(metric.function(predictions, labels))
    assert values - values.mean() == pytest.approx(-59 * (without - np.mean(without)))


def test_of_a_mean_over_rows_the_jackknife_gives_the_rows_themselves() -> None:
    """An error rate, as a plugin may have it."""
    random = np.random.default_rng(0)
    probabilities, labels = random.random((400, 2)), random.integers(0, 2, 400)
    errors = (probabilities.argmax(axis=1) != labels).astype(float)
    plugin = Metric("error_rate", "errors", False, (0.0, 1.0), lambda p, y: float((p.argmax(axis=1) != y).mean()))

    assert row_values(plugin, probabilities, labels) == pytest.approx(errors)


def test_very_many_rows_are_not_jackknifed() -> None:
    predictions, labels = predictions_of(metric_named("r2"), rows_and_fits.MOST_JACKKNIFED + 1)

    assert np.isnan(row_values(metric_named("r2"), predictions, labels)).all()
    assert np.isfinite(row_values(metric_named("mae"), predictions, labels)).all()


def test_an_added_row_moves_the_metric_as_it_says() -> None:
    """Balanced accuracy by hand: three of four rows of class 0 are right, one of two of class 1."""
    predicted, labels = np.array([0, 0, 0, 1, 1, 0]), np.array([0, 0, 0, 0, 1, 1])
    metric = metric_named("balanced_accuracy")
    before = (3 / 4 + 1 / 2) / 2

    found = added_values(metric, np.eye(3)[predicted] * 0.6 + 0.1, labels)

    assert found[0] == pytest.approx([7 * (4 / 5 + 1 / 2) / 2 - 6 * before, 7 * (3 / 5 + 1 / 2) / 2 - 6 * before])
    assert found[1] == pytest.approx([7 * (3 / 4 + 2 / 3) / 2 - 6 * before, 7 * (3 / 4 + 1 / 3) / 2 - 6 * before])
    assert np.isnan(found[2]).all(), "no row is of class 2"
    for name in ("auroc", "log_loss", "mae"):  # which use more than the predicted class
        other = metric_named(name)
        assert np.isnan(added_values(other, *predictions_of(other))).all()


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
