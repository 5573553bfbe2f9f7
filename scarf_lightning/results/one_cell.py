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
from .predictions import read_predictions
from .records import WEIGHTS, DamagedRecordError, read_file
from .stack_record import Row
from .store import CONFIG, PREPROCESSING, Stored, of_stacks, stack_curves, stack_environment, stack_tries

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
        tries: of a cell that was tuned, a row a try and trial: ``trial, try`` (from 0, the cell's own options),
            whether it was ``chosen``, its ``score`` on the validation rows by the ``metric``, ``seconds``, and a column
            an option.
    """

    fingerprint: str
    config: dict[str, Any]
    description: dict[str, Any]
    trials: "pd.DataFrame"
    curves: "pd.DataFrame"
    tries: "pd.DataFrame"


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
    cell = Path(results) / fingerprint
    stored, description = _described(cell)
    unread: dict[Path, str] = {}
    curves = read_curves(stored, unread)
    tries = _read_tries(stored, unread)
    for stack, reason in unread.items():
        warnings.warn(f"{stack} has no curves or tries: {reason}.", stacklevel=2)
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
        curves=curves,
        tries=tries,
    )


def read_curves(stored: Stored, damaged: dict[Path, str]) -> "pd.DataFrame":
    """The curves of a cell, as in `StoredCell`; stacks whose curves turn out to be damaged are noted in ``damaged``."""
    import pandas as pd

    frames = [frame for frame in of_stacks(stored, stack_curves, damaged) if len(frame)]  # no network, no curve
    curves = pd.concat(frames) if frames else pd.DataFrame(columns=list(CURVE))
    return curves.drop_duplicates(list(CURVE), ignore_index=True)


def _read_tries(stored: Stored, damaged: dict[Path, str]) -> "pd.DataFrame":
    import pandas as pd

    frames = [frame for frame in of_stacks(stored, stack_tries, damaged) if len(frame)]
    return pd.concat(frames).drop_duplicates(["trial", "try"], ignore_index=True) if frames else pd.DataFrame()


def read_environments(stored: Stored, damaged: dict[Path, str]) -> list[Row]:
    """Versions and hardware that each stack of a cell was trained with; damage is noted as by `read_curves`."""
    return list(of_stacks(stored, stack_environment, damaged))


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


def load_predictions(fingerprint: str, results: str | Path = "results") -> "pd.DataFrame":
    """What the trials of a cell predicted on their test rows; what is damaged is left out, with a warning.

    Returns:
        A row a trial and test row: ``trial``; ``row``, its number in the table, from 0; its ``class``; and
        ``probability_<class>`` for each, to three digits.

    Raises:
        UsageError: the folder has no such cell, or it has kept no predictions.
    """
    import pandas as pd

    stored, description = _described(Path(results) / fingerprint)
    unread: dict[Path, str] = {}
    found = read_predictions(stored, unread)
    for stack, reason in unread.items():
        warnings.warn(f"{stack} has no predictions: {reason}.", stacklevel=2)
    if not found:
        raise UsageError(
            f"Cell {fingerprint} has kept no predictions; train it again with force=true and a larger "
            "keep_predictions_mb."
        )
    classes = description["classes"]
    frames = []
    for _, each in sorted(found.items()):
        frame = pd.DataFrame(each.probabilities, columns=[f"probability_{name}" for name in classes])
        frame.insert(0, "class", [classes[code] for code in each.labels], allow_duplicates=True)
        frame.insert(0, "row", each.rows)
        frame.insert(0, "trial", each.trial)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _described(cell: Path, *, weights: bool = False) -> tuple[Stored, Row]:
    """What the store has of a cell that it describes, and the description."""
    stored = read_with_warnings(cell, weights=weights)
    if stored.description is None:
        raise UsageError(
            f"{cell.parent} holds no cell {cell.name}; scarf_lightning.results.load names its cells in the column "
            "fingerprint."
        )
    return stored, stored.description
