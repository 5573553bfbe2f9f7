"""Which rows have a label, what it is, and what is said of it."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.model_selection import cross_val_score

from scarf_lightning.errors import UsageError
from scarf_lightning.estimators.labels import labels_of_classes, labels_of_numbers, one_a_row
from tests.estimators.small import N, small, table

THREE = np.array([-1, 0, 1])


class TestUnlabelled:
    def test_minus_one_is_a_class_and_that_is_said_if_it_might_not_be(self) -> None:
        y = np.repeat(THREE, [5, 10, 15])

        found = labels_of_classes(y, None)

        assert np.unique(found.known).tolist() == [-1, 0, 1]
        assert found.notes == [
            "y holds -1 in 5 of 30 rows, where it is a class like the others; unlabelled=-1 takes them as rows without "
            "a label."
        ]
        assert labels_of_classes(y, -1).n_unlabelled == 5
        assert not labels_of_classes(y, -1).notes

    @pytest.mark.parametrize("y", [[-1, 1] * 5, [-2, -1, 0] * 5, [-1.0, 1.0] * 5, ["-1", "0", "1"] * 5])
    def test_minus_one_that_is_surely_a_class_needs_no_word(self, y: list[Any]) -> None:
        found = labels_of_classes(np.array(y), None)

        assert (found.n_unlabelled, found.notes) == (0, [])

    @pytest.mark.parametrize(
        ("marks", "n_known"),
        [(None, 12), ("?", 8), (["?"], 8), (["?", "no"], 4), (np.array(["?", "no"]), 4), (("?",), 8), ([], 12)],
    )
    def test_marks(self, marks: Any, n_known: int) -> None:
        y = np.array(["yes", " no", "?"] * 4, dtype=object)

        assert labels_of_classes(y, marks).is_known.sum() == n_known

    @pytest.mark.parametrize("mark", [-1, -1.0, "-1", np.int8(-1), [-1, 7]])
    def test_a_mark_is_compared_as_it_is_spelled(self, mark: Any) -> None:
        for y in (THREE.repeat(4), THREE.repeat(4).astype(float), THREE.repeat(4).astype(str)):
            assert labels_of_classes(y, mark).n_unlabelled == 4

    def test_blank_text_is_no_label_and_that_is_said_with_a_count(self) -> None:
        found = labels_of_classes(np.array(["a", "", "b", "  "] * 3, dtype=object), None)

        assert found.n_unlabelled == 6
        assert found.notes == ["6 rows of y hold blank text, and count as rows without a label."]

    def test_what_usually_stands_for_no_value_is_a_class_and_that_is_said(self) -> None:
        found = labels_of_classes(np.array(["a", "?", "b", " n/a"] * 3, dtype=object), None)

        assert found.n_unlabelled == 0
        assert [note.partition(",")[0] for note in found.notes] == [
            "y holds ' n/a' in 3 of 12 rows",
            "y holds '?' in 3 of 12 rows",
        ]

    def test_fit_says_it_and_counts(self) -> None:
        X, y = table()
        marked = y.astype(object)
        marked[:20] = "?"

        fitted = small(unlabelled="?").fit(X, marked)

        assert (fitted.n_unlabelled_, fitted.classes_.tolist(), fitted.classes_.dtype) == (20, [0, 1], np.int64)
        with pytest.warns(UserWarning, match="y holds -1 in 20 of 80 rows"):
            three = small().fit(X, y.where(np.arange(N) >= 20, -1))
        assert three.classes_.tolist() == [-1, 0, 1]


class TestTypes:
    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_labels_with_blanks_as_pandas_reads_adult(self) -> None:
        X, y = table()
        labels = y.map({1: " >50K", 0: " <=50K"})
        learned = {"finetune.max_epochs": 30, "finetune.learning_rate": 0.05}

        scores = cross_val_score(small(options=learned), X, labels, cv=2, error_score="raise")

        assert scores.min() > 0.6

    @pytest.mark.parametrize(
        ("labels", "sentence"),
        [
            ([1, "a"], r"y holds labels of several types, such as 1 and 'a'; make all of them text, or all numbers\."),
            ([True, "true"], "y holds labels of several types, such as True and 'true'"),
            ([Decimal(1), Decimal(2)], "y holds a Decimal, which is no label; give each row one word or number"),
            ([b"a", b"b"], "y holds a bytes, which is no label"),
            ([(1,), (2,)], "y holds a tuple, which is no label"),
            ([2**70, 2**71], "y holds labels of several types|y holds a int|which is no label"),
        ],
    )
    def test_what_is_no_label_is_refused(self, labels: list[Any], sentence: str) -> None:
        y = np.empty(20, dtype=object)
        y[:] = labels * 10
        with pytest.raises(UsageError, match=sentence):
            labels_of_classes(y, None)

    def test_arrays_that_hold_no_labels_are_refused(self) -> None:
        with pytest.raises(UsageError, match="y holds complex numbers"):
            labels_of_classes(np.array([1j, 2] * 5), None)
        with pytest.raises(UsageError, match="y holds bytes, which are no labels; decode them"):
            labels_of_classes(np.array([b"a", b"b"] * 5), None)
        with pytest.raises(UsageError, match="y is a Table, and not one column"):
            one_a_row(pa.table({"a": [1], "b": [2]}))

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            (pd.date_range("2024", periods=20), "y holds times, and ScarfRegressor predicts numbers; give it the days"),
            (pd.date_range("2024", periods=20, tz="UTC"), "y holds times"),
            (pd.to_timedelta(range(20), unit="h"), r"lengths of time, .* give it seconds, y\.dt\.total_seconds\(\)"),
            (["a", *map(str, range(19))], "y holds 'a' among its numbers; .* or use ScarfClassifier"),
        ],
        ids=["times", "zoned", "lengths", "words"],
    )
    def test_a_regressor_is_told_how_to_make_numbers(self, values: Any, sentence: str) -> None:
        X, _ = table()
        with pytest.raises(UsageError, match=sentence) as raised:
            small(is_regressor=True).fit(X.head(20), pd.Series(values))
        assert "target_kind" not in str(raised.value)

    def test_the_advice_for_times_works(self) -> None:
        X, _ = table()
        y = pd.Series(pd.date_range("2024", periods=20))

        fitted = small(is_regressor=True).fit(X.head(20), (y - y.min()).dt.days)

        assert fitted.predict(X).dtype == np.float64

    def test_numbers_as_text_and_gaps(self) -> None:
        found = labels_of_numbers(np.array([1, None, 2.5, np.nan] * 3, dtype=object))

        assert found.n_unlabelled == 6
        assert found.known.tolist() == [1, 2.5] * 3
