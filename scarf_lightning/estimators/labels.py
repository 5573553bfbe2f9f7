"""The labels y that `fit` is given: which rows have one, and what it is.

A row has no label if y holds None, NaN or blank text there, or a mark that the user names. All else is taken as it
is: types, blanks around text and -1, which is unlabelled for scikit-learn's semi-supervised estimators alone. What a
user may not expect becomes a warning with a count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..data.reading.frames import frame_of
from ..data.reading.numbers import is_missing
from ..data.table import spell
from ..errors import UsageError, counted

MOST_USUAL = 3
"""The most labels that a message names."""

AMONG_OBJECTS = {
    "boolean": "bool",
    "integer": "int64",
    "floating": "float64",
    "mixed-integer-float": "float64",
    "string": "object",
    "datetime": "datetime64[us]",
    "datetime64": "datetime64[us]",
    "timedelta": "timedelta64[us]",
}
"""Labels in an array of objects, by `pandas.api.types.infer_dtype`, and the type that they become."""


@dataclass(frozen=True)
class GivenLabels:
    """Labels of n rows.

    Attributes:
        known: the labels of the rows that have one, all of one type, ``(n_known,)``.
        is_known: the rows that have one, ``(n,)``.
        notes: sentences for the user.
    """

    known: NDArray[Any]
    is_known: NDArray[np.bool_]
    notes: Sequence[str] = ()

    @property
    def n_unlabelled(self) -> int:
        """The number of rows without a label."""
        return int((~self.is_known).sum())

    def column(self) -> "pd.Series[Any]":
        """The labels as a column named y, missing in rows without one."""
        values = np.full(len(self.is_known), None, dtype=object)
        # Times of numpy would become whole numbers among objects.
        values[self.is_known] = pd.Series(self.known).astype(object).to_numpy()
        return pd.Series(values, name="y", dtype=object).infer_objects()


def one_a_row(y: Any) -> NDArray[Any]:
    """Labels of any library as an array ``(n,)``.

    Raises:
        ValueError: y has more than one column.
    """
    # A narwhals frame holds another library's, which is read as if it had been passed itself.
    if hasattr(y, "to_native"):
        y = y.to_native()
    # The libraries' own conversions to numpy make floats of whole numbers with gaps.
    if isinstance(y, (pd.Series, pd.DataFrame, pd.Index)):
        dtypes = y.dtypes if isinstance(y, pd.DataFrame) else [y.dtype]
        if any(map(pd.api.types.is_extension_array_dtype, dtypes)):
            y = y.astype(object)
    elif isinstance(y, pa.ChunkedArray):
        y = np.array(y.to_pylist(), dtype=object)
    elif hasattr(y, "__arrow_c_stream__") or hasattr(y, "__arrow_c_array__"):
        y = np.array(_of_arrow(y).to_pylist(), dtype=object)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    return labels


def _of_arrow(y: Any) -> pa.ChunkedArray:
    """Labels that export themselves as Arrow's, as a column or as a table with one."""
    try:
        column = pa.chunked_array(y)
    # Libraries differ in what they raise for a table that is asked for one column.
    except (TypeError, ValueError, pa.ArrowException):
        column = None
    # A table exports itself as a column of structs.
    if column is not None and not pa.types.is_struct(column.type):
        return column
    table = frame_of(y)
    if table is None or table.shape[1] != 1:
        raise UsageError(f"y is a {type(y).__name__}, and not one column; pass the column of the labels.")
    return pa.chunked_array([pa.array(table.iloc[:, 0])])


def labels_of_classes(y: NDArray[Any], marks: Any) -> GivenLabels:
    """The labels of a classifier; ``marks`` is a label, or a list of labels, of rows without one.

    Raises:
        UsageError: no row has a label, or the labels are of several types or of none that labels have.
        ValueError: the labels are numbers with fractions, in the words of scikit-learn.
    """
    is_known = _not_missing(y)
    n_blank = 0
    # Only an array of objects or of text can hold blank text.
    if y.dtype.kind in "OU":
        is_blank = is_known & np.array(list(map(_is_blank, y)), dtype=bool)
        n_blank = int(is_blank.sum())
        is_known &= ~is_blank
    if marks is not None:
        is_known &= ~_is_marked(y, marks)
    known = _of_one_type(y[is_known])
    # Numbers with fractions are refused in scikit-learn's words, which its own checks of estimators look for.
    check_classification_targets(known)
    notes = _on_usual_marks(known, marks, len(y))
    if n_blank:
        notes.append(f"{counted(n_blank, 'row')} of y hold blank text, and count as rows without a label.")
    return GivenLabels(known, is_known, notes)


def _is_blank(label: Any) -> bool:
    """True for text without a letter."""
    return isinstance(label, str) and not label.strip()


def labels_of_numbers(y: NDArray[Any]) -> GivenLabels:
    """The labels of a regressor.

    Raises:
        UsageError: no row has a label, or the labels are times, which are no numbers.
    """
    is_known = _not_missing(y)
    known = y[is_known]
    if known.dtype == object:
        known = pd.Series(known, dtype=object).infer_objects().to_numpy()
    if known.dtype.kind in "mM" or isinstance(known[0], pd.Timestamp):
        what, instead = "times", "the days since the first one, (y - y.min()).dt.days"
        # Times have no zero, so days are counted from the first one; lengths of time have their seconds.
        if known.dtype.kind == "m":
            what, instead = "lengths of time", "seconds, y.dt.total_seconds()"
        raise UsageError(f"y holds {what}, and ScarfRegressor predicts numbers; give it {instead}.")
    return GivenLabels(known, is_known)


def _not_missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """The rows with neither None nor NaN, ``(n,)``."""
    # An infinite label is a fault of the data, and no missing one.
    if y.dtype.kind == "f":
        assert_all_finite(y, allow_nan=True, input_name="y")
    if y.dtype.kind == "c":
        raise UsageError("y holds complex numbers, which are no labels; give each row one word or number.")
    is_known = np.asarray(~pd.isna(y))
    if not is_known.any():
        raise UsageError("y holds no label; ScarfTransformer learns without labels.")
    return is_known


def _is_marked(y: NDArray[Any], marks: Any) -> NDArray[np.bool_]:
    """The rows whose label is a mark; labels and marks are compared as they are spelled, without blanks around them."""
    is_one_mark = isinstance(marks, str) or np.ndim(marks) == 0
    spelled = {spell(mark).strip() for mark in ([marks] if is_one_mark else marks)}
    return np.array([spell(label).strip() in spelled for label in y], dtype=bool)


def _of_one_type(known: NDArray[Any]) -> NDArray[Any]:
    """Labels in an array of their own type: truth values, numbers, text, times or lengths of time."""
    if known.dtype.kind in "mM":
        unit, _ = np.datetime_data(known.dtype)
        if unit in ("s", "ms", "us", "ns"):
            return known
        # pandas knows no days and hours.
        kind, _, _ = known.dtype.name.partition("[")
        return known.astype(f"{kind}[s]")
    if known.dtype.kind == "S":
        raise UsageError("y holds bytes, which are no labels; decode them to text.")
    if known.dtype != object or len(known) == 0:
        return known
    # An array of objects may hold anything, so its values say its type.
    kind = pd.api.types.infer_dtype(known, skipna=False)
    if kind not in AMONG_OBJECTS:
        _refuse(known)
    try:
        return known.astype(AMONG_OBJECTS[kind])
    except (OverflowError, TypeError, ValueError):
        return _refuse(known)


def _refuse(known: NDArray[Any]) -> NDArray[Any]:
    """Refuse labels of several types, or of one that labels do not have."""
    usual = (str, bool, int, float, np.generic, pd.Timestamp, pd.Timedelta)
    for label in known:
        if not isinstance(label, usual) or isinstance(label, bytes):
            raise UsageError(f"y holds a {type(label).__name__}, which is no label; give each row one word or number.")
    by_type = {type(label): label for label in known}
    shown = " and ".join(repr(label) for label in list(by_type.values())[:2])
    raise UsageError(f"y holds labels of several types, such as {shown}; make all of them text, or all numbers.")


def _on_usual_marks(known: NDArray[Any], marks: Any, n_rows: int) -> list[str]:
    """A note on labels that stand for no label elsewhere: -1 beside classes from 0, and texts such as ``?``."""
    # Who names a mark has decided what counts as no label.
    if marks is not None or len(known) == 0:
        return []
    labels, counts = np.unique(known, return_counts=True)
    notes = []
    for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
        # In -1 and 1, as some libraries write two classes, -1 is a class; beside 0, 1 and more it is suspicious.
        if label == -1:
            is_usual = len(labels) > 2 and labels[1] >= 0 and known.dtype.kind in "if"
        else:
            is_usual = isinstance(label, str) and is_missing(label.strip())
        if is_usual:
            notes.append(
                f"y holds {label!r} in {count:,} of {counted(n_rows, 'row')}, where it is a class like the others; "
                f"unlabelled={label!r} takes them as rows without a label."
            )
    return notes[:MOST_USUAL]
