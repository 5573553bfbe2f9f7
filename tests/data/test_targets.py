"""Numbers as targets: how they are read, standardised, made noisy and split, and what is refused."""

from dataclasses import replace
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
from scarf_lightning.data.reading.roles import read_target
from scarf_lightning.data.sources import DiabetesSource
from scarf_lightning.data.targets import Classes, Number, Target, dtype_of, leading_metric, target_from_plain
from scarf_lightning.data.trials import Noise30
from scarf_lightning.randomness import Streams

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
    numbers, text = (read_target(pd.Series(labels), "X").target for labels in ([0, 1] * 5, ["0", "1"] * 5))
    assert numbers == text
    assert numbers.identity == text.identity
    assert target_from_plain(numbers.plain()).plain()["target"]["dtype"] == "int64"


@pytest.mark.parametrize(("spelled", "dtype"), [("a", "int64"), ("300", "int8"), ("a", "complex128"), ("a", "object2")])
def test_a_record_whose_names_are_no_labels_of_its_type_is_refused(spelled: str, dtype: str) -> None:
    record = {"target": {"kind": "classes", "dtype": dtype, "rarest": 0.5}, "classes": [spelled]}
    with pytest.raises(ValueError, match=r"invalid literal|no target|is no type of labels"):
        target_from_plain(record)


NUMBER = Number("y")


RARE, EVEN = Classes(("a", "b"), 0.01), Classes(("a", "b"), 0.5)


@pytest.mark.parametrize(
    ("targets", "metric"),
    [
        ([], "accuracy"),
        ([RARE, EVEN], "accuracy"),
        ([RARE, RARE], "balanced_accuracy"),
        ([NUMBER, Number("x"), RARE], "rmse"),
        ([NUMBER, EVEN], "accuracy"),
    ],
)
def test_tables_lead_with_the_metric_that_most_of_them_agree_on(targets: list[Any], metric: str) -> None:
    assert leading_metric(targets) == metric


@pytest.mark.parametrize("target", [NUMBER, Classes(("a", "b"), 0.02)], ids=lambda each: each.name)
def test_a_record_gives_the_target_back(target: Any) -> None:
    again = target_from_plain(target.plain())
    assert again == target
    assert again.metric == target.metric


@pytest.mark.parametrize("said", [{"kind": "tree"}, {"kind": "number"}, 7])
def test_a_record_of_no_target_is_refused(said: Any) -> None:
    with pytest.raises(ValueError, match="target"):
        target_from_plain({"target": said, "classes": []})


def test_predictions_come_back_from_a_file_and_are_finite() -> None:
    packed = NUMBER.packed(np.array([1.0, 2.0]), np.array([1.5, 1e300]))
    assert [each.tolist() for each in NUMBER.unpacked(packed)] == [[1.0, 2.0], [1.5, 1e300]]
    wrong: list[dict[str, Any]] = [{"label": [np.nan, 1.0]}, {"0": [1.0, np.inf]}]
    for changed in wrong:
        with pytest.raises(ValueError, match="not finite"):
            NUMBER.unpacked(packed.assign(**changed))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_labels_are_standardised_and_put_back(values: list[float]) -> None:
    labels = np.array([values])
    fitted = NUMBER.fit(labels[0])[None]
    encoded = NUMBER.encode(labels, fitted)
    assert encoded.shape == (1, len(values), 1)
    if labels.std() > 1e-3:
        assert_allclose([encoded.mean(), encoded.std()], [0, 1], atol=1e-6)
    back = NUMBER.predictions(torch.from_numpy(encoded), torch.from_numpy(fitted)).numpy()
    assert_allclose(back, labels, rtol=1e-9, atol=1e-6)


def test_noise_takes_the_labels_of_other_rows() -> None:
    labels, streams = np.arange(1000.0), Streams(0, 200)
    first, again, other = (Noise30().apply(labels, NUMBER, streams, trial)[1] for trial in (0, 0, 1))
    assert (first != labels).sum() == 300, "each changed row has another row's label"
    assert set(first) <= set(labels)
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(("n_labels", "n_strata"), [(3, 1), (19, 1), (20, 2), (99, 9), (100, 10), (1000, 10)])
def test_a_stratum_has_ten_labels_at_least_and_there_are_ten_strata_at_most(n_labels: int, n_strata: int) -> None:
    strata = NUMBER.strata(np.append(np.arange(n_labels), [np.nan] * 30))
    assert (strata[n_labels:] == -1).all()
    sizes = np.bincount(strata[:n_labels])
    assert len(sizes) == n_strata
    assert sizes.max() - sizes.min() <= 1


def test_the_hash_of_a_table_is_of_its_weights_and_labels_and_not_of_its_targets_name() -> None:
    table = DiabetesSource().load()
    assert (table.n_rows, len(table.columns), table.target) == (442, 10, Number("progression"))
    weighted = [replace(table, weights=weights) for weights in (np.ones(442), np.arange(442.0))]
    assert len({each.hash for each in (table, replace(table, labels=table.labels + 1), *weighted)}) == 4
    assert replace(table, target=NUMBER).hash == table.hash


def test_validation_is_by_the_mean_squared_and_the_mean_absolute_error() -> None:
    outputs, targets = torch.tensor([[[1.0], [4.0]], [[0.0], [0.0]]]), torch.tensor([[[3.0], [3.0]], [[0.0], [-2.0]]])
    measured = NUMBER.validation(outputs, targets)
    torch.testing.assert_close(measured["loss"], torch.tensor([2.5, 2.0]))
    torch.testing.assert_close(measured["error"], torch.tensor([1.5, 1.0], dtype=torch.float64))
