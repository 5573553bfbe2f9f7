"""`scarf results`: list the cells of a folder, drop some, export all."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from ..errors import UsageError, counted, unknown_name
from ..options.run_settings import PathSettings
from ..screen import screen
from .as_json import write
from .output import escape_formulas, mixed_as_text, write_output

SHOWN_LETTERS = 8
"""Letters of a fingerprint that `ls` shows."""
WRITERS = {
    ".csv": lambda frame, file: escape_formulas(frame).to_csv(file, index=False),
    ".parquet": lambda frame, file: mixed_as_text(frame).to_parquet(file, index=False),
    ".json": lambda frame, file: frame.to_json(file, orient="records", indent=2),
}
"""Functions that write a frame, by the ending of the file."""
AGES = ((60.0, "s"), (60.0, "min"), (24.0, "h"), (365.0, "days"))
"""The number of each unit that makes one of the next; years come last."""
NOTHING = "–"
"""Placeholder for a value that a cell does not have."""


@dataclass(frozen=True)
class Asked:
    """The request of a command.

    Attributes:
        folder: of the results.
        names: words that are no option: of cells, or of a file.
        conditions: options that cells must have.
    """

    folder: Path
    names: list[str]
    conditions: list[str]

    @classmethod
    def by(cls, words: Sequence[str]) -> "Asked":
        """The request of these words."""
        folder, names, conditions = PathSettings().results, list[str](), list[str]()
        for word in words:
            option, sign, value = word.partition("=")
            # The folder is no condition.
            if option == "results" and sign:
                folder = value
            elif sign:
                conditions.append(word)
            else:
                names.append(word)
        return cls(Path(folder).expanduser(), names, conditions)


@dataclass(frozen=True)
class ListedCell:
    """A cell as it is listed.

    Attributes:
        folder: in the store.
        name: what was varied among the cells of the folder.
        options: every option that it uses, with its dataset.
        metric: the name of the metric that its target leads with.
        value: the mean of that metric; NaN without a trial that has it.
        trials: that were trained.
        written: time of its last record, in seconds since the epoch; None before the first one.
        version: of this package that trained it, a question mark if its records do not say it; None without a record.
    """

    folder: Path
    name: str
    options: Mapping[str, Any]
    metric: str
    value: float
    trials: int
    written: float | None
    version: str | None

    def plain(self) -> dict[str, Any]:
        """Its line as JSON."""
        return {
            "cell": self.folder.name,
            "name": self.name,
            "trials": self.trials,
            "metric": self.metric,
            "value": self.value,
            "written": None if self.written is None else _as_date(self.written),
            "version": self.version,
            "options": dict(self.options),
        }


def list_cells(words: Sequence[str], *, as_json: bool = False) -> None:
    """Show the cells that have these options, the newest first."""
    asked = Asked.by(words)
    if asked.names:
        raise UsageError(f"{asked.names[0]}: scarf results ls takes options such as pretrain=scarf.")
    # Whoever looks has mostly trained something just before.
    listed = sorted(_listed(asked), key=lambda each: -(each.written or 0))
    if as_json:
        cells = [each.plain() for each in listed]
        write({"folder": asked.folder.absolute(), "cells": cells})
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("cell", "name", "metric", "mean", "trials", "age", "version"):
        is_text = heading in ("cell", "name", "metric", "version")
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold")
    for each in listed:
        fingerprint = each.folder.name[:SHOWN_LETTERS]
        age = NOTHING if each.written is None else _age(time.time() - each.written)
        table.add_row(fingerprint, each.name, each.metric, _shown(each), str(each.trials), age, each.version or NOTHING)
    screen().print(table)


def drop_cells(words: Sequence[str]) -> None:
    """Set aside the cells that are named, or that have these options."""
    asked = Asked.by(words)
    # `ls` without a condition lists all cells; here that would clear the folder.
    if not asked.names and not asked.conditions:
        raise UsageError("Name what to drop: cells as `scarf results ls` lists them, or options such as dataset=iris.")
    dropped = _chosen(_listed(asked), asked.names) if asked.names else _listed(asked)
    for cell in dropped:
        screen().say(_set_aside(asked.folder, cell.folder))


def _set_aside(results: Path, cell: Path) -> str:
    """Move all that a cell's folder holds to where nothing looks for it, and say where that is."""
    from ..results.claims import claim
    from ..results.files import set_aside

    with claim(cell) as held:
        if held is None:
            return f"{cell.name} is being trained by another process and is left alone."
        # The claim is ours, and ends with the block.
        kept = [path for path in sorted(cell.iterdir()) if path.name != "claim"]
        sentence = set_aside(results, kept, "it was dropped by scarf results drop")
    # Another process may have begun to train the cell again in this folder.
    with suppress(OSError):
        cell.rmdir()
    _, _, place = sentence.partition(" is set aside in ")
    return f"{cell.name} is set aside in {place}"


def export_trials(words: Sequence[str], *, force: bool = False) -> None:
    """Write a file with a row for each trial of the cells that have these options."""
    from ..results import load

    asked = Asked.by(words)
    if len(asked.names) != 1:
        raise UsageError("Name one file to write: scarf results export trials.csv.")
    file = Path(asked.names[0]).expanduser()
    # Before the results are read, which takes long in a large folder.
    if file.suffix not in WRITERS:
        raise UsageError(unknown_name(f"{file} has no known ending", file.suffix, WRITERS, "the endings"))
    listed = _listed(asked)
    frame = load(asked.folder, [cell.folder.name for cell in listed])
    write_output(file, partial(WRITERS[file.suffix], frame), force=force)
    screen().say(f"{counted(len(frame), 'trial')} of {counted(len(listed), 'cell')} are in {file.absolute()}")


def _listed(asked: Asked) -> list[ListedCell]:
    """The cells in a folder that have the wanted options."""
    import numpy as np
    import pandas as pd

    from ..reporting.cell_results import cells_of_folder, narrowed, read_results
    from ..reporting.competitors import named_cells
    from ..results import read_cell
    from ..results.store import packages_of

    cells, damaged, sentences = cells_of_folder(asked.folder)
    # On stderr, so that --json prints one object alone.
    for sentence in sentences:
        screen(stderr=True).say(sentence)
    # Names are those among all cells, so that a cell has one name whatever the conditions.
    results = read_results(cells, damaged)
    names = named_cells(results, results.cells)
    by_folder = {cell.folder: label for label, cell in enumerate(cells)}
    listed = []
    for cell in narrowed(cells, asked.conditions, ("results",)):
        label = by_folder[cell.folder]
        assert cell.folder is not None
        stored = read_cell(cell.folder)
        metric = stored.target.metric
        # The sum that a level is: that of pandas rounds otherwise.
        values = results.trials_of(label)[metric].dropna().tolist()
        # A frame has NaN for an option that a cell does not use.
        options: dict[str, object] = {}
        for name, value in cell.axes.items():
            if value is not None and not pd.isna(value):
                options[name] = value
        listed.append(
            ListedCell(
                folder=cell.folder,
                name=names[label],
                options=options,
                metric=metric,
                value=float(np.mean(values)) if values else math.nan,
                trials=len(stored.rows),
                written=stored.written if stored.rows else None,
                version=packages_of(stored).get("scarf-lightning", "?") if stored.rows else None,
            )
        )
    return listed


def _chosen(listed: Sequence[ListedCell], names: Sequence[str]) -> list[ListedCell]:
    """The cells whose fingerprints begin with these letters."""
    chosen = []
    for name in names:
        alike = [cell for cell in listed if cell.folder.name.startswith(name)]
        if len(alike) > 1:
            raise UsageError(f"{name} begins the fingerprints of {len(alike)} cells; name more letters of one.")
        if not alike:
            raise UsageError(f"There is no cell {name}; scarf results ls lists the cells.")
        chosen += alike
    return chosen


def _shown(cell: ListedCell) -> str:
    """The mean of a cell's metric; a dash if no trial has it."""
    from ..metrics import metric_named

    if math.isnan(cell.value):
        return NOTHING
    return metric_named(cell.metric).plain(cell.value)


def _as_date(seconds: float) -> str:
    """A time in seconds since the epoch, in UTC as ISO 8601 has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _age(seconds: float) -> str:
    """A time that has gone: ``40 s``, ``5 min``, ``3 h``, ``12 days``."""
    # The clock of a file server may be ahead of ours.
    amount = max(seconds, 0.0)
    for size, unit in AGES:
        if amount < size:
            return f"{amount:.0f} {unit}"
        amount /= size
    return f"{amount:.0f} years"
