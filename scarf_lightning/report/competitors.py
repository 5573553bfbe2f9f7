"""The cells that a drawing compares, with their names and scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ..errors import UsageError
from ..metrics import Metric
from .loading import CellResults, rows_of
from .names import Namer, text_of
from .statistics import Pair


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

    @cached_property
    def wanted(self) -> set[tuple[str, str]]:
        """Dataset and name of each cell: in a mixed folder not every competitor meets every dataset."""
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
    """Raise UsageError if the cells lack one of these columns."""
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
    return named_competitors(results, named_by(results, cells, columns), metric)


def named_competitors(results: CellResults, names: "pd.Series[str]", metric: Metric) -> Competitors:
    """Cells as competitors with these names, by the cells' labels.

    Raises:
        UsageError: no trial has the metric.
    """
    cells = pd.DataFrame({"dataset": results.cells["dataset"], "competitor": names}).loc[names.index]
    trials = results.trials.set_index("cell")[["trial", metric.name]]
    scores = cells.join(trials)  # a cell without trials has a row without values
    if scores["trial"].isna().all():
        raise UsageError("None of these cells has a finished trial.")
    if scores[metric.name].isna().all():
        raise UsageError(f"No trial of these cells has the metric {metric.name}.")
    scores["trial"] = scores["trial"].fillna(0).astype(int)
    scores["value"] = metric.sign * scores.pop(metric.name)
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
    values = [_joined(setting) for setting in cells[list(columns)].itertuples(index=False)]
    names = [named_by(results, cells, chosen) for chosen in (rows, columns, [*rows, *columns])]
    every = list(zip(*names, values, strict=True))
    references = {row: name for row, _, name, value in every if value == reference}
    if not references:
        known = ", ".join(dict.fromkeys(values))
        raise UsageError(f"No cell is the reference {reference}; {' + '.join(columns)} has: {known}.")
    compared = [(row, column, name) for row, column, name, value in every if value != reference]
    grid = {(row, column): (name, references[row]) for row, column, name in compared if row in references}
    return grid, [row for row in dict.fromkeys(row for row, _, _ in compared) if row not in references]


def reference_in_words(results: CellResults, columns: Sequence[str], reference: str) -> str:
    """The name of the reference in a figure: that of its cells by these columns."""
    for row in results.rows.values():
        if _joined(row[column] for column in columns) == reference:
            return Namer(list(results.rows.values()), columns, results.usual, results.labels)(row)
    return reference


def _joined(setting: Iterable[Any]) -> str:
    """The values of a setting, as a sweep file names a reference."""
    used = [value for value in setting if value is not None]
    return " + ".join(map(text_of, used))


def _plain(value: Any) -> Any:
    """True is not 1, though Python says so."""
    return str(value) if isinstance(value, bool) else value


def named_by(results: CellResults, cells: pd.DataFrame, columns: Sequence[str]) -> "pd.Series[str]":
    """A name for each of these cells from these columns; different settings never share a name."""
    namer = Namer(list(results.rows.values()), columns, results.usual, results.labels)
    names = [namer(row) for row in rows_of(cells)]
    return pd.Series(names, index=cells.index, dtype=object)


def named_cells(results: CellResults, cells: pd.DataFrame) -> "pd.Series[str]":
    """The full name of each of these cells: its dataset if there are several, then all in which the cells differ."""
    columns = results.different or ["pretrain", "method"]
    if len(set(results.cells["dataset"])) > 1:
        columns = ["dataset", *columns]
    return named_by(results, cells, columns)
