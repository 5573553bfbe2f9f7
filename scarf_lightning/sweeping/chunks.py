"""Chunks: the cells that one Hydra job trains, one after the other."""

import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from omegaconf import OmegaConf

from ..config import read
from ..config.schema import ChunkSettings
from ..errors import UsageError
from ..results import folder_time
from ..results.files import HOUR, remove_older, remove_unfinished, write_whole
from .cell import Cell
from .cost import CostModel
from .phases import pretraining, supervised
from .survey import SurveyedCell

FOLDER = "chunks"
MINUTES = {"basic": math.inf, "submitit_slurm": 20.0}
"""A job's expected time at least, by launcher, where it is more than nothing: all of it in this process, where Hydra
would compose a configuration for each job; worth its place in a queue."""
MAX_JOBS = {"submitit_slurm": 1000, "submitit_local": os.cpu_count() or 1}
"""The usual limit of a Slurm job array; and `submitit_local` starts all jobs at once."""
KEPT_DAYS = 30


@dataclass
class Chunk:
    """Cells, and the seconds that they are expected to take."""

    cells: list[Cell]
    seconds: float


def make_chunks(
    waiting: Sequence[SurveyedCell], settings: ChunkSettings, model: CostModel, launcher: str
) -> list[Chunk]:
    """Deal cells out to jobs, those first that take longest.

    Cells that share a pre-training stay together, in the order they were asked for. With ``minutes`` such groups, those
    of one dataset side by side, are joined until a chunk is expected to take that long; ``max_jobs`` bounds the number
    of chunks. Where these are None, the launcher of this name decides.
    """
    minutes = MINUTES.get(launcher, 0.0) if settings.minutes is None else settings.minutes
    max_jobs = MAX_JOBS.get(launcher) if settings.max_jobs is None else settings.max_jobs
    chunks: list[Chunk] = []
    for group in _groups(waiting, model):
        if chunks and chunks[-1].seconds < minutes * 60:
            chunks[-1] = Chunk(chunks[-1].cells + group.cells, chunks[-1].seconds + group.seconds)
        else:
            chunks.append(group)
    return sorted(_at_most(max_jobs, chunks), key=lambda chunk: -chunk.seconds)


def _groups(waiting: Sequence[SurveyedCell], model: CostModel) -> list[Chunk]:
    """Cells by the pre-training that they share, by dataset; a cell without one is a group of its own."""
    groups: dict[tuple[str, str], Chunk] = {}
    for each in waiting:
        cell, trials = each.cell, each.n_missing
        shared = cell.pretraining_key
        key = (cell.source.key, shared or cell.key)
        phase = pretraining(cell)
        group = groups.setdefault(key, Chunk([], model.seconds(phase) * trials if phase else 0.0))
        group.cells.append(cell)
        group.seconds += model.seconds(supervised(cell)) * trials
    datasets = list(dict.fromkeys(dataset for dataset, _ in groups))
    return [groups[key] for dataset in datasets for key in groups if key[0] == dataset]


def _at_most(max_jobs: int | None, chunks: list[Chunk]) -> list[Chunk]:
    """Chunks joined, the longest with the shortest, so that there are no more than ``max_jobs``."""
    if max_jobs is None or len(chunks) <= max_jobs:
        return chunks
    joined = [Chunk([], 0.0) for _ in range(max_jobs)]
    for chunk in sorted(chunks, key=lambda chunk: -chunk.seconds):
        shortest = min(joined, key=lambda each: each.seconds)
        shortest.cells += chunk.cells
        shortest.seconds += chunk.seconds
    return joined


@contextmanager
def written(chunks: Sequence[Chunk], results: Path) -> Iterator[list[Path]]:
    """A file a chunk, in the results folder, which every machine that trains can read; removed at the end.

    Jobs may outlive a sweeper that is killed, so its files stay for a month.
    """
    results.mkdir(parents=True, exist_ok=True)
    now = folder_time(results)
    remove_older(results / FOLDER, "*", now - KEPT_DAYS * 24 * HOUR)
    for place in (results, results / "datasets", results / "failures", results / "set_aside"):
        remove_unfinished(place, now)
    folder = results / FOLDER / uuid4().hex
    try:
        paths = []
        for number, chunk in enumerate(chunks):
            paths.append((folder / f"{number:05d}.json").absolute())
            content = [
                {
                    "overrides": cell.overrides,
                    "config": asdict(cell.config),
                    "is_alone": cell.is_alone,
                    "name": cell.name,
                    "group": cell.group,
                }
                for cell in chunk.cells
            ]
            write_whole(paths[-1], json.dumps(content, indent=1) + "\n")
        yield paths
    finally:
        with suppress(FileNotFoundError):  # writing failed
            shutil.rmtree(folder)
        with suppress(OSError):  # another sweep has chunks here
            folder.parent.rmdir()


def read_chunk(file: str | None) -> list[Cell]:
    """The cells of a chunk.

    Raises:
        UsageError: no file is named: a job is started by the sweeper alone.
    """
    if file is None:
        raise UsageError("a job needs chunk.file, which our sweeper sets; leave hydra/sweeper and hydra.mode alone.")
    content = json.loads(Path(file).read_text(encoding="utf-8"))
    return [
        Cell(**each | {"overrides": tuple(each["overrides"]), "config": read(OmegaConf.create(each["config"]))})
        for each in content
    ]
