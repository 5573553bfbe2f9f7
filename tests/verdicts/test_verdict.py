"""Verdicts: against formulas, SciPy, and mutants that take a family, a direction or a part of the error away."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.intervals import FEWEST_TABLES
from scarf_lightning.verdicts.answers import SAME, UNDECIDED, Answer, Levels, needed_together
from scarf_lightning.verdicts.looks import Look
from scarf_lightning.verdicts.rows_and_fits import ErrorParts, error_parts
from scarf_lightning.verdicts.verdict import (
    Verdict,
    after_looks,
    chance_of_answer,
    decided,
    judge_tables,
    median_gain,
)
from tests.verdicts.worlds import judged

RATIO = 2 / 7


def together(verdicts: list[Verdict]) -> list[Answer]:
    """The answers of a family."""
    needed = needed_together([verdict.levels for verdict in verdicts])
    return [decided(verdict, its) for verdict, its in zip(verdicts, needed, strict=True)]


def normal(seed: int, n: int, mean: float = 0.03, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, size=n)


@given(seed=st.integers(0, 1000), n=st.integers(3, 30))
@settings(max_examples=10)
def test_without_predictions_it_is_the_corrected_resampled_test_and_the_posterior_of_baycomp(seed: int, n: int) -> None:
    """Nadeau and Bengio's variance, and the posterior of Corani and Benavoli that baycomp computes, from formulas."""
    differences = normal(seed, n)
    scale = math.sqrt((1 / n + RATIO) * differences.var(ddof=1))
    posterior = stats.t(n - 1, loc=differences.mean(), scale=scale)

    found = judged(differences, test_to_train=RATIO)

    assert (found.low, found.high) == pytest.approx(posterior.interval(0.95))
    assert (found.won, found.lost) == ((differences > 0).sum(), (differences < 0).sum())
    assert (found.basis, found.claim) == ("resampled t-test", "this table")
    assert found.levels.direction == pytest.approx(2 * min(posterior.sf(0), posterior.cdf(0)))


def test_from_predictions_it_is_students_interval_of_the_sum_of_both_parts() -> None:
    random = np.random.default_rng(2)
    rows = [random.permutation(300)[:60] for _ in range(10)]
    values = [random.normal(0.02, 0.3, size=60) for _ in rows]
    parts = error_parts(values, rows)

    found = judged(values, rows)

    posterior = stats.t(parts.freedom, loc=parts.mean, scale=parts.error)
    assert (found.low, found.high) == pytest.approx(posterior.interval(0.95))
    assert found.levels.beyond == pytest.approx(2 * posterior.cdf(0.01))
    assert (found.basis, found.parts) == ("rows and fits", parts)


def test_no_level_is_above_one() -> None:
    """Twice a tail of more than a half: of gains of two points neither a loss nor five points are found, and of gains
    on as many tables as losses no direction."""
    gains = judged(np.array([0.016, 0.024, 0.019, 0.021, 0.020]), margin=0.05)
    assert gains.levels.beyond == 1
    assert judged(np.array([0.016, 0.024, 0.019, 0.021, 0.020] * 2), margin=0.01).levels.within == 1
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
    assert judged(trials).answer == expected
    assert judge_tables(tables).answer == expected
    assert judged(values, rows).answer == expected


def test_a_family_shares_its_level_and_a_smaller_family_claims_more() -> None:
    """Holm by hand: p = 0.02 is claimed alone and with one that is sure, and not with two that are not."""
    sure = judged(np.array([0.030, 0.034, 0.033, 0.028, 0.031] * 2))
    unsure = judged(normal(5, 12, mean=0.0))
    weak = judged(np.array([0.028, 0.058, 0.003, 0.068, 0.028, 0.078, 0.038, 0.018, 0.058, 0.033]))
    assert 0.0167 < weak.levels.direction < 0.025

    assert together([weak]) == [weak.answer] == ["helps, size open"]
    assert together([weak, sure])[0] == "helps, size open"
    assert together([weak, unsure, unsure])[0] == UNDECIDED


SHIFTS = (0.17, -0.17) * 5


@pytest.mark.parametrize(("n_test", "answer"), [(10, UNDECIDED), (50, UNDECIDED), (400, "no practical difference")])
def test_trials_that_never_differ_say_nothing_of_rows_that_none_of_them_tested(n_test: int, answer: str) -> None:
    """The rule of three: none of 400 rows differs, so up to 0.7 points of all rows may; none of 10, up to 26."""
    found = judged(np.zeros(10), n_test=n_test)

    assert found.high == pytest.approx(1 - 0.05 ** (1 / (5 * n_test)))
    rows = [np.arange(n_test)] * 10
    rows_variance = judged([np.zeros(n_test)] * 10, rows)
    assert rows_variance.high == pytest.approx(1 - 0.05 ** (1 / n_test))
    assert rows_variance.answer == answer


def test_too_few_trials_or_tables_claim_nothing() -> None:
    rows = [np.arange(50)] * 2
    for found in (judged(np.array([0.1, 0.1])), judged([np.full(50, 0.1)] * 2, rows)):
        assert (found.answer, found.basis, found.trials) == (UNDECIDED, "none", 2)
        assert math.isnan(found.low)
    few = judge_tables(np.full((5, 3), 0.1))
    assert (few.answer, few.basis, few.datasets) == (UNDECIDED, "none", 5)
    assert few.reason == "an answer over tables needs 6 or more"
    empty = judged(np.empty(0))
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

    by_half, by_one = (judged(alike, rows, [[reach, -reach]]) for reach in (0.5, 1.0))

    assert by_one.high == pytest.approx(1 - 0.05 ** (1 / 100))
    assert by_half.high == pytest.approx(by_one.high / 2)


@pytest.mark.parametrize("n", [3, 9])
def test_fewer_than_ten_trials_of_a_table_have_an_interval_and_no_answer(n: int) -> None:
    rows = [np.arange(50)] * 10
    values = [np.full(50, 0.05) + np.linspace(-0.01, 0.01, 50) for _ in rows]

    few, enough = judged(values[:n], rows[:n]), judged(values, rows)

    assert (few.answer, enough.answer) == (UNDECIDED, "helps")
    assert few.has_few_trials
    assert 0 < few.low < 0.05 < few.high
    assert judged(normal(0, n, 0.5)).answer == UNDECIDED
    assert after_looks(few, [Look(3)]) is few, "no look is taken where nothing may be claimed"
    assert judge_tables(np.linspace(0.02, 0.06, 12)[:, None]).answer == "helps", "over tables one trial is enough"


@given(seed=st.integers(0, 10_000), n=st.integers(1, 4), before=st.sets(st.integers(10, 13), max_size=2))
@settings(max_examples=60, deadline=None)
def test_an_answer_agrees_with_the_95_interval(seed: int, n: int, before: set[int]) -> None:
    """Of several comparisons, with looks before or without, on one table and over tables: what is claimed at a stricter
    level holds in the interval that is shown."""
    random = np.random.default_rng(seed)
    family = []
    for _ in range(n):
        gains = random.normal(random.choice([0.0, 0.005, 0.015, 0.03]), 0.013, size=30)
        found = judged(gains) if random.integers(2) else judge_tables(gains[:, None])
        looks = [Look(t, Levels(*random.uniform(0.01, 0.2, 3)), bool(random.integers(2)), 0.01) for t in before]
        family.append(after_looks(found, looks))

    for found, answer in zip(family, together(family), strict=True):
        assert found.low <= found.difference <= found.high
        if answer.startswith("helps"):
            assert found.low > 0
        if answer.startswith("hurts"):
            assert found.high < 0
        assert answer != "helps" or found.low > 0.01
        assert answer != "hurts" or found.high < -0.01
        assert answer != SAME or -0.01 <= found.low <= found.high <= 0.01


def test_an_answer_that_a_look_has_claimed_stands() -> None:
    """Claimed at ten trials of the level that is left there, and too weak for what is left at twenty."""
    weak = judged(np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, -0.005] * 2 + [0.03] * 4))
    assert 0.001 < weak.levels.direction < 0.02
    claimed, missed = Look(10, Levels(0.01, 0.9, 0.9), True, 0.01), Look(10, Levels(0.2, 0.9, 0.9), True, 0.01)

    standing, alone = after_looks(weak, [claimed]), after_looks(weak, [missed])

    assert (standing.answer, alone.answer) == ("helps, size open", UNDECIDED)
    assert standing.interval == alone.interval == weak.interval
    assert [look.trials for look in alone.looks] == [10, 20]
    assert after_looks(weak, [Look(5, Levels(0.2, 0.9, 0.9))]).looks == after_looks(weak, []).looks


def test_what_a_look_has_claimed_stands_unless_the_difference_turns() -> None:
    """In as many trials as margins, so that all levels are of twenty trials alone."""
    weak = replace(judged(normal(5, 20, 0.01)), levels=Levels(0.04, 0.5, 0.5))
    claimed = Look(10, Levels(0.01, 0.03, 0.02), is_gain=True, margin=0.01)

    assert after_looks(weak, [claimed]).levels == claimed.levels
    turned = after_looks(replace(weak, difference=-0.01), [claimed]).levels
    assert turned.direction > 0.05
    assert turned.within == 0.02, "nothing turns within the margin"
    another = after_looks(replace(weak, margin=0.02), [claimed]).levels
    assert another.direction == 0.01
    assert min(another.beyond, another.within) > 0.05, "sizes are about their margin"


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


def measured(difference: float, margin: float = 0.01, looks: tuple[int, ...] = (), **variances: float) -> Verdict:
    """A difference at ten trials whose degrees of freedom are so many that intervals are normal."""
    rows, fits = variances.get("rows", 0.0), variances.get("fits", 0.0)
    parts = ErrorParts(difference, rows, fits, 0.0, 1e9, 10, 500, 0.2)
    taken = tuple(map(Look, looks))
    return Verdict(difference, 0, 0, 5, 5, 10, 1, difference, margin=margin, parts=parts, looks=taken)


@pytest.mark.parametrize(("difference", "variance"), [(0.006, 1e-4), (-0.02, 2e-4)])
def test_the_chance_of_an_answer_is_that_of_drawn_truths(difference: float, variance: float) -> None:
    """Truths lie around the measured difference, and the later difference between both, as two normal means do."""
    verdict = measured(difference, rows=0.2 * variance, fits=0.8 * variance)
    parts = verdict.parts
    assert parts is not None
    later = parts.expected(30)
    random = np.random.default_rng(3)
    truth = difference + parts.error * random.normal(size=200_000)
    # The first trials are part of the later ones: of both variances the later one is what is left of the truth.
    weight = later.error**2 / parts.error**2
    left = math.sqrt(later.error**2 * (1 - weight))
    seen = truth + weight * (difference - truth) + left * random.normal(size=truth.size)

    answered = np.sign(difference) * seen > stats.norm.isf(0.01) * later.error

    assert chance_of_answer(verdict, 30, Levels(direction=0.02)) == pytest.approx(answered.mean(), abs=0.005)


def test_a_difference_that_does_not_move_has_the_answer_that_it_has() -> None:
    for difference in (0.9, -0.9):
        assert chance_of_answer(measured(difference, rows=1e-4), 10) == 1
    for rows in (1e-4, 0.0):
        assert chance_of_answer(measured(0.0, rows=rows), 10) == 0


def test_a_further_look_and_more_comparisons_lower_the_chance() -> None:
    alone = chance_of_answer(measured(0.02, fits=2e-4), 30)

    assert chance_of_answer(measured(0.02, looks=(10,), fits=2e-4), 30) < alone
    assert chance_of_answer(measured(0.02, fits=2e-4), 30, Levels(0.01, 0.01, 0.01)) < alone
