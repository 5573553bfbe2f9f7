"""What can be found on one table before training, and what would settle it afterwards.

Both follow from the two parts of the error, see `rows_and_fits`. With T trials, each testing n of the table's rows, of
which two trials share the part c, the variance of the rows' part is that of a row's value times (1 / T + (1 - 1 / T) c)
/ n. It falls to c / n, one over the rows of the table, and no further. The part of the fits falls by 1 / T.
"""

import math
from typing import NamedTuple

from scipy.special import stdtrit

from ...intervals import LEVEL
from .answers import MARGIN
from .rows_and_fits import ErrorParts

TEST_SHARE = 0.2
"""The share of a table's rows that is tested in each of the paper's splits (section 4)."""
POWER = 0.8
"""The share of tables on which a difference of the smallest size is found."""
DISAGREEMENT = 0.15
"""The share of rows on which one of two competitors is right and the other wrong, as long as it is not known. Pairs had
0.04 to 0.34 on the real tables of docs/calibration.md."""
FIT_DEVIATION = 0.015
"""The standard deviation that a trial's training rows and seed give its difference, as long as it is not known. Pairs
had 0.007 to 0.023 there."""
MOST_TRIALS = 100
"""More trials than this are not advised."""
MOST_GROWTH = 100
"""A table that would have to grow by more than this is not advised."""
NORMAL_END = 1.96
"""Half of the 95 % interval in standard errors, with many degrees of freedom."""


class Settling(NamedTuple):
    """What would settle a comparison if its difference stays as it is.

    Attributes:
        trials: of this table, in all; None if no number of them would.
        rows: rows with labels that the table would need in all; None if trials are enough, or no number is realistic.
        of_rows: the share of the error's variance that comes from the rows; more trials do not lower it for long.
    """

    trials: int | None
    rows: int | None
    of_rows: float


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
    of_rows = disagreement * (1 / trials + (1 - 1 / trials) * n_test / n_rows) / n_test
    of_fits = fit_deviation**2 / trials
    # Rows are many, and trials are few: Satterthwaite's degrees of freedom.
    freedom = (of_rows + of_fits) ** 2 / (of_rows**2 / (n_rows - 1) + of_fits**2 / max(trials - 1, 1))
    ends = float(stdtrit(freedom, (1 + LEVEL) / 2)) + float(stdtrit(freedom, power))
    return ends * math.sqrt(of_rows + of_fits)


def settling(difference: float, parts: ErrorParts, margin: float = MARGIN) -> Settling:
    """What would settle the direction of a difference, or that it is of no practical consequence.

    The interval must exclude zero, or lie within the margin, whichever takes less.

    Args:
        difference: as measured.
        parts: of its error.
        margin: a difference no larger than this is of no practical consequence.

    Half of the variance is from fits, and the interval must shrink by a tenth:

    >>> parts = ErrorParts(0.018, 5e-5, 5e-5, 20, 10, 500, 120, 0.2, True)
    >>> settling(0.018, parts)
    Settling(trials=14, rows=None, of_rows=0.5)

    A smaller difference takes more than trials, because they all test the same rows:

    >>> settling(0.012, parts)
    Settling(trials=None, rows=687, of_rows=0.5)
    """
    needed = (max(abs(difference), margin - abs(difference)) / NORMAL_END) ** 2
    total = parts.of_rows + parts.of_fits
    share = parts.of_rows / total if total else 1.0
    if needed <= 0 or total == 0:
        return Settling(None, None, share)
    for trials in range(parts.trials + 1, MOST_TRIALS + 1):
        if variance_with(parts, trials) <= needed:
            return Settling(trials, None, share)
    # As many trials as are advised at most, and rows that shrink their part of the error.
    of_fits = parts.of_fits * parts.trials / MOST_TRIALS
    if of_fits >= needed:
        return Settling(None, None, share)
    growth = (variance_with(parts, MOST_TRIALS) - of_fits) / (needed - of_fits)
    rows = parts.n_rows * growth
    return Settling(None, math.ceil(rows) if growth <= MOST_GROWTH else None, share)


def variance_with(parts: ErrorParts, trials: int) -> float:
    """The variance of the mean if there were this many trials.

    >>> parts = ErrorParts(0.0, 4e-4, 1e-4, 20, 10, 500, 120, 0.2, True)
    >>> round(variance_with(parts, 10), 6)
    0.0005
    """

    def rows(count: int) -> float:
        return 1 / count + (1 - 1 / count) * parts.common

    return parts.of_rows * rows(trials) / rows(parts.trials) + parts.of_fits * parts.trials / trials
