"""Differences that can be found on one table, planned before training, and what would settle an open one afterwards.

Both follow from the two parts of the error, see `rows_and_fits.ErrorParts.expected`. A difference does not stay as it
was measured: with more trials or rows it moves by the error that they take away. What is advised has a chance of
`POWER` to end in an answer, after Holm's correction over all comparisons that are answered together.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..intervals import Interval, student_quantile
from .answers import ALONE, MARGIN, Levels
from .centres import FEWEST_DATASETS, FEWEST_TABLES, fewest_tables
from .looks import needed_at
from .rows_and_fits import ErrorParts
from .scores import Floats

TEST_SHARE = 0.2
"""The share of a table's rows that is tested in each of the paper's splits (section 4)."""
POWER = 0.8
"""The share of tables on which a difference of the smallest size is found, and the chance that advice has to settle."""
DISAGREEMENT = 0.15
"""The share of rows on which one of two competitors is right and the other wrong, as long as it is not known. Pairs had
0.04 to 0.34 on the real tables of docs/calibration.md."""
FIT_DEVIATION = 0.015
"""The standard deviation that a trial's training rows and seed give its difference, as long as it is not known. Pairs
had 0.007 to 0.023 there."""
WORTHWHILE = 1 - POWER
"""The chance below which trials will not help: who hears so and trains them still is left without an answer in four
cases of five."""
TRIED = (10, 20, 30, 50, 100)
"""Trials that may be worth it where no number of them has `POWER`."""
NEARLY = 0.9
"""The part of the best chance for which fewer of these trials are enough."""
MOST_TRIALS = 100
"""More trials than this are not advised."""
MOST_GROWTH = 100
"""A table that would have to grow by more than this is not advised."""
GROWTHS = np.geomspace(1, MOST_GROWTH, 231)
"""Growths that are tried, each two per cent above the one before."""


class Errors(NamedTuple):
    """Standard errors of a difference with different numbers of trials, rows or tables.

    Attributes:
        sizes: ``(N,)``.
        freedoms: their degrees of freedom, ``(N,)``.
    """

    sizes: Floats
    freedoms: Floats

    @classmethod
    def of(cls, parts: Sequence[ErrorParts]) -> "Errors":
        """The errors that these parts add up to."""
        return cls(np.array([each.error for each in parts]), np.array([each.freedom for each in parts]))


class Settling(NamedTuple):
    """Trials, or a sample of rows, that would settle a comparison with a chance of `POWER`.

    Attributes:
        trials: of this table, in all; None if no number of them would.
        rows: of the sample that would be needed in all, see `rows_and_fits.ErrorParts.sample`; None if trials are
            enough, or no number is realistic.
        rows_share: the share of the error's variance that comes from the rows; more trials do not lower it for long.
        worthwhile: the fewest trials of `TRIED`, in all, that have nearly the best chance to settle it, where no number
            has `POWER`; None if the best is below `WORTHWHILE`.
        chance: of these trials.
    """

    trials: int | None
    rows: int | None
    rows_share: float
    worthwhile: int | None = None
    chance: float = 0.0


def smallest_difference(
    n_rows: float,
    n_test: float,
    trials: int,
    *,
    disagreement: float = DISAGREEMENT,
    fit_deviation: float = FIT_DEVIATION,
    power: float = POWER,
) -> float:
    """The smallest true difference of accuracy whose direction is found on most tables; smaller ones will stay open.

    Args:
        n_rows: rows of the table that can be tested.
        n_test: of them in each trial.
        trials: number of trials.
        disagreement: the share of rows on which one competitor is right and the other wrong.
        fit_deviation: the standard deviation that a trial's training rows and seed make.
        power: the share of tables on which the difference is to be found.

    >>> round(smallest_difference(150, 30, 5), 3), round(smallest_difference(600, 120, 10), 3)
    (0.121, 0.054)
    """
    # Two trials share n_test / n_rows of their test rows, so more trials do not average away what these have in common.
    rows_variance = disagreement * (1 / trials + (1 - 1 / trials) * n_test / n_rows) / n_test
    fits_variance = fit_deviation**2 / trials
    variance = rows_variance + fits_variance
    # Rows are many, and trials are few: Satterthwaite's degrees of freedom.
    freedom = variance**2 / (rows_variance**2 / (n_rows - 1) + fits_variance**2 / max(trials - 1, 1))
    # The interval must exclude zero, and the estimate must not fall short of it more often than power allows.
    half = student_quantile(freedom)
    luck = student_quantile(freedom, power)
    return (half + luck) * math.sqrt(variance)


def settling(
    difference: float,
    parts: ErrorParts,
    margin: float = MARGIN,
    needed: Levels = ALONE,
    looks: Sequence[int] = (),
) -> Settling:
    """Trials or rows that would settle the direction of a difference, or that it is of no practical consequence.

    Args:
        difference: as measured.
        parts: of its error.
        margin: a difference no larger than this is of no practical consequence.
        needed: levels that the comparison must reach, see `answers.needed_together`.
        looks: the numbers of trials after which it was looked at, which make a further look stricter; none if nobody
            looks again.

    Half of the variance is from fits, which trials average away:

    >>> parts = ErrorParts(0.02, 5e-5, 5e-5, 20, 10, 500, 120, 0.2, True)
    >>> settling(0.02, parts)
    Settling(trials=44, rows=None, rows_share=0.5, worthwhile=None, chance=0.0)

    A smaller difference takes more than trials for such a chance, because they all test the same rows:

    >>> found = settling(0.012, parts)
    >>> found.trials, found.rows, found.worthwhile, round(found.chance, 2)
    (None, 2342, 100, 0.46)
    """
    total = parts.rows_variance + parts.fits_variance
    if not total:
        return Settling(None, None, 1.0)
    share = parts.rows_variance / total
    # Trials first: they cost time alone, and rows with labels may not exist.
    now = Errors.of([parts])
    numbers = range(parts.trials + 1, MOST_TRIALS + 1)
    chances = chances_of_answer(difference, now, Errors.of([*map(parts.expected, numbers)]), margin, needed)

    def chance_after(trials: int) -> float:
        """The chance of so many trials at the level that looks leave them."""
        after = needed_after(trials, looks, needed)
        return float(chances_of_answer(difference, now, Errors.of([parts.expected(trials)]), margin, after)[0])

    for trials, chance in zip(numbers, chances, strict=True):
        # Where the level of a first look would not be enough, a stricter one is not either.
        if chance >= POWER and chance_after(trials) >= POWER:
            return Settling(trials, None, share)
    # A look that comes soon after another has a stricter level than one that comes late.
    tried = {trials: chance_after(trials) for trials in TRIED if trials > parts.trials}
    best = max(tried.values(), default=0.0)
    worthwhile = None
    if best >= WORTHWHILE:
        worthwhile, best = next(item for item in tried.items() if item[1] >= NEARLY * best)
    # As many trials as are advised at most, and rows that shrink their part of the error.
    later = Errors.of([parts.expected(MOST_TRIALS, float(growth)) for growth in GROWTHS])
    # A table with more rows is another one, at which nobody has looked.
    settles = chances_of_answer(difference, now, later, margin, needed) >= POWER
    if settles.any():
        return Settling(None, math.ceil(parts.n_rows * GROWTHS[settles.argmax()]), share, worthwhile, best)
    return Settling(None, None, share, worthwhile, best)


def needed_after(trials: int, looks: Sequence[int], needed: Levels) -> Levels:
    """The levels that a comparison must reach by itself at a further look, after those that were taken.

    >>> after = needed_after(30, [10], ALONE)
    >>> round(after.direction, 3)
    0.007
    """
    if not looks:
        return needed
    return Levels(*(needed_at(trials, looks, level) if level else 0.0 for level in needed))


def fewest_after(trials: int, needed: Levels = ALONE, looks: Sequence[int] = ()) -> int:
    """The fewest tables, of so many trials each, over which a direction can be claimed at the levels that are left.

    >>> fewest_after(3), fewest_after(3, Levels(0.025)), fewest_after(3, Levels(0.025), [18])
    (6, 7, 9)
    """
    number = FEWEST_TABLES
    while number < fewest_tables(needed_after(number * trials, looks, needed).direction):
        number += 1
    return number


def settling_tables(
    median: Interval,
    tables: int,
    most: int,
    margin: float = MARGIN,
    needed: Levels = ALONE,
    *,
    trials: int = 1,
    looks: Sequence[int] = (),
) -> int | None:
    """The number of tables, in all, that would settle a median gain with a chance of `POWER`; None beyond ``most``.

    Args:
        median: gain over the tables, with its 95 % interval.
        tables: their number.
        most: tables that are tried.
        margin, needed: as in `settling`.
        trials: of each table.
        looks: as in `settling`, by the trials of all tables together.

    >>> settling_tables(Interval(0.02, -0.005, 0.045), 12, 120)
    47
    """
    freedom = tables - 1
    # The error that an interval of Student's t of this width would have; the sign test gives none of its own.
    error = (median.high - median.low) / 2 / student_quantile(freedom)
    # Without an interval nothing tells how many tables would narrow it.
    if not error or not math.isfinite(error):
        return None
    now = Errors(np.array([error]), np.array([freedom]))

    def chance(number: int, levels: Levels) -> float:
        """The chance of so many tables at these levels."""
        # That nothing differs is claimed with an interval of the mean alone, which few tables do not have.
        asked = levels._replace(within=0.0) if number < FEWEST_DATASETS else levels
        # Each table is another draw, so the error falls by the root of their number.
        later = Errors(np.array([error * math.sqrt(tables / number)]), np.array([number - 1]))
        return float(chances_of_answer(median.mean, now, later, margin, asked)[0])

    for number in range(max(tables + 1, fewest_tables(needed.direction)), most + 1):
        # Where the level of a first look would not be enough, a stricter one is not either.
        if chance(number, needed) < POWER:
            continue
        after = needed_after(number * trials, looks, needed)
        if number >= fewest_tables(after.direction) and chance(number, after) >= POWER:
            return number
    return None


def chances_of_answer(
    difference: float, now: Errors, later: Errors, margin: float = MARGIN, needed: Levels = ALONE
) -> Floats:
    """The chance that a difference has an answer later: a direction, or that it lies within the margin.

    The true difference lies around the measured one by its error. What is measured later lies around the true one by
    a smaller error, and shares what was measured before. So it moves by the difference of both variances.

    Args:
        difference, margin, needed: as in `settling`.
        now: its error as it is, one.
        later: its error as it may be, N of them.

    Returns:
        The chance with each later error, ``(N,)``.

    >>> parts = ErrorParts(0.02, 0.0, 1e-4, 9, 10, 500, 120, 0.2, True)
    >>> later = Errors.of([parts.expected(trials) for trials in (11, 20, 40)])
    >>> chances_of_answer(0.02, Errors.of([parts]), later).round(2)
    array([0.34, 0.76, 0.86])
    """
    # A direction needs a difference beyond the first, and no practical difference one below the second.
    direction_bounds = _quantiles(later.freedoms, needed.direction) * later.sizes
    within_bounds = margin - _quantiles(later.freedoms, needed.within) * later.sizes
    # An estimate moves by the error that it loses.
    spreads = np.sqrt(np.maximum(now.sizes**2 - later.sizes**2, 0.0))

    def below(bounds: Floats) -> Floats:
        """The chance of a difference below the bounds."""
        from scipy.special import stdtr

        # A difference that does not move is below a bound for sure, or above it.
        moves = np.where(bounds < difference, -np.inf, np.inf)
        np.divide(bounds - difference, spreads, out=moves, where=spreads > 0)
        return np.asarray(stdtr(now.freedoms, moves))

    # Neither farther from zero than a direction needs, nor near enough to it.
    left_open = below(direction_bounds) - below(-direction_bounds)
    left_open -= np.where(within_bounds > 0, below(within_bounds) - below(-within_bounds), 0.0)
    # Where both kinds of answers overlap, every difference has one.
    return np.where(direction_bounds <= within_bounds, 1.0, 1 - left_open)


def _quantiles(freedoms: Floats, level: float) -> Floats:
    """How many standard errors an interval of Student's t reaches to each side at this level."""
    from scipy.special import stdtrit

    # No interval is wide enough for a level of zero. Some versions of scipy have NaN there.
    if not level:
        return np.full(len(freedoms), math.inf)
    return np.asarray(stdtrit(freedoms, 1 - level / 2))
