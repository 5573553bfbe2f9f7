"""Chunks: the cells that one Hydra job trains one after the other, and how jobs are started."""

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.utils import JobStatus
from hydra.plugins.launcher import Launcher

from ..errors import UsageError
from ..machine import usable_cores
from ..options import load_plugins, read
from ..options.run_settings import ChunkSettings
from ..options.settings import TrainerSettings
from ..results import folder_time, give_back
from ..results.files import HOUR, DamagedRecordError, remove_older, remove_unfinished, write_whole
from ..results.records import read_json
from .cell import Cell
from .plan import Group

FOLDER = "chunks"
MINUTES = {"basic": math.inf, "slurm": 20.0}
"""The least time that a job is expected to take, by launcher. The basic launcher works in this process, so one job does
all: Hydra would compose a configuration for each. A job on a cluster must be worth its place in the queue. Workers take
a group of cells at a time."""
SECONDS_OF_JOBLIB, JOBS_A_CORE = 10.0, 4
"""The same of joblib, in seconds: Hydra composes a configuration for each job, too. Few cells still make some jobs for
each core, so that all cores end together."""
MAX_JOBS = {"slurm": 1000}
"""The usual limit of a job array."""
ROUNDING = 1 + 1e-9
KEPT_DAYS = 30
UNUSABLE = (DamagedRecordError, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What is raised where a file of JSON is torn, or holds something else than what was written."""


@dataclass(eq=False)
class Chunk:
    """Cells that one job trains, and the seconds that they are expected to take."""

    cells: list[Cell]
    seconds: float


Launch = Callable[[Sequence[Chunk]], None]
"""Trains the cells of each chunk and returns when all jobs have ended. Results are in the store."""
TrainCells = Callable[[Sequence[Cell]], None]
"""Trains cells one after the other in this process."""


class Training(Protocol):
    """The training of this process and its forks: `scarf_lightning.cli.running.OwnTraining` has it."""

    def gpus(self, settings: TrainerSettings) -> list[int]: ...
    def has_begun_cuda(self) -> bool: ...
    def is_exact(self, settings: TrainerSettings) -> bool: ...
    def imported(self) -> TrainCells: ...


def make_chunks(groups: Sequence[Group], settings: ChunkSettings, launcher: str) -> list[Chunk]:
    """Deal groups of cells out to jobs, the longest first. The launcher of this name decides about settings of None.

    Groups are never divided, since their cells share a pre-training. Small groups are joined; groups of one dataset are
    put side by side, so that it is loaded once.
    """
    together = sum(group.seconds for group in groups)
    least = 60 * MINUTES.get(launcher, 0.0)
    if launcher == "joblib":
        least = min(SECONDS_OF_JOBLIB, together / (JOBS_A_CORE * usable_cores()))
    if settings.minutes is not None:
        least = 60 * settings.minutes
    max_jobs = settings.max_jobs or MAX_JOBS.get(launcher)
    if max_jobs is not None:
        # Each job but the last one is so long, so there is none beyond the largest number.
        least = max(least, ROUNDING * together / max_jobs)

    chunks: list[Chunk] = []
    for group in chain.from_iterable(by_dataset(groups)):
        if not chunks or chunks[-1].seconds >= least:
            chunks.append(Chunk([], 0.0))
        chunks[-1].cells += [each.cell for each in group.cells]
        chunks[-1].seconds += group.seconds
    # A long job that begins last would leave the other cores idle.
    return sorted(chunks, key=lambda chunk: -chunk.seconds)


def by_dataset(groups: Sequence[Group]) -> list[list[Group]]:
    """The groups of each dataset, in their order."""
    datasets = dict[str, list[Group]]()
    for group in groups:
        datasets.setdefault(group.cells[0].cell.source.key, []).append(group)
    return list(datasets.values())


def can_be_divided(group: Group, training: Training) -> bool:
    """True if workers may divide the trials of a group: no number depends on it, and no logger shows live curves,
    which are a process' own."""
    configs = [each.cell.config for each in group.cells]
    return all(not config.logger.views and training.is_exact(config.trainer) for config in configs)


def give_claims_back(cells: Iterable[Cell]) -> None:
    """Remove the claims to cells that dead processes hold; those of living ones stay."""
    for cell in cells:
        for store in (cell.store(), cell.pretraining()):
            if store is not None:
                give_back(store.folder)


def by(launcher: Launcher) -> Launch:
    """Launch a job a chunk by a launcher of Hydra's. It raises the error of a job that was killed or never started."""
    return partial(_launch, launcher)


def _launch(launcher: Launcher, chunks: Sequence[Chunk]) -> None:
    with written(chunks, chunks[0].cells[0].results) as files:
        asked = []
        for chunk, file in zip(chunks, files, strict=True):
            first, *others = (cell.overrides for cell in chunk.cells)
            # A job gets its cells from the file. Hydra shows the overrides, and composes with them.
            shared = [override for override in first if all(override in each for each in others)]
            path = QuotedString(str(file), Quote.single).with_quotes()
            asked.append([*shared, f"chunk.file={path}"])
        try:
            jobs = launcher.launch(asked, initial_job_idx=0)
        # Also at Ctrl-C, at which joblib kills its processes.
        except BaseException:
            give_claims_back(cell for chunk in chunks for cell in chunk.cells)
            raise
    for job in jobs:
        # A cell that fails is noted in the store and ends no job, so here the job itself went wrong.
        if job.status != JobStatus.COMPLETED:
            # The property `return_value` prints a line before it raises.
            error = job._return_value
            if isinstance(error, Exception):
                raise error
            raise RuntimeError("a job did not finish")


@contextmanager
def written(chunks: Sequence[Chunk], results: Path) -> Iterator[list[Path]]:
    """The files of the chunks, see `write_chunks`, which are removed at the end."""
    folder = write_chunks(chunks, results)
    try:
        yield sorted(folder.glob("*.json"))
    finally:
        forget(folder)


def write_chunks(chunks: Sequence[Chunk], results: Path) -> Path:
    """Write a file a chunk, ``00000.json`` the first, into a folder of the results that every machine can read.

    Jobs may outlive a sweeper that is killed, so the files that it leaves stay for a month.
    """
    results.mkdir(parents=True, exist_ok=True)
    # Files get their times from the folder's machine, whose clock may differ from ours.
    now = folder_time(results)
    remove_older(results / FOLDER, "*", now - KEPT_DAYS * 24 * HOUR)
    # A process that is killed while it writes leaves a temporary file, which a later run takes away.
    for name in ("", "datasets", "failures", "set_aside"):
        remove_unfinished(results / name, now)
    # Absolute, since a job may start in another folder.
    folder = (results / FOLDER / uuid4().hex).absolute()
    try:
        for number, chunk in enumerate(chunks):
            content = [{field.name: getattr(cell, field.name) for field in fields(cell)} for cell in chunk.cells]
            write_whole(folder / f"{number:05d}.json", json.dumps({"cells": content}, indent=1, default=asdict) + "\n")
    except BaseException:
        forget(folder)
        raise
    return folder


def forget(folder: Path) -> None:
    """Remove the files of chunks that nobody trains any more."""
    shutil.rmtree(folder, ignore_errors=True)
    # Another sweep may have chunks here.
    with suppress(OSError):
        folder.parent.rmdir()


def read_chunk(file: str | None, *, imports: bool = True) -> list[Cell]:
    """The cells of a chunk; ``imports`` the plugins that they name.

    Raises:
        UsageError: no file is given, since only the sweeper starts jobs; the file is torn; or a plugin is not imported.
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
        if imports:
            load_plugins(its_plugins)
        # JSON has neither tuples nor configurations.
        overrides, config = tuple(each["overrides"]), read(each["config"])
        cells.append(Cell(**each | {"overrides": overrides, "config": config}))
    return cells
