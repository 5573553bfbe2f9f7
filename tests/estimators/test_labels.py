"""Which rows have a label, and what it is."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.estimators.labels import labels_of_classes
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
