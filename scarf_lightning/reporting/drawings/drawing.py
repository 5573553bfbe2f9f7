"""The interface of all drawings: entries in a sweep file's ``report:``, their reading, and panels and notes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, get_origin, get_type_hints

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...data.targets import Classes
from ...errors import UsageError, unknown_name
from ...metrics import metric_named
from ...options import Config
from ...options.axes import OF_THE_RUN, field_names, registered
from ...options.checking import checked
from ..blocks import Block, Section, not_drawn
from ..cell_results import CellResults
from ..competitors import select
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
    known = registered(BASE)
    drawings = []
    for number, entry in enumerate(entries, start=1):
        place = f"{file}, drawing {number} of report"
        name = entry.get("draw") if isinstance(entry, dict) else None
        if name is None:
            raise UsageError(f"{place} must say what to draw; the drawings are: {', '.join(sorted(known))}.")
        if not isinstance(name, str) or name not in known:
            fault = f"{place}: {name!s:.80} is not a drawing"
            raise UsageError(unknown_name(fault, str(name), sorted(known), "the drawings"))
        types = get_type_hints(known[name])
        values = {key: value for key, value in entry.items() if key != "draw"}
        for key, value in values.items():
            # One column may stand for a list of one.
            if get_origin(types.get(key)) is list and isinstance(value, str):
                values[key] = [value]
            if value == []:
                raise UsageError(f"{place}: {key} names no column.")
        try:
            drawing = checked(known[name], values, exact=True)
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
            own = options if drawing.metric is None else replace(options, metric=drawing.metric)
            blocks = drawing.blocks(results, own, name)
        except UsageError as error:
            # A page may be made while its sweep still runs, so what is missing must not cost the rest.
            blocks = not_drawn(str(error))
        sections.append(Section(name, drawing.title, blocks))
    return sections
