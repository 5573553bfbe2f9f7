"""Jobs that other processes than our workers train, on any machine: by a launcher of Hydra's, or by Slurm.

Slurm deals out the jobs of a run to the tasks of a job array, and the command waits until all have ended::

    chunks/<name>/00000.json ...    the cells of each task
    chunks/<name>/<task>.log        what it printed

The same command gives its array the same name, by which it is found in the queue. The store shows which cells are
finished, so no accounting is needed. If a task's time is over or it is pre-empted, the next array has its cells.
"""

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from hydra.core.utils import JobStatus
from hydra.plugins.launcher import Launcher

from ..errors import UsageError, counted
from ..options import load_plugins, read
from ..options.option import Options, option
from ..results import fingerprint, write_whole
from ..results.records import read_json
from ..screen import screen
from .cell import MINUTE, Cell, Job, State, survey
from .compose import hydra_text

FOLDER = "chunks"
"""Of the files of jobs, in that of the results."""
MINUTES_AT_LEAST, TIMES_AS_LONG = 30, 3
"""The time limit of a task at least, and over the time that the plan expects: it may be wrong, and a node slower."""
MOST_TASKS = 1000
"""The usual limit of a job array."""
LOOK_EVERY = 2.0
"""Seconds between looks at the queue."""


@dataclass
class SlurmOptions(Options):
    """The options of ``hydra/launcher=slurm``: what a task asks the scheduler for."""

    partition: str | None = option(None, "partition; null is the cluster's default")
    timeout_min: int | None = option(None, "minutes a task may take; null is from the plan", "[1, 1000000]")
    least_min: float = option(20.0, "minutes of cells, as the plan expects, that a task gets at least", "[0, inf)")
    mem_gb: float | None = option(4.0, "gigabytes of a task; null is the cluster's default", "(0, inf)")
    array_parallelism: int = option(256, "tasks that may run at once", "[1, 100000]")
    sbatch: list[str] = option([], "further options of sbatch, as in ['--account=a','--gpus=1']")
    setup: list[str] = option([], "lines of shell before the task, as in ['module load cuda']")
    detach: bool = option(False, "leave the array in the queue and return; the same command waits for it")


class Detached(BaseException):
    """An array was left in the queue; the message says how to go on."""


@dataclass
class Slurm:
    """Trains jobs by the tasks of a job array. Calling it is a `Launch`.

    Args:
        options: of the tasks.
        overrides: the overrides of the command.
    """

    options: SlurmOptions
    overrides: Sequence[str]

    def __call__(self, jobs: Sequence[Job]) -> None:
        """Wait for the array of an earlier command, or submit one. The run launches what is left then.

        Raises:
            UsageError: there is no Slurm here, or it refuses the array.
            RuntimeError: no task has trained a cell.
        """
        results = jobs[0].cells[0].results.absolute()
        name = "scarf-" + fingerprint({"results": str(results), "overrides": sorted(self.overrides)})
        folder, cells = results / FOLDER / name, [cell for job in jobs for cell in job.cells]
        n_missing = sum(len(cell.missing) for cell in cells)
        # An earlier command may have left an array, because it detached or was killed.
        was_left = is_in_queue(name)
        if was_left:
            screen(stderr=True).say(f"Waiting for the job array {name}, which an earlier command left in the queue.")
        try:
            if not was_left:
                forget(folder)
                self._submit(jobs, folder)
            if not self.options.detach:
                _wait(name)
        # At Ctrl-C too, since tasks would train on without the command.
        except BaseException:
            slurm("scancel", f"--name={name}")
            # Wait until the tasks have given their claims back.
            _wait(name)
            forget(folder)
            raise
        if self.options.detach:
            raise Detached(
                f"The job array {name} is in the queue. The same command waits for it; `scancel --name={name}` ends it."
            )
        # The run launches the other trials again. If none was finished, no task could begin, and a log has the reason.
        if sum(len(cell.missing) for cell in survey(cells) if cell.state is State.WAITING) == n_missing:
            raise RuntimeError(f"no task of the job array finished a trial; see {folder}/*.log")
        forget(folder)

    def _submit(self, jobs: Sequence[Job], folder: Path) -> None:
        """Submit an array that trains jobs, whose files go into this folder."""
        options = self.options
        least = max(MINUTE * options.least_min, sum(job.seconds for job in jobs) / MOST_TASKS)
        tasks = [Job([])]
        for job in jobs:
            if tasks[-1].cells and tasks[-1].seconds >= least:
                tasks.append(Job([]))
            tasks[-1].cells.extend(job.cells)
        write_jobs(tasks, folder)
        # `exec` replaces the shell by Python, so that signals reach it.
        command = shlex.join([sys.executable, "-m", "scarf_lightning.cli.job", str(folder)])
        script = folder / "task.sh"
        write_whole(script, "\n".join(["#!/bin/bash", *options.setup, f"exec {command}", ""]))
        # All tasks of an array have one limit.
        longest = max(task.seconds for task in tasks) / MINUTE
        minutes = options.timeout_min or max(MINUTES_AT_LEAST, round(TIMES_AS_LONG * longest))
        arguments = {
            "job-name": folder.name,
            "array": f"0-{len(tasks) - 1}%{options.array_parallelism}",
            "output": f"{folder}/%a.log",
            # A task that Slurm queues again appends to its log.
            "open-mode": "append",
            "ntasks": 1,
            "time": minutes,
            "partition": options.partition,
            # Slurm takes whole numbers, so half a gigabyte is written in megabytes.
            "mem": options.mem_gb and f"{round(1000 * options.mem_gb)}M",
        }
        flags = [f"--{name}={value}" for name, value in arguments.items() if value is not None]
        # The user's own come last, where they replace ours.
        slurm("sbatch", *flags, "--requeue", *options.sbatch, str(script))
        screen(stderr=True).say(f"The job array has {counted(len(tasks), 'task')}.")


def is_in_queue(name: str) -> bool:
    """Whether a task of this user's arrays of this name is pending or running."""
    return bool(slurm("squeue", "--me", "--noheader", f"--name={name}").strip())


def _wait(name: str) -> None:
    """Return when no task of the arrays of this name is in the queue any more."""
    while True:
        # The array trains on while the controller restarts or is busy.
        with suppress(UsageError):
            if not is_in_queue(name):
                return
        time.sleep(LOOK_EVERY)


def slurm(program: str, *arguments: str) -> str:
    """The output of one of Slurm's programs.

    Raises:
        UsageError: there is no such program here, or it refuses.
    """
    try:
        process = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UsageError(
            f"hydra/launcher=slurm needs Slurm's programs, and there is no {program} here; run this on a login node, "
            "or leave hydra/launcher out."
        ) from error
    if process.returncode != 0:
        raise UsageError(f"{program}: {process.stderr.strip()}")
    return process.stdout


def launch_by(launcher: Launcher, jobs: Sequence[Job]) -> None:
    """Launch jobs by a launcher of Hydra's.

    Raises:
        Exception: that of a job that was killed or never started.
    """
    folder = jobs[0].cells[0].results / FOLDER / uuid4().hex
    try:
        files = write_jobs(jobs, folder)
        overrides = [[f"chunk.file={hydra_text(str(file))}"] for file in files]
        outcomes = launcher.launch(overrides, initial_job_idx=0)
    finally:
        forget(folder)
    for each in outcomes:
        # A cell that fails is noted in the store and ends no job, so here the job itself went wrong.
        if each.status == JobStatus.UNKNOWN:
            raise RuntimeError("a job did not finish")
        # Reading it raises the error of a job that failed.
        each.return_value  # noqa: B018


def write_jobs(jobs: Sequence[Job], folder: Path) -> list[Path]:
    """Write a file a job, ``00000.json`` the first, into a folder of the results that every machine can read."""
    files = []
    for number, job in enumerate(jobs):
        # Absolute, since a job may start in another folder.
        file = folder.absolute() / f"{number:05d}.json"
        entries = []
        for cell in job.cells:
            entries.append([cell.overrides, asdict(cell.config), cell.is_alone, cell.name, cell.group])
        write_whole(file, json.dumps({"cells": entries}))
        files.append(file)
    return files


def forget(folder: Path) -> None:
    """Remove the files of jobs that have ended."""
    shutil.rmtree(folder, ignore_errors=True)
    # Another sweep may have jobs here.
    with suppress(OSError):
        folder.parent.rmdir()


def read_job(file: Path) -> list[Cell]:
    """The cells of a job, whose plugins are imported."""
    cells = []
    for overrides, config, *other_fields in read_json(file)["cells"]:
        # They may be imported: the command that wrote the file for its own job has named them.
        load_plugins(config["plugins"])
        cells.append(Cell(tuple(overrides), read(config), *other_fields))
    return cells
