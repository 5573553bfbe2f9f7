import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.report.statistics import verdict
from scarf_lightning.report.statistics.verdict import (
    ENOUGH,
    Verdict,
    _signed_rank_cdf,
    judge,
    judge_fixed,
)

RATIO = 2 / 7
NEARLY_SETTLED = np.random.default_rng(11).normal(0.03, 0.02, (12, 3)).mean(axis=1, keepdims=True) - 0.012


def normal(seed: int, n: int, mean: float = 0.03, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, size=n)


def of_one(differences: np.ndarray, **options: float) -> Verdict:
    """The verdict on one dataset."""
    return judge(differences[None], **options)


@given(seed=st.integers(0, 1000), n=st.integers(3, 30))
def test_one_dataset_has_the_corrected_resampled_interval(seed: int, n: int) -> None:
    """Nadeau and Bengio's variance, and the posterior of Corani and Benavoli, from their formulas."""
    differences = normal(seed, n)
    scale = math.sqrt((1 / n + RATIO) * differences.var(ddof=1))
    posterior = stats.t(n - 1, loc=differences.mean(), scale=scale)

    found = of_one(differences, rope=0.01, test_to_train=RATIO)

    assert (found.low, found.high) == pytest.approx(posterior.interval(0.95))
    assert found.better == pytest.approx(posterior.sf(0))
    assert (found.helps, found.hurts) == pytest.approx((posterior.sf(0.01), posterior.cdf(-0.01)))
    assert found.helps + found.same + found.hurts == pytest.approx(1)
    assert (found.won, found.lost) == ((differences > 0).sum(), (differences < 0).sum())


@given(seed=st.integers(0, 1000), n=st.integers(6, 12))
def test_many_datasets_have_the_interval_of_the_signed_rank_test(seed: int, n: int) -> None:
    """A shift lies in the interval where SciPy's exact test does not reject it."""
    means = normal(seed, n)
    found = judge(np.column_stack([means, means]))

    for shift in np.linspace(found.low - 0.01, found.high + 0.01, 9):
        inside = found.low <= shift <= found.high
        assert inside == (stats.wilcoxon(means - shift, method="exact").pvalue > 0.05)
    pairs = [(a + b) / 2 for i, a in enumerate(means) for b in means[i:]]
    assert found.difference == pytest.approx(np.median(pairs))


def test_the_distribution_of_signed_ranks_by_hand() -> None:
    assert _signed_rank_cdf(3).tolist() == [1 / 8, 2 / 8, 3 / 8, 5 / 8, 6 / 8, 7 / 8, 1]


@pytest.mark.parametrize(
    ("mean", "n", "answer"),
    [
        (0.20, 5, "helps"),
        (-0.20, 5, "hurts"),
        (0.0, 30, "no practical difference"),
        (0.0, 9, "cannot tell yet"),
        (0.012, 30, "cannot tell yet"),
    ],
)
def test_an_answer_is_where_the_interval_lies(mean: float, n: int, answer: str) -> None:
    differences = mean + 0.005 * np.resize([1.0, -1.0, 0.5, -0.5], n)

    assert of_one(differences - differences.mean() + mean).answer == answer


def test_help_takes_an_interval_free_of_zero_and_a_probable_consequence() -> None:
    """Between the ends of the 90 % and the 95 % interval lies the region's end, or zero."""
    noise = np.resize([1.0, -1.0], 10)
    noise = noise / noise.std(ddof=1)
    scale = math.sqrt(1 / 10 + RATIO)
    likely, sure = (stats.t.ppf(p, 9) * scale for p in (0.95, 0.975))

    def answer(mean: float, rope: float) -> str:
        return of_one(mean + noise, rope=rope, test_to_train=RATIO).answer

    assert answer(likely + 1.01, rope=1) == "helps"
    assert answer(-likely - 1.01, rope=1) == "hurts"
    assert answer(likely + 0.99, rope=1) == "cannot tell yet"
    assert answer((likely + sure) / 2, rope=0) == "cannot tell yet"
    assert answer(sure + 0.01, rope=0) == "helps"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rope", [0.0, 0.02])
def test_the_level_of_an_answer_is_that_of_the_weaker_of_its_two_conditions(sign: int, rope: float) -> None:
    """The interval of this level ends at zero, or the difference lies outside the region with one minus this level."""
    differences = normal(2, 8, mean=0.06)
    scale = math.sqrt((1 / 8 + RATIO) * differences.var(ddof=1))
    posterior = stats.t(7, loc=differences.mean(), scale=scale)

    found = of_one(sign * differences, rope=rope, test_to_train=RATIO)

    assert found.answer == ("helps" if sign > 0 else "hurts")
    assert found.p == pytest.approx(max(2 * posterior.cdf(0), posterior.cdf(rope)))
    same = of_one(sign * (differences - differences.mean() + 0.001) / 10, rope=0.05, test_to_train=RATIO)
    assert same.answer != "no practical difference", "eight trials are too few"
    assert same.p == 1


def test_the_level_of_no_difference_is_that_of_the_nearer_end_of_the_region() -> None:
    differences = normal(2, 12, mean=0.002)
    scale = math.sqrt((1 / 12 + RATIO) * differences.var(ddof=1))
    posterior = stats.t(11, loc=differences.mean(), scale=scale)

    found = of_one(differences, rope=0.05, test_to_train=RATIO)

    assert found.answer == "no practical difference"
    assert found.p == pytest.approx(2 * max(posterior.sf(0.05), posterior.cdf(-0.05)))


def test_a_tie_is_never_claimed_from_few_trials_or_datasets() -> None:
    for n in range(10):
        assert of_one(np.zeros(n)).answer == "cannot tell yet"
        assert n < 2 or judge(np.zeros((n, 30))).answer == "cannot tell yet"
    assert of_one(np.zeros(10)).answer == "no practical difference"
    assert judge(np.zeros((24, 3))).answer == "cannot tell yet"
    assert judge(np.zeros((25, 3))).answer == "no practical difference"


@pytest.mark.parametrize(
    ("n_test", "answer"), [(10, "cannot tell yet"), (59, "cannot tell yet"), (60, "no practical difference")]
)
def test_trials_that_never_differ_say_nothing_of_rows_that_none_of_them_tested(n_test: int, answer: str) -> None:
    """With m test rows and none that differs, a share of 1 - 0.05^(1/m) may; five splits have different test rows."""
    verdict = of_one(np.zeros(10), n_test=n_test, width=1.0)
    (half,) = {-verdict.low, verdict.high}

    assert verdict.answer == answer
    assert stats.binom.cdf(0, 5 * n_test, half) == pytest.approx(0.05)


def test_fixed_test_rows_that_never_differ_are_counted_once() -> None:
    few, many = (judge_fixed(np.zeros(10), 0.0, 9, n_test=n, width=1.0) for n in (298, 299))
    assert (few.answer, many.answer) == ("cannot tell yet", "no practical difference")
    assert judge_fixed(np.zeros(10), 0.02, 9, n_test=299, width=1.0).high == pytest.approx(0.02 * stats.t.ppf(0.975, 9))


def test_too_few_trials_or_datasets_claim_nothing() -> None:
    few = of_one(np.array([0.3, 0.31]))
    assert (few.answer, few.trials, few.more) == ("cannot tell yet", 2, None)
    assert math.isnan(few.low)
    few = judge(np.full((5, 30), 0.3))
    assert (few.answer, few.datasets) == ("cannot tell yet", 5)
    assert math.isnan(few.low)
    assert judge(np.full((1, 3), np.nan)).trials == 0


def test_only_common_trials_and_datasets_count() -> None:
    differences = np.full((3, 4), np.nan)
    differences[1, :3] = [0.2, 0.21, 0.19]

    found = judge(differences)

    assert (found.datasets, found.trials, found.answer) == (1, 3, "helps")


def test_an_interval_stays_within_the_metrics_bounds() -> None:
    found = of_one(np.array([0.9, -0.9, 0.8]), width=1.0)

    assert (found.low, found.high) == (-1.0, 1.0)


def test_what_is_predicted_is_a_chance_and_a_number_above_what_there_is() -> None:
    found = judge(NEARLY_SETTLED)

    assert found.answer == "cannot tell yet"
    assert found.more is not None
    assert found.more > found.datasets
    assert ENOUGH <= found.chance <= 1
    assert judge(NEARLY_SETTLED) == found


@pytest.mark.parametrize(("n", "mean"), [(5, 0.024), (5, 0.0), (9, 0.02)])
def test_the_chance_that_more_trials_settle_it_is_that_of_futures_drawn_one_by_one(
    n: int, mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To ten trials: a mean and a variance from their posterior under Jeffreys' prior, and trials from those."""
    draws, variance, rope = 100_000, 0.02**2, 0.01
    monkeypatch.setattr(verdict, "DRAWS", draws)
    monkeypatch.setattr(verdict, "SIZES", (10,))
    noise = np.arange(n) - (n - 1) / 2
    sofar = mean + math.sqrt(variance) * noise / noise.std(ddof=1)

    random = np.random.default_rng(1)
    spread = np.sqrt(variance * (n - 1) / random.chisquare(n - 1, (draws, 1)))
    center = mean + spread / math.sqrt(n) * random.standard_normal((draws, 1))
    more = center + spread * random.standard_normal((draws, 10 - n))
    trials = np.hstack([np.broadcast_to(sofar, (draws, n)), more])
    means, error = trials.mean(axis=1), trials.std(axis=1, ddof=1) * math.sqrt(1 / 10 + RATIO)
    sure, probable = (stats.t.ppf(p, 9) * error for p in (0.975, 0.95))
    settled = (np.abs(means) > sure) & (np.abs(means) - probable > rope) | (np.abs(means) + sure <= rope)

    chance = verdict._settling_trials(mean, variance, n, rope, RATIO)[1]

    assert chance == pytest.approx(settled.mean(), abs=5 * math.sqrt(2 * 0.25 / draws))


@pytest.mark.parametrize("odd", [0, 5, 11])
def test_the_chance_that_more_datasets_settle_it_is_that_of_drawing_none_like_the_odd_one(
    odd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 12 datasets one differs: 3 more, each of them with a weight of the uniform Dirichlet's, are a beta-binomial
    number of its kind. With one among 15 the interval is [0, 0], with two it reaches half of the difference."""
    draws = 20_000
    monkeypatch.setattr(verdict, "FUTURES", draws)
    monkeypatch.setattr(verdict, "SIZES", (15,))
    for kind, high in ((1, 0.0), (2, 0.5)):
        found = judge(np.repeat([0.0, 1.0], [15 - kind, kind])[:, None])
        assert (found.low, found.high) == (0.0, high)

    chance = verdict._settling_datasets(np.where(np.arange(12) == odd, 1.0, 0.0), 0.01)[1]

    none = stats.betabinom.pmf(0, 3, 1, 11)
    assert chance == pytest.approx(none, abs=5 * math.sqrt(none * (1 - none) / draws))


def test_a_number_that_is_not_likely_to_settle_it_is_not_asked_for() -> None:
    found = of_one(normal(1, 5, mean=0.03))

    assert (found.answer, found.more) == ("cannot tell yet", None)
    assert 0 <= found.chance < ENOUGH
    assert math.isnan(of_one(normal(1, 4, mean=0.0)).chance)


@pytest.mark.parametrize("truth", [0.0, 0.01])
def test_few_are_told_that_a_difference_helps_which_has_no_consequence(truth: float) -> None:
    """Differences correlated as splits of one table are; 95 % intervals err in one direction in 2.5 % of cases."""
    random = np.random.default_rng(0)
    correlation = RATIO / (1 + RATIO)
    draws = 400
    wrong = 0
    for _ in range(draws):
        noise = math.sqrt(correlation) * random.normal() + math.sqrt(1 - correlation) * random.normal(size=4)
        wrong += of_one(truth + 0.02 * noise, test_to_train=RATIO).answer in ("helps", "hurts")

    assert wrong <= stats.binom.ppf(0.999, draws, 0.05)


def test_the_level_of_zero_and_the_trials_of_the_dataset_with_fewest() -> None:
    differences = np.full((8, 5), np.nan)
    for dataset in range(8):
        differences[dataset, : 3 if dataset == 2 else 5] = 0.05 + 0.001 * dataset
    told = judge(differences)

    assert (told.trials, told.datasets) == (3, 8)
    assert 0 < told.p_of_zero < 0.05
    assert of_one(np.array([0.1, 0.2])).p_of_zero == 1.0
