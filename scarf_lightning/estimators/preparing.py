"""From X and y to a table: the labels, the weights of the rows, and how the columns are read."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ..data.reading.roles import ReadTarget, read_target
from ..data.sources import BY_NOTHING, LISTS_OF_COLUMNS
from ..data.table import Table
from ..data.targets import Classes, Target, dtype_of
from ..errors import UsageError, counted
from ..options import Config
from ..options.settings import DatasetSettings

Weights = NDArray[np.float64] | None
"""The weights of the rows in training ``(n,)``; None if all weigh the same."""
UNLABELLED = -1
"""Marks a row without a label, as for scikit-learn's semi-supervised estimators."""
SOURCE = "X"
OF_THE_COMMAND = re.compile(r"\"(dataset\.\w+)=(\[?)'(.*?)'(\]?)\"")
"""An option in a note, as a command line has it."""


@dataclass(frozen=True)
class GivenLabels:
    """Labels of n rows.

    Attributes:
        known: the labels of the rows that have one, all of one type, ``(n_known,)``.
        is_known: the rows that have one, ``(n,)``.
    """

    known: NDArray[Any]
    is_known: NDArray[np.bool_]

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
    if to_list := getattr(y, "to_pylist", None) or getattr(y, "to_list", None):
        y = np.array(to_list(), dtype=object)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    return labels


def labels_of_classes(y: NDArray[Any]) -> GivenLabels:
    """The labels of a classifier: text, whole numbers or truth values.

    A row has none where y is missing, or -1 beside at least two other numbers. -1 and 1 alone are two classes.

    Raises:
        ValueError: no row has a label, or they are not classes, in the words of scikit-learn.
    """
    known, is_known = _known_labels(y)
    if known.dtype.kind in "if":
        is_class = known != UNLABELLED
        if not is_class.all() and len(np.unique(known[is_class])) > 1:
            n = int((~is_class).sum())
            sentence = f"y holds -1 in {counted(n, 'row')}, which have no label; give a class of -1 another name."
            warnings.warn(sentence, UserWarning, stacklevel=5)
            is_known[is_known] = is_class
            known = known[is_class]
    try:
        with warnings.catch_warnings():
            # The note on the target says more.
            warnings.filterwarnings("ignore", "The number of unique classes")
            check_classification_targets(known)
        LabelEncoder().fit(known)
    except TypeError as error:
        raise UsageError(f"y cannot be labels: {error}.") from error
    return GivenLabels(known, is_known)


def labels_of_numbers(y: NDArray[Any]) -> GivenLabels:
    """The labels of a regressor. A row has none where y is missing.

    Raises:
        ValueError: no row has a label, or they are not numbers.
    """
    known, is_known = _known_labels(y)
    try:
        return GivenLabels(check_array(known, ensure_2d=False, dtype=np.float64, input_name="y"), is_known)
    except (ValueError, TypeError) as error:
        raise UsageError(f"y must hold numbers: {error}") from error


def weights_of(
    labels: GivenLabels, sample_weight: Any, class_weight: Mapping[Any, float] | str | None
) -> NDArray[np.float64]:
    """The weight of each row ``(n,)``: its own times that of its class. Rows without a label have the mean weight of a
    class.

    Args:
        sample_weight: the rows' own, ``(n,)`` or one number; None weighs them alike.
        class_weight: by label, 1 for those that are left out; ``balanced`` is left to training, and None weighs them
            alike.

    Raises:
        ValueError: a weight is negative or not finite, there are more or fewer than rows, or a class does not occur.
    """
    rows = labels.is_known[:, None]
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, copy=True, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if isinstance(class_weight, Mapping):
        label_weights = compute_sample_weight(dict(class_weight), labels.known)
        # NaN is not negative, and no weight either.
        if not (label_weights >= 0).all():
            raise UsageError(f"class_weight must give each class a weight of 0 or more, not {dict(class_weight)}.")
        weights[labels.is_known] *= label_weights
        # Their class is unknown; where a method gives them one, they weigh what a row weighs on average.
        weights[~labels.is_known] *= label_weights.mean()
    return weights


def target_of(labels: GivenLabels, kind: type[Target]) -> ReadTarget:
    """Labels as this kind of target. Classes keep their type and the blanks around them.

    Raises:
        UsageError: there are too few labels.
    """
    read = read_target(labels.column(), SOURCE, kind.name)
    if isinstance(read.target, Classes):
        return replace(read, target=replace(read.target, dtype=dtype_of(labels.known)))
    return read


def table_of(frame: pd.DataFrame, target: ReadTarget, config: Config, weights: Weights = None) -> Table:
    """The table that a file with these columns would be. Notes on how it was read become warnings."""
    table = read_frame(frame, target, config)
    for note in table.notes:
        warnings.warn(OF_THE_COMMAND.sub(r'options={"\1": \2"\3"\4}', note), stacklevel=4)
    return table.weighted(weights)


def read_frame(frame: pd.DataFrame, target: ReadTarget, config: Config) -> Table:
    """The table that a file with these columns would be, with notes on how it was read."""
    split = _split(frame, config)
    # The column that splits is no feature, so no option of a feature may name it.
    features = frame if split is None else frame.drop(columns=split[1])
    kinds, dropped = _kinds(config.dataset, features)
    table_frame = frame.drop(columns=dropped)
    return Table.read(table_frame, target, kinds, config.dataset.decimal, split, name=SOURCE, source=SOURCE)


def without_labels(frame: pd.DataFrame, config: Config) -> Table:
    """The table of rows without labels, with one class that has no name."""
    # A table needs two classes to be read.
    two_classes = pd.Series(np.arange(len(frame)) % 2, index=frame.index, name="none")
    table = table_of(frame, read_target(two_classes, SOURCE), config)
    no_labels = np.zeros(len(frame), dtype=np.int64)
    return replace(table, labels=no_labels, target=Classes(("",)))


def _known_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels that are not missing, in an array of their own type, and the rows that have them ``(n,)``."""
    # An infinite label is a fault of the data, and no missing one.
    if y.dtype.kind == "f":
        assert_all_finite(y, allow_nan=True, input_name="y")
    is_known = np.asarray(~pd.isna(y))
    if not is_known.any():
        raise UsageError("y holds no label; ScarfTransformer learns without labels.")
    known = y[is_known]
    # An array of objects may hold anything, so its values say its type.
    typed_labels = pd.Series(known).infer_objects()
    if typed_labels.dtype.kind in "cmM":
        raise UsageError(
            f"y holds values of the type {typed_labels.dtype}; give it text or numbers, such as days or seconds."
        )
    return typed_labels.to_numpy() if known.dtype == object else known, is_known


def _split(frame: pd.DataFrame, config: Config) -> tuple[str, str] | None:
    """The name of the split and the column that decides it; None for splits that need the rows and labels alone."""
    kind, column = config.split["name"], config.split.get("column")
    if kind in BY_NOTHING:
        return None
    if column is None or column not in frame.columns:
        raise UsageError(
            f"An estimator splits by a column of X, and not by split={kind} with split.column={column}; set options="
            "{'split': 'group', 'split.column': NAME}."
        )
    return kind, column


def _kinds(settings: DatasetSettings, frame: pd.DataFrame) -> tuple[dict[str, str], list[str]]:
    """What the user says of columns, by their names, which must be there; and those to leave out."""
    kinds = {}
    for option in LISTS_OF_COLUMNS:
        for column in getattr(settings, option) or ():
            if column not in frame.columns:
                raise UsageError(f"dataset.{option} names {column!r}, which is not a column of {SOURCE}.")
            kinds[column] = option
    return kinds, settings.drop or []
