"""Reports, plans and results as JSON, for scripts."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from .report_command import WrittenReport

OF_A_PLAN = ("state", "trials", "missing", "core_hours")
"""Columns of a plan that are no options."""


@contextmanager
def to_stderr() -> Iterator[None]:
    """Within this context, whatever is shown goes to standard error, so that standard output holds the JSON alone."""
    with redirect_stdout(sys.stderr):
        yield


def write(value: Mapping[str, Any]) -> None:
    """Print one JSON object. Numbers that are none become null."""
    sys.stdout.write(f"{json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)}\n")


def plain(value: Any) -> Any:
    """A value as JSON has it: NaN, infinity and missing values are null, paths are text."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):
        # A number of numpy.
        return plain(value.item())
    # JSON has no NaN; most readers refuse what Python would write.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    # Pandas's NA equals nothing, not even itself, and has no truth value.
    return None if str(value) in ("<NA>", "NaT") else str(value)


def rows_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a frame by column."""
    rows: list[dict[str, Any]] = []
    for values in frame.itertuples(index=False, name=None):
        rows.append(dict(zip(map(str, frame.columns), values, strict=True)))
    return rows


def report_as_json(written: "WrittenReport") -> dict[str, Any]:
    """A report: its sentences, the effects of axes, the competitors with their metric and comparison, their
    worth in labels, and the page."""
    return {
        "state": "open" if written.is_open else "answered",
        "answer": written.answer,
        "metric": written.metric,
        "effects": rows_of(written.effects),
        "competitors": rows_of(written.summary),
        "worths": rows_of(written.worths),
        "notes": written.notes,
        "page": written.index.absolute(),
    }


def plan_as_json(cells: "pd.DataFrame") -> dict[str, Any]:
    """A plan, as `scarf_lightning.plan` gives it: each cell with its options, and what is left to train.

    The hours of all are those of the command, its start included.
    """
    from ..sweeping.cost import START_UP
    from ..sweeping.plan import HOUR

    planned = []
    for row in rows_of(cells):
        plan_values = {name: row.pop(name) for name in OF_A_PLAN}
        # The frame has a column for each option that any cell uses.
        options = {}
        for name, value in row.items():
            if plain(value) is not None:
                options[name] = value
        planned.append(plan_values | {"options": options})
    n_missing = int(cells["missing"].sum())
    # A command that has nothing to train imports little.
    start_up = START_UP / HOUR if n_missing else 0.0
    return {"cells": planned, "missing_trials": n_missing, "core_hours": float(cells["core_hours"].sum()) + start_up}
