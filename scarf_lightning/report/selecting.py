"""Which cells a drawing is of, what they are called, and their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import UsageError
from .reading import Material
from .statistics import Pair

NOT_USED = "none"
"""What a competitor is called that uses none of the columns that tell competitors apart."""


@dataclass(frozen=True)
class Scored:
    """Cells as competitors.

    Attributes:
        scores: ``dataset, competitor, trial, value``, what the statistics take; a cell without a finished trial has one
            row without a value, so that it is counted.
        competitors: their names, in the order of the sweep, those that have a score.
        empty: those that have none yet.
    """

    scores: pd.DataFrame
    competitors: list[str]
    empty: list[str]


def as_list(value: Any) -> list[Any]:
    """A column, or several."""
    return list(value) if isinstance(value, list) else [value]


def select(material: Material, where: Mapping[str, Any] | None) -> pd.DataFrame:
    """The cells whose columns have these values.

    Args:
        material: what there is.
        where: column to a value or a list of them; None is a cell that does not use the column.

    Raises:
        UsageError: no cell is left, or has a column of this name.
    """
    cells = material.cells
    for column, values in (where or {}).items():
        need(material, [column])
        chosen = [_plain(value) for value in as_list(values)]
        cells = cells[[_plain(value) in chosen for value in cells[column]]]
    if cells.empty:
        conditions = ", ".join(f"{column}={value}" for column, value in (where or {}).items())
        raise UsageError(f"No cell has {conditions}.")
    return cells


def need(material: Material, columns: Sequence[str]) -> None:
    """Make sure of columns.

    Raises:
        UsageError: no cell uses one of them.
    """
    for column in columns:
        if column not in material.axes:
            near = [known for known in material.axes if known.partition(".")[0] == column.partition(".")[0]]
            raise UsageError(f"No cell uses {column}; the columns are: {', '.join(near or material.axes)}.")


def labels(cells: pd.DataFrame, columns: Sequence[str]) -> "pd.Series[str]":
    """What each cell is called by these columns: its values, without those it does not use."""
    values = zip(*(cells[column] for column in columns), strict=True)
    names = [" + ".join(_text(value) for value in row if value is not None) or NOT_USED for row in values]
    return pd.Series(names, index=cells.index, dtype=object)


def varying(cells: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns in which cells of one dataset differ; the paper's three unscaled datasets make no axis of scaling."""
    by_dataset = cells.groupby("dataset", sort=False)
    return [column for column in columns if column != "dataset" and by_dataset[column].nunique(dropna=False).max() > 1]


def distinguishing(cells: pd.DataFrame, columns: Sequence[str], beyond: Sequence[str] = ()) -> list[str]:
    """The fewest of the columns, axes before their options, that tell apart all that they tell apart together.

    An option that follows from another column, such as a batch size from the pre-training, is none of them.

    Args:
        cells: as in `Material`.
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


def scored(material: Material, cells: pd.DataFrame, columns: Sequence[str], measure: str = "accuracy") -> Scored:
    """Cells as competitors that these columns tell apart.

    Raises:
        UsageError: a column is unknown, or no trial is finished.
    """
    need(material, columns)
    names = labels(cells, columns)
    rows = material.rows[material.rows["cell"].isin(cells.index)]
    unfinished = cells.index.difference(rows["cell"].unique().tolist())
    empty = pd.DataFrame({"cell": unfinished, "trial": 0, measure: float("nan")})
    every = pd.concat([rows[["cell", "trial", measure]], empty]) if len(empty) else rows
    if rows.empty:
        raise UsageError("None of these cells has a finished trial.")
    scores = pd.DataFrame(
        {
            "dataset": every["cell"].map(cells["dataset"]),
            "competitor": every["cell"].map(names),
            "trial": every["trial"],
            "value": every[measure],
        }
    )
    have = set(scores.loc[scores["value"].notna(), "competitor"])
    order = list(dict.fromkeys(names))
    return Scored(scores, [name for name in order if name in have], [name for name in order if name not in have])


def grid_over_reference(
    cells: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], reference: str
) -> tuple[dict[tuple[str, str], Pair], list[str]]:
    """Each (row, column) against the reference column of the same row.

    Returns:
        The grid, of names as `scored` gives them for ``rows + columns``; and the rows that have no reference.

    Raises:
        UsageError: no row has the reference.
    """
    names = pd.DataFrame(
        {"row": labels(cells, rows), "column": labels(cells, columns), "name": labels(cells, [*rows, *columns])}
    ).drop_duplicates()
    references: dict[str, str] = dict(names.loc[names["column"] == reference, ["row", "name"]].itertuples(index=False))
    if not references:
        known = ", ".join(dict.fromkeys(names["column"]))
        raise UsageError(f"No cell is the reference {reference}; {' + '.join(columns)} has: {known}.")
    compared = names[names["column"] != reference]
    grid = {
        (row, column): (name, references[row])
        for row, column, name in compared.itertuples(index=False)
        if row in references
    }
    return grid, [row for row in dict.fromkeys(compared["row"]) if row not in references]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """True is not 1, though Python says so."""
    return str(value) if isinstance(value, bool) else value
