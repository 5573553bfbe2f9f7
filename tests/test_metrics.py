import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics as sk

from scarf_lightning.data.targets import Classes, Number
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import METRICS, Metric, metric, metric_named, metrics, register

OF_CLASSES = Classes.metrics()
OF_NUMBERS = Number.metrics()


def sample(seed: int, n: int, n_classes: int, *, classes: list[int] | None = None) -> tuple[NDArray, NDArray]:
    """Random probabilities, rounded so that scores tie, and labels in ``classes`` that they tell something about."""
    random = np.random.default_rng(seed)
    labels = random.choice(classes if classes is not None else n_classes, n)
    raw = random.random((n, n_classes)).round(1) + 0.1 + 0.5 * np.eye(n_classes)[labels]
    return raw / raw.sum(axis=1, keepdims=True), labels.astype(np.int64)


def classification_metrics(probabilities: NDArray, labels: NDArray) -> dict[str, float]:
    return Classes(tuple(map(str, range(probabilities.shape[1])))).measured(probabilities, labels)


def mann_whitney(scores: NDArray, positive: NDArray) -> float:
    """The area under the ROC curve is U / (n+ n-)."""
    inside, outside = scores[positive], scores[~positive]
    u = stats.mannwhitneyu(inside, outside, method="asymptotic").statistic
    return float(u) / (len(inside) * len(outside))


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), n_classes=st.integers(2, 6), n_present=st.integers(1, 6))
@example(seed=5, n=12, n_classes=3, n_present=1)
@example(seed=6, n=40, n_classes=4, n_present=2)
def test_all_metrics_agree_with_their_definitions_and_keep_their_bounds(
    seed: int, n: int, n_classes: int, n_present: int
) -> None:
    """Classes that do not occur count in the losses alone, and one class has no area."""
    probabilities, labels = sample(seed, n, n_classes, classes=list(range(n_classes))[-n_present:])
    found = classification_metrics(probabilities, labels)
    predicted = probabilities.argmax(axis=1)
    assert list(found)[: len(OF_CLASSES)] == [metric.name for metric in OF_CLASSES]
    assert all(type(found[metric.name]) is float for metric in OF_CLASSES)
    for each in OF_CLASSES:
        assert math.isnan(found[each.name]) or each.bounds[0] <= found[each.name] <= each.bounds[1], each.name
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, predicted), abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a predicted class does not occur
        expected = sk.balanced_accuracy_score(labels, predicted)
        assert found["mcc"] == pytest.approx(sk.matthews_corrcoef(labels, predicted), abs=1e-12)
    assert found["balanced_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert found["f1"] == pytest.approx(sk.f1_score(labels, predicted, average="macro"), abs=1e-12)
    assert found["log_loss"] == pytest.approx(-np.log(probabilities[np.arange(n), labels]).mean(), abs=1e-12)
    present = np.unique(labels)
    if len(present) < 2:
        assert math.isnan(found["auroc"])
        assert math.isnan(found["average_precision"])
    else:
        areas = [mann_whitney(probabilities[:, c], labels == c) for c in present]
        assert found["auroc"] == pytest.approx(np.mean(areas), abs=1e-12)
        precisions = [sk.average_precision_score(labels == c, probabilities[:, c]) for c in present]
        assert found["average_precision"] == pytest.approx(np.mean(precisions), abs=1e-12)
    brier = ((probabilities - np.eye(n_classes)[labels]) ** 2).sum(axis=1).mean()
    assert found["brier_score"] == pytest.approx(brier, abs=1e-12)
    assert found["calibration_error"] == pytest.approx(guo_equation_3(probabilities, labels), abs=1e-12)


def guo_equation_3(probabilities: NDArray, labels: NDArray) -> float:
    """Guo et al. 2017, equation 3, a bin at a time."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    error = 0.0
    for b in range(15):
        inside = (confidence * 15 > b) & (confidence * 15 <= b + 1)
        if inside.any():
            error += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return error


POOR = np.array([[0.4, 0.6], [0.6, 0.4], [0.3, 0.7], [0.9, 0.1]])
"""Probabilities of four rows, two of which are wrong."""


@pytest.mark.parametrize("measured", OF_CLASSES + OF_NUMBERS, ids=lambda each: each.name)
def test_the_direction_is_that_of_a_perfect_prediction(measured: Metric) -> None:
    is_of_classes = measured in OF_CLASSES
    labels = np.array([0, 1, 1, 0]) if is_of_classes else np.array([1.0, 2.0, 4.0, 8.0])
    perfect, poor = (
        measured.function(predicted, labels)
        for predicted in ((np.eye(2)[labels], POOR) if is_of_classes else (labels, labels[::-1]))
    )
    assert measured.sign * perfect > measured.sign * poor
    assert perfect == pytest.approx(measured.bounds[1] if measured.higher_is_better else measured.bounds[0], abs=1e-12)


def test_a_plugins_metric_is_measured_like_ours() -> None:
    def worst(probabilities: NDArray, labels: NDArray) -> float:
        return float(probabilities[np.arange(len(labels)), labels].min())

    for label in ("worst", "worst probability"):  # as a notebook defines it twice
        assert metric(label)(worst) is worst

    assert [each.label for each in metrics()] == [*(each.label for each in METRICS), "worst probability"]
    assert classification_metrics(np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([0, 0]))["worst"] == 0.4
    with pytest.raises(UsageError, match=r"^A metric accuracy exists; give yours another name\.$"):
        register(METRICS[0])


@pytest.mark.parametrize(
    ("name", "meant"), [("recall", "balanced_accuracy"), ("roc_auc", "auroc"), ("acuracy", "accuracy")]
)
def test_an_unknown_metric_suggests_the_one_that_is_meant(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"^metric={name} is unknown\. Did you mean {meant}\? The metrics are: "):
        metric_named(name)


NUMBERS = st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=2, max_size=30).map(
    lambda pairs: tuple(np.array(pairs).round(1).T)
)


@given(NUMBERS)
def test_metrics_of_numbers_agree_with_their_definitions(series: tuple[NDArray, NDArray]) -> None:
    predicted, labels = series
    found = Number("y").measured(predicted, labels)

    assert list(found) == [each.name for each in OF_NUMBERS]
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(labels, predicted), abs=1e-9)
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(labels, predicted), abs=1e-9)
    if np.ptp(labels) == 0:
        assert math.isnan(found["r2"])
        assert math.isnan(found["spearman"])
        return
    assert found["r2"] == pytest.approx(sk.r2_score(labels, predicted), rel=1e-9)
    if np.ptp(predicted) == 0:
        assert found["spearman"] == 0
    else:
        assert found["spearman"] == pytest.approx(stats.spearmanr(predicted, labels).statistic, abs=1e-9)


def test_differences_without_a_largest_value_are_in_percent_of_the_reference() -> None:
    relative = ("log_loss", "rmse", "mae")
    assert (
        {each.unit for each in METRICS if each.is_relative} == {metric_named(name).unit for name in relative} == {"%"}
    )
    assert metric_named("r2").unit == metric_named("spearman").unit == ""
    assert metric_named("accuracy").signed(-0.01234) == metric_named("rmse").signed(-0.01234) == "−1.23"
    assert metric_named("r2").signed(0.01234) == "+0.0123"
