"""Looks again and again: against the published bounds of group-sequential tests, and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scarf_lightning.verdicts import looks
from scarf_lightning.verdicts.looks import level_after, needed_at, spent


def bounds(trials: tuple[int, ...], alpha: float) -> list[float]:
    """The standard errors beyond which each look claims."""
    return [looks._left_open(trials[: n + 1], alpha).bound for n in range(len(trials))]


def test_bounds_are_those_of_pocock_where_his_levels_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five even looks at 2.413 standard errors are false in 5 % (Pocock 1977)."""
    levels = pocock_spending(2.413)
    monkeypatch.setattr(looks, "spent", lambda trials, alpha: np.array(levels[: len(trials)]))
    looks._left_open.cache_clear()

    found = bounds((1, 2, 3, 4, 5), 0.05)

    looks._left_open.cache_clear()
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
