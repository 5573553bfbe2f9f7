"""The error of a mean over trials of one table, from the values of their test rows.

A mean over trials is off for two reasons. The table has these rows and no others: the part of the *rows*. Each trial
has training rows and a seed of its own: the part of the *fits*, which more trials average away.

- **Rows.** Each row's values, summed over the trials that tested it, show this part.
- **Fits.** The spread of the trials, beyond what their test rows explain, shows this part. Both are the two-way
  clustered error by row and by trial (Cameron, Gelbach and Miller 2011, DOI 10.1198/jbes.2010.07136).
- **Pairs.** A row is tested by networks that its neighbours trained, and trains networks that test its neighbours. So
  the errors of two rows depend on each other (Bates, Hastie and Tibshirani 2023, DOI 10.1080/01621459.2023.2197686).
  How much a row's value changes from trial to trial bounds this part, because training rows are among what changes it;
  `OF_BOUND` of the bound is taken.

The interval is then about *this table*: training sets drawn from its rows, tested on new rows like these.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..intervals import UNBOUNDED, Interval, student_interval, student_quantile
from ..intervals import unseen as unseen_share
from .answers import Floats

Integers = NDArray[np.int64]

OF_BOUND = 0.07
"""The part of its bound that the dependence of pairs is taken to have. Without it, intervals from thirty trials of real
tables held the truth in 90 to 95 %, with it in 92 to 97 % (release 0.2)."""
FEWEST_FREEDOM = 2 / 3
"""The least part of a trial's spread that counts towards the degrees of freedom. A spread that test rows explain by
chance leaves no part of the fits, but does not make its absence sure."""
FEWEST_DIFFERENT = 0.1
"""The share of different predictions that tells rows from their copies."""
MOST_FREEDOM = 1e9
"""Degrees of freedom that stand for infinitely many."""
NOTHING = np.empty((0, 2))
DIGITS = 9
"""Digits of a share that are not rounding."""
MOST_IN_TRAINING = 0.95
"""The share of a table's rows that trains at most, where it cannot be known."""


@dataclass(frozen=True)
class ErrorParts:
    """A mean over trials, and its variance by where it comes from.

    Attributes:
        mean: over trials.
        rows_variance: variance from the rows that the table happens to have, that of pairs among it.
        fits_variance: variance from the trials' training rows and seeds.
        uncertain_fits: the same as it counts towards the degrees of freedom, at least as much.
        rows_freedom: degrees of freedom of the rows' part.
        trials: number of trials.
        n_tested: different rows, or units of rows, that some trial tested.
        common: the share of their test rows that two trials have in common.
        varies: true if any value differs from any other.
        reach: the most by which a row that no trial tested may differ from the mean; None if it is unknown.
    """

    mean: float
    rows_variance: float
    fits_variance: float
    uncertain_fits: float
    rows_freedom: float
    trials: int
    n_tested: int
    common: float
    varies: bool
    reach: float | None = None

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return math.sqrt(self.rows_variance + self.fits_variance)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the sum of both variances (Satterthwaite 1946, DOI 10.2307/3002019); at least 1."""
        spread = self.rows_variance**2 / self.rows_freedom
        # One trial has no degrees of freedom for the fits, and only its rows have a part in the error.
        if self.trials > 1:
            spread += self.uncertain_fits**2 / (self.trials - 1)
        if not spread:
            return MOST_FREEDOM
        freedom = (self.rows_variance + self.fits_variance) ** 2 / spread
        return min(max(freedom, 1.0), MOST_FREEDOM)

    def expected(self, trials: int) -> "ErrorParts":
        """The parts that this many trials are expected to have.

        With T trials, each testing n of the rows, of which two share the part c, the variance of the rows' part is that
        of a row's value times (1 / T + (1 - 1 / T) c) / n. It falls to c / n, one over the rows of the table, and no
        further. The part of the fits falls by 1 / T.

        >>> parts = ErrorParts(0.0, 4e-4, 1e-4, 1e-4, 99, 10, 500, 0.2, True)
        >>> later = parts.expected(20)
        >>> round(later.rows_variance, 6), later.fits_variance
        (0.000343, 5e-05)
        """
        now, later = (1 / n + (1 - 1 / n) * self.common for n in (self.trials, trials))
        return replace(
            self,
            rows_variance=self.rows_variance * later / now,
            fits_variance=self.fits_variance * self.trials / trials,
            uncertain_fits=self.uncertain_fits * self.trials / trials,
            trials=trials,
        )


def error_parts(
    values: Sequence[Floats],
    units: Sequence[Integers],
    n_trained: float = math.inf,
    unseen: Floats = NOTHING,
    *,
    fewest_freedom: float = FEWEST_FREEDOM,
) -> ErrorParts:
    """The error of a mean over trials, from the values of their test rows.

    Args:
        values: of the test rows of each of T trials, ``(n_t,)``. A trial's mean is its metric, or its difference.
        units: which row of the table each value belongs to, ``(n_t,)``. Rows that depend on each other, such as those
            of a group, share a number.
        n_trained: rows that a trial trains on with their labels; all that it does not test if not given.
        unseen: values that rows may have which no trial tested, ``(K, 2)``, see `unseen_values`.
        fewest_freedom: see `FEWEST_FREEDOM`.

    Two trials test the same three rows. The spread of the rows' means 0, 0.5 and 1 is the part of the rows, 0.25 / 3;
    that of the trials' means 0 and 1, beyond what three rows explain, is the part of the fits, (0.5 - 0.25 / 3) / 2:

    >>> import numpy as np
    >>> rows = np.arange(3)
    >>> parts = error_parts([np.array([-0.5, 0.0, 0.5]), np.array([0.5, 1.0, 1.5])], [rows, rows])
    >>> parts.mean, round(parts.rows_variance, 4), round(parts.fits_variance, 4)
    (0.5, 0.0833, 0.2083)
    """
    trials = len(values)
    means = np.array([row_values.mean() for row_values in values])
    mean = float(means.mean())
    deviations, shares = _unit_parts(values, units, means)
    n_units = shares.shape[1]

    # The part of the rows: each unit's contributions to the mean's deviation, over the trials that tested it. Summed
    # before they are squared, because a unit that is hard in one trial is hard in all.
    totals = (deviations + shares * (means - mean)[:, None]).sum(axis=0) / trials
    # One more row of each kind, as likely to have the one value as the other.
    added = np.sqrt(((unseen - mean) ** 2).mean(axis=1))
    totals = np.append(totals, added / n_units)
    units_variance = float((totals**2).sum() * _unbiased(n_units))

    # The part of the fits: the spread of trials, less what their own test rows explain. Less than nothing is left by
    # chance where fits have no part, and that may be by chance too.
    n_each = np.count_nonzero(shares, axis=1)
    explained = float(((deviations**2).sum(axis=1) * _unbiased(n_each)).mean())
    spread = float(means.var(ddof=1)) if trials > 1 else 0.0
    fits_variance = max(0.0, spread - explained) / trials

    # The part of pairs: the odds of training, since a row that is in most training sets moves a value by more than
    # its comings and goings show.
    common = common_share(shares)
    training_share = _share_in_training(common, n_trained, values)
    bound = _variance_within_units(deviations, shares) * training_share / (1 - training_share)
    return ErrorParts(
        mean=mean,
        rows_variance=units_variance + OF_BOUND * bound / n_units,
        fits_variance=fits_variance,
        uncertain_fits=max(fits_variance, fewest_freedom * spread / trials),
        rows_freedom=_freedom_of_units(totals),
        trials=trials,
        n_tested=n_units,
        common=common,
        varies=bool(np.ptp(np.concatenate(list(values))) > 0),
        reach=float(np.abs(unseen - mean).max()) if len(unseen) else None,
    )


def unseen_values(added: Sequence[Floats]) -> Floats:
    """The values that rows may have which no trial tested: for each kind of row, right and wrong, ``(K, 2)``.

    What no tested row shows may still be there. One more row of each kind, as likely right as wrong, makes the interval
    of a share that is zero among n rows as wide as the rule of three (Hanley and Lippman-Hand 1983, DOI
    10.1001/jama.1983.03330370053031), in the manner of Agresti and Coull (1998, DOI 10.1080/00031305.1998.10480550). A
    kind is a class; classes on which a row has the same effect, as in accuracy, are one.

    Args:
        added: of each trial, the `influence.added_values` ``(C, 2)``.

    >>> unseen_values([np.array([[1.0, 0.0], [1.0, 0.0]])])
    array([[1., 0.]])
    """
    # A metric such as AUROC may be that of the predicted classes in one trial, by chance.
    if not all(np.isfinite(its).any() for its in added):
        return NOTHING
    values = np.stack(added)
    n = np.isfinite(values).sum(axis=0)
    # Of the trials that have a class. The mean of no numbers would be a warning of numpy's.
    means = np.nansum(values, axis=0) / np.maximum(n, 1)
    # Classes on which a row has the same effect are one kind, and differ by rounding alone.
    return np.asarray(np.unique(means[n.all(axis=1)].round(DIGITS), axis=0))


def copies_of_rows(rows: Sequence[Integers], codes: Sequence[Integers]) -> list[Integers]:
    """Units of a row and its copies, by trial: rows that the same trials test and predict alike.

    Equal rows have equal predictions. Rows that differ have equal ones, too, where a trial has few different ones, as a
    tree has; if less than a tenth are different, rows are their own units.

    Args:
        rows: tested by each of T trials, ``(n_t,)``.
        codes: numbers that rows of a trial share whose predictions are equal, ``(n_t,)``.

    >>> rows = [np.array([3, 4, 7]), np.array([4, 3, 9])]
    >>> copies_of_rows(rows, [np.array([0, 0, 1]), np.array([5, 5, 6])])
    [array([1, 1, 2]), array([1, 1, 0])]
    """
    shares = [len(np.unique(trial_codes)) / len(trial_codes) for trial_codes in codes]
    # A tree has a few leaves, so equal predictions do not show that rows are copies.
    return list(rows) if min(shares) <= FEWEST_DIFFERENT else units_of_rows(rows, codes)


def units_of_rows(rows: Sequence[Integers], codes: Sequence[Integers]) -> list[Integers]:
    """Units of the rows that the same trials test and that have the same code in each of them, by trial.

    With equal codes they are groups: rows of one group are always tested together. A unit may be several groups that
    the same trials happen to test, which leaves fewer degrees of freedom.

    >>> rows = [np.array([3, 4, 7]), np.array([7, 8])]
    >>> units_of_rows(rows, [np.zeros(3, dtype=int), np.zeros(2, dtype=int)])
    [array([1, 1, 2]), array([2, 0])]
    """
    known = np.unique(np.concatenate(list(rows)))
    # A column of the patterns is what all trials say of a row: -1 where a trial did not test it.
    patterns = np.full((len(rows), len(known)), -1)
    for pattern, tested, trial_codes in zip(patterns, rows, codes, strict=True):
        pattern[np.searchsorted(known, tested)] = trial_codes
    units = np.unique(patterns, axis=1, return_inverse=True)[1].ravel()
    return [units[np.searchsorted(known, each)] for each in rows]


def common_share(shares: Floats) -> float:
    """The share of their test rows that two trials have in common, over all pairs of trials.

    Args:
        shares: of each unit in the test rows of each trial, ``(T, U)``.

    >>> common_share(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    0.5
    """
    trials = len(shares)
    # One trial has no other to share rows with.
    if trials < 2:
        return 0.0
    own = float((shares**2).sum())
    # The square of a sum over trials holds each trial's own square, and the products of all pairs.
    crossed = float((shares.sum(axis=0) ** 2).sum()) - own
    return round(crossed / (trials - 1) / own, DIGITS)


def _unit_parts(values: Sequence[Floats], units: Sequence[Integers], means: Floats) -> tuple[Floats, Floats]:
    """Each unit's part of a trial's mean, as a deviation from that mean, and its share of the trial's rows; both
    ``(T, U)``, zero where the trial did not test the unit."""
    known = np.unique(np.concatenate(list(units)))
    n_units = len(known)
    deviations = np.zeros((len(values), n_units))
    shares = np.zeros((len(values), n_units))
    for trial, row_values in enumerate(values):
        n_rows = len(row_values)
        places = np.searchsorted(known, units[trial])
        counts = np.bincount(places, minlength=n_units)
        sums = np.bincount(places, row_values - means[trial], minlength=n_units)
        shares[trial] = counts / n_rows
        deviations[trial] = sums / n_rows
    return deviations, shares


def _share_in_training(common: float, n_trained: float, values: Sequence[Floats]) -> float:
    """The chance that a row of the table trains in a trial; 0 if all trials share their test rows."""
    n_test = float(np.mean(list(map(len, values))))
    # Splits without a row in common, such as those of cross-validation, test all rows that there are.
    n_rows = n_test / common if common else n_test * len(values)
    not_tested = 1 - n_test / n_rows
    # Rows that validate neither train nor test, so what trains may be less than what is not tested.
    return min(n_trained / n_rows, not_tested, MOST_IN_TRAINING)


def _variance_within_units(deviations: Floats, shares: Floats) -> float:
    """The variance of a unit's value from trial to trial, pooled over the units that several trials tested."""
    is_tested = shares > 0
    # A unit's value in a trial, as a deviation from the trial's mean: its part of the mean over its share of the rows.
    nothing = np.zeros_like(deviations)
    values = np.divide(deviations, shares, out=nothing, where=is_tested)
    counts = is_tested.sum(axis=0)
    means = values.sum(axis=0) / np.maximum(counts, 1)
    squares = np.where(is_tested, (values - means) ** 2, 0.0)
    # Each unit that is tested k times shows its variance with k - 1 degrees of freedom.
    repeats = int((counts - 1).clip(min=0).sum())
    # Cross-validation tests each row once, which shows nothing of how its value changes.
    if not repeats:
        return 0.0
    return float(squares.sum()) / repeats


def _unbiased(n: int | Integers) -> Floats:
    """The factor n / (n - 1), by which a mean square is less than the variance; 1 for one unit.

    >>> _unbiased(np.array([1, 2, 3]))
    array([1. , 2. , 1.5])
    """
    return np.asarray(n / np.maximum(np.asarray(n) - 1, 1), dtype=np.float64)


def _freedom_of_units(totals: Floats) -> float:
    """Degrees of freedom of a sum of squares, from its own variance: 2 (sum of squares)^2 / variance of the sum.

    A few units that alone make up the sum, such as the rows of a rare class, are worth as few degrees of freedom.
    """
    n = len(totals)
    squares = float((totals**2).sum())
    # n times the variance of a square: the sum of fourth powers, less the squared sum of squares over n.
    variance = float((totals**4).sum()) - squares**2 / n
    most = max(n - 1.0, 1.0)
    # Squares that vary less than those of normal values give no more than all degrees of freedom.
    if variance <= 2 * squares**2 / most:
        return most
    return max(2 * squares**2 / variance, 1.0)


def rows_error(parts: ErrorParts, width: float) -> tuple[float, float]:
    """The standard error from rows and fits, and its degrees of freedom.

    If no value varies, the interval is as wide as the rows that no trial tested may differ. A row of a rare class
    differs by more than another, where each class counts the same.
    """
    if parts.varies:
        return parts.error, parts.freedom
    reach = min(width, 1.0) if parts.reach is None else parts.reach
    # As one trial: `n_tested` counts the different rows of all of them already.
    return error_of_unseen(unseen_share(parts.n_tested, 1), parts.freedom, reach), parts.freedom


def error_of_unseen(share: float, freedom: float, reach: float) -> float:
    """The error whose 95 % interval reaches as far as the largest share of rows of a kind that no trial tested may move
    the mean, if each of them differs from it by ``reach``; a relative difference is at most 100 %."""
    return share * reach / student_quantile(freedom)


def rows_interval(parts: ErrorParts, bounds: tuple[float, float] = UNBOUNDED, *, is_share: bool = False) -> Interval:
    """The 95 % interval of a mean over trials from rows and fits, within its bounds.

    Between two finite bounds the interval is Wilson's (1927, DOI 10.1080/01621459.1927.10502953) for as many rows as
    would give a share this error, which is how shares of samples that are not independent have one (Korn and Graubard
    1998, Survey Methodology 24, 193): the error is that of the value that is tried, and not of the mean, near whose
    bound it would vanish.

    Args:
        parts: of the error.
        bounds: of the metric.
        is_share: true if each row is right or wrong, and counts the same. The rows' part of the error then follows from
            the mean, and few rows that are wrong leave it no less sure.

    All of a hundred rows are right; three more in a hundred may still be wrong:

    >>> rows = [np.arange(100)] * 5
    >>> found = rows_interval(error_parts([np.ones(100)] * 5, rows), (0.0, 1.0))
    >>> round(found.low, 3), found.high
    (0.97, 1.0)
    """
    lowest, highest = bounds
    width = highest - lowest
    if is_share:
        parts = replace(parts, rows_freedom=max(parts.n_tested - 1.0, 1.0))
    error, freedom = rows_error(parts, width)
    share = (parts.mean - lowest) / width if math.isfinite(width) else math.nan
    # A mean on a bound is no share of rows that has an error, and neither has one without bounds.
    if not 0 < share < 1 or not error:
        return student_interval(parts.mean, error, freedom, bounds)
    n_rows = share * (1 - share) / (error / width) ** 2
    # The values whose distance from the share is the quantile times their own error: Wilson's two roots.
    squared = student_quantile(freedom) ** 2 / n_rows
    middle = (share + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    low, high = (lowest + width * end for end in (middle - half, middle + half))
    return Interval(parts.mean, low, high)
