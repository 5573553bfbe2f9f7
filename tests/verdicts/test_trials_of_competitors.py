"""Trials of competitors: levels, gains, sums of several, and which test their verdict is from."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.intervals import TEST_TO_TRAIN
from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts import Trials, combined, error_parts, judge, judge_tables, verdict_on
from scarf_lightning.verdicts.trials import NOT_KEPT, RowsOfTrial, measured, rows_by_metric
from tests.verdicts.worlds import TRIALS, right_in_rows

ACCURACY, BRIER, LOG_LOSS, MCC = map(metric_named, ("accuracy", "brier_score", "log_loss", "mcc"))
LIKELIHOOD = Metric("likelihood", "log-likelihood", True, (-math.inf, math.inf), lambda _, __: 0.0)


def of(*values: float, **known: Any) -> Trials:
    """Trials without predictions, from 0 on."""
    return Trials(dict(enumerate(values)), **known)


def rows_of(values: list[float], **known: Any) -> RowsOfTrial:
    """The test rows of a trial that are right and wrong."""
    its = np.array(values, dtype=np.float64)
    return RowsOfTrial(np.arange(len(its)), its, np.array([[1.0, 0.0]]), its.astype(np.int64), **known)


@pytest.mark.parametrize(
    ("metric", "first", "second", "base", "expected"),
    [
        (ACCURACY, {0: 0.75, 1: 0.5, 2: 0.9}, {0: 0.5, 1: 0.6, 7: 0.1}, None, [0.25, -0.1]),
        (BRIER, {0: 0.25}, {0: 0.5}, None, [0.25]),
        # In parts of the reference's mean over the common trials, (2 + 4) / 2.
        (LOG_LOSS, {0: 1.0, 1: 3.5}, {0: 2.0, 1: 4.0, 2: 60.0}, None, [1 / 3, 0.5 / 3]),
        (LOG_LOSS, {0: 1.0, 1: 3.0}, {0: 2.0, 1: 4.0}, {0: 8.0, 1: 12.0, 2: 60.0}, [0.1, 0.1]),
        # Twice as likely is better by half of the reference's size.
        (LIKELIHOOD, {0: -1.0}, {0: -2.0}, None, [0.5]),
        (LOG_LOSS, {0: 1.5}, {0: 0.0}, None, [-1.5]),
        (LOG_LOSS, {0: 1.5}, {1: 2.0}, None, []),
    ],
)
def test_gains_are_above_zero_where_better_and_relative_for_a_metric_without_a_largest_value(
    metric: Metric, first: Any, second: Any, base: Any, expected: list[float]
) -> None:
    found = verdict_on([(Trials(first), Trials(second))], metric, sizes=[] if base is None else [Trials(base)])

    assert found.difference == pytest.approx(np.mean(expected) if expected else math.nan, nan_ok=True)
    assert (found.trials, found.basis) == (len(expected), "none")


class TestLevel:
    def test_without_predictions_it_is_the_resampled_interval_within_the_bounds(self) -> None:
        values = [0.8, 0.9, 0.97, 0.85]
        half = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * math.sqrt(1 / 4 + 0.25)

        assert of(*values, test_to_train=0.25).level(ACCURACY) == pytest.approx((0.88, 0.88 - half, 1.0))
        # The rule of three: none of 60 rows was wrong.
        assert of(1.0, 1.0, 1.0, n_test=20).level(ACCURACY).low == pytest.approx(0.05 ** (1 / 60))
        for few in (of(0.5, 0.7), of(0.5, 0.7, 0.6, split="time"), of()):
            assert math.isnan(few.level(ACCURACY).low)

    def test_with_all_predictions_it_is_that_of_rows_and_fits_around_the_mean_of_the_values(self) -> None:
        known, _ = right_in_rows(0, 0.8)
        moved = replace(known, values={trial: value + 0.001 for trial, value in known.values.items()})

        mean, *ends = moved.level(ACCURACY)

        assert mean == pytest.approx(known.mean + 0.001), "of the values, beside rounded predictions"
        assert ends == list(known.level(ACCURACY)[1:])
        some = replace(known, rows={trial: known.rows[trial] for trial in range(TRIALS - 1)})
        values = list(known.values.values())
        half = stats.t.ppf(0.975, TRIALS - 1) * np.std(values, ddof=1) * math.sqrt(1 / TRIALS + TEST_TO_TRAIN)
        assert some.level(ACCURACY)[:2] == pytest.approx((known.mean, known.mean - half))

    @pytest.mark.parametrize(
        ("name", "n", "of_one_class", "has_interval"),
        [
            ("balanced_accuracy", 3, 3, False), ("balanced_accuracy", 3, 1, False), ("f1", 5, 2, False),
            ("balanced_accuracy", 3, 0, True), ("balanced_accuracy", 4, 1, True), ("balanced_accuracy", 10, 10, True),
            ("accuracy", 3, 3, True), ("auroc", 3, 3, True),
        ],
    )  # fmt: skip
    def test_few_trials_of_one_class_have_none_of_a_metric_that_weighs_classes(
        self, name: str, n: int, of_one_class: int, has_interval: bool
    ) -> None:
        """Three trials of which all, or one, predicted one class held the truth in 58 to 90 % on real tables."""
        metric, random = metric_named(name), np.random.default_rng(1)
        labels = (np.arange(60) % 6 == 0).astype(np.int64)
        rows = {}
        for trial in range(n):
            positive = random.uniform(0.1, 0.4 if trial < of_one_class else 0.9, 60)
            rows[trial] = rows_by_metric([metric], np.column_stack([1 - positive, positive]), labels, np.arange(60))[
                name
            ]

        found = Trials({trial: its.values.mean() for trial, its in rows.items()}, rows).level(metric)

        # In one of the trials AUROC happens to be that of the predicted classes, a half.
        assert math.isnan(found.low) is not has_interval
        assert math.isfinite(found.mean)


def test_a_trial_is_of_one_class_if_all_of_its_rows_are_given_it() -> None:
    for first, is_of_one in ((0.6, True), (0.2, False)):
        predictions = np.array([[0.6, 0.3, 0.1], [first, 0.1, 0.9 - first]])
        its = rows_by_metric([ACCURACY, metric_named("auroc")], predictions, np.array([0, 0]), np.arange(2))
        assert its["accuracy"].one_class is is_of_one
        assert list(its) == ["accuracy"], "AUROC of one class is not defined"


def test_rows_have_the_mean_that_their_trial_was_measured_by() -> None:
    rows = rows_of([1, 0, 1, 1])

    assert measured(rows, 0.75 + 1e-10) is rows, "but for rounding"
    assert measured(rows, 0.7).values.tolist() == pytest.approx([0.95, -0.05, 0.95, 0.95])
    large = rows_of([3e6, 1e6])
    assert measured(large, 2e6 + 1e-3) is large, "in parts of the value"
    assert measured(large, 2e6 + 1e-2) is not large


class TestCombined:
    def test_values_are_the_mean_or_a_weighted_sum_over_the_trials_of_all(self) -> None:
        several = [Trials({0: 0.5, 1: 1.0, 2: 0.25}), Trials({2: 0.75, 0: 1.0}), Trials({0: 0.0, 2: 0.5, 3: 1.0})]

        assert combined(several).values == pytest.approx({0: 0.5, 2: 0.5})
        assert combined(several, 2.0).values == pytest.approx({0: 3.0, 2: 3.0})
        assert combined(several[:1]) is several[0]
        assert combined([of(0.5, n_test=9, test_to_train=0.1), of(0.7)]) == of(0.6, n_test=9, test_to_train=0.1)

    def test_rows_are_combined_where_all_tested_the_same_ones(self) -> None:
        one = rows_of([1, 1, 0, 0], one_class=True, shown=np.array([[True, False]]))
        other = rows_of([1, 0, 1, 0], shown=np.array([[False, False]]))
        elsewhere = replace(other, rows=np.array([0, 1, 2, 9]))
        values = {0: 0.5, 1: 0.5, 2: 0.5}

        found = combined(
            [
                Trials(values, {0: one, 1: one}, n_trained=50.0),
                Trials(values, {0: other, 1: elsewhere}, n_trained=70.0),
            ],
            2.0,
        )

        assert (list(found.values), list(found.rows)) == ([0, 1, 2], [0])
        assert found.n_trained == 70, "the most rows of any"
        row = found.rows[0]
        assert (row.values.tolist(), row.added.tolist(), row.one_class) == ([4, 2, 2, 0], [[4, 0]], False)
        assert row.shown is not None
        assert row.shown.tolist() == [[True, False]]
        assert len(set(row.codes.tolist())) == 4, "no two rows are predicted alike by both"
        assert len(set(combined([Trials(values, {0: one})] * 2).rows[0].codes.tolist())) == 2


class TestVerdict:
    def test_on_one_table_it_is_from_rows_and_fits_where_all_predictions_of_the_same_rows_are_known(self) -> None:
        (first, right), (second, wrong) = right_in_rows(1, 0.9), right_in_rows(2, 0.7)
        tested = [rows.rows for rows in first.rows.values()]
        values = [(right[t, rows].astype(float) - wrong[t, rows]) for t, rows in enumerate(tested)]

        found = verdict_on([(first, second)], ACCURACY, 0.02)

        assert found.parts is not None
        assert found.parts.error == pytest.approx(error_parts(values, tested, 40.0, np.array([[1.0, -1.0]])).error)
        differences = np.array([its.mean() for its in values])
        assert (found.won, found.basis) == ((differences > 0).sum(), "rows and fits")
        for rows in ({t: second.rows[t] for t in range(5)}, dict(second.rows) | {5: second.rows[4]}):
            without = verdict_on([(first, replace(second, rows=rows))], ACCURACY, 0.02)
            expected = judge(differences, margin=0.02, bounds=(-1.0, 1.0))
            assert (without.interval, without.basis) == (pytest.approx(expected.interval), expected.basis)

    def test_without_predictions_it_has_the_overlap_and_the_test_rows_of_the_trials(self) -> None:
        first, second = (of(*values, test_to_train=0.1, n_test=30) for values in ([0.9] * 3, [0.8, 0.8, 0.8]))

        found = verdict_on([(first, second)], ACCURACY, 0.02)

        expected = judge(np.full(3, 0.1), margin=0.02, test_to_train=0.1, n_test=30, bounds=(-1.0, 1.0))
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))

    def test_trials_that_share_their_test_rows_have_none_without_predictions(self) -> None:
        found = verdict_on([(of(0.9, 0.8, 0.9, split="column"), of(0.7, 0.6, 0.8, split="column"))], ACCURACY)

        assert (found.answer, found.reason, found.basis) == ("undecided", NOT_KEPT, "none")
        assert found.difference == pytest.approx(0.5 / 3)
        few = verdict_on([(of(0.9, 0.8, split="column"), of(0.7, 0.7, split="column"))], ACCURACY)
        assert (few.trials, few.reason) == (2, ""), "more trials are missing, and not predictions"

    @pytest.mark.parametrize(
        ("metric", "reach", "farthest"),
        [(ACCURACY, {}, 1), (ACCURACY, {"reach": 2}, 2), (BRIER, {}, 2), (MCC, {}, 2), (MCC, {"reach": 2}, 4)],
    )
    @pytest.mark.parametrize("with_rows", [False, True])
    def test_an_interval_reaches_as_far_as_differences_may(
        self, metric: Metric, reach: dict[str, float], farthest: float, with_rows: bool
    ) -> None:
        """Four trials that go from one end to the other."""
        lowest, highest = metric.bounds
        pair = [of(*[lowest, highest] * 2), of(*[highest, lowest] * 2)]
        if with_rows:
            pair = [replace(each, rows={t: rows_of([value] * 4) for t, value in each.values.items()}) for each in pair]

        found = verdict_on([tuple(pair)], metric, **reach)

        assert (found.low, found.high) == (-farthest, farthest)

    def test_a_metric_of_zero_or_more_falls_by_all_of_the_reference_at_most(self) -> None:
        """Its interval is cut at every level, and its levels are those without the cut."""
        pair = of(0.5, 0.3, 0.8, 0.2, 0.1), of(0.3, 0.9, 0.2, 0.4, 0.7)
        likelihood = replace(LOG_LOSS, higher_is_better=True)
        signed = replace(LOG_LOSS, bounds=(-math.inf, math.inf))

        found, raised, uncut = (verdict_on([pair], metric) for metric in (LOG_LOSS, likelihood, signed))

        assert (found.low, found.high) == (uncut.low, 1.0)
        assert (raised.low, raised.high) == (-1.0, -uncut.low)
        assert uncut.high > 1
        assert (found.difference, found.levels) == (uncut.difference, uncut.levels)
        assert found.ends is not None
        assert found.ends(level=0.99).high == 1
        # Parts of another competitor have no such end, nor has the difference of two differences.
        for sizes in ([of(0.01, 0.01, 0.01, 0.01, 0.01)], [replace(pair[1])]):
            assert verdict_on([pair], LOG_LOSS, sizes=sizes, reach=2).high > 1

    def test_over_tables_each_has_the_mean_of_its_trials(self) -> None:
        pairs = [(of(*[0.5 + 0.01 * n] * n), of(*[0.5] * (n + 1))) for n in range(1, 9)]

        found = verdict_on([(Trials({0: 0.5}), Trials({1: 0.5})), *pairs], ACCURACY, 0.02)

        padded = np.full((8, 8), np.nan)
        for n in range(1, 9):
            padded[n - 1, :n] = 0.01 * n
        expected = judge_tables(padded, margin=0.02)
        assert found.interval == pytest.approx(expected.interval)
        assert (found.average, found.datasets, found.trials) == (pytest.approx(0.045), 8, 1)

    def test_relative_differences_are_parts_of_the_sizes_of_their_table(self) -> None:
        pairs = [(of(1.0, 1.0, 1.0), of(2.0, 2.0, 2.0)), (of(3.0, 3.0, 3.0), of(4.0, 4.0, 4.0))]

        assert verdict_on(pairs, LOG_LOSS).average == pytest.approx((1 / 2 + 1 / 4) / 2)
        sizes = [of(10.0, 10.0, 10.0), of(5.0, 5.0, 5.0)]
        assert verdict_on(pairs, LOG_LOSS, sizes=sizes).average == pytest.approx((1 / 10 + 1 / 5) / 2)
