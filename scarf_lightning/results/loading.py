"""The store as a table."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..metrics import METRICS, metrics
from .predictions import measured_rows
from .stack_record import Row
from .store import DESCRIPTION, Stored, read_cell

if TYPE_CHECKING:
    import pandas as pd

FIRST_COLUMNS = (
    "dataset_id", "dataset", "regime", "scaling", "pretrain", "corruption", "selection", "views", "loss", "method",
    "trial", *(metric.name for metric in METRICS), "diverged", "pretrain_epochs", "finetune_epochs", "fingerprint",
)  # fmt: skip
SECONDS = ("pretrain_seconds", "finetune_seconds")
WHOLE_NUMBERS = (
    "dataset_id", "trial", "pretrain_epochs", "pretrain_steps", "pretrain_best_epoch", "finetune_epochs",
    "finetune_steps", "finetune_best_epoch", "fits",
)  # fmt: skip


def load(folder: str | Path = "results", fingerprints: Iterable[str] | None = None) -> "pd.DataFrame":
    """All results in a folder, or those of the cells with these fingerprints, a row a trial.

    Columns: ``dataset_id, dataset``; a column an axis (``regime, scaling, pretrain, corruption, selection, views, loss,
    method``) and one an option of it (such as ``corruption.rate``), null where the cell does not use it; ``trial``; the
    metrics of `scarf_lightning.metrics`, NaN in rows that are older and have kept no predictions; ``diverged``, the
    phase (``pretrain``, ``finetune``) in which a trial without metrics did; epochs, steps and seconds of each phase;
    ``fits``, how many; split sizes; hardware; ``fingerprint``.

    A record that is torn, damaged, of another schema or of another cell is left out, with a warning that names it.

    Raises:
        UsageError: no such folder, or no results in it.
    """
    folder = Path(folder)
    rows: list[Row] = []
    if fingerprints is None:
        fingerprints = sorted(path.parent.name for path in folder.glob(f"*/{DESCRIPTION}"))
    for fingerprint in fingerprints:
        stored = read_with_warnings(folder / fingerprint)
        cell = stored.description
        if cell is None:
            continue
        labels = {name: cell[name] for name in ("dataset_id", "dataset", "fingerprint")}
        axes = labels | axis_columns(cell["identity"])
        rows += [axes | row for _, row in sorted(stored.rows.items())]
    if not rows:
        raise UsageError(f"{folder} holds no results; train a cell first, or name another folder.")
    return as_table(rows, FIRST_COLUMNS)


def described_cells(folder: Path) -> Iterator[tuple[Path, Stored]]:
    """The cells in a folder that have a description, whole or damaged: where each is, and what it holds."""
    for path in sorted(folder.glob(f"*/{DESCRIPTION}")):
        yield path.parent, read_cell(path.parent)


def read_with_warnings(cell: Path, *, weights: bool = False) -> Stored:
    """What a cell's folder holds, see `measured_rows`; a warning names each record that cannot be used."""
    stored = read_cell(cell, weights=weights)
    stored.rows = measured_rows(stored)
    for damaged, reason in stored.damaged.items():
        warnings.warn(f"{damaged} is left out: {reason}.", stacklevel=3)
    return stored


def as_table(rows: Sequence[Row], first: Sequence[str]) -> "pd.DataFrame":
    """Rows as a frame, the columns of ``first`` before the others."""
    import pandas as pd

    columns = list(dict.fromkeys([*first, *(column for row in rows for column in row)]))
    values = {column: [row.get(column) for row in rows] for column in columns}
    return pd.DataFrame({column: pd.array(values[column], dtype=_dtype(column, values[column])) for column in columns})


def _dtype(column: str, values: list[Any]) -> Any:
    """Whole numbers and truth values stay what they are where some rows have none; NaN stands for a missing number."""
    types = {int} if column in WHOLE_NUMBERS else {type(value) for value in values if value is not None}
    if column in SECONDS or float in types or any(column == metric.name for metric in metrics()):
        return "float64"
    return {frozenset({int}): "Int64", frozenset({bool}): "boolean"}.get(frozenset(types), object)


def axis_columns(identity: dict[str, Any]) -> Row:
    """An identity as columns: an axis by its name, its options by ``axis.option``; what is not used has none."""
    columns: Row = {}
    for field, value in identity.items():
        if value is not None:
            columns |= _flat(field, value)
    return columns


def _flat(name: str, value: Any) -> Row:
    if not isinstance(value, dict):
        return {name: value}
    columns: Row = {}
    for key, inner in value.items():
        if inner is not None:  # not used, or set to nothing
            columns |= _flat(name if key == "name" else f"{name}.{key}", inner)
    return columns
