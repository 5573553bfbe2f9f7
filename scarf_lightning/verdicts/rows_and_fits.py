"""The error of a mean over trials of one table, from the values of their test rows.

**The value of a row** is the metric plus the row's influence on it: the slope of the metric in the row's weight (Hampel
1974, DOI 10.1080/01621459.1974.10482962; Efron 1982, DOI 10.1137/1.9781611970319, chapter 6, where it is called the
infinitesimal jackknife). The mean of these values is the metric of the trial. For a metric that is a mean over rows,
such as accuracy, a value is the row's own contribution. For the others the spread of these values over rows is the
spread of the metric, to first order: AUROC has the values of DeLong, DeLong and Clarke-Pearson (1988, DOI
10.2307/2531595).

**The error.** A mean over trials is off for two reasons. The table has these rows and no others: the part of the
*rows*. Each trial has training rows and a seed of its own: the part of the *fits*, which more trials average away.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..metrics import Floats, Labels, Metric, ranks

Integers = NDArray[np.int64]

MOST_JACKKNIFED = 2_000
"""Test rows up to which a metric without a formula is computed without each of them. It takes a second a trial."""
OF_BOUND = 0.07
"""The part of its bound that the dependence of pairs is taken to have. Without it, intervals from thirty trials of real
tables held the truth in 90 to 95 %, with it in 92 to 97 % (release 0.2)."""
FEWEST_FREEDOM = 2 / 3
"""The least part of a trial's spread that counts towards the degrees of freedom. A spread that test rows explain by
chance leaves no part of the fits, but does not make its absence sure."""
FEWEST_DIFFERENT = 0.1
"""The share of different predictions that tells rows from their copies."""
BLOCKS = 10
"""Blocks of rows in the order of time: rows in one block may depend on each other. Ten to thirty suffice (Schmeiser
1982, DOI 10.1287/opre.30.3.556); ten are the longest, and allow most dependence."""
MOST_FREEDOM = 1e9
"""Degrees of freedom that count as infinitely many."""
NOTHING = np.empty((0, 2))
DIGITS = 9
"""Digits of a share that are not rounding."""
MOST_IN_TRAINING = 0.95
"""The share of a table's rows that trains at most, where it cannot be known."""


@dataclass(frozen=True)
class RowsOfTrial:
    """The test rows of one trial.

    Attributes:
        rows: their numbers in the table, ``(n,)``.
        values: of the metric, see `row_values`, ``(n,)``.
        added: of one more row of each class, see `added_values`, ``(C, 2)``.
        codes: numbers that rows share whose predictions are equal, ``(n,)``.
    """

    rows: Integers
    values: Floats
    added: Floats
    codes: Integers


def rows_by_metric(
    metrics: Sequence[Metric], predictions: Floats, labels: Labels, rows: Integers
) -> dict[str, RowsOfTrial]:
    """A trial's test rows for each metric that is defined on them, by its name.

    Args:
        metrics, predictions, labels: as `row_values` takes them.
        rows: numbers of the rows in the table, ``(n,)``.
    """
    # Copies in two mini-batches may differ in the last digits of a probability.
    rounded_predictions = predictions.astype(np.float16) if predictions.ndim == 2 else predictions
    # Equal codes are how copies are found later, without keeping the predictions.
    codes = np.unique(rounded_predictions, axis=0, return_inverse=True)[1].ravel()
    rows_of_metrics = {}
    for metric in metrics:
        values = row_values(metric, predictions, labels)
        if np.isfinite(values).all():
            added = added_values(metric, predictions, labels)
            rows_of_metrics[metric.name] = RowsOfTrial(rows, values, added, codes)
    return rows_of_metrics


def row_values(metric: Metric, predictions: Floats, labels: Labels) -> Floats:
    """The values of a metric's test rows, ``(n,)``; NaN where the metric is not defined.

    A metric without a formula here is jackknifed; with more than `MOST_JACKKNIFED` rows its values are NaN.

    Args:
        metric: ours or a plugin's.
        predictions: class probabilities ``(n, C)``, or numbers ``(n,)``.
        labels: class numbers or numbers, ``(n,)``.

    >>> import numpy as np
    >>> from scarf_lightning.metrics import metric_named
    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]])
    >>> row_values(metric_named("accuracy"), probabilities, np.array([0, 1, 1]))
    array([1., 1., 0.])
    >>> row_values(metric_named("rmse"), np.array([1.0, 2.0]), np.array([1.0, 4.0])).round(3)
    array([0.707, 2.121])
    """
    value = metric.function(predictions, labels)
    formula = FORMULAS.get(metric.name)
    # AUROC of one class, for instance: no row has a part in an undefined metric.
    if math.isnan(value) or (formula is None and len(labels) > MOST_JACKKNIFED):
        return np.full(len(labels), np.nan)
    values = jackknifed(metric, predictions, labels, value) if formula is None else formula(predictions, labels)
    # Slopes add up to zero, and formulas of means may round differently from the metric's own sum.
    return np.asarray(values - values.mean() + value)


def added_values(metric: Metric, predictions: Floats, labels: Labels) -> Floats:
    """The values that one more row of each class would have, predicted right and predicted wrong, ``(C, 2)``.

    A row that is wrong is taken for the class that is predicted most often besides its own. NaN for classes without a
    row. All are NaN for a metric without bounds, and for one that uses more than the predicted classes, such as AUROC.

    Args:
        metric, predictions, labels: as in `row_values`.

    >>> import numpy as np
    >>> from scarf_lightning.metrics import metric_named
    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]])
    >>> added_values(metric_named("accuracy"), probabilities, np.array([0, 1, 1]))
    array([[1., 0.],
           [1., 0.]])
    """
    # Without bounds one wrong row can be as wrong as one likes, so it has no value.
    if predictions.ndim == 1 or not np.isfinite(metric.bounds).all():
        return np.full((1, 2), np.nan)
    n, n_classes = predictions.shape
    predicted_classes = predictions.argmax(axis=1)
    one_hot = np.eye(n_classes)
    value = metric.function(predictions, labels)
    values = np.full((n_classes, 2), np.nan)
    # A metric of the predicted classes alone is the same if their probabilities are one.
    if metric.function(one_hot[predicted_classes], labels) != value:
        return values
    n_predicted = np.bincount(predicted_classes, minlength=n_classes)
    for label in np.unique(labels):
        others = n_predicted.copy()
        # The row's own class is no mistake, even if it is predicted most often.
        others[label] = -1
        longer_labels = np.append(labels, label)
        for place, added_class in enumerate((label, others.argmax())):
            one_more = one_hot[np.append(predicted_classes, added_class)]
            # The mean over n + 1 rows is that over n rows and the value of the one more.
            longer_value = metric.function(one_more, longer_labels)
            values[label, place] = (n + 1) * longer_value - n * value
    return values


def jackknifed(metric: Metric, predictions: Floats, labels: Labels, value: float) -> Floats:
    """The jackknife's values of the rows, ``(n,)``: n times the metric, minus n - 1 times the metric without the row
    (Efron 1982, chapter 2), whose ``value`` is known. A row without which it is not defined has this value.

    >>> import numpy as np
    >>> from scarf_lightning.metrics import metric_named
    >>> jackknifed(metric_named("mae"), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0]), 1.0).round(3)
    array([0., 0., 3.])
    """
    n = len(labels)
    values_without = np.array(
        [metric.function(np.delete(predictions, row, 0), np.delete(labels, row)) for row in range(n)]
    )
    return np.where(np.isnan(values_without), value, n * value - (n - 1) * values_without)


def _right(probabilities: Floats, labels: Labels) -> Floats:
    return np.asarray(probabilities.argmax(axis=1) == labels, dtype=np.float64)


def _balanced_accuracy(probabilities: Floats, labels: Labels) -> Floats:
    """A row moves the recall of its own class, by the more the rarer the class is."""
    right = _right(probabilities, labels)
    values = np.empty(len(labels))
    classes = np.unique(labels)
    for label in classes:
        is_own = labels == label
        recall = right[is_own].mean()
        values[is_own] = (right[is_own] - recall) / _share(is_own)
    # The metric is the mean of the recalls, of the classes that occur.
    return values / len(classes)


def _auroc(probabilities: Floats, labels: Labels) -> Floats:
    """The share of the rows of the other side that a row is on the right side of, one class after the other."""
    classes = np.unique(labels)
    values = np.zeros(len(labels))
    for label in classes:
        is_own = labels == label
        scores = probabilities[:, label]
        # Ranks among all rows, minus ranks among the rows of one's own side, count the rows of the other side below.
        below = ranks(scores)
        below[is_own] -= ranks(scores[is_own])
        below[~is_own] -= ranks(scores[~is_own])
        n_own = np.count_nonzero(is_own)
        n_other = len(is_own) - n_own
        # DeLong's placement values: rows of the class should be above the others, and the others below them.
        placement = np.where(is_own, below / n_other, 1 - below / n_own)
        area = placement[is_own].mean()
        # The area is a mean over the rows of each side, so a row of the smaller side moves it more.
        share = np.where(is_own, _share(is_own), _share(~is_own))
        values += (placement - area) / share
    return values / len(classes)


def _log_loss(probabilities: Floats, labels: Labels) -> Floats:
    label_probabilities = probabilities[np.arange(len(labels)), labels]
    # Cut where the metric cuts: a class that was ruled out would make the mean infinite.
    least = np.finfo(np.float64).eps
    return np.asarray(-np.log(np.maximum(label_probabilities, least)))


def _rmse(predictions: Floats, labels: Labels) -> Floats:
    """A root: half the deviation of the square, over the root."""
    squares = (predictions - labels) ** 2
    root = math.sqrt(squares.mean())
    # A root has no slope at zero, and predictions without an error have nothing to spread.
    if root == 0:
        return np.zeros(len(labels))
    return np.asarray((squares - root**2) / (2 * root))


def _mae(predictions: Floats, labels: Labels) -> Floats:
    return np.abs(predictions - labels)


def _share(rows: NDArray[np.bool_]) -> float:
    """The share of these rows by which a deviation from their mean is divided.

    One row less than there are, as in the jackknife, because the row takes part in the mean that it deviates from.
    """
    n_own = int(rows.sum())
    # The only row of its class is its mean, so any share will do that is not zero.
    if n_own < 2:
        return 1 / len(rows)
    return (n_own - 1) / (len(rows) - 1)


FORMULAS: dict[str, Callable[[Floats, Labels], Floats]] = {
    "accuracy": _right,
    "balanced_accuracy": _balanced_accuracy,
    "auroc": _auroc,
    "log_loss": _log_loss,
    "rmse": _rmse,
    "mae": _mae,
}
"""By name of the metric; a test compares each with the jackknife."""


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
        reach: if no value differs from another one, the most by which a row that no trial tested may differ: 1, or what
            a row of a rare class moves the mean by, where each class counts the same. Else zero.
    """

    mean: float
    rows_variance: float
    fits_variance: float
    uncertain_fits: float
    rows_freedom: float
    trials: int
    n_tested: int
    common: float
    reach: float = 0.0

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

        >>> parts = ErrorParts(0.0, 4e-4, 1e-4, 1e-4, 99, 10, 500, 0.2)
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
    values: Sequence[Floats], units: Sequence[Integers], n_trained: float = math.inf, unseen: Floats = NOTHING
) -> ErrorParts:
    """The error of a mean over trials, from the values of their test rows.

    Args:
        values: of the test rows of each of T trials, ``(n_t,)``. A trial's mean is its metric, or its difference.
        units: which row of the table each value belongs to, ``(n_t,)``. Rows that depend on each other, such as those
            of a group, share a number.
        n_trained: rows that a trial trains on with their labels; all that it does not test if not given.
        unseen: values that rows may have which no trial tested, ``(K, 2)``, see `unseen_values`.

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
    # Each unit's part of a trial's mean, as a deviation from that mean, and its share of the trial's rows, both (T, U);
    # zero where the trial did not test the unit.
    n_rows = np.array([len(row_values) for row_values in values])
    trial_of = np.repeat(np.arange(trials), n_rows)
    all_values = np.concatenate(values)
    distinct_units, unit_of = np.unique(np.concatenate(units), return_inverse=True)
    n_units = len(distinct_units)
    deviations, shares = np.zeros((2, trials, n_units))
    np.add.at(deviations, (trial_of, unit_of), (all_values - means[trial_of]) / n_rows[trial_of])
    np.add.at(shares, (trial_of, unit_of), 1 / n_rows[trial_of])

    # The part of the rows: each unit's contributions to the mean's deviation, over the trials that tested it. Summed
    # before they are squared, because a unit that is hard in one trial is hard in all.
    totals = (deviations + shares * (means - mean)[:, None]).sum(axis=0) / trials
    # One more row of each kind, as likely to have the one value as the other.
    unseen_deviations = np.sqrt(((unseen - mean) ** 2).mean(axis=1))
    totals = np.append(totals, unseen_deviations / n_units)
    units_variance = float((totals**2).sum() * _unbiased(n_units))

    # The part of the fits: the spread of trials, less what their own test rows explain. Less than nothing is left by
    # chance where fits have no part, and that may be by chance too.
    n_each = np.count_nonzero(shares, axis=1)
    explained_variance = float(((deviations**2).sum(axis=1) * _unbiased(n_each)).mean())
    spread = float(means.var(ddof=1)) if trials > 1 else 0.0
    fits_variance = max(0.0, spread - explained_variance) / trials

    # The part of pairs: the odds of training, since a row that is in most training sets moves a value by more than
    # its comings and goings show.
    n_test, common = float(n_rows.mean()), 0.0
    # The share of their test rows that two trials have in common, over all pairs of trials. The square of a sum over
    # trials holds each trial's own square, and the products of all pairs.
    if trials > 1:
        own_squares = float((shares**2).sum())
        common = round((float((shares.sum(axis=0) ** 2).sum()) - own_squares) / (trials - 1) / own_squares, DIGITS)
    # Splits without a row in common, such as those of cross-validation, test all rows that there are.
    n_table = n_test / common if common else n_test * trials
    # Validation rows neither train nor test, so fewer rows may train than are not tested.
    training_share = min(n_trained / n_table, 1 - n_test / n_table, MOST_IN_TRAINING)
    bound = _variance_within_units(deviations, shares) * training_share / (1 - training_share)
    return ErrorParts(
        mean=mean,
        rows_variance=units_variance + OF_BOUND * bound / n_units,
        fits_variance=fits_variance,
        uncertain_fits=max(fits_variance, FEWEST_FREEDOM * spread / trials),
        rows_freedom=_freedom_of_units(totals),
        trials=trials,
        n_tested=n_units,
        common=common,
        reach=0.0 if np.ptp(all_values) > 0 else float(np.abs(unseen - mean).max(initial=0.0)) or 1.0,
    )


def unseen_values(added: Sequence[Floats]) -> Floats:
    """The values that rows may have which no trial tested: for each kind of row, right and wrong, ``(K, 2)``.

    What no tested row shows may still be there. One more row of each kind, as likely right as wrong, makes the interval
    of a share that is zero among n rows as wide as the rule of three (Hanley and Lippman-Hand 1983, DOI
    10.1001/jama.1983.03330370053031), in the manner of Agresti and Coull (1998, DOI 10.1080/00031305.1998.10480550). A
    kind is a class; classes on which a row has the same effect, as in accuracy, are one.

    Args:
        added: of each trial, the `added_values` ``(C, 2)``.

    >>> unseen_values([np.array([[1.0, 0.0], [1.0, 0.0]])])
    array([[1., 0.]])
    """
    # A metric such as AUROC may be that of the predicted classes in one trial, by chance.
    if not all(np.isfinite(trial_values).any() for trial_values in added):
        return NOTHING
    values = np.stack(added)
    n = np.isfinite(values).sum(axis=0)
    # Of the trials that have a class. The mean of no numbers would be a warning of numpy's.
    means = np.nansum(values, axis=0) / np.maximum(n, 1)
    # Classes on which a row has the same effect are one kind, and differ by rounding alone.
    return np.asarray(np.unique(means[n.all(axis=1)].round(DIGITS), axis=0))


def units_of(rows: Sequence[Integers], codes: Sequence[Integers], split: str | None = None) -> list[Integers]:
    """The units that rows belong to, by trial. Rows that depend on each other are one unit; counted one by one, they
    would make the error too small.

    Units are a block of neighbours in time; or the rows that the same trials test and that have one code in each of
    them: copies, which are predicted alike, or groups, which are always tested together. A unit may be several groups
    that the same trials happen to test, which leaves fewer degrees of freedom.

    Args:
        rows: tested by each of T trials, ``(n_t,)``.
        codes: numbers that rows of a trial share whose predictions are equal, ``(n_t,)``.
        split: by which trials draw their rows: ``time``, ``group``, or another one.

    >>> rows = [np.array([3, 4, 7]), np.array([4, 3, 9])]
    >>> units_of(rows, [np.array([0, 0, 1]), np.array([5, 5, 6])])
    [array([1, 1, 2]), array([1, 1, 0])]
    """
    if split == "time":
        # All trials test the same rows, in the order of time.
        block_of = {row: n for n, block in enumerate(np.array_split(rows[0], BLOCKS)) for row in block}
        return [np.array([block_of[row] for row in each]) for each in rows]
    if split == "group":
        codes = [np.zeros_like(each) for each in rows]
    # A tree has a few leaves, so equal predictions do not show that rows are copies.
    elif min(len(np.unique(each)) / len(each) for each in codes) <= FEWEST_DIFFERENT:
        return list(rows)
    distinct_rows = np.unique(np.concatenate(list(rows)))
    # A column of the patterns has a row's code in each trial, -1 where a trial did not test the row.
    patterns = np.full((len(rows), len(distinct_rows)), -1)
    for pattern, trial_rows, trial_codes in zip(patterns, rows, codes, strict=True):
        pattern[np.searchsorted(distinct_rows, trial_rows)] = trial_codes
    units = np.unique(patterns, axis=1, return_inverse=True)[1].ravel()
    return [units[np.searchsorted(distinct_rows, each)] for each in rows]


def _variance_within_units(deviations: Floats, shares: Floats) -> float:
    """The variance of a unit's value from trial to trial, pooled over the units that several trials tested."""
    is_tested = shares > 0
    # A unit's value in a trial, as a deviation from the trial's mean: its part of the mean over its share of the rows.
    values = np.divide(deviations, shares, out=np.zeros_like(shares), where=is_tested)
    counts = is_tested.sum(axis=0)
    squares = np.where(is_tested, (values - values.sum(axis=0) / counts) ** 2, 0.0)
    # Each unit that is tested k times shows its variance with k - 1 degrees of freedom. Cross-validation tests each
    # row once, which shows nothing of how its value changes.
    repeats = int((counts - 1).sum())
    return float(squares.sum()) / repeats if repeats else 0.0


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
