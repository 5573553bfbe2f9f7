import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from scarf_lightning.data.targets import Classes, Number, Target


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_they_are_scikit_learns(labels: list[int]) -> None:
    """A class without a row weighs as one with a single row."""
    of_trial = np.array(labels)
    present = np.unique(of_trial)
    weights = Classes(tuple("abcde")).class_weights(np.stack([of_trial, of_trial]))
    assert weights.shape == (2, 5)
    np.testing.assert_allclose(weights[1, present], compute_class_weight("balanced", classes=present, y=of_trial))
    absent = np.setdiff1d(np.arange(5), present)
    np.testing.assert_allclose(weights[1, absent], len(labels) / len(present))


def test_soft_targets_weigh_the_mean_of_their_classes_weights() -> None:
    labels, classes = np.array([[0, 0, 0, 2], [1, 1, 2, 0]]), Classes(tuple("abc"))
    soft = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]], dtype=torch.float64)
    weights = classes.balanced(labels, soft).numpy()
    of_classes = classes.class_weights(labels)
    np.testing.assert_allclose(weights, [soft[trial].numpy() @ of_classes[trial] for trial in range(2)])
    of_rows = [[of_trial[label] for label in row] for of_trial, row in zip(of_classes, labels, strict=True)]
    np.testing.assert_array_equal(classes.balanced(labels, torch.from_numpy(labels)), of_rows)


@pytest.mark.parametrize(("target", "labels"), [(Classes(("a", "b")), [0, 1, 1]), (Number("y"), [0.5, 1.0, 2.0])])
def test_a_kind_says_whether_it_balances(target: Target, labels: list[float]) -> None:
    known = np.array(labels)
    if target.can_balance:
        assert target.balanced(known[None], torch.from_numpy(known[None])).shape == (1, 3)
    else:
        with pytest.raises(NotImplementedError):
            target.balanced(known[None], torch.from_numpy(known[None]))


@pytest.mark.parametrize(("target", "label"), [(Classes(("a", "b", "c")), 1), (Number("y"), 2.5)])
def test_a_library_is_not_asked_to_learn_labels_that_are_all_equal(target: Target, label: float) -> None:
    predicted = target.taught(np.array([label] * 4), 3, lambda _: pytest.fail("there is nothing to learn"))
    expected = [[0, 1, 0]] * 3 if isinstance(target, Classes) else [2.5] * 3
    assert predicted.tolist() == expected


def test_the_size_in_a_file_is_at_most_that_of_the_columns() -> None:
    for target, labels, predictions in (
        (Classes(("a", "b", "c")), np.array([0, 2]), np.array([[0.6, 0.3, 0.1], [0.0, 0.0, 1.0]])),
        (Number("y"), np.array([1.0, 2.0]), np.array([1.5, 2.5])),
    ):
        columns = target.packed(labels, predictions)
        assert target.packed_size(predictions) == sum(columns[name].to_numpy().nbytes for name in columns)


def test_probabilities_of_a_file_sum_to_one_again_in_each_row() -> None:
    """Tenths have no exact form in sixteen bits."""
    target, given = Classes(("a", "b", "c")), np.array([[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]])

    labels, found = target.unpacked(target.packed(np.array([2, 0]), given))

    assert labels.tolist() == [2, 0]
    np.testing.assert_allclose(found, given, rtol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)


def test_a_librarys_model_is_asked_for_what_the_kind_is_measured_by() -> None:
    """Probabilities of classes, and numbers."""

    class Model:
        def predict_proba(self, rows: list[int]) -> list[list[float]]:
            return [[0.25, 0.75] for _ in rows]

        def predict(self, rows: list[int]) -> list[float]:
            return [2.5 for _ in rows]

    assert Classes(("a", "b")).predicted_by(Model(), [7, 8]).tolist() == [[0.25, 0.75]] * 2
    assert Number("y").predicted_by(Model(), [7, 8]).tolist() == [2.5] * 2


def test_a_library_learns_the_classes_that_occur_from_zero() -> None:
    """Classes 1 and 3 of five occur; a library gives the first 0.3, the second 0.7."""
    seen = []

    def learn(numbered: np.ndarray) -> np.ndarray:
        seen.append(numbered.tolist())
        return np.tile([0.3, 0.7], (2, 1))

    found = Classes(tuple("abcde")).taught(np.array([3, 1, 3]), 2, learn)

    assert seen == [[1, 0, 1]]
    np.testing.assert_array_equal(found, [[0, 0.3, 0, 0.7, 0]] * 2)


def test_every_metric_is_defined_on_a_guess() -> None:
    target, labels = Classes(tuple("abcd")), np.array([3, 0, 1, 2, 0])
    values = [metric.function(target.guess(labels), labels) for metric in target.metrics()]
    assert values
    assert np.isfinite(values).all()


def test_labels_are_named_and_one_class_for_every_row_is_seen() -> None:
    target = Classes(("no", "yes"))
    for predictions, is_one in (([[0.9, 0.1], [0.6, 0.4]], True), ([[0.9, 0.1], [0.4, 0.6]], False),
                                ([[0.5, 0.5], [0.9, 0.1]], True)):  # fmt: skip
        assert target.is_one_class(np.array(predictions)) is is_one
    named = target.named(np.array([1, -1, 0]))
    assert (named.name, named[0]) == ("class", "yes")
    assert named.isna().tolist() == [False, True, False], "rows without a label have no name"


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
    labels, said_yes = np.array([0, 0, 0, 1]), np.array([False, False, True, True])
    yes = np.where(said_yes, sure, 1 - sure)
    predictions = np.column_stack([1 - yes, yes])

    assert Classes(("no", "yes")).is_worse_than_frequencies(predictions, labels, np.array(taught)) is is_worse


def test_numbers_have_no_class_frequencies() -> None:
    assert Number("y").is_worse_than_frequencies(np.zeros(2), np.zeros(2), np.zeros(2)) is None
