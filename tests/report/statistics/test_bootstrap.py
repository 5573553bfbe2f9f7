import numpy as np
import pytest
from scipy import stats

from scarf_lightning.errors import UsageError
from scarf_lightning.report.statistics import mean_relative_gain, probability_of_improvement
from tests.report.statistics.frames import random_scores, scores_from

BOTH = pytest.mark.parametrize("statistic", [probability_of_improvement, mean_relative_gain])
OVER = pytest.mark.parametrize("over", ["trials", "datasets", "both"])


def samples(seed: int, datasets: int, trials: int) -> tuple[np.ndarray, np.ndarray]:
    scores = random_scores(datasets, "ba", trials, seed)
    values = scores.pivot_table(index=["competitor", "dataset"], columns="trial", values="value")
    return values.loc["a"].to_numpy(), values.loc["b"].to_numpy()


def test_probability_is_mann_whitneys_statistic_over_all_pairs() -> None:
    a, b = [0.5, 0.7, 0.7, 0.9], [0.6, 0.7, 0.4]
    found = probability_of_improvement(scores_from({0: {"a": a, "b": b}}), "a", "b")

    assert found.estimate == pytest.approx(stats.mannwhitneyu(a, b).statistic / 12)


def test_estimates_average_datasets_not_trials() -> None:
    scores = scores_from({0: {"a": [0.9], "b": [0.6]}, 1: {"a": [0.3, 0.5, 0.4], "b": [0.5, 0.5, 0.5]}})

    assert probability_of_improvement(scores, "a", "b").estimate == pytest.approx((1 + 1 / 6) / 2)
    assert mean_relative_gain(scores, "a", "b").estimate == pytest.approx((50 - 20) / 2)


def test_the_interval_over_trials_is_that_of_scipy() -> None:
    a, b = samples(seed=7, datasets=1, trials=20)

    found = mean_relative_gain(random_scores(1, "ba", 20, 7), "a", "b", resamples=20_000)

    expected = stats.bootstrap(
        (a[0], b[0]),
        lambda x, y, axis: 100 * (x.mean(axis=axis) / y.mean(axis=axis) - 1),
        n_resamples=20_000, method="percentile", rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.03 * width)
    assert found.high == pytest.approx(expected.high, abs=0.03 * width)


def test_the_interval_over_datasets_is_that_of_scipy() -> None:
    a, b = samples(seed=8, datasets=25, trials=4)
    gains = 100 * (a.mean(axis=1) / b.mean(axis=1) - 1)
    better = (a[:, :, None] > b[:, None]).mean(axis=(1, 2))

    for statistic, values in ((mean_relative_gain, gains), (probability_of_improvement, better)):
        found = statistic(random_scores(25, "ba", 4, 8), "a", "b", over="datasets", resamples=20_000)
        expected = stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
        ).confidence_interval
        width = expected.high - expected.low
        assert found.low == pytest.approx(expected.low, abs=0.03 * width)
        assert found.high == pytest.approx(expected.high, abs=0.03 * width)


def test_strata_keep_differences_between_datasets_out_of_the_interval_over_trials() -> None:
    # A mean of independent datasets has the root of the mean of their variances over their number as its error.
    a, b = samples(seed=9, datasets=10, trials=15)
    means_a, means_b = a.mean(axis=1), b.mean(axis=1)
    errors = [x.var(axis=1) / 15 for x in (a, b)]  # the bootstrap's own variance has no n - 1
    variance = 100**2 * (errors[0] / means_b**2 + errors[1] * (means_a / means_b**2) ** 2)

    found = mean_relative_gain(random_scores(10, "ba", 15, 9), "a", "b", resamples=20_000)

    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(variance.sum()) / 10, rel=0.04)


@BOTH
def test_resampling_both_is_wider_than_either(statistic) -> None:
    scores = random_scores(12, "ba", 5, seed=10)
    intervals = {over: statistic(scores, "a", "b", over=over) for over in ("trials", "datasets", "both")}
    width = {over: found.high - found.low for over, found in intervals.items()}

    assert width["both"] > max(width["trials"], width["datasets"])
    assert len({found.estimate for found in intervals.values()}) == 1


@BOTH
@OVER
def test_the_seed_alone_decides(statistic, over: str) -> None:
    scores = random_scores(6, "ba", 4, seed=11)
    first = statistic(scores, "a", "b", over=over, resamples=200, seed=3)

    shuffled = scores.sample(frac=1, random_state=0)
    assert statistic(shuffled, "a", "b", over=over, resamples=200, seed=3) == first
    other = statistic(scores, "a", "b", over=over, resamples=200, seed=4)
    assert (other.low, other.high) != (first.low, first.high)
    assert first.low < first.estimate < first.high


@OVER
def test_the_two_probabilities_add_up_to_one(over: str) -> None:
    scores = random_scores(6, "ba", 4, seed=12).round({"value": 2})

    one = probability_of_improvement(scores, "a", "b", over=over, resamples=10_000)
    other = probability_of_improvement(scores, "b", "a", over=over, resamples=10_000)

    assert one.estimate + other.estimate == pytest.approx(1)
    assert one.low + other.high == pytest.approx(1, abs=0.03)


@BOTH
def test_datasets_that_lack_one_are_left_out_and_named(statistic) -> None:
    whole = {d: {"a": [0.6, 0.7], "b": [0.5, 0.6, 0.7]} for d in (1, 2)}
    ragged = {**whole, 3: {"a": [0.9, 0.9]}, 4: {"a": [np.nan], "b": [0.1]}}

    found = statistic(scores_from(ragged), "a", "b")

    assert found.left_out == (3, 4)
    assert found.datasets == 2
    assert found.estimate == statistic(scores_from(whole), "a", "b").estimate


def test_a_reference_at_zero_has_no_relative_gain() -> None:
    scores = scores_from({0: {"a": [0.5], "b": [0.0, 0.0]}, 1: {"a": [0.6], "b": [0.0, 0.5, 0.5, 0.5]}})

    found = mean_relative_gain(scores, "a", "b")

    assert found.left_out == (0,)
    assert found.estimate == pytest.approx(60)
    assert np.isfinite([found.low, found.high]).all()
    assert probability_of_improvement(scores, "a", "b").left_out == ()


@BOTH
def test_single_trials_have_no_width_over_trials(statistic) -> None:
    found = statistic(scores_from({0: {"a": [0.6], "b": [0.5]}}), "a", "b", resamples=50)

    assert found.low == pytest.approx(found.estimate)
    assert found.high == pytest.approx(found.estimate)


@BOTH
def test_bad_arguments_are_refused(statistic) -> None:
    scores = scores_from({0: {"a": [0.5]}, 1: {"b": [0.5]}})

    with pytest.raises(UsageError, match="a and b have scores on no dataset in common"):
        statistic(scores, "a", "b")
    with pytest.raises(UsageError, match="no competitor z; they have: a, b"):
        statistic(scores, "a", "z")
    with pytest.raises(UsageError, match="over=runs is unknown; the options are: trials, datasets, both"):
        statistic(scores, "a", "b", over="runs")
