"""A cell of a run: what it is, where it is in the store, and how far it is."""

import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.sources import Source, open_source
from ..data.targets import KINDS, Target
from ..options import Config
from ..options.axes import distinguishing_names, group_of
from ..options.combinations import fit_to_data, fit_to_target
from ..results import (
    CellStore,
    Failure,
    KnownData,
    PretrainingStore,
    Stored,
    columns,
    fingerprint,
    folder_time,
    identity,
    is_claimed,
    known_data,
    pretraining_identity,
    read_cell,
    read_failure,
)
from ..results.records import WEIGHTS
from ..results.store import Store

if TYPE_CHECKING:
    from ..data.table import Table

NOT_IN_A_LABEL = ("sweeps", "plan", "force")
"""Options of the command, which are the same for all of its cells."""
_one_survey = threading.Lock()
"""The display of a run looks at its cells while jobs of a launcher run."""


class State(StrEnum):
    """The progress of a cell. A cell that a living process trains is running, even if it failed before."""

    FINISHED = "finished"
    RUNNING = "running"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(eq=False)
class Cell:
    """One cell of a run: what it is, which is made once, and how far it is, which each `survey` says.

    Attributes:
        overrides: the arguments that make it.
        config: its checked configuration.
        is_alone: true of the only cell of a run.
        name: tells it from the other cells of the run.
        group: the name of all cells of the run together.
        store: where its results are; None while the hash of its data is not known: then nothing is finished.
        pretraining: where its pre-training is; None without one, without a cache, or while the
            hash is not known.
        state: how far it is, when it was last looked at.
        stored: what the store has of it then.
        failure: why it failed when it was last tried.
        seconds: expected of the trials that it lacks, with an equal part of the pre-training that it shares.
    """

    # `write_jobs` writes these, so a job of a launcher has the same cell.
    overrides: tuple[str, ...]
    config: Config
    is_alone: bool = False
    name: str = ""
    group: str = "cells"

    data: KnownData | None = None
    store: CellStore | None = None
    pretraining: PretrainingStore | None = None
    state: State = State.WAITING
    stored: Stored = field(default_factory=Stored)
    failure: Failure | None = None
    seconds: float = 0.0

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

    @cached_property
    def axes(self) -> dict[str, Any]:
        """The cell as columns: the name of its dataset, and every option that it uses."""
        return {"dataset": self.dataset_name} | columns(self.config)

    @property
    def folder(self) -> Path | None:
        """Its folder in the store, if the hash of its data is known; it is named by the fingerprint."""
        return self.store.folder if self.store else None

    @property
    def missing(self) -> frozenset[int]:
        """The trials that are wanted and not finished."""
        return frozenset(range(self.config.trials)).difference(self.stored.rows)

    @property
    def lacks_weights(self) -> bool:
        """True if the cell shall keep its networks and has finished trials without them."""
        # Other libraries' models keep none, whatever the option says.
        keeps = self.config.keep_weights and "finetune" in self.config.part("method").uses
        return keeps and not all(self.stored.kept(WEIGHTS))

    def target_kind(self) -> type[Target]:
        """The kind of its target. The data are loaded if it is not known without them.

        Raises:
            UsageError: they cannot be loaded.
        """
        data = known_data(self.results, self.source)
        # A kind that the user sets may differ from what an earlier run found.
        known = self.source.target_kind or (data.kind if data else None)
        return KINDS[known] if known else type(self.source.read().table.target)

    def locate(self, data: KnownData | None) -> None:
        """Find its places in the store, by what is known of its data. What does nothing on them, as a corruption of no
        feature, is taken out of its configuration first."""
        if data == self.data:
            return
        self.data, self.store, self.pretraining = data, None, None
        if data is None:
            return
        # A table of unknown width counts as wide: no corruption is taken for one without effect by a guess.
        config = fit_to_data(self.config, data.n_columns, data.n_encoded or sys.maxsize)
        # A note may lack the kind of target. The cell then keeps all of its options.
        if data.kind is not None:
            config = fit_to_target(config, KINDS[data.kind])
        self.store = CellStore(self.results, identity(config, data.hash))
        if config.is_pretrained and config.cache.max_gb:
            fields = pretraining_identity(config, data.hash)
            self.pretraining = PretrainingStore(self.results, fields, config.cache.max_gb)

    def learn(self, table: "Table") -> None:
        """Find its places in the store, by data that were read."""
        kind = table.target.name
        self.locate(KnownData(table.hash, table.n_rows, len(table.columns), table.n_encoded, kind))


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Equal cells once, with the largest number of trials that is wanted of them."""
    equal: dict[tuple[Path, str], list[Cell]] = {}
    for cell in cells:
        # Cells of two results folders are trained in each of them.
        equal.setdefault((cell.results, cell.key), []).append(cell)
    return [max(each, key=lambda cell: cell.config.trials) for each in equal.values()]


def stores_of(cells: Iterable[Cell]) -> Sequence[Store]:
    """The places of cells and of their pre-trainings, of which several cells may have one."""
    places = chain.from_iterable((cell.store, cell.pretraining) for cell in cells)
    return list({store.folder: store for store in places if store}.values())


def named(cells: Sequence[Cell]) -> Sequence[Cell]:
    """The cells of a run with their names and that of their group."""
    asked = [cell.overrides for cell in cells]
    # Loggers show the group; a sweep may be the path of a file.
    sweep = cells[0].config.sweeps
    group = Path(sweep).stem if sweep else group_of(asked, date.today())
    for cell, name in zip(cells, distinguishing_names(asked), strict=True):
        cell.name, cell.group, cell.is_alone = name, group, len(cells) == 1
    return cells


def _time(results: Path) -> float:
    """The time by the clock of the results folder, by which the age of claims is judged; by this machine's clock where
    the folder cannot be written to."""
    try:
        return folder_time(results)
    except OSError:
        return time.time()


def survey(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Look at every cell in the store once. A run does so before it trains and after."""
    # A sweep has thousands of cells on some datasets: each clock and each table is looked at once.
    clock, data = cache(_time), cache(known_data)
    with _one_survey:
        for cell in cells:
            cell.locate(data(cell.results, cell.source))
            stored = Stored()
            if cell.folder is not None:
                stored = read_cell(cell.folder, hashes=cell.config.keep_weights)
            # Whole, because another thread may read it.
            cell.stored = stored
            is_whole = stored.description and not stored.damaged
            state, failure = State.RUNNING, None
            if is_whole and not cell.missing:
                state = State.FINISHED
            # A process may be trying a failed cell again.
            elif cell.folder is None or not is_claimed(cell.folder, clock(cell.results)):
                # A cell may fail before its data are known, so its failure is found by the key.
                failure = read_failure(cell.results, cell.key)
                state = State.FAILED if failure else State.WAITING
            cell.failure, cell.state = failure, state
    return cells
