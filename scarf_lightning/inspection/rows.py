"""The rows that a trial was trained and tested on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..config import read
from ..config.registry import build
from ..data.sources import open_source
from ..data.splits import PARTS, Splitting
from ..data.table import Table
from ..errors import UsageError
from ..randomness import Purpose, Streams
from ..results import load_cell


@dataclass(frozen=True)
class TrialRows:
    """The table of a cell, row by row.

    Attributes:
        features: as a user would bring them: numbers, categories as strings, missing values.
        target: the classes, by name, missing where a row has no label.
        part: ``train``, ``validation`` or ``test``, as this trial has split the rows, or ``unused``.
    """

    features: pd.DataFrame
    target: "pd.Series[Any]"
    part: "pd.Series[str]"


def load_rows(fingerprint: str, trial: int, results: str | Path = "results") -> TrialRows:
    """The table of a cell, and how a trial splits it; relative paths are from the working directory.

    Raises:
        UsageError: no such cell, or its data cannot be read, or are not what the cell was trained on.
    """
    cell = load_cell(fingerprint, results)
    config = read(cell.config)
    table = open_source(**vars(config.dataset), openml_cache=config.paths.openml, split=config.split).load()
    if table.hash != cell.description["identity"]["data"]:
        raise UsageError(f"{table.source} has changed since cell {fingerprint} was trained on it.")
    splitting: Splitting = build("split", config.split)
    split = splitting.split(table, Streams(config.seed, table.hash).numpy(trial, Purpose.SPLIT))
    part = pd.Series("unused", index=range(table.n_rows), dtype=object)
    for name in PARTS:
        part.iloc[getattr(split, name)] = name
    classes = np.array([*table.classes, None], dtype=object)  # the last is for rows without a label
    return TrialRows(_features(table), pd.Series(classes[table.labels], name="class", dtype="str"), part)


def _features(table: Table) -> pd.DataFrame:
    columns = {}
    for values, column in zip(table.values.T, table.columns, strict=True):
        if column.categories is None:
            columns[column.name] = pd.Series(values)
        else:
            names = np.array([*column.categories, None], dtype=object)  # the last is for what is missing
            columns[column.name] = pd.Series(names[np.nan_to_num(values, nan=-1).astype(np.int64)], dtype=object)
    return pd.DataFrame(columns)
