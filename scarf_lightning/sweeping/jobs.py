"""Jobs: cells that one process trains one after the other, all their trials or some of them.

Cells that start from one pre-training stay together. Each job claims what it trains, so it may run twice. What is long
for one worker is divided by trials: a job pre-trains its trials once, and trains them in each cell.

    run      claims the cells of a group and their pre-training ---------> gives the claims back
    worker     trials 0 to 9 of each cell     trials of another group
    worker     trials 10 to 19 of each cell   ...

Other processes see the claims and wait. Trials of a worker that dies are missing in the store, and the run launches
their cells again.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.utils import JobStatus
from hydra.plugins.launcher import Launcher

from ..errors import UsageError
from ..machine import usable_cores
from ..options import load_plugins, read
from ..options.settings import TrainerSettings
from ..results import folder_time, give_back
from ..results.files import DamagedRecordError, remove_older, remove_unfinished, write_whole
from ..results.records import read_json
from .cell import Cell
from .plan import DAY, MINUTE, Group

FOLDER = "chunks"
MINUTES_ON_SLURM, JOBS_ON_SLURM = 20, 1000
"""The least time that a job is expected to take, for which it is worth its place in the queue, and the usual limit of a
job array."""
JOBS_A_CORE = 4
"""The jobs of joblib: Hydra composes a configuration for each, and all cores should end together."""
LONG = 0.25
"""A group is divided that takes longer than this share of the shortest time in which all workers can end."""
ROUNDING = 1 + 1e-9
KEPT_DAYS = 30
UNUSABLE = (DamagedRecordError, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What is raised where a file of JSON is torn, or holds something else than what was written."""


@dataclass(eq=False)
class Job:
    """Cells, the seconds that they are expected to take, and those of their trials to train; None for all."""

    cells: list[Cell]
    seconds: float
    trials: Sequence[int] | None = None


Launch = Callable[[Sequence[Group]], None]
"""Trains groups of cells and returns when all jobs have ended. Results are in the store."""


class TrainCells(Protocol):
    """Trains cells one after the other in this process, all their trials or some of them."""

    def __call__(self, cells: Sequence[Cell], trials: Sequence[int] | None = None) -> None: ...


class Training(Protocol):
    """The training of this process and its forks: `scarf_lightning.cli.running.OwnTraining` has it."""

    def gpus(self, settings: TrainerSettings) -> list[int]: ...
    def has_begun_cuda(self) -> bool: ...
    def is_exact(self, settings: TrainerSettings) -> bool: ...
    def imported(self) -> TrainCells: ...


def make_jobs(groups: Sequence[Group], launcher: str) -> list[Job]:
    """Deal groups of cells out to the jobs of the launcher of this name: short groups are joined."""
    settings, seconds = groups[0].cells[0].cell.config.chunk, sum(group.seconds for group in groups)
    least = {"slurm": MINUTES_ON_SLURM * MINUTE, "joblib": seconds / (JOBS_A_CORE * usable_cores())}.get(launcher, 0.0)
    if settings.minutes is not None:
        least = settings.minutes * MINUTE
    max_jobs = settings.max_jobs or (JOBS_ON_SLURM if launcher == "slurm" else None)
    if max_jobs is not None:
        # Each job but the last one is so long, so there is none beyond the largest number.
        least = max(least, ROUNDING * seconds / max_jobs)
    jobs = list[Job]()
    for group in by_dataset(groups):
        if not jobs or jobs[-1].seconds >= least:
            jobs.append(Job([], 0.0))
        jobs[-1].cells += [each.cell for each in group.cells]
        jobs[-1].seconds += group.seconds
    return jobs


def by_dataset(groups: Sequence[Group]) -> list[Group]:
    """Groups of one dataset side by side, so that it is loaded once; first the dataset of the longest one, which would
    leave cores idle if it began last."""
    longest = dict[str, float]()
    for group in groups:
        longest[group.dataset] = max(group.seconds, longest.get(group.dataset, 0.0))
    return sorted(groups, key=lambda group: (-longest[group.dataset], group.dataset))


@contextmanager
def divided(
    groups: Sequence[Group], n_workers: int, training: Training, say: Callable[[str], None]
) -> Iterator[list[Job]]:
    """A job a group, and a job a worker of each group that would keep one of them busy alone. The cells of the latter
    are claimed while the block runs."""
    shortest = sum(group.seconds for group in groups) / n_workers
    parts, whole = list[Job](), list[Job]()
    with ExitStack() as claims:
        for group in by_dataset(groups):
            trials = group.missing
            number = min(n_workers, len(trials))
            is_long = number > 1 and group.seconds > LONG * shortest
            if not (is_long and can_be_divided(group, training) and _claim(group, claims, say)):
                whole.append(Job([each.cell for each in group.cells], group.seconds))
                continue
            for n in range(number):
                own = trials[len(trials) * n // number : len(trials) * (n + 1) // number]
                cells = [each.cell for each in group.cells if not each.missing.isdisjoint(own)]
                parts.append(Job(cells, group.seconds * len(own) / len(trials), own))
        yield parts + whole


def can_be_divided(group: Group, training: Training) -> bool:
    """True if workers may divide the trials of a group: no number depends on it, and no logger shows live curves,
    which are a process' own."""
    configs = [each.cell.config for each in group.cells]
    return all(not config.logger.views and training.is_exact(config.trainer) for config in configs)


def _claim(group: Group, claims: ExitStack, say: Callable[[str], None]) -> bool:
    """Claim the cells of a group and their pre-training; false if another process has one of them, or the data cannot
    be read, which their training will note."""
    with ExitStack() as own:
        for each in group.cells:
            try:
                data = each.data or each.cell.note(each.cell.source.read())
            except UsageError:
                return False
            store, pretraining = each.cell.store(data), each.cell.pretraining(data)
            assert store is not None
            if own.enter_context(store.claim()) is None:
                return False
            for sentence in store.mend():
                say(sentence)
        # The cells of a group have one.
        if pretraining is not None and each.cell.config.cache.max_gb and own.enter_context(pretraining.claim()) is None:
            return False
        claims.enter_context(own.pop_all())
    return True


def give_claims_back(cells: Iterable[Cell]) -> None:
    """Remove the claims to cells that dead processes hold; those of living ones stay."""
    for cell in cells:
        for store in (cell.store(), cell.pretraining()):
            if store is not None:
                give_back(store.folder)


def by(launcher: Launcher, name: str) -> Launch:
    """Launch jobs by a launcher of Hydra's. It raises the error of a job that was killed or never started."""
    return partial(_launch, launcher, name)


def _launch(launcher: Launcher, name: str, groups: Sequence[Group]) -> None:
    jobs = make_jobs(groups, name)
    folder = write_jobs(jobs, jobs[0].cells[0].results)
    try:
        asked = []
        for job, file in zip(jobs, sorted(folder.glob("*.json")), strict=True):
            first, *others = (cell.overrides for cell in job.cells)
            # A job gets its cells from the file. Hydra shows the overrides, and composes with them.
            shared = [override for override in first if all(override in each for each in others)]
            asked.append([*shared, f"chunk.file={QuotedString(str(file), Quote.single).with_quotes()}"])
        returned = launcher.launch(asked, initial_job_idx=0)
    # Also at Ctrl-C, at which joblib kills its processes.
    except BaseException:
        give_claims_back(cell for job in jobs for cell in job.cells)
        raise
    finally:
        forget(folder)
    for each in returned:
        # A cell that fails is noted in the store and ends no job, so here the job itself went wrong.
        if each.status != JobStatus.COMPLETED:
            # The property `return_value` prints a line before it raises.
            error = each._return_value
            raise error if isinstance(error, Exception) else RuntimeError("a job did not finish")


def write_jobs(jobs: Sequence[Job], results: Path) -> Path:
    """Write a file a job, ``00000.json`` the first, into a folder of the results that every machine can read.

    Jobs may outlive a sweeper that is killed, so the files that it leaves stay for a month.
    """
    results.mkdir(parents=True, exist_ok=True)
    # Files get their times from the folder's machine, whose clock may differ from ours.
    now = folder_time(results)
    remove_older(results / FOLDER, "*", now - KEPT_DAYS * DAY)
    # A process that is killed while it writes leaves a temporary file, which a later run takes away.
    for name in ("", "datasets", "failures", "set_aside"):
        remove_unfinished(results / name, now)
    # Absolute, since a job may start in another folder.
    folder = (results / FOLDER / uuid4().hex).absolute()
    try:
        for number, job in enumerate(jobs):
            content = [{field.name: getattr(cell, field.name) for field in fields(cell)} for cell in job.cells]
            write_whole(folder / f"{number:05d}.json", json.dumps({"cells": content}, indent=1, default=asdict) + "\n")
    except BaseException:
        forget(folder)
        raise
    return folder


def forget(folder: Path) -> None:
    """Remove the files of jobs that nobody trains any more."""
    shutil.rmtree(folder, ignore_errors=True)
    # Another sweep may have jobs here.
    with suppress(OSError):
        folder.parent.rmdir()


def read_job(file: str | None) -> list[Cell]:
    """The cells of a job, whose plugins are imported.

    Raises:
        UsageError: no file is given, since only the sweeper starts jobs; or the file is torn.
    """
    if file is None:
        raise UsageError("a job needs chunk.file, which our sweeper sets; leave hydra/sweeper and hydra.mode alone.")
    try:
        content = read_json(Path(file))["cells"]
        plugins = [each["config"]["plugins"] for each in content]
    except UNUSABLE as error:
        raise UsageError(f"{file} cannot be used: it does not hold the cells of a job; repeat the command.") from error
    cells = []
    for each, its_plugins in zip(content, plugins, strict=True):
        # The command that wrote the file has named them: it is a message to its own job.
        load_plugins(its_plugins)
        # JSON has neither tuples nor configurations.
        overrides, config = tuple(each["overrides"]), read(each["config"])
        cells.append(Cell(**each | {"overrides": overrides, "config": config}))
    return cells
