"""The interface of all drawings: entries in a sweep file's ``report:``, their reading, the cells that they compare, and
panels."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, get_origin, get_type_hints

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...data.targets import Classes
from ...errors import UsageError, unknown_name
from ...metrics import Metric, metric_named
from ...options import Config
from ...options.axes import OF_THE_RUN, field_names, registered
from ...options.checking import checked
from ...verdicts import Pair
from ..blocks import Block, Section, not_drawn
from ..cell_results import CellResults, rows_of
from ..names import setting_name, text_of
from ..report_options import ReportOptions
from ..style import new_figure

BASE = "scarf_lightning.reporting.drawings:Drawing"
NO_COLUMNS = ("title", "where", "metric", "reference")
"""Fields of our drawings; each other one names columns."""


@dataclass(frozen=True, kw_only=True)
class Drawing(ABC):
    """One entry of a sweep file's ``report:``; ``draw:`` is its ``name``, its fields are the other keys.

    A list of columns may be given as one column.

    Args:
        title: of its section.
        where: the cells that it shows: for each of these columns one value or a list of values.
        metric: the metric that it compares by; the report's if not given.
    """

    name: ClassVar[str]
    title: str
    where: dict[str, Any] = field(default_factory=dict)
    metric: str | None = None

    @abstractmethod
    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        """The blocks of the section; the names of its figures and tables begin with ``name``.

        Raises:
            UsageError: these cells cannot be drawn, or not yet.
        """

    def cells(self, results: CellResults) -> pd.DataFrame:
        """The cells that it shows."""
        return select(results, self.where)


def first_of(n_shown: int, n_found: int) -> str:
    """A sentence for a caption, if only the first cells are shown."""
    return f" First {n_shown} of {n_found} cells." if n_found > n_shown else ""


def panels(titles: Sequence[str], width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each title, two in a row; a single panel has no title.

    Args:
        titles: of the panels.
        width, height: of a panel, in inches.
        options: see `new_figure`.
    """
    across = min(2, len(titles))
    down = -(-len(titles) // across)
    figure, axes = new_figure(width * across, height * down, down, across, **options)
    for place, title in zip(axes, titles, strict=False):
        place.set_title(title if len(titles) > 1 else "")
    # An odd number of panels leaves a place empty.
    for place in axes[len(titles) :]:
        place.set_visible(False)
    return figure, axes[: len(titles)]


def read_drawings(entries: Sequence[Any], file: str) -> list[Drawing]:
    """Drawings as the ``report`` of a sweep file gives them, checked before anything is read.

    Raises:
        UsageError: a name is of no drawing; a key is missing, unknown or of the wrong type.
    """
    drawings_by_name = registered(BASE)
    drawings = []
    for number, entry in enumerate(entries, start=1):
        place = f"{file}, drawing {number} of report"
        name = entry.get("draw") if isinstance(entry, dict) else None
        if name is None:
            raise UsageError(f"{place} must say what to draw; the drawings are: {', '.join(sorted(drawings_by_name))}.")
        if not isinstance(name, str) or name not in drawings_by_name:
            fault = f"{place}: {name!s:.80} is not a drawing"
            raise UsageError(unknown_name(fault, str(name), sorted(drawings_by_name), "the drawings"))
        types = get_type_hints(drawings_by_name[name])
        values = {key: value for key, value in entry.items() if key != "draw"}
        for key, value in values.items():
            # A single column is read as a list of one.
            if get_origin(types.get(key)) is list and isinstance(value, str):
                values[key] = [value]
            if value == []:
                raise UsageError(f"{place}: {key} names no column.")
        try:
            drawing = checked(drawings_by_name[name], values, exact=True)
            _check_names(drawing)
            drawings.append(drawing)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from error
    return drawings


def _check_names(drawing: Drawing) -> None:
    """Check the columns and the metric that a drawing names, before there are cells to draw.

    Raises:
        UsageError: a column is of no axis or section of options, or the metric is unknown.
    """
    columns = list(drawing.where)
    for each in fields(drawing):
        value = getattr(drawing, each.name)
        if each.name not in NO_COLUMNS:
            columns += [value] if isinstance(value, str) else value
    sections = sorted(field_names(Config).difference(OF_THE_RUN))
    for column in columns:
        section = column.partition(".")[0]
        if section not in sections:
            raise UsageError(unknown_name(f"{column} is no column of results", section, sections, "their sections"))
    metric_named(drawing.metric or Classes.usual_metric)


def draw_all(results: CellResults, drawings: Sequence[Drawing], options: ReportOptions) -> list[Section]:
    """A section a drawing; one that cannot be drawn, or not yet, says why in its place."""
    sections = []
    for number, drawing in enumerate(drawings, start=1):
        name = f"{number:02d}-{drawing.name}"
        try:
            drawing_options = options if drawing.metric is None else replace(options, metric=drawing.metric)
            blocks = drawing.blocks(results, drawing_options, name)
        except UsageError as error:
            # A page may be made while its sweep still runs, so what is missing must not cost the rest.
            blocks = not_drawn(str(error))
        sections.append(Section(name, drawing.title, blocks))
    return sections


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
    cells = results.cells
    for column, condition in where.items():
        values = condition if isinstance(condition, list) else [condition]
        allowed = set(map(_plain, values))
        is_allowed = [_plain(value) in allowed for value in cells[column]]
        # Of type bool even if it is empty: the next column may meet no cell.
        cells = cells[np.array(is_allowed, dtype=bool)]
    if cells.empty:
        conditions = ", ".join(f"{column}={value}" for column, value in where.items())
        raise UsageError(f"No cell has {conditions}.")
    return cells


def need(results: CellResults, columns: Sequence[str]) -> None:
    """Raise UsageError if the cells lack one of these columns."""
    for column in columns:
        if column in results.axes:
            continue
        # Someone who mistypes an option knows its axis, so the options of that axis are enough to choose from.
        axis = column.partition(".")[0]
        near = [name for name in results.axes if name.partition(".")[0] == axis]
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

    names_with_score = set(scores.loc[scores["value"].notna(), "competitor"])
    # By name and not by cell: a competitor with a score on any dataset is drawn.
    distinct_names = dict.fromkeys(names)
    scored_names = [each for each in distinct_names if each in names_with_score]
    empty_names = [each for each in distinct_names if each not in names_with_score]
    return Competitors(scores, scored_names, empty_names)


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
    settings = list(map(_setting_text, cells[list(columns)].itertuples(index=False)))
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


def _setting_text(setting: Iterable[Any]) -> str:
    """The values of a setting, as a sweep file names a reference."""
    values = [value for value in setting if value is not None]
    return " + ".join(map(text_of, values))


def _plain(value: Any) -> Any:
    """A value that is equal to no value of another type: to Python True is 1, to a reader of a sweep file it is not."""
    return str(value) if isinstance(value, bool) else value


def named_by(cells: pd.DataFrame, columns: Sequence[str]) -> "pd.Series[str]":
    """A name for each of these cells from these columns."""
    names = [setting_name(row, columns) for row in rows_of(cells)]
    return pd.Series(names, index=cells.index, dtype=object)
