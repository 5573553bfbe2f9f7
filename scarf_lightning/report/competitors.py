"""Which cells a drawing is of, what they are called, and their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ..errors import UsageError
from ..metrics import Metric
from .loading import CellResults
from .naming import Labels, in_words, named_by
from .statistics import Pair


@dataclass(frozen=True)
class Competitors:
    """Cells as competitors.

    Attributes:
        scores: ``dataset, competitor, trial, value``, what the statistics take: of a loss the negative; a cell without
            a finished trial has one row without a value, so that it is counted.
        names: theirs, in the order of the sweep, of those that have a score.
        empty: names of those that have none yet.
    """

    scores: pd.DataFrame
    names: list[str]
    empty: list[str]

    @cached_property
    def wanted(self) -> set[tuple[str, str]]:
        """Dataset and name of each cell: in a folder of all sorts not every competitor meets every dataset."""
        return set(zip(self.scores["dataset"], self.scores["competitor"], strict=True))


def select(results: CellResults, where: Mapping[str, Any]) -> pd.DataFrame:
    """The cells whose columns have these values: one, or a list; None is a cell that does not use the column.

    Raises:
        UsageError: a column is unknown, or no cell is left.
    """
    chosen = results.cells
    need(results, list(where))
    for column, values in where.items():
        allowed = {_plain(value) for value in (values if isinstance(values, list) else [values])}
        chosen = chosen[[_plain(value) in allowed for value in chosen[column]]]
    if chosen.empty:
        conditions = ", ".join(f"{column}={value}" for column, value in where.items())
        raise UsageError(f"No cell has {conditions}.")
    return chosen


def need(results: CellResults, columns: Sequence[str]) -> None:
    """Make sure that the cells have these columns.

    Raises:
        UsageError: they lack one.
    """
    for column in columns:
        if column not in results.axes:
            near = [known for known in results.axes if known.partition(".")[0] == column.partition(".")[0]]
            raise UsageError(f"No cell uses {column}; the columns are: {', '.join(near or results.axes)}.")


def competing(results: CellResults, cells: pd.DataFrame, columns: Sequence[str], metric: Metric) -> Competitors:
    """Cells as competitors that these columns tell apart.

    Raises:
        UsageError: a column is unknown, or no trial has the metric.
    """
    need(results, columns)
    return named_competitors(results, named_by(cells, columns, results.words), metric)


def named_competitors(results: CellResults, names: "pd.Series[str]", metric: Metric) -> Competitors:
    """Cells as competitors of these names, by the cells' labels.

    Raises:
        UsageError: no trial has the metric.
    """
    rows = results.trials[results.trials["cell"].isin(names.index)]
    if rows.empty:
        raise UsageError("None of these cells has a finished trial.")
    if rows[metric.name].isna().all():
        raise UsageError(f"No trial of these cells has the metric {metric.name}.")
    unfinished = names.index.difference(rows["cell"].unique().tolist())
    empty = pd.DataFrame({"cell": unfinished, "trial": 0, metric.name: float("nan")})
    every = pd.concat([rows[["cell", "trial", metric.name]], empty]) if len(empty) else rows
    scores = pd.DataFrame(
        {
            "dataset": every["cell"].map(results.cells["dataset"]),
            "competitor": every["cell"].map(names),
            "trial": every["trial"],
            "value": metric.sign * every[metric.name],
        }
    )
    have = set(scores.loc[scores["value"].notna(), "competitor"])
    order = list(dict.fromkeys(names))
    return Competitors(scores, [name for name in order if name in have], [name for name in order if name not in have])


def grid_over_reference(
    results: CellResults, cells: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], reference: str
) -> tuple[dict[tuple[str, str], Pair], list[str]]:
    """Each (row, column) of these cells against the reference column of the same row: the values of its columns, joined
    by `` + ``.

    Returns:
        The grid, of names as `competing` gives them for ``rows + columns``; and the rows that have no reference.

    Raises:
        UsageError: no row has the reference.
    """
    values = [_joined(setting) for setting in zip(*(cells[column] for column in columns), strict=True)]
    names = pd.DataFrame(
        {
            "row": named_by(cells, rows, results.words),
            "column": named_by(cells, columns, results.words),
            "name": named_by(cells, [*rows, *columns], results.words),
            "is_reference": [value == reference for value in values],
        }
    ).drop_duplicates()
    of_reference = names[names["is_reference"]]
    if of_reference.empty:
        known = ", ".join(dict.fromkeys(values))
        raise UsageError(f"No cell is the reference {reference}; {' + '.join(columns)} has: {known}.")
    references: dict[str, str] = dict(of_reference[["row", "name"]].itertuples(index=False))
    compared = names[~names["is_reference"]]
    grid = {
        (row, column): (name, references[row])
        for row, column, name in compared[["row", "column", "name"]].itertuples(index=False)
        if row in references
    }
    return grid, [row for row in dict.fromkeys(compared["row"]) if row not in references]


def reference_in_words(columns: Sequence[str], reference: str, labels: Labels) -> str:
    """What a figure calls the reference."""
    return (
        in_words({columns[0]: reference}, labels, alone=True)
        if len(columns) == 1 or " + " not in reference
        else reference
    )


def _joined(setting: tuple[Any, ...]) -> str:
    used = [value for value in setting if value is not None]
    return " + ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in used)


def _plain(value: Any) -> Any:
    """True is not 1, though Python says so."""
    return str(value) if isinstance(value, bool) else value
