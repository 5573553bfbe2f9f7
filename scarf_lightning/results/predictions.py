"""What trials predicted on their test rows, read again; so a metric that comes later can be had of old cells."""

from io import BytesIO
from pathlib import Path

from ..metrics import metrics
from .records import PREDICTIONS, read_file
from .stack_record import Predictions, Row
from .store import Stored, of_stacks


def keeps_predictions(stored: Stored) -> bool:
    """Whether some were kept of a cell."""
    return any(PREDICTIONS in table["files"] for table in stored.stacks.values())


def read_predictions(stored: Stored, damaged: dict[Path, str]) -> dict[int, Predictions]:
    """Those of a cell by trial.

    Args:
        stored: the cell.
        damaged: stacks whose predictions turn out to be damaged are noted in it, with the reason.
    """
    found: dict[int, Predictions] = {}
    for of_stack in of_stacks(stored, _stack_predictions, damaged):
        for each in of_stack:
            found.setdefault(each.trial, each)
    return found


def measured_rows(stored: Stored) -> dict[int, Row]:
    """A cell's rows by trial. A metric that is younger than a row is computed of its predictions, where they were kept;
    damage to these is noted as that of records is."""
    late = {
        trial: [metric for metric in metrics() if metric.name not in row]
        for trial, row in stored.rows.items()
        if row.get("diverged") is None
    }
    if not any(late.values()):
        return stored.rows
    predictions = read_predictions(stored, stored.damaged)
    rows = dict(stored.rows)
    for trial in predictions.keys() & late.keys():
        its = predictions[trial]
        rows[trial] = rows[trial] | {each.name: each.function(its.probabilities, its.labels) for each in late[trial]}
    return rows


def _stack_predictions(stack: Path, table: Row) -> list[Predictions]:
    return read_file(stack, table, PREDICTIONS, _parse) if PREDICTIONS in table["files"] else []


def _parse(content: bytes) -> list[Predictions]:
    import pandas as pd

    return [Predictions.of(part) for _, part in pd.read_parquet(BytesIO(content)).groupby("trial", sort=False)]
