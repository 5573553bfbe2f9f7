import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics as sk

from scarf_lightning.metrics import classification_metrics


def sample(seed: int, n: int, n_classes: int, *, classes: list[int] | None = None) -> tuple[NDArray, NDArray]:
    """Random probabilities, rounded so that scores tie, and labels in ``classes`` that they tell something about."""
    random = np.random.default_rng(seed)
    labels = random.choice(classes if classes is not None else n_classes, n)
    raw = random.random((n, n_classes)).round(1) + 0.1 + 0.5 * np.eye(n_classes)[labels]
    return raw / raw.sum(axis=1, keepdims=True), labels.astype(np.int64)


def mann_whitney(scores: NDArray, positive: NDArray) -> float:
    """The area under the ROC curve is U / (n+ n-)."""
    inside, outside = scores[positive], scores[~positive]
    u = stats.mannwhitneyu(inside, outside, method="asymptotic").statistic
    return float(u) / (len(inside) * len(outside))


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), n_classes=st.integers(2, 6))
def test_all_metrics_agree_with_their_definitions(seed: int, n: int, n_classes: int) -> None:
    probabilities, labels = sample(seed, n, n_classes)
    found = classification_metrics(probabilities, labels)
    predicted = probabilities.argmax(axis=1)
    assert set(found) == {"accuracy", "balanced_accuracy", "log_loss", "auroc"}
    assert all(type(value) is float for value in found.values())
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, predicted), abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a predicted class does not occur
        expected = sk.balanced_accuracy_score(labels, predicted)
    assert found["balanced_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert found["log_loss"] == pytest.approx(-np.log(probabilities[np.arange(n), labels]).mean(), abs=1e-12)
    present = np.unique(labels)
    if len(present) < 2:
        assert math.isnan(found["auroc"])
    else:
        areas = [mann_whitney(probabilities[:, c], labels == c) for c in present]
        assert found["auroc"] == pytest.approx(np.mean(areas), abs=1e-12)


def test_auroc_is_macro_one_vs_rest() -> None:
    probabilities, labels = sample(3, 50, 4)
    expected = sk.roc_auc_score(labels, probabilities, multi_class="ovr", average="macro")
    assert classification_metrics(probabilities, labels)["auroc"] == pytest.approx(expected, abs=1e-12)


def test_auroc_of_two_classes_is_the_usual_one() -> None:
    probabilities, labels = sample(4, 50, 2)
    expected = sk.roc_auc_score(labels, probabilities[:, 1])
    assert classification_metrics(probabilities, labels)["auroc"] == pytest.approx(expected, abs=1e-12)


def test_by_hand() -> None:
    probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.6, 0.3, 0.1], [0.2, 0.6, 0.2]])
    found = classification_metrics(probabilities, np.array([0, 0, 0, 1]))
    assert found["accuracy"] == 0.75
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["log_loss"] == pytest.approx(-math.log(0.5 * 0.1 * 0.6 * 0.6) / 4)
    # Class 0: its rows score 0.5, 0.1, 0.6 against 0.2; class 1: its row scores 0.6 against 0.3, 0.7, 0.3.
    assert found["auroc"] == pytest.approx(2 / 3)


def test_one_class_in_the_test_split_has_no_auroc() -> None:
    probabilities, labels = sample(5, 12, 3, classes=[2])
    found = classification_metrics(probabilities, labels)
    assert math.isnan(found["auroc"])
    recall = float((probabilities.argmax(axis=1) == 2).mean())
    assert found["accuracy"] == found["balanced_accuracy"] == recall
    assert found["log_loss"] == pytest.approx(-np.log(probabilities[:, 2]).mean())


@pytest.mark.parametrize("classes", [[0, 2], [1, 3], [2, 3]])
def test_classes_that_do_not_occur_count_in_the_log_loss_alone(classes: list[int]) -> None:
    probabilities, labels = sample(6, 40, 4, classes=classes)
    found = classification_metrics(probabilities, labels)
    predicted = probabilities.argmax(axis=1)
    recalls = [(predicted[labels == c] == c).mean() for c in classes]
    areas = [mann_whitney(probabilities[:, c], labels == c) for c in classes]
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls), abs=1e-12)
    assert found["auroc"] == pytest.approx(np.mean(areas), abs=1e-12)
    assert found["log_loss"] == pytest.approx(-np.log(probabilities[np.arange(40), labels]).mean(), abs=1e-12)


def test_a_probability_of_zero_for_the_true_class_costs_much_but_not_everything() -> None:
    probabilities = np.array([[1.0, 0.0], [1.0, 0.0]])
    found = classification_metrics(probabilities, np.array([0, 1]))
    assert 10 < found["log_loss"] < math.inf
