from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_class_weight

from scarf_lightning.data.columns import Coded
from scarf_lightning.data.targets import Classes, Number, Target, target_from_plain
from scarf_lightning.data.targets.classes import dtype_of

ABC = Classes(tuple("abc"))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_balanced_weights_are_scikit_learns(labels: list[int]) -> None:
    """A class without a row weighs as one with a single row."""
    of_trial, classes = np.array(labels), np.arange(5)
    present = np.unique(of_trial)
    weights = Classes(tuple("abcde")).balanced(np.stack([of_trial] * 2), torch.from_numpy(np.stack([classes] * 2)))
    assert_allclose(weights[1, present], compute_class_weight("balanced", classes=present, y=of_trial))
    assert_allclose(weights[1, np.setdiff1d(classes, present)], len(labels) / len(present))


def test_soft_targets_weigh_the_mean_of_their_classes_weights() -> None:
    labels = np.array([[0, 0, 0, 2], [1, 1, 2, 0]])
    of_classes = ABC.balanced(labels, torch.arange(3).expand(2, 3)).numpy()
    soft = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]], dtype=torch.float64)
    expected = [soft[trial].numpy() @ of_classes[trial] for trial in range(2)]
    assert_allclose(ABC.balanced(labels, soft), expected)


@pytest.mark.parametrize(("target", "label", "expected"), [(ABC, 1, [0, 1, 0]), (Number("y"), 2.5, 2.5)])
def test_a_library_is_not_asked_to_learn_labels_that_are_all_equal(target: Target, label: float, expected: Any) -> None:
    predicted = target.taught(np.array([label] * 4), 3, lambda _: pytest.fail("there is nothing to learn"))
    assert predicted.tolist() == [expected] * 3


def test_a_library_learns_the_classes_that_occur_from_zero() -> None:
    """Classes 1 and 3 of five occur; a library gives the first 0.3, the second 0.7."""

    def learn(numbered: np.ndarray) -> np.ndarray:
        assert numbered.tolist() == [1, 0, 1]
        return np.tile([0.3, 0.7], (2, 1))

    found = Classes(tuple("abcde")).taught(np.array([3, 1, 3]), 2, learn)
    assert_array_equal(found, [[0, 0.3, 0, 0.7, 0]] * 2)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_predictions_come_back_from_a_file_as_they_were(precision: str) -> None:
    given = np.array([[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]], dtype=precision).astype(np.float64)
    packed = ABC.packed(np.array([2, 0]), given)
    assert {packed[place].dtype for place in ("0", "1", "2")} == {np.dtype(precision)}
    labels, found = ABC.unpacked(packed)
    assert labels.tolist() == [2, 0]
    assert_array_equal(found, given)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"label": [3, 0]}, "of no class"),
        ({"0": [-0.1, 1]}, "of no class"),
        ({"1": [np.nan, 0]}, "not finite"),
        ({"3": [0, 0]}, "of another target"),
    ],
)
def test_what_is_no_prediction_of_classes_is_refused(changed: dict[str, Any], said: str) -> None:
    packed = ABC.packed(np.array([2, 0]), np.array([[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]]))
    with pytest.raises(ValueError, match=said):
        ABC.unpacked(packed.assign(**changed))


def test_every_metric_is_defined_on_predictions_without_an_error() -> None:
    labels = np.array([2, 0, 1, 2, 0])
    assert np.isfinite(list(ABC.measured(ABC.soft(labels), labels).values())).all()


@pytest.mark.parametrize(
    ("predictions", "is_one"),
    [([[0.9, 0.1], [0.6, 0.4]], True), ([[0.9, 0.1], [0.4, 0.6]], False), ([[0.5, 0.5], [0.9, 0.1]], True)],
)
def test_one_class_for_every_row_is_seen(predictions: list[list[float]], is_one: bool) -> None:
    assert Classes(("no", "yes")).measured(np.array(predictions), np.array([0, 1]))["one_class"] is is_one


@pytest.mark.parametrize(
    ("taught", "sure", "is_worse"),
    [
        ([0, 1], 0.5, False), ([0, 1], 0.75, False), ([0, 1], 0.919, False), ([0, 1], 0.92, True), ([0, 1], 1.0, True),
        ([0, 0, 1, 0], 0.75, False), ([0, 0, 1, 0], 0.8, True),
    ],
)  # fmt: skip
def test_probabilities_are_worse_than_frequencies_from_the_confidence_that_costs_as_much(
    taught: list[int], sure: float, is_worse: bool
) -> None:
    """Of four rows three are right, each with probability s, which costs -(3 log s + log(1 - s)) / 4. Halves cost
    log 2, as much as s = 0.9196 does, the root of s^3 (1 - s) = 1 / 16; quarters cost as much as s = 3 / 4."""
    yes = np.where([False, False, True, True], sure, 1 - sure)
    predictions = np.column_stack([1 - yes, yes])
    measured = Classes(("no", "yes")).measured(predictions, np.array([0, 0, 0, 1]), np.array(taught))
    assert measured["worse_than_frequencies"] is is_worse


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**64 - 1, 3], dtype="uint64"),
        np.array([1, 2], dtype="int8"),
        np.array([1.0, 2.5, -0.0, 1e300, 5e-324]),
        np.array([1e20, 1e-7, 0.1], dtype="float32"),
        np.array([True, False]),
        np.array(["b", " a", ""]),
        np.array(["b", " a"], dtype=object),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_labels_come_back_from_their_spelling_in_the_type_that_they_had(labels: Any) -> None:
    _, spelled = Coded.of(pd.Series(labels)).sorted_codes()
    found = Classes(spelled, dtype=dtype_of(labels)).answers
    assert found.dtype == labels.dtype
    assert sorted(found.tolist()) == sorted(labels.tolist())


def test_the_type_is_in_the_record_and_not_in_the_identity() -> None:
    numbers, text = (Classes.read(pd.Series(labels), "X").target for labels in ([0, 1] * 5, ["0", "1"] * 5))
    assert numbers == text
    assert numbers.identity == text.identity
    assert target_from_plain(numbers.plain()).plain()["target"]["dtype"] == "int64"


@pytest.mark.parametrize(("spelled", "dtype"), [("a", "int64"), ("300", "int8"), ("a", "complex128"), ("a", "object2")])
def test_a_record_whose_names_are_no_labels_of_its_type_is_refused(spelled: str, dtype: str) -> None:
    record = {"target": {"kind": "classes", "dtype": dtype, "rarest": 0.5}, "classes": [spelled]}
    with pytest.raises(ValueError, match=r"invalid literal|no target|is no type of labels"):
        target_from_plain(record)
