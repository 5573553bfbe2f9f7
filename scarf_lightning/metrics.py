"""The metrics of a trial's test rows: each once, with its direction, its bounds and its function.

The functions work on all classes at once. Scikit-learn's take milliseconds a class, together a tenth of the time of
fine-tuning on a small table.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import UsageError, unknown_name

Floats = NDArray[np.float64]
Labels = NDArray[Any]
Measure = Callable[[Floats, Labels], float]

FRACTION = (0.0, 1.0)
CALIBRATION_BINS = 15


@dataclass(frozen=True)
class Metric:
    """One number a trial.

    Args:
        name: its column in results.
        label: what tables and figures call it.
        higher_is_better: its direction.
        bounds: the values that it can take, both ends among them.
        function: of class probabilities ``(n, C)`` and class numbers ``(n,)``, or of predicted and true numbers, both
            ``(n,)``; NaN where it is not defined.
        targets: the kinds of target that it measures, see `scarf_lightning.data.targets`.
        has_unit: whether its values are in the unit of the target.
    """

    name: str
    label: str
    higher_is_better: bool
    bounds: tuple[float, float]
    function: Measure
    targets: tuple[str, ...] = ("classes",)
    has_unit: bool = False

    @property
    def sign(self) -> int:
        """1 if higher values are better, else -1."""
        return 1 if self.higher_is_better else -1

    @property
    def scale(self) -> float:
        """The factor of its shown values: fractions are shown in percent."""
        return 100.0 if self.bounds == FRACTION else 1.0

    @property
    def heading(self) -> str:
        """Its label, with its unit."""
        return f"{self.label}, %" if self.scale == 100 else self.label

    def shown(self, value: float) -> str:
        """A value for people: a fraction in percent."""
        return f"{100 * value:.2f}" if self.scale == 100 else self.plain(value)

    def plain(self, value: float) -> str:
        """A value as it is: four decimals, or four digits where it has a unit: 53.95, 0.001235, 123457."""
        if not self.has_unit:
            return f"{value:.4f}"
        # Four digits of a large number would hide its last ones.
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.4g}"

    @property
    def is_relative(self) -> bool:
        """True if differences are in percent of the reference's value: they are where there is no largest."""
        return math.isinf(self.bounds[1])

    @property
    def unit(self) -> str:
        """The unit of its shown differences: points of a fraction, or percent of the reference."""
        if self.is_relative:
            return "%"
        return "points" if self.scale == 100 else ""

    @property
    def difference_scale(self) -> float:
        """The factor of its shown differences."""
        return 100.0 if self.unit else 1.0

    def signed(self, difference: float) -> str:
        """A difference for people, with its sign: a minus sign in place of a hyphen, and no negative zero."""
        return number(self.difference_scale * difference, "+.2f" if self.unit else "+.4f")


def number(value: float, format: str) -> str:
    """A number with a minus sign instead of a hyphen, and without negative zero.

    >>> number(-0.001, "+.2f"), number(-1.5, ".2f")
    ('+0.00', '−1.50')
    """
    text = f"{value:{format}}"
    # A small loss that rounds to zero is no loss to a reader.
    if text.startswith("-") and float(text) == 0:
        text = f"{0.0:{format}}"
    return f"−{text[1:]}" if text.startswith("-") else text


_registered: dict[str, Metric] = {}


def metric(
    label: str,
    *,
    higher_is_better: bool = True,
    bounds: tuple[float, float] = FRACTION,
    targets: tuple[str, ...] = ("classes",),
    has_unit: bool = False,
) -> Callable[[Measure], Measure]:
    """Register a function of predictions and labels as the metric of its name.

    >>> @metric("rate of errors", higher_is_better=False)
    ... def error_rate(probabilities, labels):
    ...     return float((probabilities.argmax(axis=1) != labels).mean())

    A metric in a plugin is stored, shown, logged and reported like ours. `Metric` says what the arguments mean.

    Raises:
        UsageError: we have a metric of that name.
    """

    def registered(function: Measure) -> Measure:
        register(Metric(function.__name__, label, higher_is_better, bounds, function, targets, has_unit))
        return function

    return registered


def register(new: Metric) -> Metric:
    """Register a metric; a plugin that is imported again replaces its own.

    Raises:
        UsageError: we have a metric of that name.
    """
    existing = _registered.get(new.name)
    # Ours cannot be replaced: results of one name must have one meaning.
    if existing is not None and existing.function.__module__ == __name__:
        raise UsageError(f"A metric {new.name} exists; give yours another name.")
    _registered[new.name] = new
    return new


def metrics(targets: Collection[str] | None = None) -> tuple[Metric, ...]:
    """Every metric, ours, then those of plugins; or those of some kinds of target."""
    return tuple(each for each in _registered.values() if targets is None or set(targets) & set(each.targets))


def metric_named(name: str, *, option: str = "metric") -> Metric:
    """The metric of this name, which an ``option`` gives.

    Raises:
        UsageError: there is none.
    """
    if name in _registered:
        return _registered[name]
    sentence = unknown_name(f"{option}={name} is unknown", name, _registered, "the metrics")
    raise UsageError(f"{sentence} plugins=[MODULE] imports one of your own.")


@metric("accuracy")
def accuracy(probabilities: Floats, labels: Labels) -> float:
    """The share of the rows whose most probable class is the true one.

    >>> accuracy(np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1, 1]))
    0.75
    """
    return float((probabilities.argmax(axis=1) == labels).mean())


@metric("balanced accuracy")
def balanced_accuracy(probabilities: Floats, labels: Labels) -> float:
    """Macro recall: the mean recall over the classes present.

    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]])
    >>> round(balanced_accuracy(probabilities, np.array([0, 1, 1, 1])), 3)
    0.833
    """
    predicted = probabilities.argmax(axis=1)
    # A class without a test row has no recall, so it does not count.
    return float(np.mean([(predicted[labels == label] == label).mean() for label in np.unique(labels)]))


@metric("F1 (macro)")
def f1(probabilities: Floats, labels: Labels) -> float:
    """Mean over classes of F1 = 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall.

    As in scikit-learn, the classes are those that occur in the labels or the predictions.

    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]])
    >>> round(f1(probabilities, np.array([0, 1, 1, 1])), 3)
    0.733
    """
    truth, predicted, right = _counts(probabilities, labels)
    # Of a class that is neither true nor predicted F1 would be 0 / 0.
    occurs = truth + predicted > 0
    return float((2 * right[occurs] / (truth + predicted)[occurs]).mean())


@metric("Matthews' correlation", bounds=(-1.0, 1.0))
def mcc(probabilities: Floats, labels: Labels) -> float:
    """Matthews' correlation of labels and predictions for any number of classes; 0 if either has one class only.

    Source: Gorodkin, 2004, equation 8, DOI 10.1016/j.compbiolchem.2004.09.006.

    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]])
    >>> round(mcc(probabilities, np.array([0, 1, 1, 1])), 3)
    0.577
    """
    truth, predicted, right = _counts(probabilities, labels)
    n = len(labels)
    covariance = n * right.sum() - (truth * predicted).sum()
    variances = (n**2 - (truth**2).sum()) * (n**2 - (predicted**2).sum())
    # Counts are whole numbers in float64, so a variance of zero is exactly zero.
    if not variances:
        return 0.0
    return float(covariance / math.sqrt(variances))


@metric("AUROC")
def auroc(probabilities: Floats, labels: Labels) -> float:
    """Mean one-vs-rest area under the ROC curve over the classes present; NaN when fewer than two occur.

    Areas are those of ranks, ties halved: Hanley and McNeil, 1982, DOI 10.1148/radiology.143.1.7063747.

    Each row of a class is above all rows of the other one, though one of them is predicted wrong:

    >>> auroc(np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1, 1]))
    1.0
    """
    scores, positive = _one_vs_rest(probabilities, labels)
    if positive.shape[1] < 2:
        return math.nan
    n_positive = positive.sum(axis=0)
    n_negative = len(scores) - n_positive
    # Ranks among all rows, minus ranks among the rows of the class, count the other rows below.
    rank_sums = (ranks(scores) * positive).sum(axis=0)
    above = rank_sums - n_positive * (n_positive + 1) / 2
    return float((above / (n_positive * n_negative)).mean())


@metric("average precision")
def average_precision(probabilities: Floats, labels: Labels) -> float:
    """Mean one-vs-rest average precision over the classes present; NaN when fewer than two occur.

    The mean over a class's rows of the precision at their score, without interpolation.

    >>> average_precision(np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1, 1]))
    1.0
    """
    scores, positive = _one_vs_rest(probabilities, labels)
    if positive.shape[1] < 2:
        return math.nan
    not_below = ranks(-scores, "max")
    # Infinity moves the other rows behind those of the class.
    positive_not_below = ranks(np.where(positive, -scores, np.inf), "max")
    precision = positive * positive_not_below / not_below
    return float((precision.sum(axis=0) / positive.sum(axis=0)).mean())


@metric("log-loss", higher_is_better=False, bounds=(0.0, math.inf))
def log_loss(probabilities: Floats, labels: Labels) -> float:
    """Mean negative logarithm of the true class's probability, in nats; a probability of zero costs 36.

    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]])
    >>> round(log_loss(probabilities, np.array([0, 1, 1, 1])), 3)
    0.646
    """
    label_probabilities = probabilities[np.arange(len(labels)), labels]
    # One row that is wrong for sure would make the mean infinite, and all other rows not count.
    least = np.finfo(np.float64).eps
    return float(-np.log(np.maximum(label_probabilities, least)).mean())


@metric("Brier score", higher_is_better=False, bounds=(0.0, 2.0))
def brier_score(probabilities: Floats, labels: Labels) -> float:
    """Mean squared distance of the probabilities from the truth, summed over classes.

    Source: Brier, 1950, DOI 10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2. For two classes it is twice the score of
    one of them.

    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]])
    >>> round(brier_score(probabilities, np.array([0, 1, 1, 1])), 3)
    0.45
    """
    truth = np.arange(probabilities.shape[1]) == labels[:, None]
    return float(((probabilities - truth) ** 2).sum(axis=1).mean())


@metric("calibration error", higher_is_better=False)
def calibration_error(probabilities: Floats, labels: Labels) -> float:
    """Distance of confidence from accuracy in 15 equal bins of confidence, weighted by their rows.

    Source: Guo, Pleiss, Sun and Weinberger, 2017, equation 3, DOI 10.48550/arXiv.1706.04599.

    Four rows in four bins, three of which are right, at confidences of 0.9, 0.6 and 0.7:

    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]])
    >>> round(calibration_error(probabilities, np.array([0, 1, 1, 1])), 3)
    0.4
    """
    confidence = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == labels
    # Bins are closed at their upper ends, so a confidence of 1 is in the last one.
    bins = np.clip(np.ceil(confidence * CALIBRATION_BINS) - 1, 0, CALIBRATION_BINS - 1).astype(np.int64)
    surplus = np.bincount(bins, weights=confidence - is_right, minlength=CALIBRATION_BINS)
    return float(np.abs(surplus).sum() / len(labels))


@metric("RMSE", higher_is_better=False, bounds=(0.0, math.inf), targets=("number",), has_unit=True)
def rmse(predictions: Floats, labels: Labels) -> float:
    """The root of the mean squared difference, in the unit of the target.

    >>> round(rmse(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0])), 3)
    0.816
    """
    return float(np.sqrt(((predictions - labels) ** 2).mean()))


@metric("MAE", higher_is_better=False, bounds=(0.0, math.inf), targets=("number",), has_unit=True)
def mae(predictions: Floats, labels: Labels) -> float:
    """The mean absolute difference, in the unit of the target.

    >>> round(mae(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0])), 3)
    0.667
    """
    return float(np.abs(predictions - labels).mean())


@metric("R2", bounds=(-math.inf, 1.0), targets=("number",))
def r2(predictions: Floats, labels: Labels) -> float:
    """The share of the labels' variance that predictions explain, negative if their mean would predict better; NaN if
    all labels are equal.

    >>> round(r2(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0])), 3)
    0.25
    """
    variance = ((labels - labels.mean()) ** 2).mean()
    # Of equal labels there is nothing to explain.
    if not variance:
        return math.nan
    return float(1 - ((predictions - labels) ** 2).mean() / variance)


@metric("Spearman's correlation", bounds=(-1.0, 1.0), targets=("number",))
def spearman(predictions: Floats, labels: Labels) -> float:
    """The correlation of the ranks of predictions and labels, ties averaged; 0 for equal predictions, NaN for equal
    labels.

    Source: Spearman, 1904, DOI 10.2307/1412159.

    >>> round(spearman(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0])), 3)
    0.866
    """
    prediction_ranks = ranks(predictions)
    prediction_ranks -= prediction_ranks.mean()
    label_ranks = ranks(labels)
    label_ranks -= label_ranks.mean()
    if not label_ranks.any():
        return math.nan
    if not prediction_ranks.any():
        return 0.0
    return float(
        (prediction_ranks * label_ranks).sum() / math.sqrt((prediction_ranks**2).sum() * (label_ranks**2).sum())
    )


def ranks(values: Floats, method: str = "average") -> Floats:
    """Ranks from 1 of numbers ``(n,)``, or within each column of ``(n, k)``; all NaN if one number is.

    Args:
        method: equal numbers have the mean of their ranks (``average``), or the highest (``max``).

    >>> ranks(np.array([0.5, 0.1, 0.5]))
    array([2.5, 1. , 2.5])
    """
    # A trial that diverged has no predictions.
    if np.isnan(values).any():
        return values * np.nan
    if values.ndim > 1:
        # In the order of rows, since sums depend on it.
        return np.stack([ranks(column, method) for column in values.T], axis=1)
    ordered = np.sort(values)
    highest = np.searchsorted(ordered, values, side="right")
    lowest = highest if method == "max" else 1 + np.searchsorted(ordered, values)
    return (lowest + highest) / 2


def _counts(probabilities: Floats, labels: Labels) -> Floats:
    """For each class the number of its rows, of rows predicted as it, and of rows that are both: ``(3, C)``."""
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    right = labels[labels == predicted]
    counts = [np.bincount(rows, minlength=n_classes) for rows in (labels, predicted, right)]
    # Squares and products of counts are taken of these, which integers of 32 bits could not hold.
    return np.stack(counts).astype(np.float64)


def _one_vs_rest(probabilities: Floats, labels: Labels) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores of the classes present, and which rows are theirs; both ``(n, classes present)``."""
    # A class that no test row has is neither above nor below any row.
    present = np.unique(labels)
    return probabilities[:, present], labels[:, None] == present


PROBES = {
    "probe_linear": "accuracy of a linear probe on the frozen embeddings of the test rows, of numbers R2",
    "probe_knn": "the same of the nearest neighbours",
    "probe_effective_rank": "effective rank of the frozen embeddings",
    "probe_alignment": "alignment of the frozen embeddings of two views",
    "probe_uniformity": "uniformity of the frozen embeddings of two views",
}
"""Columns of results that ``pretrain.probe`` adds, and what each holds. Nothing is chosen by them."""

# Taken before any plugin is imported.
METRICS = metrics()
"""Ours, in the order of tables."""
