"""Jobs: cells that one process trains one after the other, all their trials or some of them.

Cells that start from one pre-training stay together. Each job trains under claims, so it may run twice. What is long
for one worker is divided by trials: a job pre-trains its trials once, and trains them in each cell.

    run      claims the cells of a job and their pre-training -----------> gives the claims back
    worker     trials 0 to 9 of each cell     trials of another job
    worker     trials 10 to 19 of each cell   ...

Other processes see the claims and wait. Trials of a worker that dies are missing in the store, and the run launches
their cells again.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from uuid import uuid4

from hydra.core.utils import JobStatus
from hydra.plugins.launcher import Launcher

from ..errors import UsageError
from ..options import load_plugins, read
from ..results.files import write_whole
from ..results.records import read_json
from ..screen import screen
from .cell import Cell, stores_of
from .overrides import hydra_text
from .plan import Job

FOLDER = "chunks"
"""Of the files of jobs, in that of the results."""
LONG = 0.25
"""A job is divided that takes longer than this share of the shortest time in which all workers can end."""

Launch = Callable[[Sequence[Job]], None]
"""Trains jobs, and returns when all have ended. Results are in the store."""
TrainCells = Callable[[Sequence[Cell], Sequence[int] | None], None]
"""Trains cells one after the other in this process, all their trials or some of them."""
LoadTraining = Callable[[], TrainCells]
"""Imports torch and Lightning, and returns what trains."""


def divided(jobs: Sequence[Job], n_workers: int, claims: ExitStack) -> list[Job]:
    """The jobs, with a part for each worker in place of one that would keep a worker busy alone. The cells of such a
    job are claimed for as long as the ``claims`` last."""
    shortest = sum(job.seconds for job in jobs) / n_workers
    parts, whole = list[Job](), list[Job]()
    for job in jobs:
        trials = job.missing
        number = min(n_workers, len(trials)) if job.seconds > LONG * shortest else 1
        if number > 1 and can_be_divided(job) and _claim(job, claims):
            for n in range(number):
                own = trials[len(trials) * n // number : len(trials) * (n + 1) // number]
                parts.append(replace(job, trials=own))
        else:
            whole.append(job)
    return parts + whole


def can_be_divided(job: Job) -> bool:
    """True if workers may divide the trials of a job: no number depends on it, and no logger shows live curves, which
    are a process' own."""
    # It imports torch, which the checks before training have imported.
    from ..engine.hardware import is_exact

    return all(not cell.config.logger.views and is_exact(cell.config.trainer) for cell in job.cells)


def _claim(job: Job, claims: ExitStack) -> bool:
    """Claim the cells of a job and their pre-training; false if another process has one of them, or the data cannot be
    read, which their training will note."""
    for cell in job.cells:
        if cell.data is None:
            try:
                cell.learn(cell.source.read().table)
            except UsageError:
                return False
    for store in stores_of(job.cells):
        # A worker that trains the job whole does so under the claims that the run has got.
        if claims.enter_context(store.claim()) is None:
            return False
        for sentence in store.mend():
            screen(stderr=True).say(sentence)
    return True


def launch_by(launcher: Launcher, jobs: Sequence[Job]) -> None:
    """Launch jobs by a launcher of Hydra's.

    Raises:
        Exception: that of a job that was killed or never started.
    """
    folder = jobs[0].cells[0].results / FOLDER / uuid4().hex
    try:
        files = write_jobs(jobs, folder)
        asked = [[f"chunk.file={hydra_text(str(file))}"] for file in files]
        returned = launcher.launch(asked, initial_job_idx=0)
    finally:
        forget(folder)
    for each in returned:
        # A cell that fails is noted in the store and ends no job, so here the job itself went wrong.
        if each.status == JobStatus.UNKNOWN:
            raise RuntimeError("a job did not finish")
        # Asking for it raises the error of a job that failed.
        each.return_value  # noqa: B018


def write_jobs(jobs: Sequence[Job], folder: Path) -> list[Path]:
    """Write a file a job, ``00000.json`` the first, into a folder of the results that every machine can read."""
    files = []
    for number, job in enumerate(jobs):
        # Absolute, since a job may start in another folder.
        file = folder.absolute() / f"{number:05d}.json"
        told = []
        for cell in job.cells:
            told.append([cell.overrides, asdict(cell.config), cell.is_alone, cell.name, cell.group])
        write_whole(file, json.dumps({"cells": told}))
        files.append(file)
    return files


def forget(folder: Path) -> None:
    """Remove the files of jobs that nobody trains any more."""
    shutil.rmtree(folder, ignore_errors=True)
    # Another sweep may have jobs here.
    with suppress(OSError):
        folder.parent.rmdir()


def read_job(file: Path) -> list[Cell]:
    """The cells of a job, whose plugins are imported."""
    cells = []
    for overrides, config, *named in read_json(file)["cells"]:
        # The command that wrote the file has named them: it is a message to its own job.
        load_plugins(config["plugins"])
        cells.append(Cell(tuple(overrides), read(config), *named))
    return cells
