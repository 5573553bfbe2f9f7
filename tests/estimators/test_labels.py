"""Which rows have a label, what it is, and what is said of it."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.labels import labels_of_classes, labels_of_numbers
from tests.estimators.small import N, small, table

X, y = table()
THREE = np.array([-1, 0, 1])


def objects(*values: Any, times: int = 1) -> np.ndarray[Any, Any]:
    """An array of these values, repeated, with nothing made of them."""
    array = np.empty(len(values) * times, dtype=object)
    array[:] = list(values) * times
    return array


@pytest.mark.parametrize(
    ("labels", "n_unlabelled", "notes"),
    [
        (np.repeat(THREE, [5, 10, 15]), 0, [
            "y holds -1 in 5 of 30 rows, where it is a class like the others; unlabelled=-1 takes them as rows without "
            "a label."
        ]),
        (np.array([-1, 1] * 5), 0, []),
        (np.array([-2, -1, 0] * 5), 0, []),
        (np.array([-1.0, 1.0] * 5), 0, []),
        (np.array(["-1", "0", "1"] * 5), 0, []),
        (objects("a", "", "b", "  ", times=3), 6, ["6 rows of y hold blank text, and count as rows without a label."]),
        (objects("a", "?", "b", " n/a", times=3), 0, ["y holds ' n/a' in 3 of 12 rows", "y holds '?' in 3 of 12 rows"]),
    ],
    ids=["-1 of three", "of two", "of a row", "of floats", "of text", "blanks", "signs of gaps"],
)  # fmt: skip
def test_what_may_be_no_label_is_said(labels: Any, n_unlabelled: int, notes: list[str]) -> None:
    found = labels_of_classes(labels, None)
    assert found.n_unlabelled == n_unlabelled
    assert len(np.unique(found.known.astype(str))) + (n_unlabelled > 0) * 2 == len(np.unique(labels.astype(str)))
    assert len(found.notes) == len(notes)
    assert all(note.startswith(begins) for note, begins in zip(found.notes, notes, strict=True))


@pytest.mark.parametrize(
    ("marks", "n_known"),
    [
        (None, 12),
        ("?", 8),
        (["?"], 8),
        (["?", "no"], 4),
        (np.array(["?", "no"]), 4),
        (("?",), 8),
        ([], 12),
        ({"?"}, 8),
        ({"?": 1}.keys(), 8),
    ],
)
def test_marks(marks: Any, n_known: int) -> None:
    assert labels_of_classes(objects("yes", " no", "?", times=4), marks).is_known.sum() == n_known


@pytest.mark.parametrize("mark", [-1, -1.0, "-1", np.int8(-1), [-1, 7]])
def test_a_mark_is_compared_as_it_is_spelled(mark: Any) -> None:
    for labels in (THREE.repeat(4), THREE.repeat(4).astype(float), THREE.repeat(4).astype(str)):
        found = labels_of_classes(labels, mark)
        assert (found.n_unlabelled, found.notes) == (4, [])


def test_fit_says_it() -> None:
    with pytest.warns(UserWarning, match="y holds -1 in 20 of 80 rows"):
        three = small().fit(X, y.where(np.arange(N) >= 20, -1))
    assert (three.classes_.tolist(), three.classes_.dtype) == ([-1, 0, 1], np.int64)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (objects(1, "a", times=10), r"y holds labels of several types, int and str; make all of them text, all whole"),
        (objects(True, "true", times=10), "y holds labels of several types, bool and str"),
        (objects(Decimal(1), Decimal(2), times=10), "y holds labels of the type Decimal; make all of them text"),
        (objects(b"a", b"b", times=10), "y holds labels of the type bytes"),
        (objects((1,), (2,), times=10), "y holds labels of the type tuple"),
        (objects(2**70, 2**71, times=10), "y holds labels of the type int"),
        (np.array([1j, 2] * 5), "y holds complex numbers"),
        (np.array([b"a", b"b"] * 5), "y holds labels of the type bytes"),
        (pd.date_range("2024", periods=10).to_numpy(), "y holds labels of the type Timestamp|of the type int|datetime"),
    ],
)
def test_what_is_no_label_is_refused(labels: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        labels_of_classes(labels, None)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            pd.date_range("2024", periods=20),
            "y holds times, and ScarfRegressor predicts numbers; give it days or seconds",
        ),
        (pd.date_range("2024", periods=20, tz="UTC"), "y holds times"),
        (pd.to_timedelta(range(20), unit="h"), "y holds times"),
        (["a", *map(str, range(19))], "y holds 'a' among its numbers; .* or use ScarfClassifier"),
    ],
    ids=["times", "zoned", "lengths", "words"],
)
def test_a_regressor_is_told_how_to_make_numbers(values: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as raised:
        small(is_regressor=True).fit(X.head(20), pd.Series(values))
    assert "target_kind" not in str(raised.value)


def test_the_advice_for_times_works_and_numbers_may_be_text_with_gaps() -> None:
    times = pd.Series(pd.date_range("2024", periods=20))
    fitted = small(is_regressor=True).fit(X.head(20), (times - times.min()).dt.days)
    assert fitted.predict(X).dtype == np.float64
    found = labels_of_numbers(objects(1, None, 2.5, np.nan, times=3))
    assert (found.n_unlabelled, found.known.tolist()) == (6, [1, 2.5] * 3)
