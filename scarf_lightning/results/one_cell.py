"""One cell of the store, and one trial of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from numpy.typing import NDArray

from ..errors import UsageError
from .loading import FIRST_COLUMNS, as_table, read_with_warnings
from .records import read_record, record_folders
from .store import CONTENTS, ENVIRONMENT, PREPROCESSING, WEIGHTS, Row, Stored, read_description

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
        UsageError: the folder has no such cell, or its description is damaged.
    """

    cell = Path(results) / fingerprint
    stored = _described(cell)
    rows = [row for _, row in sorted(stored.rows.items())]
    return StoredCell(
        fingerprint,
        config=yaml.safe_load((cell / "config.yaml").read_text(encoding="utf-8")),
        description=read_description(cell),
        trials=as_table(rows, [column for column in FIRST_COLUMNS if rows and column in rows[0]]),
        curves=read_curves(cell, stored.damaged),
    )


def read_curves(cell: Path, damaged: Mapping[Path, str]) -> "pd.DataFrame":
    """The curves in a cell's folder but for the stacks that are ``damaged``, as in `StoredCell`."""
    import pandas as pd

    frames = [pd.read_parquet(stack / "curves.parquet") for stack in _whole(cell, damaged)]
    frames = [frame for frame in frames if len(frame)]  # no network, no curve
    curves = pd.concat(frames) if frames else pd.DataFrame(columns=list(CURVE))
    return curves.drop_duplicates(list(CURVE), ignore_index=True)


def read_environments(cell: Path, damaged: Mapping[Path, str]) -> list[dict[str, Any]]:
    """Versions and hardware that each stack of a cell was trained with, but for those that are ``damaged``."""
    return [json.loads((stack / ENVIRONMENT).read_text(encoding="utf-8")) for stack in _whole(cell, damaged)]


def load_trial(fingerprint: str, trial: int, results: str | Path = "results") -> StoredTrial:
    """One finished trial of a cell.

    Raises:
        UsageError: the folder has no such cell, or the cell no such trial.
    """
    from safetensors.numpy import load_file

    cell = Path(results) / fingerprint
    stored = _described(cell)
    for stack in _whole(cell, stored.damaged):
        for position, row in enumerate(read_record(stack, CONTENTS, fingerprint)["trials"]):
            if row["trial"] == trial:
                weights = stack / WEIGHTS
                return StoredTrial(
                    row,
                    {name: array[position] for name, array in load_file(stack / PREPROCESSING).items()},
                    {n: w[position] for n, w in load_file(weights).items()} if weights.exists() else None,
                )
    finished = ", ".join(map(str, sorted(stored.rows))) or "none"
    raise UsageError(f"Cell {fingerprint} has no finished trial {trial}; it has: {finished}.")


def _described(cell: Path) -> Stored:
    stored = read_with_warnings(cell)
    if not stored.described:
        raise UsageError(
            f"{cell.parent} holds no cell {cell.name}; scarf_lightning.results.load names its cells in the column "
            "fingerprint."
        )
    return stored


def _whole(cell: Path, damaged: Mapping[Path, str]) -> Iterator[Path]:
    """The stacks that can be used."""
    return (stack for stack in record_folders(cell / "stacks") if stack not in damaged)
