"""One cell of the store, and one trial of it."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from numpy.typing import NDArray

from ..errors import UsageError
from .loading import FIRST_COLUMNS, as_table, read_with_warnings
from .records import WEIGHTS, DamagedRecordError, read_file
from .store import CONFIG, PREPROCESSING, Row, Stored, stack_curves

if TYPE_CHECKING:
    import pandas as pd

CURVE = ("phase", "trial", "epoch")
"""What tells the records of a curve apart."""


@dataclass(frozen=True)
class StoredCell:
    """What the store has of one cell.

    Attributes:
        fingerprint: its name.
        config: the resolved configuration of its first run.
        description: its identity, dataset, the table's columns and classes, and the overrides that ask for it.
        trials: a row a trial: the metrics, epochs, seconds and split sizes of `load`.
        curves: a row an epoch and trial: ``phase`` (``pretrain``, ``finetune``), ``trial, epoch`` (from 1), and the
            losses and errors, NaN where a phase has none.
    """

    fingerprint: str
    config: dict[str, Any]
    description: dict[str, Any]
    trials: "pd.DataFrame"
    curves: "pd.DataFrame"


@dataclass(frozen=True)
class StoredTrial:
    """What the store has of one trial: its row; the vectors ``(M,)`` of its preprocessing (``fill, shift, scale``); the
    fine-tuned weights of f and h by name, where they were kept."""

    row: Row
    preprocessing: Mapping[str, NDArray[Any]]
    weights: Mapping[str, NDArray[Any]] | None


def load_cell(fingerprint: str, results: str | Path = "results") -> StoredCell:
    """One cell of a folder of results; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or its description or configuration is damaged.
    """
    import pandas as pd

    cell = Path(results) / fingerprint
    stored, description = _described(cell)
    frames = []
    for stack, table in stored.stacks.items():
        try:
            frames.append(stack_curves(stack, table))
        except DamagedRecordError as error:
            warnings.warn(f"{stack} has no curves: {error}.", stacklevel=2)
    frames = [frame for frame in frames if len(frame)]  # no network, no curve
    curves = pd.concat(frames) if frames else pd.DataFrame(columns=list(CURVE))
    rows = [row for _, row in sorted(stored.rows.items())]
    try:
        config = read_file(cell, description, CONFIG, lambda content: dict(yaml.safe_load(content)))
    except DamagedRecordError as error:
        raise UsageError(f"{cell / CONFIG} cannot be used: {error}.") from error
    return StoredCell(
        fingerprint,
        config=config,
        description=description,
        trials=as_table(rows, [column for column in FIRST_COLUMNS if rows and column in rows[0]]),
        curves=curves.drop_duplicates(list(CURVE), ignore_index=True),
    )


def load_trial(fingerprint: str, trial: int, results: str | Path = "results") -> StoredTrial:
    """One finished trial of a cell; what is damaged is left out, with a warning that names it.

    Raises:
        UsageError: the folder has no such cell, or the cell no such trial.
    """
    from safetensors.numpy import load

    cell = Path(results) / fingerprint
    stored, _ = _described(cell, weights=True)
    for stack, table in stored.stacks.items():
        for position, row in enumerate(table["trials"]):
            if row["trial"] == trial:
                try:
                    arrays = read_file(stack, table, PREPROCESSING, load)
                    weights = read_file(stack, table, WEIGHTS, load) if WEIGHTS in table["files"] else None
                except DamagedRecordError as error:
                    raise UsageError(f"{stack} cannot be used: {error}.") from error
                return StoredTrial(
                    row,
                    {name: array[position] for name, array in arrays.items()},
                    weights and {name: weight[position] for name, weight in weights.items()},
                )
    finished = ", ".join(map(str, sorted(stored.rows))) or "none"
    raise UsageError(f"Cell {fingerprint} has no finished trial {trial}; it has: {finished}.")


def _described(cell: Path, *, weights: bool = False) -> tuple[Stored, Row]:
    """What the store has of a cell that it describes, and the description."""
    stored = read_with_warnings(cell, weights=weights)
    if stored.description is None:
        raise UsageError(
            f"{cell.parent} holds no cell {cell.name}; scarf_lightning.results.load names its cells in the column "
            "fingerprint."
        )
    return stored, stored.description
