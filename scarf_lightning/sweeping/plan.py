"""The plan of a run: what is left to train, and about how much processor time that takes.

A fit of a network takes so many optimiser steps, each of which costs a little by itself and a little for each row::

    fit = FIT + epochs * (steps * STEP + rows * seconds of a row)

Methods tell how many fits they make (``typical_fits``), networks what a row costs beside the MLP (``typical_cost``),
and models of other libraries what a fit takes (``typical_seconds``). The seconds decide the order of jobs alone.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..errors import counted
from ..options import Config
from ..options.settings import FitSettings
from .cell import Cell, State, SurveyedCell

if TYPE_CHECKING:
    from ..data.table import Table

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
# Measured on one core of the machine in docs/speed.md.
START_UP = 3.2
"""Seconds until torch and Lightning are imported and the result is shown."""
FIT = 0.02
"""Seconds of a fit, however small it is."""
STEP = 0.001
"""Seconds of an optimiser step of one trial, however few rows it has."""
ROW = {"pretrain": 4e-5, "finetune": 1.6e-5}
"""Seconds of a training row and an epoch in each phase, of the default network on `USUAL_COLUMNS`."""
USUAL_COLUMNS, OTHER_COLUMNS = 30, 1300
"""Columns that a row's time is for, and as many as the rest of the MLP costs."""
EPOCHS = {"pretrain": 24.0, "finetune": 11.0}
"""The mean number of epochs with a patience of 3. It grows in proportion to the patience."""
TYPICAL_PATIENCE = 3
TRAINED_SHARE, VALIDATED_SHARE = 0.7, 0.1
"""Of the rows with a label, in random splits; the others are tested."""


class Size(NamedTuple):
    """The size of a table: its rows and its columns that are features."""

    n_rows: int
    n_columns: int


TYPICAL_SIZE = Size(1000, 20)
"""Assumed of data whose size nobody knows before they are loaded."""


@dataclass(frozen=True, eq=False)
class Job:
    """Unfinished cells that start from the same pre-training, or one cell that shares none.

    Attributes:
        surveyed: the cells, in the order of the command line.
        cell_seconds: expected of the trials that each cell lacks, with an equal part of the pre-training; by its key.
        trials: those to train; None for all that each cell lacks.
    """

    surveyed: list[SurveyedCell]
    cell_seconds: dict[str, float]
    trials: Sequence[int] | None = None

    @property
    def cells(self) -> list[Cell]:
        return [each.cell for each in self.surveyed]

    @property
    def seconds(self) -> float:
        return sum(self.cell_seconds.values())

    @property
    def missing(self) -> list[int]:
        """The trials that any of its cells lacks, in order."""
        return sorted(frozenset().union(*(each.missing for each in self.surveyed)))

    @property
    def dataset(self) -> str:
        return self.cells[0].source.key


@dataclass(frozen=True)
class Plan:
    """All cells of a run, and the jobs of those that are left to train, in the order in which they are best trained."""

    surveyed: Sequence[SurveyedCell]
    jobs: list[Job]

    @property
    def unfinished(self) -> list[SurveyedCell]:
        return [each for each in self.surveyed if each.state is not State.FINISHED]

    @property
    def seconds(self) -> float:
        """The processor seconds of a command that trains what is left; none if nothing is."""
        return START_UP + sum(job.seconds for job in self.jobs) if self.jobs else 0.0

    def cell_seconds(self) -> dict[str, float]:
        """Expected seconds by the key of the cell."""
        expected = dict[str, float]()
        for job in self.jobs:
            expected |= job.cell_seconds
        return expected


def make_plan(surveyed: Sequence[SurveyedCell], tables: "Mapping[str, Table] | None" = None) -> Plan:
    """Find out what is left to train, and how much processor time that takes.

    Args:
        surveyed: the cells as the store has them. It knows the sizes of tables that earlier runs loaded.
        tables: those that are loaded, by the key of their source.
    """
    sharing = dict[object, list[SurveyedCell]]()
    for each in surveyed:
        if each.state is not State.FINISHED:
            # A cell that shares nothing is a job of its own. Without a cache nothing is shared.
            shared = each.cell.pretraining_key if each.cell.config.cache.max_gb else None
            sharing.setdefault(shared or each.cell.place, []).append(each)
    jobs = [_job(cells, tables or {}) for cells in sharing.values()]
    longest_first = sorted(jobs, key=lambda job: job.seconds, reverse=True)
    # Jobs of one dataset stand side by side, so that it is loaded once.
    datasets = list(dict.fromkeys(job.dataset for job in longest_first))
    return Plan(surveyed, sorted(longest_first, key=lambda job: datasets.index(job.dataset)))


def _job(surveyed: list[SurveyedCell], tables: "Mapping[str, Table]") -> Job:
    """The job of cells that start from one pre-training."""
    first, job = surveyed[0], Job(surveyed, {})
    missing, size = job.missing, _size(first, tables.get(job.dataset))
    # The cache is found by the hash of the data. Before they are loaded, all is expected to be trained.
    if first.data is not None and (store := first.cell.pretraining(first.data)) is not None:
        missing = store.missing(missing)
    for each in surveyed:
        pretrain, finetune = seconds_of_trial(each.cell.config, size)
        job.cell_seconds[each.cell.key] = len(missing) / len(surveyed) * pretrain + each.n_missing * finetune
    return job


def _size(surveyed: SurveyedCell, table: "Table | None") -> Size:
    """The size of a cell's data, from what is surest to what is known of a public dataset."""
    if table is not None:
        return Size(table.n_rows, len(table.columns))
    if surveyed.data is not None:
        return Size(surveyed.data.n_rows, surveyed.data.n_columns)
    return Size(*(surveyed.cell.source.known_size or surveyed.cell.config.dataset.size or TYPICAL_SIZE))


def seconds_of_trial(config: Config, size: Size) -> tuple[float, float]:
    """The processor seconds of pre-training and of the supervised phase that one trial of a cell is expected to take
    on a table of this size."""
    rows, pretraining = TRAINED_SHARE * size.n_rows, 0.0
    # `semi25` has the option `labelled`, a share; `few` has `labels`, a number or a share.
    asked = float(config.regime.get("labelled") or config.regime.get("labels") or 1.0)
    # A table may have fewer rows than `few` asks for; it is refused only once it is loaded.
    labelled = min(asked * rows if asked <= 1 else asked, rows)
    if config.is_pretrained:
        # Pre-training needs no labels, so it learns from every training row that it may see.
        seen = min(rows, config.pretrain.rows or rows)
        pretraining = _fit(config, config.pretrain, "pretrain", seen, size.n_columns)
    method = config.part("method")
    # A method that uses no options of fine-tuning trains another library's model.
    if "finetune" not in method.uses:
        fit, thousand_rows = method.typical_seconds
        return pretraining, fit + thousand_rows * size.n_columns / USUAL_COLUMNS * labelled / 1000
    settings = config.finetune.fit_to_rows(round(labelled))
    return pretraining, method.typical_fits * _fit(config, settings, "finetune", labelled, size.n_columns)


def _fit(config: Config, settings: FitSettings, phase: str, n_rows: float, n_columns: int) -> float:
    """The seconds of one fit of the network on so many rows."""
    network = config.part("network")
    # Rows behind the last full batch count by `ROW` alone; fewer rows than a batch are one step.
    steps = max(1, math.floor(n_rows / settings.batch_size))
    # An MLP's first layer alone grows with the columns; a network with a token a column does all of its work for each.
    others = 0 if network.costs_by_column else OTHER_COLUMNS
    width = (n_columns + others) / (USUAL_COLUMNS + others)
    rows_seconds = n_rows * ROW[phase] * network.typical_cost * width
    return float(FIT + epochs_of(settings, phase, steps) * (steps * STEP + rows_seconds))


def epochs_of(settings: FitSettings, phase: str, steps: int) -> float:
    """The epochs that a phase is expected to train, of so many optimiser steps each.

    >>> epochs_of(FitSettings(min_steps=100), "finetune", 4)
    25.0
    """
    first, last = settings.epochs(steps)
    # Infinite where no trial stops early.
    usual = EPOCHS[phase] * settings.stops_after / (TYPICAL_PATIENCE + 1)
    return float(max(first, min(usual, last)))


def labels_to_learn_from(n_labelled: int, *, counts_validation: bool) -> int:
    """Of the labels of a table those that a random split leaves to training, and to validation if they count."""
    n_test = round((1 - TRAINED_SHARE - VALIDATED_SHARE) * n_labelled)
    n_validation = 0 if counts_validation else round(VALIDATED_SHARE * n_labelled)
    return n_labelled - n_test - n_validation


def sentences(plan: Plan) -> list[str]:
    """The plan in words, a sentence a line."""
    states = Counter(each.state for each in plan.surveyed)
    # In the order in which the states are declared, whichever cell comes first.
    counts = ", ".join(f"{states[state]:,} {state}" for state in State if states[state])
    n_trials = sum(each.n_missing for each in plan.unfinished)
    left = f"{counted(n_trials, 'trial')} to train" if n_trials else "nothing is left to train"
    lines = [f"{counted(len(plan.surveyed), 'cell')}: {counts}; {left}."]
    if plan.jobs:
        lines.append(f"Expected: about {about(plan.seconds)} on one core.")
    return lines


def about(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``5 min``, ``3 h``, ``12 days``."""
    for unit, length in (("days", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= 1.5 * length:
            return f"{round(seconds / length)} {unit}"
    # Estimates are no finer than ten seconds.
    return f"{max(10, 10 * round(seconds / 10))} s"
