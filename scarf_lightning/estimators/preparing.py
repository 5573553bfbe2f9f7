"""From X and y to a table."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight

from ..data.columns import Advice
from ..data.reading import ReadingOptions
from ..data.reading.numbers import is_missing
from ..data.reading.rules import floats_of
from ..data.splits import split_values
from ..data.table import Table
from ..data.targets import Classes, Number, ReadTarget, Target, read_target
from ..data.targets.answer_types import dtype_of
from ..data.untyped import read_table
from ..errors import UsageError
from ..options import Config
from ..options.settings import DatasetSettings
from .labels import GivenLabels
from .model import Model
from .parameters import PARAMETERS

Weights = NDArray[np.float64] | None
"""The weights of the rows in training ``(n,)``; None if all weigh the same."""
SOURCE = "X"
BY_NOTHING = ("random", "stratified")
"""Splits that need no column."""
OF_COLUMNS = ("drop", "dates", "categorical", "numeric", "text")
"""Options of ``dataset`` that list columns."""


def table_of(frame: pd.DataFrame, target: ReadTarget, config: Config, weights: Weights = None) -> Table:
    """The table that a file with these columns would be. Notes on how it was read become warnings."""
    table = read_frame(frame, target, config)
    for note in table.notes:
        # The user of an estimator sets parameters, and not options on the command line.
        sentence = note.in_python(PARAMETERS.get(note.option)) if isinstance(note, Advice) else note
        warnings.warn(sentence, UserWarning, stacklevel=4)
    return table.weighted(weights)


def read_frame(frame: pd.DataFrame, target: ReadTarget, config: Config) -> Table:
    """The table that a file with these columns would be, with notes on how it was read."""
    split_by, features = _split_by(frame, config)
    return read_table(
        features,
        target,
        _reading_options(config.dataset, features),
        name=SOURCE,
        source=SOURCE,
        split_by=split_by,
        looks_for_leaks=False,
    )


def table_for(encoders: Model, frame: pd.DataFrame, target: ReadTarget, config: Config, weights: Weights) -> Table:
    """The table of rows as the trained encoders of a model read them."""
    split_by, frame = _split_by(frame, config)
    reader = encoders.description.reader
    # The model's reader has learnt the columns, so they are not read anew.
    columns = zip(reader.columns, encoders.values(frame).T, strict=True)
    table = Table.of(columns, target, name=SOURCE, source=SOURCE, split_by=split_by)
    return replace(table, reader=reader).weighted(weights)


def without_labels(frame: pd.DataFrame, config: Config) -> Table:
    """The table of rows without labels, with one class that has no name."""
    # A table needs two classes to be read.
    two = pd.Series(np.arange(len(frame)) % 2, index=frame.index, name="none")
    table = table_of(frame, read_target(two, SOURCE), config)
    no_labels = np.zeros(len(frame), dtype=np.int64)
    return replace(table, labels=no_labels, target=Classes(("",)))


def target_of(labels: GivenLabels, config: Config, kind: type[Target]) -> ReadTarget:
    """Labels as this kind of target. Classes keep their type and the blanks around them.

    Raises:
        UsageError: there are too few labels, or they are not of this kind.
    """
    column = labels.column()
    asked = config.dataset.target_kind
    # The kind of a regressor's target is no question, even if its numbers look like classes.
    if asked is None and not issubclass(kind, Classes):
        asked = kind.name
    # A word among numbers is a slip, or marks a missing number, which the message explains.
    if issubclass(kind, Number):
        _refuse_words(labels, config.dataset.decimal)
    read = read_target(column, SOURCE, asked, decimal=config.dataset.decimal, is_raw=True, keeps_blanks=True)
    if not isinstance(read.target, kind):
        raise UsageError(
            f"y holds {column.nunique()} different numbers, which look like a quantity and not like classes; use "
            'ScarfRegressor, or set options={"dataset.target_kind": "classes"}.'
        )
    if isinstance(read.target, Classes):
        return replace(read, target=replace(read.target, dtype=dtype_of(labels.known)))
    return read


def weights_of(labels: GivenLabels, sample_weight: Any, class_weight: Mapping[Any, float] | None) -> Weights:
    """The weight of each row: its own times that of its class. Rows without a label have the mean weight of a class.

    Args:
        sample_weight: the rows' own, ``(n,)`` or one number; None weighs them alike.
        class_weight: by label, 1 for those that are left out; None weighs them alike.

    Raises:
        ValueError: a weight is negative or not finite, there are more or fewer than rows, or a class does not occur.
    """
    n = len(labels.is_known)
    weights = np.ones(n)
    if sample_weight is not None:
        weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", copy=True)
        # One number weighs all rows alike.
        if weights.ndim == 0:
            weights = np.full(n, float(weights))
        if weights.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
        if len(weights) != n:
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
        if (weights < 0).any():
            raise UsageError(f"sample_weight holds the negative weight {weights.min():g}; a weight must be 0 or more.")
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
    if class_weight is not None:
        # NaN is not negative, and no weight either.
        if negative := [label for label, weight in class_weight.items() if not weight >= 0]:
            raise UsageError(
                f"class_weight gives {negative[0]!r} the weight {class_weight[negative[0]]}, not 0 or more."
            )
        label_weights = compute_sample_weight(dict(class_weight), labels.known)
        weights[labels.is_known] *= label_weights
        # Their class is unknown; where a method gives them one, they weigh what a row weighs on average.
        weights[~labels.is_known] *= label_weights.mean()
    return weights


def _refuse_words(labels: GivenLabels, decimal: str | None) -> None:
    """Refuse texts among the numbers that a regressor is to learn."""
    _, others = floats_of(pd.Series(labels.known, name="y"), decimal)
    words = [text for text in others if not is_missing(text)]
    if words:
        raise UsageError(
            f"y holds {str(words[0])[:40]!r} among its numbers; correct it, mark it as missing with None, or use "
            "ScarfClassifier."
        )


def _split_by(frame: pd.DataFrame, config: Config) -> tuple[Weights, pd.DataFrame]:
    """The values that the rows are split by, and the other columns."""
    kind, column = config.split["name"], config.split.get("column")
    # Such splits need the rows and their labels alone.
    if kind in BY_NOTHING:
        return None, frame
    # The splits of files and of a task on OpenML.
    if "column" not in config.split:
        raise UsageError(f"split={kind} has no meaning for an estimator; use split=column with a column of X.")
    if column not in frame.columns:
        raise UsageError(f"split={kind} splits by a column of X: set options={{'split.column': NAME}}, not {column!r}.")
    # The column that splits is no feature: the groups, or times, of new rows are others.
    return split_values(kind, frame[column], SOURCE), frame.drop(columns=column)


def _reading_options(asked: DatasetSettings, frame: pd.DataFrame) -> ReadingOptions:
    """The user's options of columns, which must be there."""
    given = {}
    for option in OF_COLUMNS:
        columns = tuple(getattr(asked, option) or ())
        for column in columns:
            if column not in frame.columns:
                raise UsageError(f"dataset.{option} names {column!r}, which is not a column of {SOURCE}.")
        given[option] = columns
    return ReadingOptions(**given, decimal=asked.decimal)
