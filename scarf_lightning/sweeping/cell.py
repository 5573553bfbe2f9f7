"""The cells of a run: what each is, where it is in the store, how far it is, and the jobs of what is left to train.

Cells that start from one pre-training are one job. The seconds that it is expected to take decide the order of jobs
alone. A fit of a network takes so many optimiser steps, each of which costs a little by itself and a little for each
row::

    fit = FIT + epochs * (steps * STEP + rows * seconds of a row)

Methods tell how many fits they make (``typical_fits``), networks what a row costs beside the MLP (``typical_cost``),
and models of other libraries what a fit takes (``typical_seconds``).
"""

import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.sources import Source, open_source
from ..data.targets import KINDS, Target
from ..errors import UsageError, counted
from ..machine import without_garbage_collection
from ..options import Config
from ..options.axes import distinguishing_names, group_of
from ..options.combinations import check_target, fit_to_data, fit_to_target, pretraining_options, used_options
from ..options.plugins import check_loggers
from ..options.settings import FitSettings
from ..results import (
    CellStore,
    Failure,
    KnownData,
    PretrainingStore,
    Stored,
    check_folder,
    columns,
    fingerprint,
    folder_time,
    forget_failure,
    identity,
    is_claimed,
    known_data,
    read_cell,
    read_failure,
)
from ..results.records import WEIGHTS
from ..results.store import Store
from ..screen import doing, screen

if TYPE_CHECKING:
    from ..data.table import Table


NOT_IN_A_LABEL = ("sweeps", "plan", "force")
"""Options of the command, which are the same for all of its cells."""
MINUTE, HOUR = 60.0, 3600.0
# Measured on one core of the machine in docs/speed.md.
START_UP = 3.2
"""Seconds until torch and Lightning are imported and the result is shown."""
FIT = 0.02
"""Seconds of a fit, however small it is."""
STEP = 0.001
"""Seconds of an optimiser step of one trial, however few rows it has."""
ROW = {"pretrain": 4e-5, "finetune": 1.6e-5}
"""Seconds of a training row and an epoch in each phase, of the default network on `USUAL_COLUMNS`."""
USUAL_COLUMNS = 30
"""Columns that a row's time is for."""
EPOCHS = {"pretrain": 24.0, "finetune": 11.0}
"""The mean number of epochs with a patience of 3. It grows in proportion to the patience."""
TYPICAL_PATIENCE = 3
TRAINED_SHARE = 0.7
"""Of the rows with a label, in random splits; the others are tested."""
TYPICAL_SIZE = (1000, 20)
"""Rows and columns assumed for data whose size is unknown until they are loaded."""
MOST_PROBLEMS = 10
"""Sentences that a refusal shows."""
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
        overrides = [override for override in self.overrides if override.partition("=")[0] not in NOT_IN_A_LABEL]
        return " ".join(overrides) or "defaults"

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
        return fingerprint(identity(self.config, used_options(self.config), self.source.key))

    @cached_property
    def shared(self) -> object:
        """What cells of the same job have in common: their pre-training, or nothing but the cell itself."""
        # Without a cache nothing is shared.
        if self.config.is_pretrained and self.config.cache.max_gb:
            return fingerprint(identity(self.config, pretraining_options(self.config), self.source.key))
        return self

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
        # Models of other libraries have no weights to keep.
        keeps_weights = self.config.keep_weights and "finetune" in self.config.part("method").uses
        return keeps_weights and not all(self.stored.kept(WEIGHTS))

    def target_kind(self) -> type[Target]:
        """The kind of its target. The data are loaded if it is not known without them.

        Raises:
            UsageError: they cannot be loaded.
        """
        data = known_data(self.results, self.source)
        # A kind that the user sets may differ from what an earlier run found.
        kind = self.source.target_kind or (data.kind if data else None)
        return KINDS[kind] if kind else type(self.source.read().table.target)

    def locate(self, data: KnownData | None) -> None:
        """Find its places in the store, by what is known of its data. Options that do nothing on them, such as a
        corruption of no feature, are taken out of its configuration first."""
        if data is None or data == self.data:
            return
        self.data = data
        # A table of unknown width counts as wide, so that no corruption is taken for one without effect.
        config = fit_to_data(self.config, data.n_columns, data.n_encoded or sys.maxsize)
        # A note may lack the kind of target. The cell then keeps all of its options.
        if data.kind is not None:
            config = fit_to_target(config, KINDS[data.kind])
        options = used_options(config)
        if config.is_pretrained and config.cache.max_gb:
            pretraining_choices = pretraining_options(config)
            fields = identity(config, pretraining_choices, data.hash)
            self.pretraining = PretrainingStore(self.results, fields, config.cache.max_gb)
        self.store = CellStore(self.results, identity(config, options, data.hash))

    def learn(self, table: "Table") -> None:
        """Find its places in the store, by data that were read."""
        self.locate(KnownData(table.hash, table.n_rows, len(table.columns), table.n_encoded, table.target.name))


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Equal cells once, with the largest number of trials that one of them has."""
    groups: dict[tuple[Path, str], list[Cell]] = {}
    for cell in cells:
        # Cells of two results folders are trained in each of them.
        groups.setdefault((cell.results, cell.key), []).append(cell)
    return [max(each, key=lambda cell: cell.config.trials) for each in groups.values()]


def stores_of(cells: Iterable[Cell]) -> Iterable[Store]:
    """The stores of cells and of their pre-trainings, each once although several cells may share it."""
    places = chain.from_iterable((cell.store, cell.pretraining) for cell in cells)
    return {store.folder: store for store in places if store}.values()


def named(cells: list[Cell]) -> list[Cell]:
    """The cells of a run with their names and that of their group."""
    overrides = [cell.overrides for cell in cells]
    # Loggers show the group; a sweep may be the path of a file.
    sweep = cells[0].config.sweeps
    group = Path(sweep).stem if sweep else group_of(overrides, date.today())
    for cell, name in zip(cells, distinguishing_names(overrides), strict=True):
        cell.name, cell.group, cell.is_alone = name, group, len(cells) == 1
    return cells


def _time(results: Path) -> float:
    """The time by the clock of the results folder, which gives the age of claims; by this machine's clock where
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
            # At once, because another thread may read it.
            cell.stored = read_cell(cell.folder, hashes=cell.config.keep_weights) if cell.folder else Stored()
            is_whole = cell.stored.description and not cell.stored.damaged
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


def check_parts(cells: Sequence[Cell]) -> None:
    """Look at the data from outside and construct every part of each cell, before the first one trains."""
    from ..options import build_parts

    _make([cell.source.check for cell in cells])
    # The cells of a run have the same loggers.
    _make([partial(check_loggers, cells[0].config.logger), *(partial(build_parts, cell.config) for cell in cells)])
    check_data(cells)


def check_data(cells: Sequence[Cell]) -> "dict[str, Table]":
    """Refuse what cells ask of their data, and return the users' own tables, by the key of their source, which the
    cells then know.

    Other tables are checked by the kind of their target, and by their rows where a column of theirs splits them.

    Raises:
        UsageError: a table cannot be read, or is not what a cell needs.
    """
    tables: dict[str, Table] = {}
    checks: list[Callable[[], object]] = []
    for cell in cells:
        source = cell.source
        if source.is_found_out:
            from ..data.trials import check_request

            # Cells share tables, and a large one takes seconds to read.
            if source.key not in tables:
                tables[source.key] = source.read().table
            cell.learn(tables[source.key])
            checks.append(partial(check_request, cell.config, tables[source.key]))
        elif source.target_kind is not None:
            checks.append(partial(check_target, cell.config, KINDS[source.target_kind]))
    _make(checks)
    return tables


def _make(checks: Sequence[Callable[[], object]]) -> None:
    """Make all checks, and refuse whatever they refuse together."""
    problems = []
    for check in checks:
        try:
            check()
        except UsageError as error:
            problems.append(str(error))
    refuse(problems)


def refuse(sentences: Sequence[str]) -> None:
    """Raise an error with these sentences, each once, if there are any."""
    # Cells of one table have the same problem with it.
    if sentences:
        raise UsageError("\n".join(list(dict.fromkeys(sentences))[:MOST_PROBLEMS]))


def make_ready(cells: Sequence[Cell], number: int) -> None:
    """Check the parts of cells, which are left to train of so many, and make their folders of results. With ``force``
    what they have is set aside."""
    with (
        doing(f"{len(cells)} of {counted(number, 'cell')} to train; importing torch and Lightning"),
        # Imports make many objects and no garbage.
        without_garbage_collection(),
    ):
        check_parts(cells)
    # A folder that is made here is not left behind by a run that the checks refuse.
    for results in {cell.results for cell in cells}:
        check_folder(results, writable=True)
    if cells[0].config.force:
        for store in stores_of(cells):
            if store.folder.exists() and (sentence := store.clear("force=true trains it again")):
                screen(stderr=True).say(sentence)
        survey(cells)
    for cell in cells:
        # Only failures of this run are counted, and what has failed earlier is tried once more.
        if cell.state is State.FAILED:
            forget_failure(cell.results, cell.key)
            cell.state = State.WAITING


def failures(cells: Sequence[Cell]) -> list[str]:
    """Each reason why cells did not finish, once, with the cells that it holds for."""
    cells_by_reason = dict[str, list[Cell]]()
    for cell in cells:
        if cell.state is not State.FINISHED:
            cells_by_reason.setdefault(cell.failure.error if cell.failure else "", []).append(cell)
    sentences = []
    for first, *others in cells_by_reason.values():
        label = first.label + (f" (and {len(others):,} more of {len(cells):,} cells)" if others else "")
        failure = first.failure and replace(first.failure, cell=label)
        sentences.append(str(failure or f"{label} did not finish."))
    return sentences


def planned(cells: Sequence[Cell]) -> "dict[str, Table]":
    """Find out how far cells are and what is left to train, and return the users' own tables, see `check_data`."""
    survey(cells)
    tables = check_data(cells)
    plan_jobs(cells)
    return tables


@dataclass(frozen=True, eq=False)
class Job:
    """Unfinished cells that start from the same pre-training, or one cell that shares none.

    Attributes:
        cells: in the order of the command line.
        trials: those to train; None for all that each cell lacks.
    """

    cells: list[Cell]
    trials: Sequence[int] | None = None

    @property
    def dataset(self) -> str:
        return self.cells[0].source.key

    @property
    def seconds(self) -> float:
        """Expected of all of its cells."""
        return sum(cell.seconds for cell in self.cells)

    @property
    def missing(self) -> list[int]:
        """The trials that any of its cells lacks, in order."""
        return sorted(frozenset().union(*(cell.missing for cell in self.cells)))


def unfinished(cells: Sequence[Cell]) -> list[Cell]:
    """The surveyed cells that are not finished."""
    return [cell for cell in cells if cell.state is not State.FINISHED]


def plan_jobs(cells: Sequence[Cell]) -> list[Job]:
    """The jobs of the unfinished among surveyed cells, in the best order for training. Each cell gets the processor
    time that it is expected to take."""
    groups = dict[object, list[Cell]]()
    for cell in unfinished(cells):
        groups.setdefault(cell.shared, []).append(cell)
    jobs = [Job(group) for group in groups.values()]
    for job in jobs:
        _expect(job)
    jobs.sort(key=lambda job: job.seconds, reverse=True)
    # Jobs of one dataset follow each other, so that it is loaded once. The dataset of the longest job comes first.
    datasets = [job.dataset for job in jobs]
    return sorted(jobs, key=lambda job: datasets.index(job.dataset))


def _expect(job: Job) -> None:
    """Set the seconds that each cell of a job is expected to take."""
    first, n_pretrainings = job.cells[0], len(job.missing)
    size = first.source.known_size or first.config.dataset.size or TYPICAL_SIZE
    if first.data is not None:
        size = first.data.n_rows, first.data.n_columns
    for cell in job.cells:
        pretrain, finetune = seconds_of_trial(cell.config, *size)
        cell.seconds = n_pretrainings / len(job.cells) * pretrain + len(cell.missing) * finetune


def seconds_of_trial(config: Config, n_rows: int, n_columns: int) -> tuple[float, float]:
    """The processor seconds of pre-training and of the supervised phase that one trial of a cell is expected to take
    on a table of this size."""
    rows, pretraining = TRAINED_SHARE * n_rows, 0.0
    # `semi25` has the option `labelled`, a share; `few` has `labels`, a number or a share.
    labels = float(config.regime.get("labelled") or config.regime.get("labels") or 1.0)
    # A table may have fewer rows than `few` asks for; it is refused only once it is loaded.
    labelled_rows = min(labels * rows if labels <= 1 else labels, rows)
    if config.is_pretrained:
        # Pre-training needs no labels, so it learns from every training row that it may see.
        pretraining_rows = min(rows, config.pretrain.rows or rows)
        pretraining = _fit(config, config.pretrain, "pretrain", pretraining_rows, n_columns)
    method = config.part("method")
    # A method that uses no options of fine-tuning trains another library's model.
    if "finetune" not in method.uses:
        fit, thousand_rows = method.typical_seconds
        return pretraining, fit + thousand_rows * n_columns / USUAL_COLUMNS * labelled_rows / 1000
    settings = config.finetune.fit_to_rows(round(labelled_rows))
    return pretraining, method.typical_fits * _fit(config, settings, "finetune", labelled_rows, n_columns)


def _fit(config: Config, settings: FitSettings, phase: str, n_rows: float, n_columns: int) -> float:
    """The seconds of one fit of the network on so many rows."""
    network = config.part("network")
    # Rows behind the last full batch count by `ROW` alone; fewer rows than a batch are one step.
    steps = max(1, math.floor(n_rows / settings.batch_size))
    first, last = settings.epochs(steps)
    # Infinite where no trial stops early.
    usual = EPOCHS[phase] * settings.stops_after / (TYPICAL_PATIENCE + 1)
    # A network with a token a column does all of its work for each; of others the first layer alone grows.
    width = n_columns / USUAL_COLUMNS if network.costs_by_column else 1.0
    rows_seconds = n_rows * ROW[phase] * network.typical_cost * width
    return float(FIT + max(first, min(usual, last)) * (steps * STEP + rows_seconds))


def sentences(cells: Sequence[Cell]) -> list[str]:
    """Say how much of planned cells is left to train, a sentence a line."""
    states = Counter(cell.state for cell in cells)
    # In the order in which the states are declared, whichever cell comes first.
    counts = ", ".join(f"{states[state]:,} {state}" for state in State if states[state])
    what = f"{counted(len(cells), 'cell')}: {counts}"
    if not (unfinished_cells := unfinished(cells)):
        return [f"{what}; nothing is left to train."]
    n_trials = sum(len(cell.missing) for cell in unfinished_cells)
    # Estimates are no finer than ten seconds.
    seconds = 10 * math.ceil((START_UP + sum(cell.seconds for cell in unfinished_cells)) / 10)
    estimate = f"Expected on one core: about {timedelta(seconds=seconds)} (h:mm:ss)."
    return [f"{what}; {counted(n_trials, 'trial')} to train.", estimate]
