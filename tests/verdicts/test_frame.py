"""Trials of competitors: levels, gains, means over several, and which test their verdict is from."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.intervals import TEST_TO_TRAIN
from scarf_lightning.metrics import Metric, metric_named
from scarf_lightning.verdicts.answers import UNDECIDED
from scarf_lightning.verdicts.frame import NOT_KEPT, Trials, combined, measured, verdict_on
from scarf_lightning.verdicts.trial_rows import RowsOfTrial, Split, judge_trials, level_of_trials
from scarf_lightning.verdicts.verdict import judge, judge_tables

ACCURACY, BRIER, LOG_LOSS, MCC = map(metric_named, ("accuracy", "brier_score", "log_loss", "mcc"))
LIKELIHOOD = Metric("likelihood", "log-likelihood", True, (-math.inf, math.inf), lambda _, __: 0.0)
ROWS = 40
RANDOM = Split("random", 60.0)


def of(*values: float, **known: object) -> Trials:
    """Trials without predictions, from 0 on."""
    return replace(Trials(dict(enumerate(values))), **known)


def row_values(right: Sequence[float], rows: Sequence[int] | None = None, **known: object) -> RowsOfTrial:
    """The test rows of a trial with the predictions right and wrong."""
    numbers = np.arange(len(right)) if rows is None else np.array(rows)
    values = np.array(right, dtype=np.float64)
    return replace(RowsOfTrial(numbers, values, np.array([[1.0, 0.0]]), values.astype(np.int64)), **known)


def trials_with_rows(seed: int, share: float, trials: int = 5, split: Split = RANDOM) -> Trials:
    """Trials of a competitor that is right on a share of the rows; those of one seed test the same rows."""
    random = np.random.default_rng(seed)
    rows, values = {}, {}
    for trial in range(trials):
        tested = np.sort(random.permutation(2 * ROWS)[:ROWS])
        rows[trial] = row_values(random.random(ROWS) < share, tested)
        values[trial] = float(rows[trial].values.mean())
    return Trials(values, rows, split)


def resampled_half(values: Sequence[float], ratio: float) -> float:
    """Half of the interval of the corrected resampled t-test, by Nadeau and Bengio's variance."""
    n = len(values)
    return float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) * math.sqrt(1 / n + ratio))


@pytest.mark.parametrize(
    ("metric", "first", "second", "base", "expected"),
    [
        (ACCURACY, {0: 0.75, 1: 0.5, 2: 0.9}, {0: 0.5, 1: 0.6, 7: 0.1}, None, [0.25, -0.1]),
        (ACCURACY, {1: 0.5, 0: 0.75}, {0: 0.5, 1: 0.6}, None, [-0.1, 0.25]),
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
    metric: Metric,
    first: dict[int, float],
    second: dict[int, float],
    base: dict[int, float] | None,
    expected: list[float],
) -> None:
    found = verdict_on([(Trials(first), Trials(second))], metric, sizes=[] if base is None else [Trials(base)])

    assert found.difference == pytest.approx(np.mean(expected) if expected else math.nan, nan_ok=True)
    assert found.trials == len(expected)


def test_a_level_without_predictions_is_the_resampled_interval_within_the_bounds() -> None:
    values = [0.8, 0.9, 0.97, 0.85]

    found = of(*values, test_to_train=0.25).level(ACCURACY)

    assert found == pytest.approx((0.88, 0.88 - resampled_half(values, 0.25), 1.0))
    # The rule of three: none of 60 rows was wrong.
    assert of(1.0, 1.0, 1.0, n_test=20).level(ACCURACY).low == pytest.approx(0.05 ** (1 / 60))
    for few in (of(0.5, 0.7), of(0.5, 0.7, 0.6, split=Split("time"))):
        assert few.level(ACCURACY) == pytest.approx((0.6, math.nan, math.nan), nan_ok=True)
    assert math.isnan(of().mean)
    assert math.isnan(of().level(ACCURACY).mean)


@pytest.mark.parametrize("split", ["random", "column"])
def test_a_level_is_of_rows_and_fits_where_every_trial_has_kept_its_predictions(split: str) -> None:
    known = trials_with_rows(0, 0.8, split=Split(split, 60.0))
    trials = replace(known, values={trial: value + 0.001 for trial, value in known.values.items()})

    mean, *ends = trials.level(ACCURACY)

    assert mean == pytest.approx(known.mean + 0.001), "of the values, beside rounded predictions"
    assert ends == list(level_of_trials(list(known.rows.values()), ACCURACY, known.split)[1:])
    values = list(trials.values.values())
    half = resampled_half(values, TEST_TO_TRAIN) if split == "random" else math.nan
    without_one = replace(trials, rows={trial: known.rows[trial] for trial in range(4)})
    assert without_one.level(ACCURACY)[:2] == pytest.approx((mean, mean - half), nan_ok=True)
    three, two = (replace(known, values={trial: known.values[trial] for trial in range(n)}) for n in (3, 2))
    assert three.level(ACCURACY) == level_of_trials([known.rows[trial] for trial in range(3)], ACCURACY, known.split)
    assert two.level(ACCURACY) == pytest.approx((two.mean, math.nan, math.nan), nan_ok=True)


def test_rows_have_the_mean_that_their_trial_was_measured_by() -> None:
    rows = row_values([1, 0, 1, 1])

    assert measured(rows, 0.75 + 1e-10) is rows, "but for rounding"
    moved = measured(rows, 0.7)
    assert moved.values.tolist() == pytest.approx([0.95, -0.05, 0.95, 0.95])
    for sign in (1, -1):
        large = row_values([sign * 3e6, sign * 1e6])
        assert measured(large, sign * (2e6 + 1e-3)) is large, "in parts of the value"
        assert measured(large, sign * (2e6 + 1e-2)) is not large


class TestCombined:
    def test_values_are_the_mean_or_a_weighted_sum_over_the_trials_of_all(self) -> None:
        several = [Trials({0: 0.5, 1: 1.0, 2: 0.25}), Trials({2: 0.75, 0: 1.0}), Trials({0: 0.0, 2: 0.5, 3: 1.0})]

        assert combined(several).values == pytest.approx({0: 0.5, 2: 0.5})
        assert combined(several, 2.0).values == pytest.approx({0: 3.0, 2: 3.0})
        assert combined(several[:1]) is combined(several[:1], 1) is several[0]
        assert combined(several[:1], 2.0).values == {0: 1.0, 1: 2.0, 2: 0.5}
        assert combined([of(0.5, n_test=9, test_to_train=0.1), of(0.7)]) == of(0.6, n_test=9, test_to_train=0.1)

    def test_rows_are_combined_where_all_tested_the_same_ones(self) -> None:
        shown = np.array([[True, False]]), np.array([[False, False]]), None
        rows = [
            {0: row_values(right, one_class=is_of_one, shown=its), 1: row_values(right, [0, 1, 2, other])}
            for right, is_of_one, its, other in zip(
                ([1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]), (True, True, False), shown, (3, 9, 3), strict=True
            )
        ]
        several = [
            Trials({0: 0.5, 1: 0.5, 2: 0.5}, its, Split("group", n_trained))
            for its, n_trained in zip(rows, (50.0, 70.0, 60.0), strict=True)
        ]

        found = combined(several[:2], 2.0)

        assert (list(found.values), list(found.rows)) == ([0, 1, 2], [0])
        assert found.split == Split("group", 70.0), "the most rows of any"
        row = found.rows[0]
        assert (row.rows.tolist(), row.values.tolist()) == ([0, 1, 2, 3], [4, 2, 2, 0])
        assert (row.added.tolist(), row.one_class) == ([[4, 0]], True)
        assert row.shown is not None
        assert row.shown.tolist() == [[True, False]]
        assert len(set(row.codes.tolist())) == 4, "no two rows are predicted alike by both"
        alike = combined([several[0], several[2]]).rows
        assert len(set(alike[0].codes.tolist())) == 2
        assert not alike[0].one_class
        assert list(alike) == [0, 1]
        assert combined([several[2], several[2]]).rows[0].shown is None
        assert combined(several[:1], 3.0).rows[0].values.tolist() == [3, 3, 0, 0]


class TestVerdict:
    def test_on_one_table_it_is_from_rows_and_fits_where_all_predictions_of_the_same_rows_are_known(self) -> None:
        first, second = trials_with_rows(1, 0.9), trials_with_rows(1, 0.7)
        ones, others = list(first.rows.values()), list(second.rows.values())

        found = verdict_on([(first, second)], ACCURACY, 0.02)

        assert found == judge_trials(ones, others, ACCURACY, first.split, margin=0.02, bases=others)
        assert found.basis == "rows and fits"
        differences = np.array([first.values[trial] - second.values[trial] for trial in range(5)])
        resampled = judge(differences[None], margin=0.02, width=1.0)
        last = {trial: second.rows[trial] for trial in range(4)}
        others_last = last | {4: trials_with_rows(2, 0.7).rows[4]}
        for rows in (last, others_last):
            assert verdict_on([(first, replace(second, rows=rows))], ACCURACY, 0.02) == resampled
        assert verdict_on([(first, second)], ACCURACY, 0.02, sizes=[replace(second, rows=last)]) == resampled

    def test_without_predictions_it_has_the_overlap_and_the_test_rows_of_the_trials(self) -> None:
        first, second = (of(*values, test_to_train=0.1, n_test=30) for values in ([0.9] * 3, [0.8, 0.8, 0.8]))

        found = verdict_on([(first, second)], ACCURACY, 0.02)

        expected = judge(np.full((1, 3), 0.1), margin=0.02, test_to_train=0.1, n_test=30, width=1.0)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))

    def test_trials_that_share_their_test_rows_have_none_without_predictions(self) -> None:
        split = Split("column")
        pair = (of(0.9, 0.8, 0.9, split=split), of(0.7, 0.6, 0.8, split=split))

        found = verdict_on([pair], ACCURACY)

        assert (found.answer, found.reason, found.basis) == (UNDECIDED, NOT_KEPT, "none")
        assert found.difference == pytest.approx(0.5 / 3)
        assert math.isnan(found.low)

    @pytest.mark.parametrize(
        ("metric", "reach", "farthest"),
        [(ACCURACY, {}, 1), (ACCURACY, {"reach": 2}, 2), (BRIER, {}, 2), (MCC, {}, 2), (MCC, {"reach": 2}, 4)],
    )
    def test_an_interval_reaches_as_far_as_differences_may(
        self, metric: Metric, reach: dict[str, float], farthest: float
    ) -> None:
        """Four trials that go from one end to the other, with predictions and without."""
        lowest, highest = metric.bounds
        ends = [np.array([lowest, highest] * 2), np.array([highest, lowest] * 2)]
        pair = [of(*its) for its in ends]
        rows = [{t: row_values([value] * 4) for t, value in enumerate(its)} for its in ends]
        with_predictions = [replace(trials, rows=its) for trials, its in zip(pair, rows, strict=True)]

        for first, second in (pair, with_predictions):
            found = verdict_on([(first, second)], metric, **reach)
            assert (found.low, found.high) == (-farthest, farthest)

    @pytest.mark.parametrize("with_rows", [False, True])
    def test_a_metric_of_zero_or_more_falls_by_all_of_the_reference_at_most(self, with_rows: bool) -> None:
        """Its interval is cut at every level, and its answer and levels are those without the cut."""
        first, second = ([0.5, 0.3, 0.8, 0.2, 0.1], [0.3, 0.9, 0.2, 0.4, 0.7])
        pair = [of(*its) for its in (first, second)]
        if with_rows:
            pair = [
                replace(trials, rows={t: row_values([value] * 2) for t, value in trials.values.items()})
                for trials in pair
            ]
        likelihood = replace(LOG_LOSS, higher_is_better=True)
        signed = replace(LOG_LOSS, bounds=(-math.inf, math.inf))

        found, raised, uncut = (verdict_on([tuple(pair)], metric) for metric in (LOG_LOSS, likelihood, signed))

        assert (found.low, found.high) == (uncut.low, 1.0)
        assert (raised.low, raised.high) == (-1.0, -uncut.low)
        assert uncut.high > 1
        assert found.difference == uncut.difference == pytest.approx(0.24)
        assert (found.levels, found.answer, found.parts) == (uncut.levels, uncut.answer, uncut.parts)
        assert found.ends is not None
        assert uncut.ends is not None
        assert found.ends(level=0.99) == uncut.ends(level=0.99)._replace(high=1.0)
        assert found.ends(level=0.1) == uncut.ends(level=0.1)
        # Parts of another competitor have no such end, nor has the difference of two differences.
        assert verdict_on([tuple(pair)], LOG_LOSS, sizes=[of(0.01, 0.01, 0.01, 0.01, 0.01)]).high > 1
        assert verdict_on([tuple(pair)], LOG_LOSS, sizes=[replace(pair[1])], reach=2).high > 1

    def test_few_or_no_common_trials_have_no_interval(self) -> None:
        few = verdict_on([(of(0.9, 0.8), of(0.7, 0.7, 0.7))], ACCURACY)
        none = verdict_on([(Trials({0: 0.5}), Trials({1: 0.5}))], ACCURACY)

        assert (few.trials, few.difference, few.reason) == (2, pytest.approx(0.15), "")
        shared = [of(*values, split=Split("column")) for values in ([0.9, 0.8], [0.7, 0.7])]
        assert verdict_on([tuple(shared)], ACCURACY).reason == "", "more trials are missing, and not predictions"
        assert (none.trials, none.answer) == (0, UNDECIDED)
        assert math.isnan(few.low)
        assert math.isnan(none.difference)

    @pytest.mark.parametrize(("metric", "reach"), [(ACCURACY, 1.0), (ACCURACY, 2.0), (BRIER, 1.0)])
    def test_over_tables_each_has_the_mean_of_its_trials(self, metric: Metric, reach: float) -> None:
        random = np.random.default_rng(3)
        width = reach * metric.bounds[1]
        pairs, padded = [], np.full((10, 6), np.nan)
        known = {"test_to_train": 0.2, "n_test": 5}
        for table, n in enumerate((3, 4, 5, 6, 3, 4, 5)):
            differences = random.normal(0.05, 0.02 * table, n).round(3)
            if table == 6:
                differences = width * np.array([1, -1, 1, -1, 1])
            pairs.append((of(*metric.sign * differences, **known), of(*[0.0] * n, **known)))
            padded[table, :n] = differences
        fixed = {"split": Split("column")}
        pairs.append((of(0.1, 0.2, 0.3, **fixed), of(0.0, 0.0, 0.0, **fixed)))
        padded[7, :3] = metric.sign * np.array([0.1, 0.2, 0.3])
        for table, seed in ((8, 5), (9, 6)):
            pairs.append((trials_with_rows(seed, 0.9), trials_with_rows(seed, 0.8)))
            one, other = (np.array(list(each.values.values())) for each in pairs[table])
            padded[table, :5] = metric.sign * (one - other)
        without_common = (Trials({0: 0.5}), Trials({1: 0.5}))

        found = verdict_on([without_common, *pairs], metric, 0.02, reach=reach)

        expected = judge_tables(padded, margin=0.02)
        assert found.interval == pytest.approx(expected.interval)
        assert found.average == pytest.approx(np.nanmean(padded, axis=1).mean())
        assert (found.datasets, found.trials) == (10, 3)

    def test_relative_differences_are_parts_of_a_base_that_has_an_error_too(self) -> None:
        first, second, base = trials_with_rows(1, 0.9), trials_with_rows(1, 0.7), trials_with_rows(1, 0.5)
        rows = [list(its.rows.values()) for its in (first, second, base)]

        found = verdict_on([(first, second)], LOG_LOSS, sizes=[base])

        assert found == judge_trials(rows[0], rows[1], LOG_LOSS, first.split, size=base.mean, bases=rows[2])
        of_reference = verdict_on([(first, second)], LOG_LOSS)
        assert of_reference == judge_trials(rows[0], rows[1], LOG_LOSS, first.split, size=second.mean)

    def test_relative_differences_are_parts_of_the_sizes_of_their_table(self) -> None:
        pairs = [(of(1.0, 1.0, 1.0), of(2.0, 2.0, 2.0)), (of(3.0, 3.0, 3.0), of(4.0, 4.0, 4.0))]

        found = verdict_on(pairs, LOG_LOSS)
        of_sizes = verdict_on(pairs, LOG_LOSS, sizes=[of(10.0, 10.0, 10.0), of(5.0, 5.0, 5.0)])

        assert found.average == pytest.approx((1 / 2 + 1 / 4) / 2)
        assert of_sizes.average == pytest.approx((1 / 10 + 1 / 5) / 2)
