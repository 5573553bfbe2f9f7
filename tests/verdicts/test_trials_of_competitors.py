"""Trials of competitors: levels, differences of several, and their verdicts, against formulas and SciPy."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.intervals import FEWEST_TABLES, TEST_TO_TRAIN, Interval
from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts import Levels, Trials, Verdict, error_parts, judge, judge_tables, median_gain
from scarf_lightning.verdicts.answers import UNDECIDED
from scarf_lightning.verdicts.rows_and_fits import RowsOfTrial, rows_by_metric
from scarf_lightning.verdicts.trials import NOT_KEPT, difference_of
from tests.verdicts.worlds import TRIALS, normal, right_in_rows, verdict_of

ACCURACY, BRIER, LOG_LOSS, MCC = map(metric_named, ("accuracy", "brier_score", "log_loss", "mcc"))
LIKELIHOOD = Metric("likelihood", "log-likelihood", True, (-math.inf, math.inf), lambda _, __: 0.0)


def of(*values: float, **known: Any) -> Trials:
    """Trials without predictions, from 0 on."""
    return Trials(dict(enumerate(values)), **known)


def rows_of(values: list[float]) -> RowsOfTrial:
    """The test rows of a trial that are right and wrong."""
    its = np.array(values, dtype=np.float64)
    return RowsOfTrial(np.arange(len(its)), its, np.array([[1.0, 0.0]]), its.astype(np.int64))


def beside(first: Trials, second: Trials, metric: Metric = ACCURACY, margin: float = 0.01, **known: Any) -> Verdict:
    return judge([difference_of([first], [second], metric, **known)], metric, margin, **known)


@pytest.mark.parametrize(
    ("metric", "first", "second", "expected"),
    [
        (ACCURACY, {0: 0.75, 1: 0.5, 2: 0.9}, {0: 0.5, 1: 0.6, 7: 0.1}, [0.25, -0.1]),
        (BRIER, {0: 0.25}, {0: 0.5}, [0.25]),
        # In parts of the reference's mean over the common trials, (2 + 4) / 2.
        (LOG_LOSS, {0: 1.0, 1: 3.5}, {0: 2.0, 1: 4.0, 2: 60.0}, [1 / 3, 0.5 / 3]),
        # Twice as likely is better by half of the reference's size.
        (LIKELIHOOD, {0: -1.0}, {0: -2.0}, [0.5]),
        (LOG_LOSS, {0: 1.5}, {0: 0.0}, [-1.5]),
        (LOG_LOSS, {0: 1.5}, {1: 2.0}, []),
    ],
)
def test_gains_are_above_zero_where_better_and_relative_for_a_metric_without_a_largest_value(
    metric: Metric, first: Any, second: Any, expected: list[float]
) -> None:
    found = beside(Trials(first), Trials(second), metric)

    assert found.difference == pytest.approx(np.mean(expected) if expected else math.nan, nan_ok=True)
    assert (found.trials, found.basis) == (len(expected), "none")


def assert_ends_by_their_own_errors(found: Interval, mean: float, error: float, freedom: float) -> None:
    """Each end of the interval of a share is as far from the mean as the quantile times its own error (Wilson 1927)."""
    assert found.mean == pytest.approx(mean)
    for end in found[1:]:
        own = error * math.sqrt(end * (1 - end) / (mean * (1 - mean)))
        assert abs(end - mean) == pytest.approx(stats.t.ppf(0.975, freedom) * own)


class TestLevel:
    def test_without_predictions_it_is_the_resampled_interval_within_the_bounds(self) -> None:
        values = [0.8, 0.9, 0.97, 0.85]
        error = np.std(values, ddof=1) * math.sqrt(1 / 4 + 0.25)

        assert_ends_by_their_own_errors(of(*values, test_to_train=0.25).level(ACCURACY), 0.88, error, 3)
        # The rule of three: none of 60 rows was wrong.
        assert of(1.0, 1.0, 1.0, n_test=20).level(ACCURACY).low == pytest.approx(0.05 ** (1 / 60))
        for few in (of(0.5, 0.7), of(0.5, 0.7, 0.6, split="time"), of()):
            assert math.isnan(few.level(ACCURACY).low)

    def test_with_all_predictions_it_is_that_of_rows_and_fits(self) -> None:
        known, _ = right_in_rows(0, 0.8)
        tested = list(known.rows.values())
        parts = error_parts([each.values for each in tested], [each.rows for each in tested], 40.0, np.eye(1, 2))

        assert_ends_by_their_own_errors(known.level(ACCURACY), known.mean, parts.error, parts.freedom)
        some = replace(known, rows={trial: known.rows[trial] for trial in range(TRIALS - 1)})
        values = list(known.values.values())
        error = np.std(values, ddof=1) * math.sqrt(1 / TRIALS + TEST_TO_TRAIN)
        assert_ends_by_their_own_errors(some.level(ACCURACY), known.mean, error, TRIALS - 1)


def test_a_metric_that_is_not_defined_on_a_trial_has_no_rows() -> None:
    predictions = np.array([[0.6, 0.3, 0.1], [0.2, 0.1, 0.7]])

    its = rows_by_metric([ACCURACY, metric_named("auroc")], predictions, np.array([0, 0]), np.arange(2))

    assert list(its) == ["accuracy"], "AUROC of one class is not defined"


class TestDifference:
    def test_it_is_that_of_means_over_the_trials_of_all(self) -> None:
        ones, others = [of(0.5, 1.0, 0.25), of(1.0, 0.7, 0.75)], [of(0.0, 0.5), Trials({1: 0.7, 3: 0.1})]

        assert difference_of(ones, others, ACCURACY).values == pytest.approx({1: 0.85 - 0.6})
        both = difference_of(ones, others, ACCURACY, is_interaction=True)
        assert both.values == pytest.approx({1: (1.0 - 0.5) - (0.7 - 0.7)})
        # Relative: in parts of the others, and of an interaction in parts of the mean of all.
        parts = [of(1.0), of(3.0)], [of(4.0), of(4.0)]
        assert difference_of(*parts, LOG_LOSS).values == {0: 0.5}
        assert difference_of(*parts, LOG_LOSS, is_interaction=True).values == pytest.approx({0: 4 / 3})

    def test_rows_are_compared_where_all_tested_the_same_ones(self) -> None:
        one, other = rows_of([1, 1, 0, 0]), rows_of([1, 0, 1, 0])
        elsewhere = replace(other, rows=np.array([0, 1, 2, 9]))
        values = {0: 0.5, 1: 0.5, 2: 0.5}
        first = Trials(values, {0: one, 1: one}, n_trained=50.0)
        second = Trials(values, {0: other, 1: elsewhere}, n_trained=70.0)

        found = difference_of([first, second], [first, first], ACCURACY)

        assert (list(found.values), list(found.rows), found.n_trained) == ([0, 1, 2], [0], 70)
        row = found.rows[0]
        assert (row.values.tolist(), row.added.tolist()) == ([0, -0.5, 0.5, 0], [[1, -1]])
        assert len(set(row.codes.tolist())) == 4, "no two rows are predicted alike by both"
        assert len(set(difference_of([first], [second], ACCURACY).rows[0].codes.tolist())) == 2


class TestVerdict:
    def test_on_one_table_it_is_from_rows_and_fits_where_all_predictions_of_the_same_rows_are_known(self) -> None:
        (first, right), (second, wrong) = right_in_rows(1, 0.9), right_in_rows(2, 0.7)
        tested = [rows.rows for rows in first.rows.values()]
        values = [(right[t, rows].astype(float) - wrong[t, rows]) for t, rows in enumerate(tested)]

        found = beside(first, second, margin=0.02)

        assert found.parts is not None
        assert found.parts.error == pytest.approx(error_parts(values, tested, 40.0, np.array([[1.0, -1.0]])).error)
        differences = np.array([its.mean() for its in values])
        assert (found.won, found.basis) == ((differences > 0).sum(), "rows and fits")
        for rows in ({t: second.rows[t] for t in range(5)}, dict(second.rows) | {5: second.rows[4]}):
            without = beside(first, replace(second, rows=rows), margin=0.02)
            expected = verdict_of(differences, margin=0.02)
            assert (without.interval, without.basis) == (pytest.approx(expected.interval), expected.basis)

    def test_trials_that_share_their_test_rows_have_none_without_predictions(self) -> None:
        found = beside(of(0.9, 0.8, 0.9, split="column"), of(0.7, 0.6, 0.8, split="column"))

        assert (found.answer, found.reason, found.basis) == ("undecided", NOT_KEPT, "none")
        assert found.difference == pytest.approx(0.5 / 3)
        few = beside(of(0.9, 0.8, split="column"), of(0.7, 0.7, split="column"))
        assert (few.trials, few.reason) == (2, ""), "more trials are missing, and not predictions"

    @pytest.mark.parametrize("metric", [ACCURACY, BRIER, MCC])
    @pytest.mark.parametrize("with_rows", [False, True])
    def test_an_interval_reaches_as_far_as_differences_may(self, metric: Metric, with_rows: bool) -> None:
        """Four trials that go from one end to the other."""
        lowest, highest = metric.bounds
        pair = [of(*[lowest, highest] * 2), of(*[highest, lowest] * 2)]
        if with_rows:
            pair = [replace(each, rows={t: rows_of([value] * 4) for t, value in each.values.items()}) for each in pair]
        width = highest - lowest

        found = beside(*pair, metric)
        four = difference_of([pair[0]] * 2, [pair[1]] * 2, metric, is_interaction=True)
        both = judge([four], metric, is_interaction=True)

        assert (found.low, found.high) == (-width, width)
        assert (both.low, both.high) == (-2 * width, 2 * width)

    def test_a_metric_of_zero_or_more_falls_by_all_of_the_reference_at_most(self) -> None:
        """Its levels are those without the cut."""
        pair = of(0.5, 0.3, 0.8, 0.2, 0.1), of(0.3, 0.9, 0.2, 0.4, 0.7)
        likelihood = replace(LOG_LOSS, higher_is_better=True)
        signed = replace(LOG_LOSS, bounds=(-math.inf, math.inf))

        found, raised, uncut = (beside(*pair, metric) for metric in (LOG_LOSS, likelihood, signed))

        assert (found.low, found.high) == (uncut.low, 1.0)
        assert (raised.low, raised.high) == (-1.0, -uncut.low)
        assert uncut.high > 1
        assert (found.difference, found.levels) == (uncut.difference, uncut.levels)

    def test_over_tables_each_has_the_mean_of_its_trials(self) -> None:
        tables = [of(*[0.01 * n] * n) for n in range(1, 9)]

        found = judge(tables, ACCURACY, 0.02)

        expected = judge_tables([np.full(n, 0.01 * n) for n in range(1, 9)], margin=0.02)
        assert found.interval == pytest.approx(expected.interval)
        assert (found.average, found.datasets, found.trials) == (pytest.approx(0.045), 8, 1)


@given(seed=st.integers(0, 1000), n=st.integers(3, 30))
@settings(max_examples=10)
def test_without_predictions_it_is_the_corrected_resampled_test_and_the_posterior_of_baycomp(seed: int, n: int) -> None:
    """Nadeau and Bengio's variance, and the posterior of Corani and Benavoli that baycomp computes, from formulas."""
    differences = normal(seed, n)
    scale = math.sqrt((1 / n + TEST_TO_TRAIN) * differences.var(ddof=1))
    posterior = stats.t(n - 1, loc=differences.mean(), scale=scale)

    found = verdict_of(differences, test_to_train=TEST_TO_TRAIN)

    assert (found.low, found.high) == pytest.approx(posterior.interval(0.95))
    assert (found.won, found.lost) == ((differences > 0).sum(), (differences < 0).sum())
    assert (found.basis, found.claim) == ("resampled t-test", "this table")
    assert found.levels.direction == pytest.approx(2 * min(posterior.sf(0), posterior.cdf(0)))


def test_from_predictions_it_is_students_interval_of_the_sum_of_both_parts() -> None:
    random = np.random.default_rng(2)
    rows = [random.permutation(300)[:60] for _ in range(10)]
    values = [random.normal(0.02, 0.3, size=60) for _ in rows]
    parts = error_parts(values, rows)

    found = verdict_of(values, rows)

    posterior = stats.t(parts.freedom, loc=parts.mean, scale=parts.error)
    assert (found.low, found.high) == pytest.approx(posterior.interval(0.95))
    assert found.levels.beyond == pytest.approx(2 * posterior.cdf(0.01))
    assert (found.basis, found.parts) == ("rows and fits", parts)


def test_no_level_is_above_one() -> None:
    """Twice a tail of more than a half: of gains of two points neither a loss nor five points are found, and of gains
    on as many tables as losses no direction."""
    gains = verdict_of(np.array([0.016, 0.024, 0.019, 0.021, 0.020]), margin=0.05)
    assert gains.levels.beyond == 1
    assert verdict_of(np.array([0.016, 0.024, 0.019, 0.021, 0.020] * 2), margin=0.01).levels.within == 1
    tables = np.array([[0.02], [-0.02]] * 4)
    assert judge_tables(tables).levels.direction == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_an_improvement_helps_and_a_loss_hurts(sign: int) -> None:
    """A swapped direction would turn every answer around."""
    trials = sign * np.array([0.030, 0.034, 0.033, 0.028, 0.031] * 2)
    tables = sign * np.linspace(0.02, 0.06, 12)[:, None]
    rows = [np.arange(50)] * 10
    values = [sign * np.full(50, 0.05) + np.linspace(-0.01, 0.01, 50) for _ in rows]

    expected = "helps" if sign > 0 else "hurts"
    assert verdict_of(trials).answer == expected
    assert judge_tables(tables).answer == expected
    assert verdict_of(values, rows).answer == expected


@pytest.mark.parametrize(("n_test", "answer"), [(10, UNDECIDED), (50, UNDECIDED), (400, "no practical difference")])
def test_trials_that_never_differ_say_nothing_of_rows_that_none_of_them_tested(n_test: int, answer: str) -> None:
    """The rule of three: none of 400 rows differs, so up to 0.7 points of all rows may; none of 10, up to 26."""
    found = verdict_of(np.zeros(10), n_test=n_test)

    assert found.high == pytest.approx(1 - 0.05 ** (1 / (5 * n_test)))
    rows = [np.arange(n_test)] * 10
    rows_variance = verdict_of([np.zeros(n_test)] * 10, rows)
    assert rows_variance.high == pytest.approx(1 - 0.05 ** (1 / n_test))
    assert rows_variance.answer == answer


def test_too_few_trials_or_tables_claim_nothing() -> None:
    rows = [np.arange(50)] * 2
    for found in (verdict_of(np.array([0.1, 0.1])), verdict_of([np.full(50, 0.1)] * 2, rows)):
        assert (found.answer, found.basis, found.trials) == (UNDECIDED, "none", 2)
        assert math.isnan(found.low)
    few = judge_tables(np.full((5, 3), 0.1))
    assert (few.answer, few.basis, few.datasets) == (UNDECIDED, "none", 5)
    assert few.reason == "an answer over tables needs 6 or more"
    empty = verdict_of(np.empty(0))
    assert (empty.answer, empty.datasets) == (UNDECIDED, 0)


def test_over_tables_the_median_one_and_the_mean_are_told() -> None:
    gains = np.concatenate([np.full(24, 0.015) + normal(0, 24, 0.0, 0.004), [0.2, 0.3]])
    found = judge_tables(np.column_stack([gains, gains]))

    assert found.average == pytest.approx(gains.mean())
    assert found.difference < found.average
    assert (found.trials, found.datasets, found.claim) == (2, 26, "tables like these")
    # Tables of which a few gain much are not called equal.
    few_gain = np.concatenate([np.linspace(-0.001, 0.001, 27), [0.3, 0.4, 0.5]])
    assert judge_tables(few_gain[:, None]).answer == UNDECIDED
    assert judge_tables(few_gain[:27, None]).answer == "no practical difference"


def test_trials_that_cancel_but_for_rounding_are_a_tie() -> None:
    """0.3 - 0.1 - 0.2 is -3e-17 in floating point: neither a gain nor a loss, and as in exact numbers in the ranks."""
    cancelling = np.tile([0.3, -0.1, -0.2], (7, 1))
    assert set(np.sign(cancelling.sum(axis=1))) == {-1}
    found = judge_tables(cancelling)
    assert (found.won, found.lost, found.levels.direction) == (0, 0, 1)

    exact = np.array([0.0, 0.01, -0.01, 0.02, 0.03, 0.04, 0.05])
    with_rounding = exact[:, None] + cancelling
    assert judge_tables(with_rounding).levels == judge_tables(exact[:, None]).levels


def test_a_row_of_a_rare_class_may_move_a_mean_that_does_not_vary_by_more() -> None:
    """Of 100 rows, all trials alike. One more row may be off by a half, or by all."""
    rows, alike = [np.arange(100)] * 3, [np.zeros(100)] * 3

    by_half, by_one = (verdict_of(alike, rows, [[reach, -reach]]) for reach in (0.5, 1.0))

    assert by_one.high == pytest.approx(1 - 0.05 ** (1 / 100))
    assert by_half.high == pytest.approx(by_one.high / 2)


def gains_of(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.01, 0.03, size=n)


@given(seed=st.integers(0, 1000), n=st.integers(FEWEST_TABLES, 70))
@settings(max_examples=15)
def test_the_median_has_the_exact_interval_and_the_sign_test_of_scipy(seed: int, n: int) -> None:
    gains = gains_of(seed, n)
    expected = stats.quantile_test(gains, q=0, p=0.5).confidence_interval(0.95)

    assert median_gain(gains) == (np.median(gains), expected.low, expected.high)
    n_above = max((gains > 0).sum(), (gains < 0).sum())
    level = min(1.0, 2 * stats.binomtest(int(n_above), n, 0.5, alternative="greater").pvalue)
    assert judge_tables(gains[:, None]).levels.direction == pytest.approx(level)


def test_tables_that_are_equal_speak_for_neither_side() -> None:
    """Twenty tables gain, fourteen are equal: the median may be zero."""
    assert judge_tables(np.repeat([0.0, 0.1], [14, 20])[:, None]).levels.direction > 0.05
    assert judge_tables(np.zeros((20, 1))).levels == Levels(1.0, 1.0, pytest.approx(2 / 2**20))
    assert math.isnan(median_gain(np.arange(5.0)).low)
    assert median_gain(np.full(8, 0.25)) == (0.25, 0.25, 0.25)
    assert median_gain(np.arange(6.0))[1:] == (0, 5)
