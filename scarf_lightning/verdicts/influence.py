"""Values of a metric's test rows, whose mean is the metric of the trial.

The value of a row is the metric plus the row's influence on it: the slope of the metric in the row's weight (Hampel
1974, DOI 10.1080/01621459.1974.10482962; Efron 1982, DOI 10.1137/1.9781611970319, chapter 6, where it is called the
infinitesimal jackknife). For a metric that is a mean over rows, such as accuracy, it is the row's own contribution. For
the others the spread of these values over rows is the spread of the metric, to first order: AUROC has the values of
DeLong, DeLong and Clarke-Pearson (1988, DOI 10.2307/2531595).

All functions take what `scarf_lightning.metrics.Metric.function` takes, and return values ``(n,)``.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..metrics import CALIBRATION_BINS, Labels, Metric, ranks
from .scores import Floats

RowValues = Callable[[Floats, Labels], Floats]

TINY = 1e-9
"""The part of a sum of squares that is rounding."""
MOST_JACKKNIFED = 200
"""Parts of the rows that a metric without a formula is computed without, one at a time."""


def row_values(metric: Metric, predictions: Floats, labels: Labels) -> Floats:
    """The values of a metric's test rows, ``(n,)``; NaN where the metric is not defined.

    A metric without a formula here, such as one of a plugin, is computed without each row in turn, or without each of
    `MOST_JACKKNIFED` parts of the rows.

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
    formula = FORMULAS.get(metric.name)
    if formula is None:
        return jackknifed(metric, predictions, labels)
    value = metric.function(predictions, labels)
    # AUROC of one class, for instance: no row can have a part in what is not defined.
    if math.isnan(value):
        return np.full(len(labels), np.nan)
    values = formula(predictions, labels)
    # Slopes add up to zero, and formulas of means may round differently from the metric's own sum.
    return np.asarray(values - values.mean() + value)


def jackknifed(metric: Metric, predictions: Floats, labels: Labels) -> Floats:
    """The jackknife's values of the rows: n times the metric, minus n - 1 times the metric without the row.

    They are centred, so that their mean is the metric. Rows are taken out in at most `MOST_JACKKNIFED` parts; the rows
    of a part share its value.

    >>> import numpy as np
    >>> from scarf_lightning.metrics import metric_named
    >>> jackknifed(metric_named("mae"), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0])).round(3)
    array([0., 0., 3.])
    """
    n = len(labels)
    value = metric.function(predictions, labels)
    values = np.full(n, value)
    every = np.arange(n)
    for part in np.array_split(every, min(n, MOST_JACKKNIFED)):
        rest = np.delete(every, part)
        without = metric.function(predictions[rest], labels[rest])
        # A metric may be undefined without its only row of a class.
        if math.isnan(without):
            continue
        # The part of one row: n value - (n - 1) without is value + (n - 1) (value - without).
        weight = n / len(part) - 1
        values[part] += weight * (value - without)
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
    predicted = predictions.argmax(axis=1)
    certain = np.eye(n_classes)
    value = metric.function(predictions, labels)
    values = np.full((n_classes, 2), np.nan)
    # A metric that the predicted classes alone decide is the same if they are certain.
    if metric.function(certain[predicted], labels) != value:
        return values
    n_predicted = np.bincount(predicted, minlength=n_classes)
    for label in np.unique(labels):
        others = n_predicted.copy()
        # The row's own class is no mistake, even if it is predicted most often.
        others[label] = -1
        longer = np.append(labels, label)
        for place, added in enumerate((label, others.argmax())):
            one_more = certain[np.append(predicted, added)]
            # The mean over n + 1 rows is that over n rows and the value of the one more.
            longer_value = metric.function(one_more, longer)
            values[label, place] = (n + 1) * longer_value - n * value
    return values


def shown_rows(predictions: Floats, labels: Labels) -> NDArray[np.bool_] | None:
    """Whether some row of each class is predicted right, and some row wrong, ``(C, 2)``; None of numbers.

    Args:
        predictions, labels: as in `row_values`.

    >>> import numpy as np
    >>> shown_rows(np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]), np.array([0, 1, 1]))
    array([[ True, False],
           [ True,  True]])
    """
    if predictions.ndim == 1:
        return None
    shown = np.zeros((predictions.shape[1], 2), dtype=bool)
    is_wrong = predictions.argmax(axis=1) != labels
    shown[labels, is_wrong.astype(int)] = True
    return shown


def _right(probabilities: Floats, labels: Labels) -> Floats:
    return np.asarray(probabilities.argmax(axis=1) == labels, dtype=np.float64)


def _balanced_accuracy(probabilities: Floats, labels: Labels) -> Floats:
    """A row moves the recall of its own class, by the more the rarer the class is."""
    right = _right(probabilities, labels)
    values = np.empty(len(labels))
    present = np.unique(labels)
    for label in present:
        own = labels == label
        recall = right[own].mean()
        values[own] = (right[own] - recall) / _share(own)
    # The metric is the mean of the recalls, of the classes that occur.
    return values / len(present)


def _f1(probabilities: Floats, labels: Labels) -> Floats:
    """F1 is a ratio of shares: of rows that are right, and of rows that are of the class or predicted to be."""
    predicted = probabilities.argmax(axis=1)
    # As scikit-learn has it, a class that is only predicted counts too, with an F1 of zero.
    occurring = np.union1d(labels, predicted)
    values = np.zeros(len(labels))
    for label in occurring:
        is_own = (labels == label).astype(np.float64)
        is_predicted = predicted == label
        # F1 = 2 TP / (2 TP + FP + FN), whose denominator counts a row that is both twice.
        right = 2 * is_own * is_predicted
        either = is_own + is_predicted
        values += _slope_of_ratio(right, either)
    return values / len(occurring)


def _mcc(probabilities: Floats, labels: Labels) -> Floats:
    """A correlation of labels and predictions, both as vectors with a one in the place of the class."""
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    true_shares = np.bincount(labels, minlength=n_classes) / len(labels)
    predicted_shares = np.bincount(predicted, minlength=n_classes) / len(labels)
    right = _right(probabilities, labels)
    # Products of deviations from the means, summed over classes: Gorodkin's correlation of C classes is MCC.
    crossed = right - true_shares[predicted] - predicted_shares[labels] + true_shares @ predicted_shares
    true_squares = 1 - 2 * true_shares[labels] + true_shares @ true_shares
    predicted_squares = 1 - 2 * predicted_shares[predicted] + predicted_shares @ predicted_shares
    return _slope_of_correlation(crossed, true_squares, predicted_squares)


def _auroc(probabilities: Floats, labels: Labels) -> Floats:
    """The share of the rows of the other side that a row is on the right side of, one class after the other."""
    present = np.unique(labels)
    values = np.zeros(len(labels))
    for label in present:
        own = labels == label
        scores = probabilities[:, label]
        # Ranks among all rows, minus ranks among the rows of one's own side, count the rows of the other side below.
        below = ranks(scores)
        below[own] -= ranks(scores[own])
        below[~own] -= ranks(scores[~own])
        n_own = np.count_nonzero(own)
        n_other = len(own) - n_own
        # DeLong's placement values: rows of the class should be above the others, and the others below them.
        placement = np.where(own, below / n_other, 1 - below / n_own)
        area = placement[own].mean()
        # The area is a mean over the rows of each side, so a row of the smaller side moves it more.
        share = np.where(own, _share(own), _share(~own))
        values += (placement - area) / share
    return values / len(present)


def _average_precision(probabilities: Floats, labels: Labels) -> Floats:
    """A row of the class adds the precision at its score; any row changes the precision at all scores below its own."""
    present = np.unique(labels)
    values = np.zeros(len(labels))
    for label in present:
        own = labels == label
        scores = probabilities[:, label]
        order = np.argsort(scores, kind="stable")
        ascending = scores[order]

        # The precision at a row's score: of all rows that are as high or higher, the share of the class.
        first_equal = np.searchsorted(ascending, scores, side="left")
        n_above = len(scores) - first_equal
        own_above = np.cumsum(own[order][::-1])[::-1]
        precision = own_above[first_equal] / n_above

        # At each row of the class below, a row adds one to those above, and to those of the class if it is one.
        last_equal = np.searchsorted(ascending, scores, side="right")
        weights = np.where(own, 1 / n_above, 0.0)
        weight_sums = _running_sum(weights[order])[last_equal]
        precision_sums = _running_sum((weights * precision)[order])[last_equal]

        average = precision[own].mean()
        direct = np.where(own, precision - average, 0.0)
        # Each precision that the row is part of moves by 1 - itself for a row of the class, by -itself for another.
        moved = direct + own * weight_sums - precision_sums
        values += moved / own.mean()
    return values / len(present)


def _log_loss(probabilities: Floats, labels: Labels) -> Floats:
    label_probabilities = probabilities[np.arange(len(labels)), labels]
    # Cut where the metric cuts: a class that was ruled out would make the mean infinite.
    least = np.finfo(np.float64).eps
    return np.asarray(-np.log(np.maximum(label_probabilities, least)))


def _brier_score(probabilities: Floats, labels: Labels) -> Floats:
    truth = np.eye(probabilities.shape[1])[labels]
    return np.asarray(((probabilities - truth) ** 2).sum(axis=1))


def _calibration_error(probabilities: Floats, labels: Labels) -> Floats:
    """A row moves the surplus of confidence of its bin, in the direction of the bin's sign."""
    confidence = probabilities.max(axis=1)
    surplus = confidence - _right(probabilities, labels)
    bins = np.ceil(confidence * CALIBRATION_BINS).astype(np.int64) - 1
    bins = bins.clip(0, CALIBRATION_BINS - 1)
    bin_surplus = np.bincount(bins, weights=surplus, minlength=CALIBRATION_BINS)
    # The error adds up the absolute values of the bins, and a small weight turns no bin's sign.
    signs = np.sign(bin_surplus)
    return np.asarray(signs[bins] * surplus)


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


def _r2(predictions: Floats, labels: Labels) -> Floats:
    """The jackknife's values: without a row, both sums of squares lack it, and the mean label is that of the others.

    Slopes alone make the error of test sets of thirty rows too small, since a row far from the mean label holds much of
    the sum below.
    """
    n = len(labels)
    squares = (predictions - labels) ** 2
    distances = (labels - labels.mean()) ** 2
    remaining = distances.sum() - n / (n - 1) * distances
    without = 1 - (squares.sum() - squares) / np.where(remaining > TINY * distances.sum(), remaining, np.nan)
    value = 1 - squares.sum() / distances.sum()
    # Of two rows neither has an R2 without the other.
    return np.asarray(np.where(np.isnan(without), value, n * value - (n - 1) * without))


def _spearman(predictions: Floats, labels: Labels) -> Floats:
    """A correlation of shares of rows below: a row moves it by its own product, and by the shares of all others."""
    predicted = _share_below(predictions)
    truth = _share_below(labels)
    # By the rule of products: the row's own product, then what its weight does to either factor of the other rows.
    crossed = predicted * truth + _raised(predictions, truth) + _raised(labels, predicted)
    predicted_squares = predicted**2 + 2 * _raised(predictions, predicted)
    true_squares = truth**2 + 2 * _raised(labels, truth)
    # A row's weight raises shares as it enters products, so that slopes lie three times as high as the products.
    level = (predicted * truth).mean(), (predicted**2).mean(), (truth**2).mean()
    centred = []
    for values, mean in zip((crossed, predicted_squares, true_squares), level, strict=True):
        centred.append(values - values.mean() + mean)
    return _slope_of_correlation(*centred)


def _slope_of_ratio(numerators: Floats, denominators: Floats) -> Floats:
    """The slopes of a ratio of two means in the weight of each row."""
    denominator = denominators.mean()
    ratio = numerators.mean() / denominator
    # The rule of quotients: (a' b - a b') / b^2, with a / b taken out.
    return np.asarray((numerators - ratio * denominators) / denominator)


def _slope_of_correlation(crossed: Floats, first: Floats, second: Floats) -> Floats:
    """The slopes of a correlation: that of the covariance, minus half the correlation times those of both variances.

    Args:
        crossed: each row's product of deviations, whose mean is the covariance, ``(n,)``.
        first, second: their squares, whose means are the variances, ``(n,)``.
    """
    variance, other_variance = first.mean(), second.mean()
    # Where one side never varies, the metric is set to zero, whatever one row weighs.
    if min(variance, other_variance) <= 0:
        return np.zeros(len(crossed))
    scale = math.sqrt(variance * other_variance)
    covariance = crossed.mean()
    correlation = covariance / scale
    covariance_slopes = (crossed - covariance) / scale
    first_slopes = first / variance - 1
    second_slopes = second / other_variance - 1
    return np.asarray(covariance_slopes - correlation * (first_slopes + second_slopes) / 2)


def _share_below(values: Floats) -> Floats:
    """The share of rows below each, ties by half, as a deviation from its mean."""
    n = len(values)
    middle = (n + 1) / 2
    return np.asarray((ranks(values) - middle) / n)


def _raised(values: Floats, others: Floats) -> Floats:
    """The mean of ``others`` over the rows whose share of rows below grows with a row's weight: the rows above it, and
    by half those that are equal, ``(n,)``."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    sums = _running_sum(others[order])
    below = sums[np.searchsorted(ascending, values, side="left")]
    not_above = sums[np.searchsorted(ascending, values, side="right")]
    # Ties by half: the middle of what is below and what is not above.
    above = sums[-1] - (below + not_above) / 2
    return np.asarray(above / len(values))


def _running_sum(values: Floats) -> Floats:
    """The sums of the first 0, 1, ... n values, ``(n + 1,)``."""
    return np.append(0.0, np.cumsum(values))


def _share(rows: NDArray[np.bool_]) -> float:
    """The share of these rows by which a deviation from their mean is divided.

    One row less than there are, as in the jackknife, because the row takes part in the mean that it deviates from.
    """
    n_own = int(rows.sum())
    # The only row of its class is its mean, so any share will do that is not zero.
    if n_own < 2:
        return 1 / len(rows)
    return (n_own - 1) / (len(rows) - 1)


FORMULAS: dict[str, RowValues] = {
    "accuracy": _right,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "mcc": _mcc,
    "auroc": _auroc,
    "average_precision": _average_precision,
    "log_loss": _log_loss,
    "brier_score": _brier_score,
    "calibration_error": _calibration_error,
    "rmse": _rmse,
    "mae": _mae,
    "r2": _r2,
    "spearman": _spearman,
}
"""By name of the metric; a test compares each with the jackknife."""
