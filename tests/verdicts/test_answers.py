"""Answers: where an interval lies, what Holm's correction and earlier looks leave of it, and mutants of each.

Looks are held against the published bounds of group-sequential tests, and simulated.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.intervals import Interval
from scarf_lightning.verdicts import answers, judge_tables
from scarf_lightning.verdicts.answers import (
    SAME,
    UNDECIDED,
    Answer,
    Levels,
    Look,
    Verdict,
    after_looks,
    answer_of,
    chance_of_answer,
    decided,
    level_after,
    needed_at,
    needed_together,
    spent,
)
from scarf_lightning.verdicts.rows_and_fits import ErrorParts
from tests.verdicts.worlds import normal, verdict_of


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.011, 0.05, "helps"),
        (0.001, 0.05, "helps, size open"),
        (0.001, 0.009, "no practical difference"),
        (-0.009, 0.009, "no practical difference"),
        (-0.009, 0.011, UNDECIDED),
        # An interval that ends at a bound lies within the margin, and neither beyond it nor beyond zero.
        (-0.01, 0.01, "no practical difference"),
        (0.01, 0.05, "helps, size open"),
        (0.0, 0.05, UNDECIDED),
        (-0.05, 0.05, UNDECIDED),
        (math.nan, math.nan, UNDECIDED),
    ],
)
def test_an_answer_is_where_the_interval_lies_and_its_mirror_image_mirrors_it(
    low: float, high: float, answer: str
) -> None:
    mirrored = answer.replace("helps", "hurts")

    assert answer_of(Interval((low + high) / 2, low, high), 0.01) == answer
    assert answer_of(Interval(-(low + high) / 2, -high, -low), 0.01) == mirrored


def test_the_surest_comparison_needs_most_and_those_left_open_share_alike() -> None:
    """Holm by hand: 0.06 over three, over two, and the last two that miss it share it, whatever their order."""
    levels = [Levels(0.5, 0.01, 0.5), Levels(0.001, 0.02, 0.5), Levels(0.2, 0.05, 0.5)]

    found = np.array(needed_together(levels, alpha=0.06))

    assert found[:, 0] == pytest.approx([0.03, 0.02, 0.03])
    assert found[:, 1] == pytest.approx([0.02, 0.03, 0.06])
    assert found[:, 2] == pytest.approx([0.02, 0.02, 0.02])
    assert needed_together([]) == []


def together(verdicts: list[Verdict]) -> list[Answer]:
    """The answers of a family."""
    needed = needed_together([verdict.levels for verdict in verdicts])
    return [decided(verdict, its) for verdict, its in zip(verdicts, needed, strict=True)]


def test_a_family_shares_its_level_and_a_smaller_family_claims_more() -> None:
    """Holm by hand: p = 0.02 is claimed alone and with one that is sure, and not with two that are not."""
    sure = verdict_of(np.array([0.030, 0.034, 0.033, 0.028, 0.031] * 2))
    unsure = verdict_of(normal(5, 12, mean=0.0))
    weak = verdict_of(np.array([0.028, 0.058, 0.003, 0.068, 0.028, 0.078, 0.038, 0.018, 0.058, 0.033]))
    assert 0.0167 < weak.levels.direction < 0.025

    assert together([weak]) == [weak.answer] == ["helps, size open"]
    assert together([weak, sure])[0] == "helps, size open"
    assert together([weak, unsure, unsure])[0] == UNDECIDED


@pytest.mark.parametrize("n", [3, 9])
def test_fewer_than_ten_trials_of_a_table_have_an_interval_and_no_answer(n: int) -> None:
    rows = [np.arange(50)] * 10
    values = [np.full(50, 0.05) + np.linspace(-0.01, 0.01, 50) for _ in rows]

    few, enough = verdict_of(values[:n], rows[:n]), verdict_of(values, rows)

    assert (few.answer, enough.answer) == (UNDECIDED, "helps")
    assert few.has_few_trials
    assert 0 < few.low < 0.05 < few.high
    assert verdict_of(normal(0, n, 0.5)).answer == UNDECIDED
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
        found = verdict_of(gains) if random.integers(2) else judge_tables(gains[:, None])
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
    weak = verdict_of(np.array([0.015, 0.034, 0.040, 0.018, 0.027, 0.051, 0.025, -0.005] * 2 + [0.03] * 4))
    assert 0.001 < weak.levels.direction < 0.02
    claimed, missed = Look(10, Levels(0.01, 0.9, 0.9), True, 0.01), Look(10, Levels(0.2, 0.9, 0.9), True, 0.01)

    standing, alone = after_looks(weak, [claimed]), after_looks(weak, [missed])

    assert (standing.answer, alone.answer) == ("helps, size open", UNDECIDED)
    assert standing.interval == alone.interval == weak.interval
    assert [look.trials for look in alone.looks] == [10, 20]
    assert after_looks(weak, [Look(5, Levels(0.2, 0.9, 0.9))]).looks == after_looks(weak, []).looks


def test_what_a_look_has_claimed_stands_unless_the_difference_turns() -> None:
    """In as many trials as margins, so that all levels are of twenty trials alone."""
    weak = replace(verdict_of(normal(5, 20, 0.01)), levels=Levels(0.04, 0.5, 0.5))
    claimed = Look(10, Levels(0.01, 0.03, 0.02), is_gain=True, margin=0.01)

    assert after_looks(weak, [claimed]).levels == claimed.levels
    turned = after_looks(replace(weak, difference=-0.01), [claimed]).levels
    assert turned.direction > 0.05
    assert turned.within == 0.02, "nothing turns within the margin"
    another = after_looks(replace(weak, margin=0.02), [claimed]).levels
    assert another.direction == 0.01
    assert min(another.beyond, another.within) > 0.05, "sizes are about their margin"


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


def bounds(trials: tuple[int, ...], alpha: float) -> list[float]:
    """The standard errors beyond which each look claims."""
    return [answers._open_differences(trials[: n + 1], alpha).bound for n in range(len(trials))]


def test_bounds_are_those_of_pocock_where_his_levels_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five even looks at 2.413 standard errors are false in 5 % (Pocock 1977)."""
    levels = pocock_spending(2.413)
    monkeypatch.setattr(answers, "spent", lambda trials, alpha: np.array(levels[: len(trials)]))
    answers._open_differences.cache_clear()

    found = bounds((1, 2, 3, 4, 5), 0.05)

    answers._open_differences.cache_clear()
    assert levels[-1] == pytest.approx(0.05, abs=3e-4)
    assert found == pytest.approx([2.413] * 5, abs=2e-3)


def pocock_spending(bound: float) -> list[float]:
    """What even looks at one bound spend, by the multivariate normal distribution."""
    n = np.arange(1.0, 6.0)
    alike = np.sqrt(np.minimum.outer(n, n) / np.maximum.outer(n, n))
    levels = []
    for k in range(1, 6):
        inside = stats.multivariate_normal(cov=alike[:k, :k], seed=0).cdf([bound] * k, lower_limit=[-bound] * k)
        levels.append(float(1 - inside))
    return levels


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(5, 10, 20, 30), tuple(range(3, 61)), (10, 37)])
def test_all_looks_together_are_false_in_what_they_may_spend(numbers: tuple[int, ...]) -> None:
    """Sums of normal values where nothing differs, 200,000 draws: within three standard errors."""
    random = np.random.default_rng(0)
    steps = np.sqrt(np.diff(numbers, prepend=0))
    crossed = np.zeros(200_000, dtype=bool)
    total = np.zeros(200_000)
    for step, trials, bound in zip(steps, numbers, bounds(numbers, 0.05), strict=True):
        total += random.normal(size=len(total)) * step
        crossed |= np.abs(total) > bound * math.sqrt(trials)

    expected = float(spent(numbers, 0.05)[-1])
    assert expected <= 0.05
    assert crossed.mean() == pytest.approx(expected, abs=3 * math.sqrt(0.05 / 200_000))


@pytest.mark.slow
@given(p=st.floats(1e-8, 0.05), others=st.sets(st.integers(3, 60), max_size=4))
@settings(max_examples=15, deadline=None)
def test_a_look_claims_at_the_level_that_it_is_said_to_have(p: float, others: set[int]) -> None:
    """The repeated p-value: at this level the bound of the last look is the distance that was seen."""
    numbers = tuple(sorted({*others, 61}))

    level = level_after(p, numbers)

    if 1e-6 < level < 0.1:
        assert 2 * stats.norm.sf(bounds(numbers, level)[-1]) == pytest.approx(p, rel=0.05)
    assert level_after(p, (*numbers, *numbers)) == level, "a look at the same trials costs nothing"
    assert level >= p


def test_one_look_costs_next_to_nothing_and_further_ones_more() -> None:
    assert (
        level_after(0.046, [10]) == pytest.approx(level_after(0.046, [30]), rel=0.01) == pytest.approx(0.05, rel=0.01)
    )
    assert level_after(0.01, [30]) < level_after(0.01, [20, 30]) < level_after(0.01, [10, 20, 30])
    assert needed_at(30, [], 0.05) == pytest.approx(0.046, abs=1e-4)
    assert level_after(needed_at(30, [10], 0.05), [10, 30]) == pytest.approx(0.05, rel=0.02)
    assert level_after(0.0, [10, 20]) == 0.0
    # A first look at the five trials of a first command has about a third of the level, and ten have nearly all.
    assert [round(float(spent([n])[0]), 2) for n in (3, 5, 10)] == [0.01, 0.32, 0.91]
