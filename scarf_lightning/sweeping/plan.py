"""The plan of a run: what is left to train, and about how much processor time that takes.

A fit of a network takes so many optimiser steps, each of which costs a little by itself and a little for each row::

    fit = FIT + epochs * (steps * STEP + rows * seconds of a row)

Methods tell how many fits they make (``typical_fits``), networks what a row costs beside the MLP (``typical_cost``),
and models of other libraries what a fit takes (``typical_seconds``). The seconds decide the order of jobs alone.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from ..errors import counted
from ..options import Config
from ..options.settings import FitSettings
from ..results import fingerprint, pretraining_identity
from .cell import Cell, State

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
"""Rows and columns of data whose size nobody knows before they are loaded."""


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
    """Those of surveyed cells that lack something."""
    return [cell for cell in cells if cell.state is not State.FINISHED]


def plan_jobs(cells: Sequence[Cell]) -> list[Job]:
    """The jobs of what is left to train of surveyed cells, in the order in which they are best trained. Each cell is
    told the processor time that it is expected to take."""
    sharing = dict[object, list[Cell]]()
    for cell in unfinished(cells):
        shared: object = cell
        # A cell that shares nothing is a job of its own. Without a cache nothing is shared.
        if cell.config.is_pretrained and cell.config.cache.max_gb:
            shared = fingerprint(pretraining_identity(cell.config, cell.source.key))
        sharing.setdefault(shared, []).append(cell)
    jobs = [Job(group) for group in sharing.values()]
    for job in jobs:
        _expect(job)
    jobs.sort(key=lambda job: job.seconds, reverse=True)
    # Jobs of one dataset stand side by side, so that it is loaded once; that of the longest job is first.
    datasets = [job.dataset for job in jobs]
    return sorted(jobs, key=lambda job: datasets.index(job.dataset))


def _expect(job: Job) -> None:
    """Tell the cells of a job the seconds that they are expected to take."""
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
    asked = float(config.regime.get("labelled") or config.regime.get("labels") or 1.0)
    # A table may have fewer rows than `few` asks for; it is refused only once it is loaded.
    labelled = min(asked * rows if asked <= 1 else asked, rows)
    if config.is_pretrained:
        # Pre-training needs no labels, so it learns from every training row that it may see.
        seen = min(rows, config.pretrain.rows or rows)
        pretraining = _fit(config, config.pretrain, "pretrain", seen, n_columns)
    method = config.part("method")
    # A method that uses no options of fine-tuning trains another library's model.
    if "finetune" not in method.uses:
        fit, thousand_rows = method.typical_seconds
        return pretraining, fit + thousand_rows * n_columns / USUAL_COLUMNS * labelled / 1000
    settings = config.finetune.fit_to_rows(round(labelled))
    return pretraining, method.typical_fits * _fit(config, settings, "finetune", labelled, n_columns)


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
    if not (left := unfinished(cells)):
        return [f"{what}; nothing is left to train."]
    n_trials = sum(len(cell.missing) for cell in left)
    # Estimates are no finer than ten seconds.
    seconds = 10 * math.ceil((START_UP + sum(cell.seconds for cell in left)) / 10)
    expected = f"Expected on one core: about {timedelta(seconds=seconds)} hours."
    return [f"{what}; {counted(n_trials, 'trial')} to train.", expected]
