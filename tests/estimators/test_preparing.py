"""Which rows have a label, what it is, and what rows weigh."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from scarf_lightning.estimators.preparing import labels_of_classes, weights_of
from tests.estimators.small import N, small, table

X, y = table()
THREE = np.array([-1, 0, 1])


def objects(*values: Any, times: int = 1) -> np.ndarray[Any, Any]:
    """An array of these values, repeated, with nothing made of them."""
    array = np.empty(len(values) * times, dtype=object)
    array[:] = list(values) * times
    return array


@pytest.mark.parametrize(
    ("labels", "n_unlabelled"),
    [
        (np.repeat(THREE, [5, 10, 15]), 5),
        (objects(-1, 0, None, 7, times=5), 10),
        (np.array([-1, 1] * 5), 0),
        (np.array([-2, -1] * 5), 0),
        (np.array(["-1", "0", "1"] * 5), 0),
        (objects("a", "?", "b", None, times=3), 3),
    ],
    ids=["-1 of three", "beside gaps", "of two", "of two below 0", "of text", "signs"],
)
@pytest.mark.filterwarnings("ignore:y holds -1")
def test_a_row_has_no_label_where_it_is_missing_or_minus_one_beside_two_others(labels: Any, n_unlabelled: int) -> None:
    found = labels_of_classes(labels)
    assert np.count_nonzero(~found.is_known) == n_unlabelled
    assert n_unlabelled == 0 or not {-1, None} & set(found.known.tolist())


def test_fit_says_it() -> None:
    with pytest.warns(UserWarning, match="y holds -1 in 20 rows, which have no label; give a class of -1 another name"):
        fitted = small().fit(X, y.where(np.arange(N) >= 20, -1))
    assert (fitted.classes_.tolist(), fitted.classes_.dtype) == ([0, 1], np.int64)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (objects(1, "a", times=10), "Unknown label type: unknown"),
        (objects("a", 1, times=10), "y cannot be labels: '<' not supported between instances of 'int' and 'str'"),
        (np.linspace(0, 1, 10), "Unknown label type: continuous"),
        (np.array([1j, 2] * 5), "y holds values of the type complex128"),
        (pd.date_range("2024", periods=10).to_numpy(), "y holds values of the type datetime64"),
        (np.array([None, np.nan] * 5, dtype=object), "y holds no label"),
    ],
)
def test_what_is_no_label_is_refused(labels: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        labels_of_classes(labels)


class TestWeights:
    def test_a_dictionary_weighs_as_the_rows_weights_do_and_equal_ones_change_nothing(self, small_fit: Any) -> None:
        unequal = small().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0)).predict_proba(X)
        equal = small().fit(X, y, sample_weight=np.full(80, 3.0)).predict_proba(X)
        by_class = small(class_weight={1: np.float64(5)}).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(by_class, unequal)
        np.testing.assert_array_equal(equal, small_fit.predict_proba(X))
        assert (equal != unequal).any()

    def test_weights_are_multiplied_and_rows_without_a_label_have_the_mean(self) -> None:
        labels = labels_of_classes(np.array(["a", None, "b", "a"] * 5, dtype=object))
        own = np.arange(20.0)
        found = weights_of(labels, own, {"a": 2, "b": 0.5})
        expected = own.copy()
        expected[labels.is_known] *= compute_sample_weight({"a": 2, "b": 0.5}, labels.known)
        expected[~labels.is_known] *= 1.5
        np.testing.assert_allclose(found, expected)
        np.testing.assert_array_equal(own, np.arange(20.0), err_msg="the caller's array is not written to")

    @pytest.mark.parametrize(
        ("class_weight", "row_weights", "sentence"),
        [
            ({2: 1}, None, r"The classes, \[0, 1\], are not in class_weight"),
            ({0: -1}, None, r"class_weight must give each class a weight of 0 or more, not {0: -1}"),
            (None, -np.ones(80), "Negative values in data passed to `sample_weight`"),
            (None, np.ones((80, 2)), "1D array or scalar"),
            (None, np.ones(3), r"sample_weight.shape == \(3,\), expected \(80,\)"),
            (None, np.full(80, np.nan), "sample_weight contains NaN"),
        ],
    )
    def test_wrong_ones_are_refused(self, class_weight: Any, row_weights: Any, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            small(class_weight=class_weight).fit(X, y, sample_weight=row_weights)
