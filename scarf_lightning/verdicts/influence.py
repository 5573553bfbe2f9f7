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

from ..metrics import Floats, Labels, Metric, ranks

RowValues = Callable[[Floats, Labels], Floats]

MOST_JACKKNIFED = 2_000
"""Test rows up to which a metric without a formula is computed without each of them. It takes a second a trial."""


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
    # AUROC of one class, for instance: no row can have a part in what is not defined.
    if math.isnan(value) or (formula is None and len(labels) > MOST_JACKKNIFED):
        return np.full(len(labels), np.nan)
    values = jackknifed(metric, predictions, labels, value) if formula is None else formula(predictions, labels)
    # Slopes add up to zero, and formulas of means may round differently from the metric's own sum.
    return np.asarray(values - values.mean() + value)


def jackknifed(metric: Metric, predictions: Floats, labels: Labels, value: float) -> Floats:
    """The jackknife's values of the rows, ``(n,)``: n times the metric, minus n - 1 times the metric without the row
    (Efron 1982, chapter 2), whose ``value`` is known. A row without which it is not defined has this value.

    >>> import numpy as np
    >>> from scarf_lightning.metrics import metric_named
    >>> jackknifed(metric_named("mae"), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0]), 1.0).round(3)
    array([0., 0., 3.])
    """
    n = len(labels)
    without = np.empty(n)
    for row in range(n):
        without[row] = metric.function(np.delete(predictions, row, axis=0), np.delete(labels, row))
    return np.where(np.isnan(without), value, n * value - (n - 1) * without)


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


FORMULAS: dict[str, RowValues] = {
    "accuracy": _right,
    "balanced_accuracy": _balanced_accuracy,
    "auroc": _auroc,
    "log_loss": _log_loss,
    "rmse": _rmse,
    "mae": _mae,
}
"""By name of the metric; a test compares each with the jackknife."""
