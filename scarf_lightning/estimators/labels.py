"""The labels y that `fit` is given: which rows have one, and what it is: text, whole numbers or truth values.

A row has no label if y holds None, NaN or blank text there, or a mark that the user names. All else is taken as it
is: types, blanks around text and -1, which is unlabelled for scikit-learn's semi-supervised estimators alone. What a
user may not expect becomes a warning with a count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..data.reading.numbers import is_missing
from ..data.table import spell
from ..errors import UsageError, counted

MOST_USUAL = 3
"""The most labels that a message names."""


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
        values[self.is_known] = self.known
        return pd.Series(values, name="y", dtype=object).infer_objects()


def one_a_row(y: Any) -> NDArray[Any]:
    """Labels of any library as an array ``(n,)``.

    Raises:
        ValueError: y has more than one column.
    """
    # The libraries' own conversions to numpy make floats of whole numbers with gaps.
    if isinstance(y, (pd.Series, pd.DataFrame, pd.Index)):
        dtypes = y.dtypes if isinstance(y, pd.DataFrame) else [y.dtype]
        if any(map(pd.api.types.is_extension_array_dtype, dtypes)):
            y = y.astype(object)
    # A column of Arrow or polars.
    elif listed := getattr(y, "to_pylist", None) or getattr(y, "to_list", None):
        y = np.array(listed(), dtype=object)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    return labels


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
    known = _uniform_labels(y[is_known])
    # Numbers with fractions are refused in scikit-learn's words, which its own checks of estimators look for.
    check_classification_targets(known)
    notes = _mark_note(known, marks, len(y))
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
        raise UsageError("y holds times, and ScarfRegressor predicts numbers; give it days or seconds.")
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
    are_several = np.iterable(marks) and not isinstance(marks, str)
    spelled = {spell(mark).strip() for mark in (marks if are_several else [marks])}
    return np.array([spell(label).strip() in spelled for label in y], dtype=bool)


def _uniform_labels(known: NDArray[Any]) -> NDArray[Any]:
    """Labels in an array of their own type: truth values, numbers or text."""
    if known.dtype == object:
        # An array of objects may hold anything, so its values say its type.
        known = pd.Series(known, dtype=object).infer_objects().to_numpy()
    if known.dtype.kind in "biufU" or pd.api.types.infer_dtype(known, skipna=False) == "string":
        return known
    kinds = sorted({type(label).__name__ for label in known.astype(object)})
    what = f"labels of several types, {' and '.join(kinds[:2])}" if len(kinds) > 1 else f"labels of the type {kinds[0]}"
    raise UsageError(f"y holds {what}; make all of them text, all whole numbers, or all truth values.")


def _mark_note(known: NDArray[Any], marks: Any, n_rows: int) -> list[str]:
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
