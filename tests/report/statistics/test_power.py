"""What can be found and what would settle a comparison: against simulations and by hand."""

import math

import numpy as np
import pytest

from scarf_lightning.report.statistics.power import (
    MOST_TRIALS,
    settling,
    smallest_difference,
    variance_with,
)
from scarf_lightning.report.statistics.rows_and_fits import ErrorParts, error_parts
from scarf_lightning.report.statistics.verdict import judge_rows


def parts_of(*, of_rows: float = 0.0, of_fits: float = 0.0, trials: int = 10) -> ErrorParts:
    return ErrorParts(0.0, of_rows, of_fits, 50.0, trials, 500, 120, 0.2, True)


def test_a_difference_of_the_smallest_size_is_found_in_four_of_five_tables() -> None:
    """Rows on which one of two differs, as often for as against, and fits that move the whole trial."""
    random = np.random.default_rng(0)
    least = smallest_difference(300, 60, 10)
    found = 0
    for _ in range(200):
        signs = random.choice([1.0, 0.0, -1.0], p=[0.075 + least / 2, 0.85, 0.075 - least / 2], size=300)
        units = [random.permutation(300)[:60] for _ in range(10)]
        values = [signs[its] + random.normal() * 0.015 for its in units]
        found += judge_rows(values, units, n_trained=0).low > 0

    assert found / 200 == pytest.approx(0.8, abs=0.08)


def test_more_trials_lower_the_part_of_rows_to_that_of_the_table_and_no_further() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=400)
    units = [random.permutation(400)[:80] for _ in range(40)]
    few = error_parts([rows[its] for its in units[:5]], units[:5], n_trained=0)
    many = error_parts([rows[its] for its in units], units, n_trained=0)

    assert variance_with(few, 40) == pytest.approx(many.of_rows, rel=0.25)
    assert variance_with(few, 10**6) == pytest.approx(1 / 400, rel=0.25)
    assert variance_with(parts_of(of_fits=1e-4), 40) == pytest.approx(1e-4 / 4)


def test_trials_settle_what_fits_leave_open() -> None:
    """A difference of one standard error of fits: (1.96)^2 = 3.84 times as many trials."""
    found = settling(0.02, parts_of(of_fits=4e-4))

    assert (found.trials, found.rows, found.of_rows) == (39, None, 0.0)
    assert variance_with(parts_of(of_fits=4e-4), 39) <= (0.02 / 1.96) ** 2 < variance_with(parts_of(of_fits=4e-4), 38)


def test_rows_settle_what_trials_cannot() -> None:
    """All of the error is of the 600 rows of the table, so that it falls by their number alone."""
    parts = parts_of(of_rows=4e-4)
    least = variance_with(parts, MOST_TRIALS)

    found = settling(0.02, parts)

    assert found.trials is None
    assert found.of_rows == 1.0
    assert found.rows == math.ceil(600 * least / (0.02 / 1.96) ** 2)


def test_a_difference_near_zero_is_settled_when_the_interval_lies_within_the_margin() -> None:
    needed = (0.01 / 1.96) ** 2
    assert settling(0.0, parts_of(of_fits=2 * needed)).trials == 20


def test_nothing_realistic_settles_what_would_take_too_many_rows() -> None:
    assert settling(0.01, parts_of(of_rows=1.0)) == (None, None, 1.0)
    assert settling(0.01, parts_of(of_fits=1.0)) == (None, None, 0.0)
