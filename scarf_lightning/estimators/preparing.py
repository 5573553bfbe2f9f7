"""From X and y to a table."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.reading.roles import ReadTarget, read_target, split_values
from ..data.table import Table
from ..data.targets import Classes, Target, dtype_of
from ..errors import UsageError
from ..options import Config
from ..options.settings import DatasetSettings
from .labels import GivenLabels

Weights = NDArray[np.float64] | None
"""The weights of the rows in training ``(n,)``; None if all weigh the same."""
SOURCE = "X"
BY_NOTHING = ("random", "stratified")
"""Splits that need no column."""
OF_COLUMNS = ("drop", "categorical", "numeric", "text")
"""Options of ``dataset`` that list columns."""
OF_THE_COMMAND = re.compile(r"[\"']?(dataset\.\w+)=\['?(.*?)'?\][\"']?")
"""An option in a note, as a command line has it."""


def table_of(frame: pd.DataFrame, target: ReadTarget, config: Config, weights: Weights = None) -> Table:
    """The table that a file with these columns would be. Notes on how it was read become warnings."""
    table = read_frame(frame, target, config)
    for note in table.notes:
        said = OF_THE_COMMAND.sub(lambda found: f"options={{{found[1]!r}: [{found[2]!r}]}}", note)
        warnings.warn(said, UserWarning, stacklevel=4)
    return table.weighted(weights)


def read_frame(frame: pd.DataFrame, target: ReadTarget, config: Config) -> Table:
    """The table that a file with these columns would be, with notes on how it was read."""
    split_by, notes, features = _split_by(frame, config)
    kinds, dropped = _kinds(config.dataset, features)
    features = features.drop(columns=dropped)
    decimal = config.dataset.decimal
    table = Table.read(features, target, kinds, decimal, name=SOURCE, source=SOURCE, split_by=split_by)
    return replace(table, notes=(*notes, *table.notes))


def without_labels(frame: pd.DataFrame, config: Config) -> Table:
    """The table of rows without labels, with one class that has no name."""
    # A table needs two classes to be read.
    two = pd.Series(np.arange(len(frame)) % 2, index=frame.index, name="none")
    table = table_of(frame, read_target(two, SOURCE), config)
    no_labels = np.zeros(len(frame), dtype=np.int64)
    return replace(table, labels=no_labels, target=Classes(("",)))


def target_of(labels: GivenLabels, kind: type[Target]) -> ReadTarget:
    """Labels as this kind of target. Classes keep their type and the blanks around them.

    Raises:
        UsageError: there are too few labels.
    """
    read = read_target(labels.column(), SOURCE, kind.name)
    if isinstance(read.target, Classes):
        return replace(read, target=replace(read.target, dtype=dtype_of(labels.known)))
    return read


def _split_by(frame: pd.DataFrame, config: Config) -> tuple[Weights, list[str], pd.DataFrame]:
    """The values that the rows are split by, notes on how they were read, and the other columns."""
    kind, column = config.split["name"], config.split.get("column")
    # Such splits need the rows and their labels alone.
    if kind in BY_NOTHING:
        return None, [], frame
    if column not in frame.columns:
        raise UsageError(
            f"An estimator splits by a column of X, and not by split={kind} with split.column={column}; set options="
            "{'split': 'group', 'split.column': NAME}."
        )
    # The column that splits is no feature: the groups, or times, of new rows are others.
    values, notes = split_values(kind, frame[column], SOURCE, config.dataset.decimal)
    return values, notes, frame.drop(columns=column)


def _kinds(asked: DatasetSettings, frame: pd.DataFrame) -> tuple[dict[str, str], list[str]]:
    """What the user says of columns, by their names, which must be there; and those to leave out."""
    kinds = {}
    for option in OF_COLUMNS:
        for column in getattr(asked, option) or ():
            if column not in frame.columns:
                raise UsageError(f"dataset.{option} names {column!r}, which is not a column of {SOURCE}.")
            kinds[column] = option
    return kinds, asked.drop or []
