"""The cells that a drawing compares, with their names and scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UsageError, unknown_name
from ..metrics import Metric
from ..verdicts import Pair
from .cell_results import CellResults, rows_of
from .names import setting_name, text_of


@dataclass(frozen=True)
class Competitors:
    """Cells as competitors.

    Attributes:
        scores: ``dataset, competitor, trial, value``, as the statistics take them: higher is better, so losses are
            negative. A cell without a finished trial has one row without a value, so that it is counted.
        names: of the competitors that have a score, in the order of the sweep.
        empty: names of those that have none yet.
    """

    scores: pd.DataFrame
    names: list[str]
    empty: list[str]


def select(results: CellResults, where: Mapping[str, Any]) -> pd.DataFrame:
    """The cells whose columns have these values: one, or a list; None is a cell that does not use the column.

    Raises:
        UsageError: a column is unknown, or no cell is left.
    """
    need(results, list(where))
    chosen = results.cells
    for column, wanted in where.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        allowed = set(map(_plain, values))
        is_allowed = [_plain(value) in allowed for value in chosen[column]]
        # Of type bool even if it is empty: the next column may meet no cell.
        chosen = chosen[np.array(is_allowed, dtype=bool)]
    if chosen.empty:
        conditions = ", ".join(f"{column}={value}" for column, value in where.items())
        raise UsageError(f"No cell has {conditions}.")
    return chosen


def need(results: CellResults, columns: Sequence[str]) -> None:
    """Raise UsageError if the cells lack one of these columns."""
    for column in columns:
        if column in results.axes:
            continue
        # Someone who mistypes an option knows its axis, so the options of that axis are enough to choose from.
        axis = column.partition(".")[0]
        near = [known for known in results.axes if known.partition(".")[0] == axis]
        raise UsageError(unknown_name(f"No cell uses {column}", column, near or results.axes, "the columns"))


def competing(results: CellResults, cells: pd.DataFrame, columns: Sequence[str], metric: Metric) -> Competitors:
    """Cells as competitors that these columns distinguish.

    Raises:
        UsageError: a column is unknown, or no trial has the metric.
    """
    need(results, columns)
    return named_competitors(results, named_by(cells, columns), metric)


def named_competitors(results: CellResults, names: "pd.Series[str]", metric: Metric) -> Competitors:
    """Cells as competitors with these names, by the cells' labels.

    Raises:
        UsageError: no trial has the metric.
    """
    datasets = results.cells.loc[names.index, "dataset"]
    cells = pd.DataFrame({"dataset": datasets, "competitor": names})
    trials = results.trials.set_index("cell")[["trial", metric.name]]
    # A left join: a cell without trials keeps a row without values, so that it is counted as missing.
    scores = cells.join(trials)
    if scores["trial"].isna().all():
        raise UsageError("None of these cells has a finished trial.")
    if scores[metric.name].isna().all():
        raise UsageError(f"No trial of these cells has the metric {metric.name}.")
    # The one row of a cell without trials needs a number too; its value stays missing.
    scores["trial"] = scores["trial"].fillna(0).astype(int)
    scores["value"] = metric.sign * scores.pop(metric.name)

    measured = set(scores.loc[scores["value"].notna(), "competitor"])
    # By name and not by cell: a competitor with a score on any dataset is drawn.
    every = dict.fromkeys(names)
    scored, empty = [each for each in every if each in measured], [each for each in every if each not in measured]
    return Competitors(scores, scored, empty)


@dataclass(frozen=True)
class GridOverReference:
    """Cells as a grid of which each column is compared with the reference column of the same row.

    Attributes:
        competitors: the cells, with names by the columns of both axes of the grid.
        pairs: by (row, column) the names of a cell and of its reference.
        reference: the name of the reference column.
    """

    competitors: Competitors
    pairs: Mapping[tuple[str, str], Pair]
    reference: str


def grid_over_reference(
    results: CellResults,
    cells: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    reference: str,
    metric: Metric,
) -> GridOverReference:
    """These cells as a grid. The reference is given by the values of its ``columns``, joined by `` + ``.

    Raises:
        UsageError: a column is unknown, no trial has the metric, or no row has the reference.
    """
    competitors = competing(results, cells, [*rows, *columns], metric)
    settings = list(map(_joined, cells[list(columns)].itertuples(index=False)))
    row_names = named_by(cells, rows)
    column_names = named_by(cells, columns)
    full_names = named_by(cells, [*rows, *columns])

    # References are collected first, because a cell may come before the reference of its row.
    references: dict[str, str] = {}
    others: list[tuple[str, str, str]] = []
    for row, column, name, setting in zip(row_names, column_names, full_names, settings, strict=True):
        if setting == reference:
            references[row] = name
        else:
            others.append((row, column, name))
    if not references:
        where = f"the values of {' + '.join(columns)}"
        raise UsageError(unknown_name(f"No cell is the reference {reference}", reference, settings, where))

    grid = {(row, column): (name, references[row]) for row, column, name in others if row in references}
    is_reference = [setting == reference for setting in settings]
    return GridOverReference(competitors, grid, column_names[is_reference].iloc[0])


def _joined(setting: Iterable[Any]) -> str:
    """The values of a setting, as a sweep file names a reference."""
    used = [value for value in setting if value is not None]
    return " + ".join(map(text_of, used))


def _plain(value: Any) -> Any:
    """A value that is equal to no value of another type: to Python True is 1, to a reader of a sweep file it is not."""
    return str(value) if isinstance(value, bool) else value


def named_by(cells: pd.DataFrame, columns: Sequence[str]) -> "pd.Series[str]":
    """A name for each of these cells from these columns."""
    names = [setting_name(row, columns) for row in rows_of(cells)]
    return pd.Series(names, index=cells.index, dtype=object)
