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

from ...metrics import CALIBRATION_BINS, Labels, Metric
from .scores import Floats

RowValues = Callable[[Floats, Labels], Floats]

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
    if math.isnan(value):
        return np.full(len(labels), np.nan)
    values = formula(predictions, labels)
    # Formulas may round differently from the metric's own sum.
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
    for part in np.array_split(np.arange(n), min(n, MOST_JACKKNIFED)):
        rest = np.delete(np.arange(n), part)
        without = metric.function(predictions[rest], labels[rest])
        # A metric may be undefined without its only row of a class.
        if not math.isnan(without):
            values[part] += (n / len(part) - 1) * (value - without)
    return np.asarray(values - values.mean() + value)


def added_values(metric: Metric, predictions: Floats, labels: Labels) -> Floats:
    """The values that one more row of each class would have, predicted right and predicted wrong, ``(C, 2)``.

    A row that is wrong is taken for the class that is predicted most often besides its own. NaN for classes without a
    row, and all NaN for a metric that uses more than the predicted classes, such as AUROC.

    Args:
        metric, predictions, labels: as in `row_values`.

    >>> import numpy as np
    >>> from scarf_lightning.metrics import metric_named
    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]])
    >>> added_values(metric_named("accuracy"), probabilities, np.array([0, 1, 1]))
    array([[1., 0.],
           [1., 0.]])
    """
    if predictions.ndim == 1:
        return np.full((1, 2), np.nan)
    n, n_classes = predictions.shape
    predicted = predictions.argmax(axis=1)
    certain = np.eye(n_classes)
    value = metric.function(predictions, labels)
    values = np.full((n_classes, 2), np.nan)
    if metric.function(certain[predicted], labels) != value:
        return values
    often = np.bincount(predicted, minlength=n_classes)
    for label in np.unique(labels):
        others = np.where(np.arange(n_classes) == label, -1, often)
        for place, added in enumerate((label, int(others.argmax()))):
            with_one = certain[np.append(predicted, added)]
            values[label, place] = (n + 1) * metric.function(with_one, np.append(labels, label)) - n * value
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
    return np.asarray(values / len(present))


def _f1(probabilities: Floats, labels: Labels) -> Floats:
    """F1 is a ratio of shares: of rows that are right, and of rows that are of the class or predicted to be."""
    predicted = probabilities.argmax(axis=1)
    occurring = np.union1d(labels, predicted)
    values = np.zeros(len(labels))
    for label in occurring:
        both = (labels == label) & (predicted == label)
        either = (labels == label).astype(np.float64) + (predicted == label)
        score = 2 * both.sum() / either.sum()
        values += (2 * both - score * either) / either.mean()
    return np.asarray(values / len(occurring))


def _mcc(probabilities: Floats, labels: Labels) -> Floats:
    """A correlation: the slope of the covariance, minus half the correlation times the slopes of both variances."""
    n_classes, predicted = probabilities.shape[1], probabilities.argmax(axis=1)
    truth = np.bincount(labels, minlength=n_classes) / len(labels)
    given = np.bincount(predicted, minlength=n_classes) / len(labels)
    right = _right(probabilities, labels)
    covariance = right.mean() - truth @ given
    variances = [1 - truth @ truth, 1 - given @ given]
    if min(variances) <= 0:
        return np.zeros(len(labels))
    scale = math.sqrt(variances[0] * variances[1])
    of_covariance = right - right.mean() - (truth[predicted] + given[labels] - 2 * truth @ given)
    of_truth = -2 * (truth[labels] - truth @ truth) / variances[0]
    of_given = -2 * (given[predicted] - given @ given) / variances[1]
    return np.asarray((of_covariance - covariance * (of_truth + of_given) / 2) / scale)


def _auroc(probabilities: Floats, labels: Labels) -> Floats:
    """A row's share of the rows of the other side that it is on the right side of, one class after the other."""
    from scipy.stats import rankdata

    present = np.unique(labels)
    values = np.zeros(len(labels))
    for label in present:
        own, scores = labels == label, probabilities[:, label]
        # Ranks among all rows, minus ranks among the rows of one's own side, count the rows of the other side below.
        below = rankdata(scores)
        below[own] -= rankdata(scores[own])
        below[~own] -= rankdata(scores[~own])
        placement = np.where(own, below / (~own).sum(), 1 - below / own.sum())
        area = placement[own].mean()
        values += (placement - area) / np.where(own, _share(own), _share(~own))
    return np.asarray(values / len(present))


def _average_precision(probabilities: Floats, labels: Labels) -> Floats:
    """A row of the class adds the precision at its score; any row changes the precision at all scores below its own."""
    present = np.unique(labels)
    values = np.zeros(len(labels))
    for label in present:
        own, scores = labels == label, probabilities[:, label]
        ascending = np.argsort(scores, kind="stable")
        starts = np.searchsorted(scores[ascending], scores, side="left")
        n_above = len(scores) - starts
        own_above = np.append(np.cumsum(own[ascending][::-1])[::-1], 0)[starts]
        precision = own_above / n_above
        # Sums over the rows of the class whose score is no higher: of 1 / rows above, and of precision / rows above.
        ends = np.searchsorted(scores[ascending], scores, side="right")
        weights = np.where(own, 1 / n_above, 0.0)[ascending]
        first = np.append(0.0, np.cumsum(weights))[ends]
        second = np.append(0.0, np.cumsum(weights * precision[ascending]))[ends]
        average = precision[own].mean()
        values += np.where(own, precision - average, 0.0) / own.mean() + (own * first - second) / own.mean()
    return np.asarray(values / len(present))


def _log_loss(probabilities: Floats, labels: Labels) -> Floats:
    of_label = probabilities[np.arange(len(labels)), labels]
    return np.asarray(-np.log(np.maximum(of_label, np.finfo(np.float64).eps)))


def _brier_score(probabilities: Floats, labels: Labels) -> Floats:
    truth = np.arange(probabilities.shape[1]) == labels[:, None]
    return np.asarray(((probabilities - truth) ** 2).sum(axis=1))


def _calibration_error(probabilities: Floats, labels: Labels) -> Floats:
    """A row moves the surplus of confidence of its bin, in the direction of the bin's sign."""
    confidence = probabilities.max(axis=1)
    surplus = confidence - _right(probabilities, labels)
    bins = np.clip(np.ceil(confidence * CALIBRATION_BINS) - 1, 0, CALIBRATION_BINS - 1).astype(np.int64)
    signs = np.sign(np.bincount(bins, weights=surplus, minlength=CALIBRATION_BINS))
    return np.asarray(signs[bins] * surplus)


def _rmse(predictions: Floats, labels: Labels) -> Floats:
    squares = (predictions - labels) ** 2
    root = math.sqrt(squares.mean())
    return np.asarray(squares - root**2) / (2 * root) if root else np.zeros(len(labels))


def _mae(predictions: Floats, labels: Labels) -> Floats:
    return np.asarray(np.abs(predictions - labels))


def _r2(predictions: Floats, labels: Labels) -> Floats:
    """One minus a ratio: errors add to it, and rows far from the mean label take from it."""
    squares, distances = (predictions - labels) ** 2, (labels - labels.mean()) ** 2
    ratio = squares.mean() / distances.mean()
    return np.asarray(-(squares - ratio * distances) / distances.mean())


def _spearman(predictions: Floats, labels: Labels) -> Floats:
    """A correlation of shares of rows below: a row moves it by its own product, and by the shares of all others."""
    from scipy.stats import rankdata

    n = len(labels)
    given, truth = ((rankdata(each) - (n + 1) / 2) / n for each in (predictions, labels))
    variances = [(given**2).mean(), (truth**2).mean()]
    if min(variances) <= 0:
        return np.zeros(n)
    products = given * truth + _raised(predictions, truth) + _raised(labels, given)
    of_given = given**2 + 2 * _raised(predictions, given)
    of_truth = truth**2 + 2 * _raised(labels, truth)
    scale = math.sqrt(variances[0] * variances[1])
    correlation = (given * truth).mean() / scale
    slopes = [(of_given - of_given.mean()) / variances[0], (of_truth - of_truth.mean()) / variances[1]]
    return np.asarray((products - products.mean()) / scale - correlation * (slopes[0] + slopes[1]) / 2)


def _raised(values: Floats, others: Floats) -> Floats:
    """The mean of ``others`` over the rows whose share of rows below grows with a row's weight: the rows above it, and
    by half those that are equal, ``(n,)``."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    sums = np.append(0.0, np.cumsum(others[order]))
    below = sums[np.searchsorted(ascending, values, side="left")]
    not_above = sums[np.searchsorted(ascending, values, side="right")]
    return np.asarray((sums[-1] - (below + not_above) / 2) / len(values))


def _share(rows: NDArray[np.bool_]) -> float:
    """The share of these rows by which a deviation from their mean is divided.

    One row less than there are, as in the jackknife, because the row takes part in the mean that it deviates from.
    """
    n_own = int(rows.sum())
    return (n_own - 1) / (len(rows) - 1) if n_own > 1 else 1 / len(rows)


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
