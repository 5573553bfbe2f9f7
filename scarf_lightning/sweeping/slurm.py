"""Slurm: each job of a run is a task of a job array, and the command waits until all tasks have left the queue.

    chunks/<id>/00000.json ...    the cells of each task
    chunks/<id>/array             the number of the array and its cells, so that a later command finds it
    chunks/<id>/<task>.log        what a task printed

A task that runs out of time, or that another job pre-empts, gives its claims back and puts itself into the queue again
(`scarf_lightning.cli.job`). ``squeue`` says whether a task is in the queue, and the store whether its cells are
finished, so no accounting is needed.
"""

import math
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import RecordWarning, UsageError, counted
from ..options.option import Options, option
from ..results.files import DamagedRecordError, write_whole
from ..results.records import fields_of, read_sealed, sealed
from .cell import State, survey
from .jobs import Job, forget, make_jobs, write_jobs
from .plan import MINUTE, Group

ARRAY = "array"
"""The name of the file that names an array."""
MINUTES_AT_LEAST, TIMES_AS_LONG = 30, 3
"""The time limit of a task at least, and over the time that the plan expects: it may be wrong, and a node slower."""
LOOK_EVERY = 2.0
"""Seconds between looks at the queue."""
SECONDS_OF_NOTICE = 120
"""Time between the signal that a task's time is nearly over, and its end."""
PATIENCE = 600.0
"""Seconds for which a cancelled array is waited for."""


@dataclass
class SlurmOptions(Options):
    """The options of ``hydra/launcher=slurm``: what a task asks the scheduler for."""

    partition: str | None = option(None, "partition; null is the cluster's default")
    timeout_min: int | None = option(None, "minutes a task may take; null is from the plan", "[1, 1000000]")
    mem_gb: float | None = option(4.0, "gigabytes of a task; null is the cluster's default", "(0, inf)")
    array_parallelism: int = option(256, "tasks that may run at once", "[1, 100000]")
    sbatch: list[str] = option([], "further options of sbatch, as in ['--account=a','--gpus=1']")
    setup: list[str] = option([], "lines of shell before the task, as in ['module load cuda']")
    detach: bool = option(False, "leave the array in the queue and return; the same command waits for it")


class Detached(BaseException):
    """An array was left in the queue; the message says how to go on."""


@dataclass(frozen=True)
class Array:
    """A job array: its number, and the keys of its cells."""

    number: int
    cells: list[str]


@dataclass
class Slurm:
    """Trains groups of cells by the tasks of a job array. Calling it is a `Launch`.

    Args:
        options: of the tasks.
        say: shows a sentence.
    """

    options: SlurmOptions
    say: Callable[[str], None]

    def __call__(self, groups: Sequence[Group]) -> None:
        """Wait for the arrays that have some of these cells, or submit one. The run launches what is left then.

        Raises:
            UsageError: there is no Slurm here, or it refuses the array.
            RuntimeError: no task has trained a cell.
        """
        cells = [each.cell for group in groups for each in group.cells]
        arrays = dict[Path, int]()
        # An earlier command may have left an array, because it detached or was killed.
        for folder, array in known_arrays(cells[0].results).items():
            if not any(cell.key in array.cells for cell in cells):
                continue
            if is_in_queue(str(array.number)):
                arrays[folder] = array.number
                self.say(f"Waiting for the job array {array.number}, which an earlier command left in the queue.")
            else:
                forget(folder)
        if not arrays:
            jobs = make_jobs(groups, "slurm")
            folder = write_jobs(jobs, cells[0].results)
            try:
                arrays[folder] = self._submit(jobs, folder)
            except UsageError:
                forget(folder)
                raise
        numbers = ",".join(map(str, arrays.values()))
        if self.options.detach:
            raise Detached(
                f"The job array {numbers} is in the queue with {counted(len(cells), 'cell')}. The same command waits "
                f"for it; `scancel {numbers.replace(',', ' ')}` ends it."
            )
        try:
            _wait(numbers)
        # Also at Ctrl-C and at a time limit: tasks that nobody waits for would train on.
        except BaseException:
            _slurm("scancel", *numbers.split(","))
            # Until they have given their claims back. A dead controller must not hold the command for ever.
            _wait(numbers, PATIENCE)
            for folder in arrays:
                forget(folder)
            raise
        # Single cells that wait are launched again by the run. If all do, no task could begin, and a log says why.
        logs = [str(log) for folder in arrays for log in folder.glob("*.log") if log.stat().st_size]
        if logs and all(each.state is State.WAITING for each in survey(cells)):
            raise RuntimeError(f"No task of the job array {numbers} finished a cell; see {logs[0]}")
        for folder in arrays:
            forget(folder)

    def _submit(self, jobs: Sequence[Job], folder: Path) -> int:
        """The number of the array that trains jobs, whose files are in this folder."""
        # `exec` puts Python in the place of the shell, so that signals reach it.
        command = shlex.join([sys.executable, "-m", "scarf_lightning.cli.job", str(folder)])
        script = folder / "task.sh"
        write_whole(script, "\n".join(["#!/bin/bash", *self.options.setup, f"exec {command}", ""]))
        printed = _slurm("sbatch", "--parsable", *self._arguments(jobs, folder), str(script))
        # On a federation of clusters sbatch prints the cluster's name behind a semicolon.
        number = printed.strip().partition(";")[0]
        if not number.isdecimal():
            raise UsageError(f"sbatch printed {printed!r} in place of a job's number; see `squeue --me`.")
        array = Array(int(number), [cell.key for job in jobs for cell in job.cells])
        write_whole(folder / ARRAY, sealed(asdict(array)))
        self.say(f"The job array {number} has {counted(len(jobs), 'task')}.")
        return array.number

    def _arguments(self, jobs: Sequence[Job], folder: Path) -> list[str]:
        """The options of sbatch."""
        asked = self.options
        # All tasks of an array have one limit.
        longest = max(job.seconds for job in jobs)
        minutes = asked.timeout_min or max(MINUTES_AT_LEAST, round(TIMES_AS_LONG * longest / MINUTE))
        arguments = {
            "job-name": "scarf",
            "array": f"0-{len(jobs) - 1}%{asked.array_parallelism}",
            "output": f"{folder}/%a.log",
            # A task that was requeued goes on in its log.
            "open-mode": "append",
            "ntasks": 1,
            "time": minutes,
            # B sends it to the script's own process. A task is told at most a third of its time before the end.
            "signal": f"B:USR2@{min(SECONDS_OF_NOTICE, 20 * minutes)}",
            "partition": asked.partition,
            # Slurm takes whole numbers, so half a gigabyte is written in megabytes.
            "mem": asked.mem_gb and f"{round(1000 * asked.mem_gb)}M",
        }
        given = [f"--{name}={value}" for name, value in arguments.items() if value is not None]
        # The user's own come last, where they replace ours.
        return [*given, "--requeue", *asked.sbatch]


def known_arrays(results: Path) -> dict[Path, Array]:
    """The arrays that commands have submitted for a results folder and not seen to their end, by their folders. A
    warning names a file that cannot be used."""
    arrays = {}
    for file in sorted(results.absolute().glob(f"chunks/*/{ARRAY}")):
        with suppress(FileNotFoundError, DamagedRecordError):
            array = fields_of(Array, read_sealed(file))
            # The folder is removed when the array has ended, so it must not be elsewhere.
            if array.number > 0 and not file.parent.is_symlink():
                arrays[file.parent] = array
                continue
        sentence = f"{file} is left out: it names no job array; one that it named is in `squeue --me`."
        warnings.warn(sentence, RecordWarning, stacklevel=2)
    return arrays


def is_in_queue(numbers: str) -> bool:
    """Whether a task of arrays, given by their numbers with commas, is pending or running.

    Raises:
        UsageError: the controller does not answer.
    """
    try:
        return bool(_slurm("squeue", "--noheader", "--array", f"--jobs={numbers}").strip())
    except UsageError as error:
        # Slurm forgets jobs some minutes after they end. This is its answer once it has forgotten all of them.
        if "Invalid job id" in str(error):
            return False
        raise


def _wait(numbers: str, seconds: float = math.inf) -> None:
    """Return when no task of these arrays is in the queue any more, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        # While the controller restarts or is busy, the array goes on without it.
        with suppress(UsageError):
            if not is_in_queue(numbers):
                return
        time.sleep(LOOK_EVERY)


def _slurm(program: str, *arguments: str) -> str:
    """The output of one of Slurm's programs.

    Raises:
        UsageError: there is no such program here, or it refuses.
    """
    try:
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UsageError(
            f"hydra/launcher=slurm needs Slurm's programs, and there is no {program} here; run this on a login node, "
            "or leave hydra/launcher out."
        ) from error
    if ran.returncode != 0:
        raise UsageError(f"{program}: {' '.join(ran.stderr.split())}")
    return ran.stdout
