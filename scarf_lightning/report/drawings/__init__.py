"""What a sweep file's ``report:`` may draw, and drawing it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ..options import Options
from ..reading import Material
from ..sections import Block, Paragraph, Section
from . import accuracies, curves, gains, sensitivity, wins

Specification = dict[str, Any]
Draw = Callable[[Material, Specification, Options, str], list[Block]]


@dataclass(frozen=True)
class Kind:
    """A kind of drawing: what makes its blocks, and which keys it needs besides ``draw`` and ``title``."""

    draw: Draw
    keys: tuple[str, ...] = ()


KINDS = {
    "win_matrix": Kind(wins.win_matrix_blocks, ("compare",)),
    "wins_over_reference": Kind(wins.wins_over_reference_blocks, ("rows", "columns", "reference")),
    "box_plot": Kind(gains.box_plot_blocks, ("compare", "reference", "panels")),
    "gain_table": Kind(gains.gain_table_blocks, ("rows", "columns", "reference")),
    "accuracy_table": Kind(accuracies.accuracy_blocks, ("columns",)),
    "epochs_table": Kind(accuracies.epochs_blocks, ("columns",)),
    "loss_curves": Kind(curves.loss_curve_blocks),
    "sensitivity": Kind(sensitivity.sensitivity_blocks, ("x",)),
}
ALWAYS = ("draw", "title")
OPTIONAL = ("where",)


def check_drawings(drawings: Sequence[Any], file: str) -> None:
    """Make sure that drawings can be understood, before anything is read.

    Args:
        drawings: the ``report`` of a sweep file.
        file: its name, for messages.

    Raises:
        UsageError: an unknown kind, or a key that is missing, unknown or of the wrong type.
    """
    for number, drawing in enumerate(drawings, start=1):
        place = f"{file}, drawing {number} of report"
        if not isinstance(drawing, dict) or "draw" not in drawing:
            raise UsageError(f"{place} must say what to draw; the kinds are: {', '.join(KINDS)}.")
        kind = drawing["draw"]
        if kind not in KINDS:
            raise UsageError(f"{place}: {kind} is not a kind of drawing; the kinds are: {', '.join(KINDS)}.")
        needed = (*ALWAYS, *KINDS[kind].keys)
        for key in needed:
            if key not in drawing:
                raise UsageError(f"{place}: {kind} needs {key}; its keys are: {', '.join((*needed, *OPTIONAL))}.")
        for key, value in drawing.items():
            if key not in (*needed, *OPTIONAL):
                raise UsageError(f"{place}: {kind} has no key {key}; its keys are: {', '.join((*needed, *OPTIONAL))}.")
            _check_value(place, key, value)


def _check_value(place: str, key: str, value: Any) -> None:
    if key == "where":
        if not isinstance(value, dict):
            raise UsageError(f"{place}: where must give columns their values, as in where: {{regime: full}}.")
    elif key in ("compare", "rows", "columns", "panels"):
        names = value if isinstance(value, list) else [value]
        if not names or not all(isinstance(name, str) for name in names):
            raise UsageError(f"{place}: {key} must name a column, or a list of columns, not {value}.")
    elif not isinstance(value, str | int | float) or isinstance(value, bool):
        raise UsageError(f"{place}: {key} must be a name, not {value}.")


def draw_all(material: Material, drawings: Sequence[Specification], options: Options) -> list[Section]:
    """A section a drawing; one that cannot be drawn yet says why in its place."""
    sections = []
    for number, drawing in enumerate(drawings, start=1):
        name = f"{number:02d}-{drawing['draw']}"
        try:
            blocks = KINDS[drawing["draw"]].draw(material, drawing, options, name)
        except UsageError as error:
            blocks = [Paragraph(f"Not drawn: {error}", warns=True)]
        sections.append(Section(name, str(drawing["title"]), blocks))
    return sections
