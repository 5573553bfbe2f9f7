"""What can be found and what would settle a comparison: against simulations and by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from scarf_lightning.intervals import Interval
from scarf_lightning.verdicts.answers import ALONE, CANNOT_TELL, Levels
from scarf_lightning.verdicts.centres import FEWEST_DATASETS, FEWEST_TABLES
from scarf_lightning.verdicts.looks import needed_at
from scarf_lightning.verdicts.power import (
    MOST_TRIALS,
    NEARLY,
    POWER,
    TRIED,
    WORTHWHILE,
    Errors,
    chances_of_answer,
    fewest_after,
    needed_after,
    settling,
    settling_tables,
    smallest_difference,
)
from scarf_lightning.verdicts.rows_and_fits import ErrorParts, error_parts
from scarf_lightning.verdicts.verdict import judge_rows, judge_tables
from tools.benchmarks.calibration import World, settled


def parts_of(*, rows_variance: float = 0.0, fits_variance: float = 0.0, trials: int = 10) -> ErrorParts:
    """Parts whose degrees of freedom are so many that intervals are normal."""
    return ErrorParts(0.0, rows_variance, fits_variance, 1e9, trials, 500, 120, 0.2, True)


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


@pytest.mark.parametrize(
    ("sizes", "rows_variance", "fits_variance"),
    [
        # 0.15 (1 / 10 + 9 / 10 * 60 / 300) / 60 and 0.015^2 / 10: two of ten trials share a fifth of their rows.
        ((300, 60, 10), 7e-4, 2.25e-5),
        ((300, 60, 1), 2.5e-3, 2.25e-4),
    ],
)
def test_the_smallest_difference_is_that_of_students_t_with_the_freedom_of_both_parts(
    sizes: tuple[int, int, int], rows_variance: float, fits_variance: float
) -> None:
    n_rows, _, trials = sizes
    variance = rows_variance + fits_variance
    freedom = variance**2 / (rows_variance**2 / (n_rows - 1) + fits_variance**2 / max(trials - 1, 1))

    for power in (0.8, 0.9):
        found = smallest_difference(*sizes, power=power)
        assert found == pytest.approx(stats.t.ppf([0.975, power], freedom).sum() * math.sqrt(variance))


def test_more_trials_lower_the_part_of_rows_to_that_of_the_table_and_no_further() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=400)
    units = [random.permutation(400)[:80] for _ in range(40)]
    few = error_parts([rows[its] for its in units[:5]], units[:5], n_trained=0)
    many = error_parts([rows[its] for its in units], units, n_trained=0)

    assert few.expected(40).rows_variance == pytest.approx(many.rows_variance, rel=0.25)
    assert few.expected(10**6).rows_variance == pytest.approx(1 / 400, rel=0.25)
    assert few.expected(10**6, growth=2.0).rows_variance == pytest.approx(1 / 800, rel=0.25)
    assert parts_of(fits_variance=1e-4).expected(40).fits_variance == pytest.approx(1e-4 / 4)
    noisy = error_parts([rows[its] + random.normal() for its in units[:6]], units[:6])
    same = noisy.expected(6)
    assert (same.rows_variance, same.fits_variance, same.freedom) == pytest.approx(
        (noisy.rows_variance, noisy.fits_variance, noisy.freedom)
    )


def test_trials_settle_what_fits_leave_open() -> None:
    """The error of ten trials is v / 10, and that of n trials v / n. The difference moves by v / 10 - v / n."""
    found = settling(0.02, parts_of(fits_variance=1e-4))

    def chance(trials: float, variance: float = 1e-4) -> float:
        error, spread = math.sqrt(10 * variance / trials), math.sqrt(variance - 10 * variance / trials)
        reach = stats.t.ppf(0.975, trials - 1) * error
        return float(stats.norm.sf(reach, 0.02, spread) + stats.norm.cdf(-reach, 0.02, spread))

    for enough, advised in ((99.5, 100), (100.5, None)):
        variance = optimize.brentq(lambda v, n=enough: chance(n, v) - POWER, 1e-5, 1e-3)
        assert settling(0.02, parts_of(fits_variance=variance), margin=0).trials == advised
    assert settling(0.5, parts_of(fits_variance=1e-4)).trials == 11, "one more than there are"
    assert (found.rows, found.rows_share) == (None, 0.0)
    assert found.trials is not None
    # The margin adds a little to the chance: with many trials the interval lies within it more often.
    assert chance(found.trials) == pytest.approx(POWER, abs=0.03)
    assert chance(found.trials - 2) < POWER


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
    (chance,) = chances_of_answer(difference, Errors.of([parts]), Errors.of([later]), 0.01, needed)

    assert chance == pytest.approx(answered.mean(), abs=0.005)
    # A difference that does not move has the answer that it has, or none.
    now = Errors(np.array([0.01]), np.array([1e9]))
    for measured, margin, expected in ((0.03, 0.01, 1), (-0.03, 0.01, 1), (0.015, 0.01, 0), (0.0, 0.03, 1)):
        assert chances_of_answer(measured, now, now, margin) == [expected]
    # An interval that is much narrower than the margin has an answer wherever it lies.
    sure = parts_of(rows_variance=2e-8, fits_variance=8e-8)
    later = Errors.of([sure.expected(30)])
    assert chances_of_answer(difference, Errors.of([sure]), later, 0.01, needed) == [1]


def test_rows_settle_what_trials_cannot() -> None:
    """All of the error is of the 600 rows of the table, so that it falls by their number alone."""
    parts = parts_of(rows_variance=4e-4)

    found = settling(0.02, parts)

    assert found.trials is None
    assert found.rows_share == 1.0
    assert found.rows is not None
    for rows, enough in ((found.rows, True), (found.rows / 1.03, False)):
        later = Errors.of([parts.expected(MOST_TRIALS, rows / 600)])
        (chance,) = chances_of_answer(0.02, Errors.of([parts]), later)
        assert (chance >= POWER) == enough
    # Nothing realistic settles what would take too many trials or rows.
    assert settling(0.01, parts_of(fits_variance=1.0))[:3] == (None, None, 0.0)
    assert settling(0.01, parts_of(rows_variance=1.0), needed=Levels(1e-9, 1e-9, 1e-9)) == (None, None, 1.0, None, 0.0)


def test_trials_are_worthwhile_that_settle_it_with_less_than_power_and_not_for_next_to_no_chance() -> None:
    """Few trials are enough if they have nearly the chance of many, and a look that comes soon after one has less."""
    parts = parts_of(rows_variance=2e-4, fits_variance=1e-4, trials=5)
    looks = (5,)

    def chance(trials: int) -> float:
        after = needed_after(trials, looks, ALONE)
        return float(chances_of_answer(0.02, Errors.of([parts]), Errors.of([parts.expected(trials)]), needed=after)[0])

    found = settling(0.02, parts, looks=looks)

    assert found.trials is None
    assert found.worthwhile is not None
    assert found.chance == chance(found.worthwhile)
    assert WORTHWHILE < found.chance < POWER
    fewer = [trials for trials in TRIED if 5 < trials < found.worthwhile]
    assert all(chance(trials) < NEARLY * chance(MOST_TRIALS) for trials in fewer)
    # All of its error is of the rows that it has.
    fixed = replace(parts_of(rows_variance=4e-4, trials=30), common=1.0)
    assert settling(0.0, fixed).worthwhile is None
    assert settling(0.02, parts_of(rows_variance=4e-4, trials=MOST_TRIALS)).worthwhile is None, "there are no more"


@pytest.mark.parametrize(("least", "growth"), [(1e-4, 1), (2e-4, 100)])
def test_tables_that_grow_by_nothing_up_to_a_hundredfold_are_advised(least: float, growth: int) -> None:
    """Of errors of which a fifth is of 600 rows: the least that takes more than trials, and the largest that rows
    settle."""
    most = 1.5 * least

    def advised(variance: float) -> int | None:
        found = settling(0.02, parts_of(rows_variance=0.2 * variance, fits_variance=0.8 * variance))
        return found.rows if found.trials is None else 0

    is_settled = [0] if growth == 1 else range(600, 60_001)
    for _ in range(20):
        middle = (least + most) / 2
        least, most = (middle, most) if advised(middle) in is_settled else (least, middle)

    assert advised(most if growth == 1 else least) == pytest.approx(600 * growth, rel=0.03)


def test_a_difference_near_zero_is_settled_within_the_margin_and_more_comparisons_take_more_trials() -> None:
    def trials(difference: float, fits_variance: float, direction: float = 0.05, within: float = 0.05) -> int:
        found = settling(
            difference, parts_of(fits_variance=fits_variance), needed=Levels(direction, within=within)
        ).trials
        assert found is not None
        return found

    assert trials(0.0, 2e-5, 0.05, 0.01) > trials(0.0, 2e-5)
    assert trials(0.02, 1e-4, 0.005, 0.005) > 1.3 * trials(0.02, 1e-4)


def test_a_further_look_needs_stricter_levels_and_more_trials() -> None:
    parts = parts_of(fits_variance=1e-4)
    alone, again = (settling(0.02, parts, looks=looks).trials for looks in ((), (5, 10)))
    assert alone is not None
    assert again is not None
    assert again > alone

    assert needed_after(30, [], ALONE) is ALONE
    after = needed_after(30, [10], Levels(0.05, 0.0, 0.02))
    assert after == (needed_at(30, [10], 0.05), 0.0, needed_at(30, [10], 0.02))


@pytest.mark.slow
@pytest.mark.parametrize("comparisons", [1, 5])
def test_advised_trials_settle_in_four_cases_of_five(comparisons: int) -> None:
    """60 and 37 % of them were answered while a difference was taken to stay as it was measured."""
    line = settled(np.random.default_rng(5), 150 // comparisons, comparisons, 5, World(by_rows=0.0, by_seed=0.04))

    assert line.draws > 12
    assert 0.7 < line.direction / line.draws < 0.98


@pytest.mark.slow
def test_advised_tables_settle_in_four_cases_of_five() -> None:
    """Gains of tables around a mean that lies anywhere, and verdicts on those that advice adds."""
    random = np.random.default_rng(6)
    asked = answered = 0
    for _ in range(90):
        gains = random.uniform(-0.1, 0.1) + 0.05 * random.normal(size=(60, 1))
        verdict = judge_tables(gains[:8], np.full(8, 0.005))
        if verdict.answer != CANNOT_TELL:
            continue
        total = settling_tables(verdict.interval, 8, 60)
        if total is not None:
            asked += 1
            answered += judge_tables(gains[:total], np.full(total, 0.005)).answer != CANNOT_TELL

    assert asked > 10
    assert 0.65 < answered / asked < 0.98


def test_tables_settle_as_trials_do_whose_error_falls_with_their_number() -> None:
    """A table is a trial of fits alone: eight of them have Student's interval of seven degrees of freedom."""
    interval = Interval(0.04, 0.0, 0.08)
    parts = ErrorParts(0.04, 0.0, (0.04 / stats.t.ppf(0.975, 7)) ** 2, 7, 8, 8, 1, 0.0, True)

    total = settling_tables(interval, 8, 60)

    assert total is not None
    assert 9 <= total <= 20
    (chance,) = chances_of_answer(0.04, Errors.of([parts]), Errors.of([parts.expected(total + 1)]))
    assert chance > POWER - 0.02

    def chance_of(gain: float, tables: int) -> float:
        """Of six tables, whose interval of five degrees of freedom reaches 0.05 to each side."""
        error = 0.05 / stats.t.ppf(0.975, 5)
        later = error * math.sqrt(6 / tables)
        reach, spread = stats.t.ppf(0.975, tables - 1) * later, math.sqrt(error**2 - later**2)
        return float(stats.t.sf((reach - gain) / spread, 5) + stats.t.cdf((-reach - gain) / spread, 5))

    for gain in (0.036, 0.04, 0.045, 0.048):
        found = settling_tables(Interval(gain, gain - 0.05, gain + 0.05), 6, 99, margin=0)
        assert found == next(n for n in range(7, 99) if chance_of(gain, n) >= POWER)
    # That nothing differs is claimed with an interval of the mean, which few tables do not have.
    assert settling_tables(Interval(0.0, -0.0105, 0.0105), 8, 60) == FEWEST_DATASETS
    # At so strict a level even tables that all gain are too few, and a look before leaves less of it.
    strict = Levels(2e-5, within=0.0)
    assert settling_tables(Interval(0.9, 0.85, 0.95), 8, 60, needed=strict) == fewest_after(1, strict) == 17
    looked = settling_tables(interval, 8, 60, trials=3, looks=[24])
    assert looked is not None
    assert looked > total
    of_two = Levels(0.025)
    assert fewest_after(3, of_two, looks=[18]) > fewest_after(3, of_two) > fewest_after(3) == FEWEST_TABLES
    assert settling_tables(interval, 8, total) == total
    assert settling_tables(interval, 8, total - 1) is None, "fewer tables are too few"
    assert settling_tables(Interval(0.0, 0.0, 0.0), 8, 80) is None, "equal tables take no number"
    assert settling_tables(Interval(0.04, math.nan, math.nan), 8, 80) is None, "nor do those without an interval"
