"""How far the cells of a sweep are, read from the store alone."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from ..results import Failure, folder_time, is_claimed, read_cell, read_failure
from .cell import Cell


class State(StrEnum):
    """Of a cell. One that a living process trains is running, whatever else is known of it."""

    FINISHED = "finished"
    RUNNING = "running"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(frozen=True)
class SurveyedCell:
    """A cell, how far it is, and the rows of those of its trials that are asked for and finished.

    ``folder`` is where it is in the store, if its data's hash is known.
    """

    cell: Cell
    state: State
    rows: list[dict[str, Any]]
    failure: Failure | None = None
    folder: Path | None = None

    @property
    def n_missing(self) -> int:
        return self.cell.config.trials - len(self.rows)

    @cached_property
    def axes(self) -> dict[str, Any]:
        return self.cell.axes()


def survey(cells: Sequence[Cell]) -> list[SurveyedCell]:
    """Look at every cell once."""
    clocks = {results: _time(results) for results in {cell.results for cell in cells}}
    return [_look(cell, clocks[cell.results]) for cell in cells]


def _look(cell: Cell, now: float) -> SurveyedCell:
    store = cell.store()
    if store is None:
        failure = read_failure(cell.results, cell.key)
        return SurveyedCell(cell, State.FAILED if failure else State.WAITING, [], failure)
    stored = read_cell(store.folder, weights=cell.config.keep_weights)
    wanted = range(cell.config.trials)
    rows = [stored.rows[trial] for trial in wanted if trial in stored.rows]
    if len(rows) == len(wanted) and stored.description is not None and not stored.damaged:
        return SurveyedCell(cell, State.FINISHED, rows, folder=store.folder)
    if is_claimed(store.folder, now):
        return SurveyedCell(cell, State.RUNNING, rows, folder=store.folder)
    failure = read_failure(cell.results, cell.key)
    return SurveyedCell(cell, State.FAILED if failure else State.WAITING, rows, failure, store.folder)


def _time(results: Path) -> float:
    """By the clock of the results folder; where there is none, nothing is claimed either.

    One that cannot be written to is judged by this machine's clock.
    """
    try:
        return folder_time(results) if results.exists() else 0.0
    except OSError:
        return time.time()
