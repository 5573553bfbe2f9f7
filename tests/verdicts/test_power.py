"""The chance that more trials decide a comparison: against simulations and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from scarf_lightning.verdicts.answers import Levels
from scarf_lightning.verdicts.power import chance_of_answer
from scarf_lightning.verdicts.rows_and_fits import ErrorParts, error_parts


def parts_of(*, rows_variance: float = 0.0, fits_variance: float = 0.0, trials: int = 10) -> ErrorParts:
    """Parts whose degrees of freedom are so many that intervals are normal."""
    return ErrorParts(0.0, rows_variance, fits_variance, 1e9, trials, 500, 120, 0.2, True)


def test_more_trials_lower_the_part_of_rows_to_that_of_the_table_and_no_further() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=400)
    units = [random.permutation(400)[:80] for _ in range(40)]
    few = error_parts([rows[its] for its in units[:5]], units[:5], n_trained=0)
    many = error_parts([rows[its] for its in units], units, n_trained=0)

    assert few.expected(40).rows_variance == pytest.approx(many.rows_variance, rel=0.25)
    assert few.expected(10**6).rows_variance == pytest.approx(1 / 400, rel=0.25)
    assert parts_of(fits_variance=1e-4).expected(40).fits_variance == pytest.approx(1e-4 / 4)
    noisy = error_parts([rows[its] + random.normal() for its in units[:6]], units[:6])
    same = noisy.expected(6)
    assert (same.rows_variance, same.fits_variance, same.freedom) == pytest.approx(
        (noisy.rows_variance, noisy.fits_variance, noisy.freedom)
    )


@pytest.mark.parametrize(("difference", "variance"), [(0.006, 1e-4), (0.0, 2e-5)])
def test_the_chance_of_an_answer_is_that_of_drawn_truths(difference: float, variance: float) -> None:
    """Truths lie around the measured difference, and the later difference between both, as two normal means do."""
    parts = parts_of(rows_variance=0.2 * variance, fits_variance=0.8 * variance)
    later = parts.expected(30)
    needed = Levels(direction=0.02, within=0.04)
    random = np.random.default_rng(3)
    truth = difference + parts.error * random.normal(size=200_000)
    # The first trials are part of the later ones: of both variances the later one is what is left of the truth.
    weight = later.error**2 / parts.error**2
    left = math.sqrt(later.error**2 * (1 - weight))
    seen = truth + weight * (difference - truth) + left * random.normal(size=truth.size)
    reach = stats.t.isf([0.01, 0.02], later.freedom) * later.error

    answered = (np.abs(seen) > reach[0]) | (np.abs(seen) < 0.01 - reach[1])

    assert chance_of_answer(30, difference, parts, 0.01, needed) == pytest.approx(answered.mean(), abs=0.005)
    # A difference that does not move has the answer that it has, or none.
    fixed = parts_of(rows_variance=1e-4 / (0.1 + 0.9 * 0.2))
    for measured, margin, expected in ((0.9, 0.01, 1), (-0.9, 0.01, 1), (0.0, 0.9, 1)):
        assert chance_of_answer(10, measured, fixed, margin) == expected
    # An interval that is much narrower than the margin has an answer wherever it lies.
    sure = parts_of(rows_variance=2e-8, fits_variance=8e-8)
    assert chance_of_answer(30, difference, sure, 0.01, needed) == 1


def test_a_further_look_and_more_comparisons_lower_the_chance() -> None:
    parts = parts_of(fits_variance=2e-4)
    alone = chance_of_answer(30, 0.02, parts)

    assert chance_of_answer(30, 0.02, parts, looks=[10]) < alone
    assert chance_of_answer(30, 0.02, parts, needed=Levels(0.01, 0.01, 0.01)) < alone
    assert chance_of_answer(30, 0.02, parts, needed=Levels(0.0, 0.0, 0.0)) == 0
