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

from .answers import Floats

Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]

OF_BOUND = 0.07
"""The part of its bound that the dependence of pairs is taken to have. Without it, intervals from thirty trials of real
tables held the truth in 90 to 95 %, with it in 92 to 97 % (release 0.2)."""
FEWEST_FREEDOM = 2 / 3
"""The least part of a trial's spread that counts towards the degrees of freedom. A spread that test rows explain by
chance leaves no part of the fits, but does not make its absence sure."""
FEWEST_DIFFERENT = 0.1
"""The share of different predictions that tells rows from their copies."""
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
        freedom: degrees of freedom of the sum of both.
        trials: number of trials.
        n_tested: different rows, or units of rows, that some trial tested.
        n_test: rows, or units, that the mean trial tested.
        common: the share of their test rows that two trials have in common.
        varies: true if any value differs from any other.
        reach: the most by which a row that no trial tested may differ from the mean; None if it is unknown.
        rows_freedom: degrees of freedom of the rows' part.
        uncertain_fits: the fits' part as it counts towards the degrees of freedom, at least `fits_variance`.
    """

    mean: float
    rows_variance: float
    fits_variance: float
    freedom: float
    trials: int
    n_tested: int
    n_test: float
    common: float
    varies: bool
    reach: float | None = None
    rows_freedom: float = math.inf
    uncertain_fits: float = 0.0

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return math.sqrt(self.rows_variance + self.fits_variance)

    def with_sure_rows(self) -> "ErrorParts":
        """The parts with as many degrees of freedom for the rows as there are rows, less one: of shares, whose variance
        the mean gives."""
        rows_freedom = max(self.n_tested - 1.0, 1.0)
        variances = [(self.rows_variance, rows_freedom), (self.uncertain_fits, self.trials - 1)]
        freedom = _satterthwaite(self.rows_variance + self.fits_variance, variances)
        return replace(self, freedom=freedom, rows_freedom=rows_freedom)

    def with_unseen_rows(self, unseen: Floats) -> "ErrorParts":
        """The parts with one more row of each kind, as likely to have the one value as the other; it makes the error no
        less sure, since it is not drawn.

        Args:
            unseen: values of these rows, ``(K, 2)``, see `unseen_values`.
        """
        if not len(unseen):
            return self
        distances = unseen - self.mean
        rows_variance = self.rows_variance + float((distances**2).mean(axis=1).sum()) / self.n_tested**2
        variances = [(rows_variance, self.rows_freedom), (self.uncertain_fits, self.trials - 1)]
        return replace(
            self,
            rows_variance=rows_variance,
            freedom=_satterthwaite(rows_variance + self.fits_variance, variances),
            reach=float(np.abs(distances).max()),
        )

    def expected(self, trials: int) -> "ErrorParts":
        """The parts that this many trials are expected to have.

        With T trials, each testing n of the rows, of which two share the part c, the variance of the rows' part is that
        of a row's value times (1 / T + (1 - 1 / T) c) / n. It falls to c / n, one over the rows of the table, and no
        further. The part of the fits falls by 1 / T.

        >>> parts = ErrorParts(0.0, 4e-4, 1e-4, 20, 10, 500, 120, 0.2, True)
        >>> later = parts.expected(20)
        >>> round(later.rows_variance, 6), later.fits_variance
        (0.000343, 5e-05)
        """
        before = self._rows_factor(self.trials)
        rows_variance = self.rows_variance * self._rows_factor(trials) / before
        fits_variance = self.fits_variance * self.trials / trials
        uncertain_fits = max(self.uncertain_fits * self.trials / trials, fits_variance)
        variances = [(rows_variance, self.rows_freedom), (uncertain_fits, trials - 1)]
        return replace(
            self,
            rows_variance=rows_variance,
            fits_variance=fits_variance,
            freedom=_satterthwaite(rows_variance + fits_variance, variances),
            trials=trials,
            uncertain_fits=uncertain_fits,
        )

    def _rows_factor(self, trials: int) -> float:
        """The variance of the rows' part with this many trials, over that with one."""
        return 1 / trials + (1 - 1 / trials) * self.common


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
    offsets = means - mean
    totals = (deviations + shares * offsets[:, None]).sum(axis=0) / trials
    # One more row of each kind, as likely to have the one value as the other.
    added = np.sqrt(((unseen - mean) ** 2).mean(axis=1))
    totals = np.append(totals, added / n_units)
    units_variance = float((totals**2).sum() * _unbiased(n_units))

    # The variance of a trial's mean that its own test rows explain, which is in the part of the rows.
    n_each = np.count_nonzero(shares, axis=1)
    test_rows_variances = (deviations**2).sum(axis=1) * _unbiased(n_each)
    explained = float(test_rows_variances.mean())
    spread = float(means.var(ddof=1)) if trials > 1 else 0.0
    common = common_share(shares)
    # The part of the fits: what is left of the spread. Less than nothing is left by chance where it has no part.
    fits_variance = max(0.0, spread - explained) / trials

    # The part of pairs: the odds of training, since a row that is in most training sets moves a value by more than
    # its comings and goings show.
    training_share = _share_in_training(common, n_trained, values)
    within_units = _variance_within_units(deviations, shares)
    bound = within_units * training_share / (1 - training_share)
    rows_variance = units_variance + OF_BOUND * bound / n_units

    # Where test rows explain all of the spread by chance, fits may still have a part in it.
    uncertain_fits = max(fits_variance, fewest_freedom * spread / trials)
    rows_freedom = _freedom_of_units(totals)
    variances = [(rows_variance, rows_freedom), (uncertain_fits, trials - 1)]
    # Values that never vary have an error of zero by these formulas, and `verdict.rows_error` takes another one.
    varies = np.ptp(np.concatenate(list(values))) > 0
    return ErrorParts(
        mean=mean,
        rows_variance=rows_variance,
        fits_variance=fits_variance,
        freedom=_satterthwaite(rows_variance + fits_variance, variances),
        trials=trials,
        n_tested=n_units,
        n_test=float(n_each.mean()),
        common=common,
        varies=bool(varies),
        reach=float(np.abs(unseen - mean).max()) if len(unseen) else None,
        rows_freedom=rows_freedom,
        uncertain_fits=uncertain_fits,
    )


def unseen_values(first: Sequence[Floats], second: Sequence[Floats] = (), shown: Booleans | None = None) -> Floats:
    """The values that rows may have which no trial tested: for each kind of row, right and wrong, ``(K, 2)``.

    What no tested row shows may still be there. One more row of each kind, as likely right as wrong, makes the interval
    of a share that is zero among n rows as wide as the rule of three (Hanley and Lippman-Hand 1983, DOI
    10.1001/jama.1983.03330370053031), in the manner of Agresti and Coull (1998, DOI 10.1080/00031305.1998.10480550). A
    kind is a class; classes on which a row has the same effect, as in accuracy, are one.

    Args:
        first: of each trial, the `influence.added_values` ``(C, 2)``.
        second: those of the reference, for a difference: a row is then right by one of both alone.
        shown: whether some row of a class is right, and some row wrong, ``(C, 2)``. A kind that shows both is left out.

    >>> accuracy = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> unseen_values([accuracy]), unseen_values([accuracy], [accuracy])
    (array([[1., 0.]]), array([[ 1., -1.]]))
    >>> len(unseen_values([accuracy], shown=np.array([[True, False], [True, True]])))
    0
    """
    for added in (*first, *second):
        # A metric such as AUROC may be that of the predicted classes in one trial, by chance.
        if not np.isfinite(added).any():
            return NOTHING
    # Of the trials that have a class.
    pairs = mean_of(np.stack(first, axis=-1))
    if len(second):
        # A row that one gets right and the other wrong: right minus wrong, and wrong minus right.
        pairs = pairs - mean_of(np.stack(second, axis=-1))[:, ::-1]
    is_known = np.isfinite(pairs).all(axis=1)
    # Classes on which a row has the same effect are one kind, and differ by rounding alone.
    kinds, places = np.unique(pairs[is_known].round(DIGITS), axis=0, return_inverse=True)
    if shown is None:
        return np.asarray(kinds)
    shown_kinds = np.zeros(kinds.shape, dtype=bool)
    np.logical_or.at(shown_kinds, places.ravel(), shown[is_known])
    return np.asarray(kinds[~shown_kinds.all(axis=1)])


def mean_of(values: Floats) -> Floats:
    """Means of the numbers along the last axis; NaN where there are none."""
    n = np.isfinite(values).sum(axis=-1)
    # The mean of no numbers would be a warning of numpy's.
    means = np.nansum(values, axis=-1) / np.maximum(n, 1)
    return np.where(n > 0, means, np.nan)


def groups_of_rows(rows: Sequence[Integers]) -> list[Integers]:
    """Units of the rows that the same trials test, by trial.

    Rows of one group are always tested together, so a unit is a group. It may be several groups that the same trials
    happen to test, which leaves fewer degrees of freedom.

    Args:
        rows: tested by each of T trials, ``(n_t,)``.

    >>> groups_of_rows([np.array([3, 4, 7]), np.array([7, 8])])
    [array([1, 1, 2]), array([2, 0])]
    """
    known = np.unique(np.concatenate(list(rows)))
    is_tested = [np.isin(known, each) for each in rows]
    return _pattern_units(rows, np.array(is_tested, dtype=np.int64))


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
    if min(shares) <= FEWEST_DIFFERENT:
        return list(rows)
    known = np.unique(np.concatenate(list(rows)))
    # A column of the patterns is what all trials say of a row: -1 where a trial did not test it.
    patterns = np.full((len(rows), len(known)), -1)
    for pattern, tested, trial_codes in zip(patterns, rows, codes, strict=True):
        pattern[np.searchsorted(known, tested)] = trial_codes
    return _pattern_units(rows, patterns)


def _pattern_units(rows: Sequence[Integers], patterns: Integers) -> list[Integers]:
    """Units of the rows that have the same column among the patterns ``(T, rows)``, by trial."""
    known = np.unique(np.concatenate(list(rows)))
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


def _satterthwaite(total: float, variances: Sequence[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of variances with their own degrees of freedom (Satterthwaite 1946, DOI
    10.2307/3002019); at least 1, and infinite if nothing varies."""
    spread = 0.0
    for variance, freedom in variances:
        # One trial has no degrees of freedom for the fits, and only its rows have a part in the error.
        if freedom > 0:
            spread += variance**2 / freedom
    if not spread:
        return math.inf
    return max(total**2 / spread, 1.0)
