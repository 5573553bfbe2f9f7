"""A cell of a run: what it is, where it is in the store, and how far it is."""

import sys
import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..data.sources import ReadTable, Source, open_source
from ..data.targets import KINDS, Target
from ..options import COLUMNS, Config
from ..options.axes import distinguishing_names, group_of
from ..options.combinations import fit_to_data, fit_to_target, used_options
from ..results import (
    CellStore,
    Failure,
    KnownData,
    PretrainingStore,
    Row,
    Stored,
    columns,
    fingerprint,
    folder_time,
    identity,
    is_claimed,
    known_data,
    note_data,
    pretraining_identity,
    read_cell,
    read_failure,
)
from ..results.records import WEIGHTS
from .folders import recipe_options

Place = tuple[Path, str]
NOT_IN_A_LABEL = ("sweeps", "plan", "force")
"""Options of the command, which are the same for all of its cells."""


@dataclass(frozen=True)
class Cell:
    """One cell of a run. What follows from its options is made once.

    Attributes:
        overrides: the arguments that make it.
        config: its checked configuration.
        is_alone: true of the only cell of a run.
        name: tells it from the other cells of the run.
        group: the name of all cells of the run together.
    """

    # `write_jobs` writes every field, so a job of a launcher has the same cell.
    overrides: tuple[str, ...]
    config: Config
    is_alone: bool = False
    name: str = ""
    group: str = "cells"

    @cached_property
    def label(self) -> str:
        shown = [override for override in self.overrides if override.partition("=")[0] not in NOT_IN_A_LABEL]
        return " ".join(shown) or "defaults"

    @property
    def dataset_name(self) -> str:
        """The name of its dataset in results."""
        return self.config.dataset.name or self.source.label

    @cached_property
    def results(self) -> Path:
        return Path(self.config.paths.results)

    @cached_property
    def source(self) -> Source:
        return open_source(**vars(self.config.dataset), openml_cache=self.config.paths.openml, split=self.config.split)

    @cached_property
    def key(self) -> str:
        """Equal for equal cells. It needs no data, unlike the fingerprint."""
        # The name of the data takes the place of their hash.
        return fingerprint(identity(self.config, self.source.key))

    @property
    def place(self) -> Place:
        """Its folder of results, and its key in it."""
        return self.results, self.key

    @cached_property
    def pretraining_key(self) -> str | None:
        """Equal for cells that start from the same pre-training; None without one."""
        if not self.config.is_pretrained:
            return None
        return fingerprint(pretraining_identity(self.config, self.source.key))

    def data(self) -> KnownData | None:
        """The facts that the results folder knows of the data, which are not loaded."""
        return known_data(self.results, self.source)

    def note(self, read: ReadTable) -> KnownData:
        """Keep in the results folder what is known of data that were read, and return it."""
        table = read.table
        data = KnownData(table.hash, table.n_rows, len(table.columns), table.n_encoded, table.target.name)
        note_data(self.results, self.source, data, read.stamps)
        return data

    def target_kind(self) -> type[Target]:
        """The kind of its target. The data are loaded if it is not known without them.

        Raises:
            UsageError: they cannot be loaded.
        """
        data = self.data()
        # A kind that the user sets may differ from what an earlier run found.
        known = self.source.target_kind or (data.kind if data else None)
        return KINDS[known] if known else type(self.source.read().table.target)

    def store(self, data: KnownData | None = None) -> CellStore | None:
        """Where its results are; None while the hash of its data is not known, which means that nothing is finished.
        ``data`` saves to look it up."""
        data = data or self.data()
        return self.stores(data)[0] if data else None

    def pretraining(self, data: KnownData | None = None) -> PretrainingStore | None:
        """Where its pre-training is; None without one, or while the hash of its data is not known."""
        data = data or self.data()
        return self.stores(data)[1] if data else None

    @cached_property
    def _stores(self) -> dict[KnownData, tuple[CellStore, PretrainingStore | None]]:
        return {}

    def stores(self, data: KnownData) -> tuple[CellStore, PretrainingStore | None]:
        """Where its results and its pre-training are. What does nothing on its data, as a corruption of no feature, is
        taken out of its configuration first."""
        if data not in self._stores:
            # A table of unknown width counts as wide: no corruption is taken for one without effect by a guess.
            config = fit_to_data(self.config, data.n_columns, data.n_encoded or sys.maxsize)
            # A note may lack the kind of target. The cell then keeps all of its options.
            if data.kind is not None:
                config = fit_to_target(config, KINDS[data.kind])
            pretraining = None
            if self.config.is_pretrained:
                fields = pretraining_identity(config, data.hash)
                pretraining = PretrainingStore(self.results, fields, self.config.cache.max_gb)
            self._stores[data] = CellStore(self.results, identity(config, data.hash)), pretraining
        return self._stores[data]

    def renamed(self, **names: Any) -> "Cell":
        """A copy with other names, and all that was made of its options."""
        renamed = copy(self)
        vars(renamed).update(names)
        return renamed

    def settings(self) -> list[str]:
        """The names of its options that differ from their defaults and from its recipe's, beside its choices on the
        axes."""
        # The recipe's name says what it sets.
        of_recipe = recipe_options(self.config.recipe).items()
        own = [each for each in used_options(self.config) if each.differs and (each.name, each.value) not in of_recipe]
        return [each.name for each in own if each.name not in COLUMNS]

    def axes(self) -> dict[str, Any]:
        """The cell as columns: the name of its dataset, and every option that it uses."""
        return {"dataset": self.dataset_name} | columns(self.config)


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Equal cells once, with the largest number of trials that is wanted of them."""
    most: dict[Place, Cell] = {}
    for cell in cells:
        # Cells of two results folders are trained in each of them.
        if cell.place not in most or cell.config.trials > most[cell.place].config.trials:
            most[cell.place] = cell
    return list(most.values())


def named(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a run with their names and that of their group."""
    asked = [cell.overrides for cell in cells]
    # Loggers show the group; a sweep may be the path of a file.
    sweep = cells[0].config.sweeps
    group = Path(sweep).stem if sweep else group_of(asked, date.today())
    names = zip(cells, distinguishing_names(asked), strict=True)
    return [cell.renamed(name=name, group=group, is_alone=len(cells) == 1) for cell, name in names]


class State(StrEnum):
    """The progress of a cell. A cell that a living process trains is running, even if it failed before."""

    FINISHED = "finished"
    RUNNING = "running"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(frozen=True)
class SurveyedCell:
    """A cell as the store has it.

    Attributes:
        rows: of its finished trials, as far as they are wanted.
        stored: its records, if the hash of its data is known.
        data: what the results folder knows of its data.
        folder: where it is in the store, if the hash of its data is known.
        lacks_weights: whether it is to keep its networks, and has finished trials without them.
        failure: why it failed when it was last tried.
    """

    cell: Cell
    state: State
    rows: Sequence[Row] = ()
    data: KnownData | None = None
    folder: Path | None = None
    stored: Stored | None = None
    lacks_weights: bool = False
    failure: Failure | None = None

    @property
    def n_missing(self) -> int:
        return len(self.missing)

    @cached_property
    def missing(self) -> frozenset[int]:
        """The trials that are wanted and not finished."""
        return frozenset(range(self.cell.config.trials)) - frozenset(row["trial"] for row in self.rows)

    @cached_property
    def axes(self) -> dict[str, Any]:
        return self.cell.axes()


def in_words(cells: Sequence[Cell], n_cells: int) -> str:
    """Some of the cells of a run as the subject of a sentence."""
    first = cells[0].label
    return first if len(cells) == 1 else f"{first} (and {len(cells) - 1:,} more of {n_cells:,} cells)"


def look_up(cell: Cell) -> SurveyedCell:
    """A cell as the store has it."""
    (surveyed,) = survey([cell])
    return surveyed


def survey(cells: Sequence[Cell]) -> list[SurveyedCell]:
    """Look at every cell in the store once. A run does so before it trains and after."""
    # A sweep has thousands of cells on some datasets: each clock and each table is looked at once.
    clock, data = cache(_time), cache(known_data)
    return [_look(cell, data(cell.results, cell.source), clock(cell.results)) for cell in cells]


def _look(cell: Cell, data: KnownData | None, now: float) -> SurveyedCell:
    """A cell as the store has it at the time ``now`` of the results folder's clock."""
    surveyed, config = SurveyedCell(cell, State.WAITING, data=data), cell.config
    if data is not None:
        store, _ = cell.stores(data)
        stored = read_cell(store.folder, hashes=config.keep_weights)
        rows = [row for row in stored.in_order if row["trial"] < config.trials]
        # Other libraries' models keep no networks, whatever the option says.
        is_network = config.keep_weights and "finetune" in config.part("method").uses
        if len(rows) == config.trials and stored.description is not None and not stored.damaged:
            state = State.FINISHED
        else:
            state = State.RUNNING if is_claimed(store.folder, now) else State.WAITING
        lacks_weights = is_network and not all(stored.kept(WEIGHTS))
        surveyed = SurveyedCell(cell, state, rows, data, store.folder, stored, lacks_weights)
    # A process may be trying a failed cell again. A cell may fail before its data are known: its failure has the key.
    if surveyed.state is State.WAITING and (failure := read_failure(cell.results, cell.key)):
        return replace(surveyed, failure=failure, state=State.FAILED)
    return surveyed


def _time(results: Path) -> float:
    """The time by the clock of the results folder, by which the age of claims is judged.

    A folder that cannot be written to is judged by this machine's clock. Where there is no folder, there is no claim.
    """
    try:
        return folder_time(results) if results.exists() else 0.0
    except OSError:
        return time.time()
