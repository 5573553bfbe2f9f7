"""From what scikit-learn gives to a table: X and y, as frames or arrays."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import Config
from ..config.schema import DatasetSettings
from ..data.reading import Reader, ReadingOptions, leaks, read_columns, read_target
from ..data.split_columns import SplitBy, split_values
from ..data.splits import Split, Splitting
from ..data.table import Table
from ..errors import UsageError

SOURCE = "X"
VALIDATION_SHARE = 0.1
BY_NOTHING = ("random", "stratified")


class WithoutTest(Splitting):
    """All rows but a tenth train, which validates: nothing is tested where there are no labels."""

    def split(self, table: Table, random: np.random.Generator) -> Split:
        permutation = random.permutation(table.n_rows)
        n_validation = max(1, round(VALIDATION_SHARE * table.n_rows))
        return Split(permutation[n_validation:], permutation[:n_validation], permutation[:0])


def table_of(frame: pd.DataFrame, labels: "pd.Series[Any]", config: Config, *, is_plain: bool) -> Table:
    """The table that a file of these columns would be; what should be known of its reading is warned of.

    Args:
        frame: n rows, columns with names of their own.
        labels: ``(n,)``, missing where a row has none.
        config: how columns are read, and what the rows are split by.
        is_plain: the columns are an array's numbers, of which nothing need be found out.

    Raises:
        UsageError: see `read_columns` and `Table.from_frame`, or the split's column is not there.
    """
    split_by, frame = _split_by(frame, config)
    if is_plain:
        kinds = [False] * frame.shape[1]
        return Table.from_frame(frame, labels, categorical=kinds, name=SOURCE, source=SOURCE, split_by=split_by)
    options = _reading_options(config.dataset, frame)
    found = read_columns(frame, options)
    if not found.features:
        raise UsageError(f"{SOURCE} has no column with values to learn from: each is constant, empty or an id.")
    table = Table.from_frame(
        found.frame(frame.index),
        labels,
        categorical=[is_categorical for _, is_categorical in found.features],
        name=SOURCE,
        source=SOURCE,
        split_by=split_by,
    )
    notes = (*found.notes, *leaks(table, [str(name) for name in frame.columns], found.positions))
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    reader = Reader(tuple(found.rules), table.columns)
    return replace(table, reading=tuple(found.readings), notes=notes, reader=reader)


def without_labels(frame: pd.DataFrame, config: Config, *, is_plain: bool) -> Table:
    """The table of rows without labels, in one class without a name.

    Raises:
        UsageError: see `table_of`.
    """
    two = pd.Series(np.arange(len(frame)) % 2, index=frame.index, name="none")  # a table has classes; these go again
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Column .* predicts the target", UserWarning)
        table = table_of(frame, two, config, is_plain=is_plain)
    return replace(table, labels=np.zeros(len(frame), dtype=np.int64), classes=("",))


def labels_of(y: NDArray[Any], is_known: NDArray[np.bool_], config: Config) -> "pd.Series[Any]":
    """The classes of n rows, missing where there is none.

    Raises:
        UsageError: they look like a quantity, or like names.
    """
    labels = pd.Series(y, name="y").astype(object).where(is_known, None).infer_objects()
    is_classes = config.dataset.target_kind == "classes"
    return pd.Series(read_target(labels, SOURCE, is_classes=is_classes, decimal=config.dataset.decimal)[0])


def _split_by(frame: pd.DataFrame, config: Config) -> tuple[NDArray[np.float64] | None, pd.DataFrame]:
    """What the rows are split by, and the other columns."""
    kind, column = config.split["name"], config.split.get("column")
    if kind in BY_NOTHING:
        return None, frame
    if kind == "files":
        raise UsageError("split=files has no meaning for an estimator; use split=column with a column of X.")
    if column not in frame.columns:
        raise UsageError(f"split={kind} goes by a column of X: set options={{'split.column': NAME}}, not {column!r}.")
    return split_values(SplitBy(kind, column), frame[column], SOURCE), frame.drop(columns=column)


def _reading_options(asked: DatasetSettings, frame: pd.DataFrame) -> ReadingOptions:
    given = {name: tuple(getattr(asked, name) or ()) for name in ("drop", "dates", "categorical", "numeric")}
    for option, columns in given.items():
        for column in columns:
            if column not in frame.columns:
                raise UsageError(f"dataset.{option} names {column!r}, which is not a column of {SOURCE}.")
    return ReadingOptions(**given, decimal=asked.decimal)
