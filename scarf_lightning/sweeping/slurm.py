"""Slurm: each chunk of a run is a task of a job array, and the command waits until all tasks have left the queue.

    chunks/<id>/00000.json ...    the cells of each task
    chunks/<id>/array             the number of the array, so that a later command finds it
    chunks/<id>/<task>.log        what a task printed

A task that runs out of time, or that another job pre-empts, gives its claims back and puts itself into the queue again
(`scarf_lightning.cli.job`). ``squeue`` says whether a task is in the queue, and the store whether its cells are
finished, so no accounting is needed.
"""

import re
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import RecordWarning, UsageError, counted
from ..options.option import Options, option
from ..results.files import DamagedRecordError, read_bytes, write_whole
from .cell import State, survey
from .chunks import Chunk, forget, read_chunk, write_chunks

ARRAY, IN_ARRAY = "array", "The job array {} is in the queue.\n"
"""The name and the content of the file that names an array."""
MOST_BYTES = 1_000
JOB = r"\d{1,18}"
"""The number of an array. To Slurm's programs a name, a list or an option may stand in its place."""
MINUTES_AT_LEAST = 30
"""Time limit of a task for which the plan expects less: the plan may be wrong, and another node slower."""
TIMES_AS_LONG = 3
"""The time limit of a task over the time that the plan expects of it."""
SECONDS_OF_NOTICE = 120
"""Time between the signal that a task's time is nearly over, and its end."""
PATIENCE = 600.0
"""Seconds for which a cancelled array is waited for."""


@dataclass
class SlurmOptions(Options):
    """The options of ``hydra/launcher=slurm``: what a task asks the scheduler for."""

    partition: str | None = option(None, "partition; null is the cluster's default")
    account: str | None = option(None, "account that pays")
    qos: str | None = option(None, "quality of service")
    constraint: str | None = option(None, "features that the nodes must have")
    timeout_min: int | None = option(None, "minutes a task may take; null is from the plan", "[1, 1000000]")
    mem_gb: float | None = option(4.0, "gigabytes of a task; null is the cluster's default", "(0, inf)")
    cpus_per_task: int = option(1, "cores of a task; one thread a process is fastest for these networks", "[1, 4096]")
    gpus_per_task: int = option(0, "GPUs of a task", "[0, 64]")
    array_parallelism: int = option(256, "tasks that may run at once", "[1, 100000]")
    sbatch: list[str] = option([], "further options of sbatch, as in ['--exclude=n7']")
    setup: list[str] = option([], "lines of shell before the task, as in ['module load cuda']")
    detach: bool = option(False, "leave the array in the queue and return; the same command waits for it")
    poll_seconds: float = option(5.0, "seconds between looks at the queue", "[0.1, 3600]")


class Detached(BaseException):
    """An array was left in the queue; the message says how to go on."""


@dataclass
class Slurm:
    """Trains chunks as tasks of a job array. Calling it is a `Launch`.

    Args:
        options: of the tasks.
        say: shows a sentence.
    """

    options: SlurmOptions
    say: Callable[[str], None]

    def __call__(self, chunks: Sequence[Chunk]) -> None:
        """Submit the cells that no array has yet, and wait for all.

        Raises:
            UsageError: there is no Slurm here, or it refuses the array.
            RuntimeError: no task has trained a cell.
        """
        cells = [cell for chunk in chunks for cell in chunk.cells]
        # An earlier command may have left an array, because it detached or was killed.
        arrays, queued = self._attached({cell.key for cell in cells}, cells[0].results)
        fresh = []
        for chunk in chunks:
            unqueued = [cell for cell in chunk.cells if cell.key not in queued]
            if unqueued:
                # The whole chunk's seconds: a time limit may be too long, not too short.
                fresh.append(Chunk(unqueued, chunk.seconds))
        if fresh:
            folder = write_chunks(fresh, cells[0].results)
            arrays[folder] = self._submit(fresh, folder)
        numbers = ",".join(arrays.values())
        if self.options.detach:
            raise Detached(
                f"The job array {numbers} is in the queue with {counted(len(cells), 'cell')}. The same command waits "
                f"for it; `scancel {numbers}` ends it."
            )
        try:
            self._wait(numbers)
        # Also at Ctrl-C and at a time limit: tasks that nobody waits for would train on.
        except BaseException:
            _cancel(numbers)
            for folder in arrays:
                forget(folder)
            raise
        # Single cells that wait are launched again by the run. If all do, no task could begin, and a log says why.
        logs = [str(log) for folder in arrays for log in folder.glob("*.log") if log.stat().st_size]
        if logs and all(each.state is State.WAITING for each in survey(cells)):
            raise RuntimeError(f"No task of the job array {numbers} finished a cell; see {logs[0]}")
        for folder in arrays:
            forget(folder)

    def _attached(self, wanted: set[str], results: Path) -> tuple[dict[Path, str], set[str]]:
        """The arrays of earlier commands that are still in the queue with some of these cells, and the keys of all of
        their cells."""
        attached, queued = dict[Path, str](), set[str]()
        for folder, number in known_arrays(results).items():
            keys = set[str]()
            for file in folder.glob("*.json"):
                # Cells of plugins that this command does not name are others, and no file imports a module.
                with suppress(UsageError):
                    keys |= {cell.key for cell in read_chunk(str(file), imports=False)}
            if wanted.isdisjoint(keys):
                continue
            if tasks_in_queue(number):
                self.say(f"Waiting for the job array {number}, which an earlier command left in the queue.")
                attached[folder] = number
                queued |= keys
            else:
                forget(folder)
        return attached, queued

    def _submit(self, chunks: Sequence[Chunk], folder: Path) -> str:
        """The number of the array that trains chunks, whose files are in this folder."""
        # `exec` puts Python in the place of the shell, so that signals reach it.
        job = shlex.join([sys.executable, "-m", "scarf_lightning.cli.job", str(folder)])
        script = folder / "task.sh"
        write_whole(script, "\n".join(["#!/bin/bash", *self.options.setup, f"exec {job}", ""]))
        try:
            printed = _slurm("sbatch", "--parsable", *self._arguments(chunks, folder), str(script))
            # On a federation of clusters sbatch prints the cluster's name behind a semicolon.
            number = printed.strip().partition(";")[0]
            if not re.fullmatch(JOB, number, re.ASCII):
                raise UsageError(f"sbatch printed {number!r} in place of a job's number; look at `squeue --me`.")
        except UsageError:
            forget(folder)
            raise
        write_whole(folder / ARRAY, IN_ARRAY.format(number))
        self.say(f"The job array {number} has {counted(len(chunks), 'task')}.")
        return number

    def _arguments(self, chunks: Sequence[Chunk], folder: Path) -> list[str]:
        """The options of sbatch."""
        asked = self.options
        # All tasks of an array have one limit.
        longest = max(chunk.seconds for chunk in chunks)
        minutes = asked.timeout_min or max(MINUTES_AT_LEAST, round(TIMES_AS_LONG * longest / 60))
        arguments = {
            "job-name": "scarf",
            "array": f"0-{len(chunks) - 1}%{asked.array_parallelism}",
            "output": f"{folder}/%a.log",
            # A task that was requeued goes on in its log.
            "open-mode": "append",
            "ntasks": 1,
            "cpus-per-task": asked.cpus_per_task,
            "time": minutes,
            # B sends it to the script's own process. A task is told at most a third of its time before the end.
            "signal": f"B:USR2@{min(SECONDS_OF_NOTICE, 20 * minutes)}",
            "partition": asked.partition,
            "account": asked.account,
            "qos": asked.qos,
            "constraint": asked.constraint,
            # Slurm takes whole numbers, so half a gigabyte is written in megabytes.
            "mem": asked.mem_gb and f"{round(1000 * asked.mem_gb)}M",
            "gpus": asked.gpus_per_task or None,
        }
        given = [f"--{name}={value}" for name, value in arguments.items() if value is not None]
        # The user's own come last, where they replace ours.
        return [*given, "--requeue", *asked.sbatch]

    def _wait(self, numbers: str) -> None:
        """Return when no task of these arrays is in the queue any more."""
        while True:
            # While the controller restarts or is busy, the array goes on without it.
            with suppress(UsageError):
                if not tasks_in_queue(numbers):
                    return
            time.sleep(self.options.poll_seconds)


def known_arrays(results: Path) -> dict[Path, str]:
    """The numbers of the arrays that commands have submitted for a results folder and not seen to their end, by the
    folders of their chunks and logs. A warning names a file that cannot be used."""
    arrays = {}
    for file in sorted(results.absolute().glob(f"chunks/*/{ARRAY}")):
        text = ""
        with suppress(FileNotFoundError, DamagedRecordError):
            text = read_bytes(file, MOST_BYTES).decode("ascii", "replace")
        named = re.fullmatch(IN_ARRAY.format(f"({JOB})"), text, re.ASCII)
        # The folder is removed when the array has ended, so it must not be elsewhere.
        if named and not file.parent.is_symlink():
            arrays[file.parent] = named[1]
        else:
            sentence = f"{file} is left out: it names no job array; one that it named is in `squeue --me`."
            warnings.warn(sentence, RecordWarning, stacklevel=2)
    return arrays


def tasks_in_queue(numbers: str) -> list[str]:
    """The tasks of arrays, given by their numbers with commas, that are pending or running, such as ``17_3``.

    Raises:
        UsageError: the controller does not answer.
    """
    try:
        return _slurm("squeue", "--noheader", "--array", "--format=%i", f"--jobs={numbers}").split()
    except UsageError as error:
        # Slurm forgets jobs some minutes after they end. This is its answer once it has forgotten all of them.
        if "Invalid job id" in str(error):
            return []
        raise


def _cancel(numbers: str) -> None:
    """Take arrays out of the queue, and wait until their tasks have given their claims back and ended."""
    _slurm("scancel", *numbers.split(","))
    # A dead controller must not hold the command for ever.
    deadline = time.monotonic() + PATIENCE
    while tasks_in_queue(numbers) and time.monotonic() < deadline:
        time.sleep(0.5)


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
