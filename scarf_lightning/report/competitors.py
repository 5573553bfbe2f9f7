"""Which cells a drawing is of, what they are called, and their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ..errors import UsageError
from ..metrics import Metric
from .reading import CellResults
from .statistics import Pair
from .words import in_words

ALWAYS_TOLD = ("dataset", "regime", "pretrain")
"""Columns that a name has even where their values are the usual ones."""


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
    """The cells whose columns have these values.

    Args:
        results: what there is.
        where: column to a value or a list of them; None is a cell that does not use the column.

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


def labels(cells: pd.DataFrame, columns: Sequence[str], usual: Mapping[str, Any] | None = None) -> "pd.Series[str]":
    """What each cell is called by these columns, in words; never two settings alike.

    Args:
        cells: as in `CellResults`.
        columns: that tell the cells apart.
        usual: values that go without saying where a name has others.
    """
    settings = list(zip(*(cells[column] for column in columns), strict=True))
    names = {}
    for setting in dict.fromkeys(settings):
        values = dict(zip(columns, setting, strict=True))
        telling = {c: v for c, v in values.items() if c in ALWAYS_TOLD or v is None or v != (usual or {}).get(c)}
        told = telling if any(v is not None for v in telling.values()) else values
        names[setting] = in_words(told, alone=len(columns) == 1)
    alike = {name for name in names.values() if list(names.values()).count(name) > 1}
    for setting, name in names.items():
        if name in alike:
            names[setting] = ", ".join(f"{c}={v}" for c, v in zip(columns, setting, strict=True) if v is not None)
    return pd.Series([names[setting] for setting in settings], index=cells.index, dtype=object)


def varying(cells: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns in which cells of one dataset differ; the paper's three unscaled datasets make no axis of scaling."""
    by_dataset = cells.groupby("dataset", sort=False)
    return [column for column in columns if column != "dataset" and by_dataset[column].nunique(dropna=False).max() > 1]


def distinguishing(cells: pd.DataFrame, columns: Sequence[str], beyond: Sequence[str] = ()) -> list[str]:
    """The fewest of the columns, axes before their options, that tell apart all that they tell apart together.

    An option that follows from another column, such as a batch size from the pre-training, is none of them.

    Args:
        cells: as in `CellResults`.
        columns: to choose from.
        beyond: columns that tell cells apart already.
    """
    chosen = list(beyond)
    groups = len(cells[chosen].astype(str).drop_duplicates()) if chosen else 1
    for column in sorted(varying(cells, columns), key=lambda name: name.count(".")):
        apart = len(cells[[*chosen, column]].astype(str).drop_duplicates())
        if apart > groups:
            chosen.append(column)
            groups = apart
    return chosen[len(beyond) :]


def competing(results: CellResults, cells: pd.DataFrame, columns: Sequence[str], metric: Metric) -> Competitors:
    """Cells as competitors that these columns tell apart.

    Raises:
        UsageError: a column is unknown, or no trial has the metric.
    """
    need(results, columns)
    return named_competitors(results, labels(cells, columns, results.usual), metric)


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
    """Each (row, column) against the reference column of the same row.

    Args:
        results: what there is.
        cells: the ones to compare.
        rows, columns: what tells them apart.
        reference: the values of ``columns`` that the reference uses, joined by `` + ``.

    Returns:
        The grid, of names as `competing` gives them for ``rows + columns``; and the rows that have no reference.

    Raises:
        UsageError: no row has the reference.
    """
    values = [_joined(setting) for setting in zip(*(cells[column] for column in columns), strict=True)]
    names = pd.DataFrame(
        {
            "row": labels(cells, rows, results.usual),
            "column": labels(cells, columns, results.usual),
            "name": labels(cells, [*rows, *columns], results.usual),
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


def reference_in_words(columns: Sequence[str], reference: str) -> str:
    """What a figure calls the reference."""
    return in_words({columns[0]: reference}, alone=True) if len(columns) == 1 or " + " not in reference else reference


def _joined(setting: tuple[Any, ...]) -> str:
    used = [value for value in setting if value is not None]
    return " + ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in used)


def _plain(value: Any) -> Any:
    """True is not 1, though Python says so."""
    return str(value) if isinstance(value, bool) else value
