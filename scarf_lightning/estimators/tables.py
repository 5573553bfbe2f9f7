"""From X and y, frames or arrays, to a table."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.advice import Advice
from ..data.reading import ReadingOptions
from ..data.splits import Split, Splitting, split_values
from ..data.table import Table
from ..data.targets import Classes, ReadTarget, Target, read_target
from ..data.untyped import read_table
from ..errors import UsageError
from ..options import Config
from ..options.settings import DatasetSettings

if TYPE_CHECKING:
    from .model import Model

SOURCE = "X"
BY_NOTHING = ("random", "stratified")


class WithoutTest(Splitting):
    """Another rule without test rows: all rows train but those that stop training, another tenth in each trial."""

    def __init__(self, rule: Splitting) -> None:
        self._rule, self.is_ragged = rule, rule.is_ragged  # type: ignore[misc]

    def split(self, table: Table, random: np.random.Generator) -> Split:
        return self._rule.without_test(self._rule.split(table, random))


def table_of(
    frame: pd.DataFrame,
    target: ReadTarget,
    config: Config,
    *,
    is_plain: bool,
    weights: NDArray[np.float64] | None = None,
) -> Table:
    """The table that a file with these columns would be. Notes on how it was read become warnings.

    Args:
        frame: n rows; the names of the columns are different.
        target: the labels ``(n,)``.
        config: how columns are read, and which column the rows are split by.
        is_plain: the columns are the numbers of an array, and are taken as they are.
        weights: of the rows in training, ``(n,)``; None if all weigh the same.

    Raises:
        UsageError: see `read_table` and `Table.from_frame`; or the column to split by does not exist.
    """
    split_by, frame = _split_by(frame, config)
    if is_plain:
        kinds = [False] * frame.shape[1]
        table = Table.from_frame(frame, target, categorical=kinds, name=SOURCE, source=SOURCE, split_by=split_by)
    else:
        options, named = _reading_options(config.dataset, frame), {"name": SOURCE, "source": SOURCE}
        table = read_table(frame, target, options, **named, split_by=split_by, looks_for_leaks=False)
    for note in table.notes:
        warnings.warn(note.in_python if isinstance(note, Advice) else note, UserWarning, stacklevel=3)
    return table.weighted(weights)


def table_for(
    encoders: "Model", frame: pd.DataFrame, target: ReadTarget, config: Config, weights: NDArray[np.float64] | None
) -> Table:
    """The table of rows as trained encoders read them.

    Args:
        encoders: the model.
        frame, target, config, weights: as of `table_of`.

    Raises:
        UsageError: a column is missing or does not hold what it held in the encoders' training.
    """
    split_by, frame = _split_by(frame, config)
    reader = encoders.description.reader
    columns = zip(reader.columns, reader.values(frame).T, strict=True)
    table = Table.of(columns, target, name=SOURCE, source=SOURCE, split_by=split_by)
    return replace(table, reader=reader).weighted(weights)


def without_labels(frame: pd.DataFrame, config: Config, *, is_plain: bool) -> Table:
    """The table of rows without labels, with one class that has no name."""
    two = pd.Series(np.arange(len(frame)) % 2, index=frame.index, name="none")  # a table needs two classes to be read
    table = table_of(frame, read_target(two, SOURCE), config, is_plain=is_plain)
    return replace(table, labels=np.zeros(len(frame), dtype=np.int64), target=Classes(("",)))


def target_of(y: NDArray[Any], is_known: NDArray[np.bool_], config: Config, kind: type[Target]) -> ReadTarget:
    """The labels y ``(n,)`` of rows as a kind of target, missing where they are not known.

    Raises:
        UsageError: the labels are not of the kind, or look like names.
    """
    labels = pd.Series(y, name="y").astype(object).where(is_known, None).infer_objects()
    given = config.dataset.target_kind or (kind.name if kind is not Classes else None)
    read = read_target(labels, SOURCE, given, decimal=config.dataset.decimal, is_raw=True)
    if not isinstance(read.target, kind):
        raise UsageError(
            f"y holds {labels.nunique()} different numbers, which look like a quantity and not like classes; use "
            'ScarfRegressor, or set options={"dataset.target_kind": "classes"}.'
        )
    return read


def _split_by(frame: pd.DataFrame, config: Config) -> tuple[NDArray[np.float64] | None, pd.DataFrame]:
    """The values that the rows are split by, and the other columns."""
    kind, column = config.split["name"], config.split.get("column")
    if kind in BY_NOTHING:
        return None, frame
    if kind == "files":
        raise UsageError("split=files has no meaning for an estimator; use split=column with a column of X.")
    if column not in frame.columns:
        raise UsageError(f"split={kind} goes by a column of X: set options={{'split.column': NAME}}, not {column!r}.")
    return split_values(kind, frame[column], SOURCE), frame.drop(columns=column)


def _reading_options(asked: DatasetSettings, frame: pd.DataFrame) -> ReadingOptions:
    given = {name: tuple(getattr(asked, name) or ()) for name in ("drop", "dates", "categorical", "numeric", "text")}
    for option, columns in given.items():
        for column in columns:
            if column not in frame.columns:
                raise UsageError(f"dataset.{option} names {column!r}, which is not a column of {SOURCE}.")
    return ReadingOptions(**given, decimal=asked.decimal)
