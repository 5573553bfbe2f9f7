"""Options that a cell leaves at their defaults, said beside cells that do not.

An option at the value that every cell had before it could be set is no part of a cell's fingerprint, and one set to
nothing is no column of it (`axis_columns`). Where cells are compared, both must not look as if they were not used.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ..config.axes import BASES
from ..config.combinations import UNSAID_AT
from ..config.facts import facts
from ..settings import FinetuneSettings, PretrainSettings

Row = dict[str, Any]

NULL = "null"
"""An option set to nothing, as the command line says it."""
UNSAID: Row = {
    option.removesuffix(".name"): NULL if value is None else value["name"] if isinstance(value, dict) else value
    for option, value in UNSAID_AT.items()
}
"""By column, the values at which options are not said."""
SETTINGS = {"pretrain": PretrainSettings, "finetune": FinetuneSettings}


def with_unsaid(cells: Sequence[Row]) -> list[Row]:
    """The axis columns of cells, where each says what any of them says, if it uses that."""
    said = dict.fromkeys(column for cell in cells for column, value in cell.items() if value is not None)
    return [
        cell | {column: UNSAID.get(column, NULL) for column in said if cell.get(column) is None and uses(cell, column)}
        for cell in cells
    ]


def is_unsaid(column: str, value: Any) -> bool:
    """Whether a cell with this value is the same as one without the column."""
    return value is None or value == NULL or (column in UNSAID and value == UNSAID[column])


def uses(cell: Row, column: str) -> bool:
    """Whether a cell could have said this option: its phase or its part has it."""
    place, _, option = column.rpartition(".")
    if column == "finetune.first_layer" and cell["pretrain"] == "none":
        return False
    if place in SETTINGS and option in {field.name for field in fields(SETTINGS[place])}:
        return f"{place}.batch_size" in cell or column in facts("method")[cell["method"]].variables["uses"]
    if column in ("network", "encoding"):
        return _has_network(cell)
    if column in ("tune", "impute_on"):
        return True
    axis, name = _part(cell, place)
    known = facts(axis).get(name) if axis in BASES else None
    return known is not None and option in known.fields


def _part(cell: Row, place: str) -> tuple[str, str]:
    """The axis of the part whose options stand at a place, and its name."""
    if place == "network.encoder":
        return "network", str(cell.get("network", UNSAID["network"])) if _has_network(cell) else ""
    if place == "cotrain":
        return "pretrain", str(cell.get("cotrain.task"))
    return place.removeprefix("cotrain."), str(cell.get(place) or UNSAID.get(place))


def _has_network(cell: Row) -> bool:
    return any(column.startswith("network.") for column in cell)
