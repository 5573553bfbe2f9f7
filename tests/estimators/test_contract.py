"""What `fit` takes everything takes: many kinds of labels and of columns, through every door."""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scarf_lightning import ScarfClassifier, load_model
from scarf_lightning.data.table import Table
from scarf_lightning.estimators.preparing import labels_of_classes, one_a_row
from tests.estimators.small import N, read, small, table

polars = pytest.importorskip("polars", reason="frames of polars need it")

X, PLACES = table()

Labels = Callable[[Any], Any]
"""Makes labels from the number of each row's class, 0 or 1."""


def of(*labels: Any, dtype: Any = None) -> Labels:
    """Labels in an array, of numpy's own type or of the given one."""
    array = np.array(labels, dtype=dtype)
    return lambda places: array[places]


def series(*labels: Any, dtype: Any = None) -> Labels:
    """Labels in a series of pandas."""
    return lambda places: pd.Series([labels[place] for place in places], dtype=dtype)


def with_gaps(labels: Labels, gap: Any = None) -> Labels:
    """Every seventh label is missing."""

    def made(places: Any) -> Any:
        values = pd.Series(labels(places)).astype(object)
        values[::7] = gap
        return values

    return made


@dataclass(frozen=True)
class Kind:
    """Labels, the two classes that they have, sorted, and the type of numpy's that predictions have."""

    labels: Labels
    classes: list[Any]
    dtype: str


NUMBERS = {name: Kind(of(1, 0, dtype=name), [0, 1], name) for name in ("int8", "int64", "uint64", "float32", "float64")}
KINDS = NUMBERS | {
    "bool": Kind(of(True, False), [False, True], "bool"),
    "large": Kind(of(2**62 + 1, 2**62), [2**62, 2**62 + 1], "int64"),
    "larger": Kind(of(2**64 - 1, 2**64 - 2, dtype="uint64"), [2**64 - 2, 2**64 - 1], "uint64"),
    "whole floats": Kind(of(10.0, 9.0), [9.0, 10.0], "float64"),
    "text": Kind(of("b", "a"), ["a", "b"], "<U1"),
    "blanks": Kind(of(" >50K", " <=50K", dtype=object), [" <=50K", " >50K"], "object"),
    "leading zeros": Kind(of("007", "07", dtype=object), ["007", "07"], "object"),
    "umlauts": Kind(of("größer", "kleiner", dtype=object), ["größer", "kleiner"], "object"),
    "commas and quotes": Kind(of('a,"b"', "c\nd", dtype=object), ['a,"b"', "c\nd"], "object"),
    "python truth": Kind(series(True, False, dtype=object), [False, True], "bool"),
    "str": Kind(series("b", "a", dtype="str"), ["a", "b"], "object"),
    "category": Kind(series("low", "high", dtype="category"), ["high", "low"], "object"),
    "Int64": Kind(series(3, 1, dtype="Int64"), [1, 3], "int64"),
    "arrow text": Kind(series("b", "a", dtype=pd.ArrowDtype(pa.string())), ["a", "b"], "object"),
    "a table of Arrow": Kind(lambda places: pa.chunked_array([list(places)]), [0, 1], "int64"),
    "polars": Kind(lambda places: polars.Series(["ab"[place] for place in places]), ["a", "b"], "object"),
    "polars with gaps": Kind(
        lambda places: polars.Series([None if row % 7 == 0 else place for row, place in enumerate(places)]),
        [0, 1],
        "int64",
    ),
    "None among numbers": Kind(with_gaps(of(1, 0)), [0, 1], "int64"),
    "NaN among text": Kind(with_gaps(of("b", "a"), np.nan), ["a", "b"], "object"),
    "a list": Kind(lambda places: ["ab"[place] for place in places], ["a", "b"], "<U1"),
}
QUICK = ("blanks", "polars with gaps")
LEARNED = {"finetune.max_epochs": 15, "finetune.learning_rate": 0.1}


def given_labels(y: Any) -> tuple[Any, "pd.Series[Any]"]:
    """Which rows have a label, and the labels that they were given, as objects."""
    listed = y.to_pylist() if isinstance(y, pa.ChunkedArray) else list(y)
    known = ~pd.isna(pd.Series(np.asarray(y, dtype=object)))
    return known, pd.Series(listed, dtype=object)[known]


@pytest.mark.parametrize("name", KINDS)
def test_labels_are_read_in_their_type(name: str) -> None:
    kind, y = KINDS[name], KINDS[name].labels(PLACES.to_numpy())
    found, (known, given) = labels_of_classes(one_a_row(y)), given_labels(y)
    assert found.known.dtype == np.dtype(kind.dtype)
    np.testing.assert_array_equal(found.is_known, known)
    np.testing.assert_array_equal(np.unique(found.known), np.array(kind.classes, dtype=kind.dtype))
    assert all(a == b for a, b in zip(found.known, given, strict=True)), "equal to those that were given"


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in KINDS])
def test_predictions_are_what_fit_was_given(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    y = kind.labels(PLACES.to_numpy())
    fitted = small(options=LEARNED).fit(X, y)
    predicted, probabilities = fitted.predict(X), fitted.predict_proba(X)
    assert predicted.dtype == np.dtype(kind.dtype)
    np.testing.assert_array_equal(fitted.classes_, np.array(kind.classes, dtype=kind.dtype))
    np.testing.assert_array_equal(predicted, fitted.classes_[probabilities.argmax(axis=1)])
    known, given = given_labels(y)
    is_right = np.array([a == b for a, b in zip(predicted[known], given, strict=True)], dtype=bool)
    assert is_right.mean() > 0.75, "labels are equal to those that were given, and learned"

    fitted.save(tmp_path / "m")
    for other in (load_model(tmp_path / "m"), pickle.loads(pickle.dumps(fitted)), fitted.model_):
        np.testing.assert_array_equal(other.classes_, fitted.classes_)
        np.testing.assert_array_equal(other.predict_proba(X), probabilities)
        np.testing.assert_array_equal(other.predict(X), predicted)
        assert other.predict(X).dtype == predicted.dtype


RANDOM = np.random.default_rng(3)
MOMENTS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RANDOM.integers(0, 10**7, N), unit="s")
COLUMNS = pd.DataFrame(
    {
        "number": RANDOM.normal(size=N),
        "whole": RANDOM.integers(-1000, 1000, N) * 7,
        "gaps": pd.Series(RANDOM.normal(size=N)).where(RANDOM.random(N) > 0.2),
        "truth": RANDOM.random(N) > 0.5,
        "category": RANDOM.choice(["red", "green", "blue"], N),
        "text with gaps": pd.Series(RANDOM.choice(["x", "y"], N)).where(RANDOM.random(N) > 0.2, None),
        "money": [f"{value:,.2f} €" for value in RANDOM.lognormal(7, 1, N)],
        "code": [f"{value:03d}" for value in RANDOM.integers(0, 12, N)],
        "moment": MOMENTS,
        "name": [f"{'abcdefgh'[row % 8]}{'klmno'[row % 5]} {row % 40}" for row in range(N)],
        "one or none": pd.Series(["v"] * N).where(RANDOM.random(N) > 0.5, None),
        "same": 1,
    }
)
FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "types with NA": lambda frame: frame.convert_dtypes(),
    "types of Arrow": lambda frame: pa.Table.from_pandas(frame).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": polars.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "narwhals": lambda frame: narwhals.from_native(polars.from_pandas(frame)),
    "another index": lambda frame: frame.set_index(np.arange(N)[::-1] * 3),
}


@pytest.fixture(scope="module")
def fitted() -> ScarfClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: ScarfClassifier = small(n_trials=2).fit(COLUMNS, PLACES)
        return found


@pytest.fixture(scope="module")
def whole() -> Table:
    return read(COLUMNS, PLACES)


@pytest.mark.filterwarnings("ignore::UserWarning")
class TestColumns:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.slow
    def test_every_frame_is_the_same_table_and_predicted_by_the_model_of_every_other(
        self, form: str, fitted: ScarfClassifier, whole: Table
    ) -> None:
        done = fitted.reading_.set_index("column")["done"]
        assert done[done.str.startswith("left out")].index.tolist() == ["same"]
        rows = FORMS[form](COLUMNS)
        found, expected = read(rows, PLACES), whole
        assert (found.columns, found.hash) == (expected.columns, expected.hash)
        np.testing.assert_array_equal(found.rows_reader.values(COLUMNS), expected.values)
        np.testing.assert_array_equal(fitted.predict_proba(rows), fitted.predict_proba(COLUMNS))

    def test_reordered_and_extra_columns_change_nothing(self, fitted: ScarfClassifier) -> None:
        rows = COLUMNS[COLUMNS.columns[::-1]].assign(extra=[[1]] * N, same=None)
        for form in (rows, rows.drop(columns="same")):
            np.testing.assert_array_equal(fitted.predict_proba(form), fitted.predict_proba(COLUMNS))
