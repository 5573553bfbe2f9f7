"""What is measured on the test rows of a trial: each metric once, with its direction, its bounds and its function.

All classes at once where classes are many: scikit-learn takes milliseconds a class, a tenth of what fine-tuning a small
table takes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import UsageError, did_you_mean
from .student_t import central_quantile

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class Metric:
    """One number a trial.

    Args:
        name: its column in results.
        label: what tables and figures call it.
        higher_is_better: its direction.
        bounds: the values that it can take, both ends among them.
        function: of class probabilities ``(n, C)`` and class numbers ``(n,)``; NaN where it is not defined.
    """

    name: str
    label: str
    higher_is_better: bool
    bounds: tuple[float, float]
    function: Callable[[Floats, Labels], float]

    @property
    def sign(self) -> int:
        """What makes higher better: 1, or -1 for a loss."""
        return 1 if self.higher_is_better else -1

    @property
    def scale(self) -> float:
        """What it is multiplied by for people: a fraction is shown in percent."""
        return 100.0 if self.bounds == (0.0, 1.0) else 1.0

    @property
    def heading(self) -> str:
        """Its label, with its unit."""
        return f"{self.label}, %" if self.scale == 100 else self.label

    @property
    def digits(self) -> str:
        """The format of its shown values."""
        return ".2f" if self.scale == 100 else ".4f"

    def interval(self, values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
        """Mean of values and its interval by Student's t, cut at the bounds; NaN ends for fewer than two values."""
        mean = float(np.mean(values))
        if len(values) < 2:
            return mean, math.nan, math.nan
        half = central_quantile(level, len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
        return mean, max(mean - half, self.bounds[0]), min(mean + half, self.bounds[1])


def classification_metrics(probabilities: Floats, labels: Labels) -> dict[str, float]:
    """All metrics of one trial, by name.

    Args:
        probabilities: class probabilities, ``(n, C)``.
        labels: class numbers, ``(n,)``.
    """
    return {metric.name: metric.function(probabilities, labels) for metric in metrics()}


def metrics() -> tuple[Metric, ...]:
    """Every metric: ours, then those that plugins have registered."""
    return (*METRICS, *_of_plugins.values())


def metric_named(name: str) -> Metric:
    """The metric of this name.

    Raises:
        UsageError: there is none.
    """
    known = {metric.name: metric for metric in metrics()}
    if name not in known:
        said = f"metric={name} is unknown; the metrics are: {', '.join(known)}."
        raise UsageError(said + did_you_mean(name, known))
    return known[name]


def register(metric: Metric) -> Metric:
    """Let a plugin's metric be stored, shown, logged and reported like ours; its name takes the place of an equal one.

    Raises:
        UsageError: it has the name of one of ours.
    """
    if any(metric.name == ours.name for ours in METRICS):
        raise UsageError(f"A metric {metric.name} exists; give yours another name.")
    _of_plugins[metric.name] = metric
    return metric


def accuracy(probabilities: Floats, labels: Labels) -> float:
    """The part of the rows whose most probable class is theirs."""
    return float((probabilities.argmax(axis=1) == labels).mean())


def balanced_accuracy(probabilities: Floats, labels: Labels) -> float:
    """Mean recall over the classes present."""
    predicted = probabilities.argmax(axis=1)
    return float(np.mean([float((predicted[labels == c] == c).mean()) for c in np.unique(labels)]))


def auroc(probabilities: Floats, labels: Labels) -> float:
    """Mean one-vs-rest area under the ROC curve over the classes present; NaN when fewer than two occur.

    Areas are those of ranks, ties halved: Hanley and McNeil, 1982, DOI 10.1148/radiology.143.1.7063747.
    """
    from scipy.stats import rankdata

    scores, positive = _one_vs_rest(probabilities, labels)
    if positive.shape[1] < 2:
        return math.nan
    n_positive = positive.sum(axis=0)
    above = (rankdata(scores, axis=0) * positive).sum(axis=0) - n_positive * (n_positive + 1) / 2
    return float((above / (n_positive * (len(scores) - n_positive))).mean())


def average_precision(probabilities: Floats, labels: Labels) -> float:
    """Mean one-vs-rest average precision over the classes present; NaN when fewer than two occur.

    The mean over a class's rows of the precision at their score, without interpolation.
    """
    from scipy.stats import rankdata

    scores, positive = _one_vs_rest(probabilities, labels)
    if positive.shape[1] < 2:
        return math.nan
    not_below = rankdata(-scores, method="max", axis=0)
    positive_not_below = rankdata(np.where(positive, -scores, np.inf), method="max", axis=0)
    precision = np.where(positive, positive_not_below / not_below, 0)
    return float((precision.sum(axis=0) / positive.sum(axis=0)).mean())


def log_loss(probabilities: Floats, labels: Labels) -> float:
    """Mean negative logarithm of the true class's probability, in nats; a probability of zero costs 36."""
    of_label = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(of_label, np.finfo(np.float64).eps)).mean())


def brier_score(probabilities: Floats, labels: Labels) -> float:
    """Mean squared distance of the probabilities from the truth, summed over classes.

    Source: Brier, 1950, DOI 10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2. For two classes it is twice the score of
    one of them.
    """
    truth = np.arange(probabilities.shape[1]) == labels[:, None]
    return float(((probabilities - truth) ** 2).sum(axis=1).mean())


def expected_calibration_error(probabilities: Floats, labels: Labels) -> float:
    """Distance of confidence from accuracy in 15 equal bins of confidence, weighted by their rows.

    Source: Guo, Pleiss, Sun and Weinberger, 2017, equation 3, DOI 10.48550/arXiv.1706.04599.
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bins = np.clip(np.ceil(confidence * CALIBRATION_BINS) - 1, 0, CALIBRATION_BINS - 1).astype(np.int64)
    surplus = np.bincount(bins, weights=confidence - right, minlength=CALIBRATION_BINS)
    return float(np.abs(surplus).sum() / len(labels))


def _one_vs_rest(probabilities: Floats, labels: Labels) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores of the classes present, and which rows are theirs; both ``(n, classes present)``."""
    present = np.unique(labels)
    return probabilities[:, present], labels[:, None] == present


FRACTION = (0.0, 1.0)

METRICS = (
    Metric("accuracy", "accuracy", True, FRACTION, accuracy),
    Metric("balanced_accuracy", "balanced accuracy", True, FRACTION, balanced_accuracy),
    Metric("auroc", "AUROC", True, FRACTION, auroc),
    Metric("average_precision", "average precision", True, FRACTION, average_precision),
    Metric("log_loss", "log-loss", False, (0.0, math.inf), log_loss),
    Metric("brier_score", "Brier score", False, (0.0, 2.0), brier_score),
    Metric("calibration_error", "calibration error", False, FRACTION, expected_calibration_error),
)
_of_plugins: dict[str, Metric] = {}
