"""Slurm: each chunk of a run is a task of a job array, and the command waits until all tasks have left the queue.

    chunks/<id>/00000.json ...    the cells of each task
    chunks/<id>/array.json        the number of the array, so that a later command finds it
    chunks/<id>/<task>.log        what a task printed

A task that runs out of time, or that another job pre-empts, gives its claims back and puts itself into the queue again
(`scarf_lightning.cli.job`). ``squeue`` says whether a task is in the queue, and the store whether its cells are
finished, so no accounting is needed.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ..errors import RecordWarning, UsageError, counted
from ..options.option import Options, option
from ..results.files import DamagedRecordError, write_whole
from ..results.records import parsed
from .cell import Cell, State, survey
from .chunks import UNUSABLE, Chunk, write_chunks

ARRAY = "array.json"
JOB = re.compile(r"\d{1,18}", re.ASCII)
"""The number of an array. To Slurm's programs a name, a list or an option may stand in its place."""
MINUTES_AT_LEAST = 30
"""Time limit of a task for which the plan expects less: the plan may be wrong, and another node slower."""
TIMES_AS_LONG = 3
"""The time limit of a task over the time that the plan expects of it."""
SECONDS_OF_NOTICE = 120
"""Time between the signal that a task's time is nearly over, and its end."""
PATIENCE = 600.0
"""Seconds without an answer of the controller after which the user is told."""
LINES_OF_A_LOG = 20


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


@dataclass
class SubmittedArray:
    """An array in the queue.

    Attributes:
        job: its number.
        folder: of its chunks and logs.
        keys: of the cells of each task.
    """

    job: str
    folder: Path
    keys: list[list[str]]

    def cancel(self) -> None:
        """Take the array out of the queue, wait until its tasks have ended, and remove its files."""
        _slurm("scancel", self.job)
        # Tasks give their claims back before they end. A dead controller must not hold the command for ever.
        deadline = time.monotonic() + PATIENCE
        while tasks_in_queue([self.job]) and time.monotonic() < deadline:
            time.sleep(0.5)
        self.forget()

    def forget(self) -> None:
        """Remove the files of an array that has left the queue."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)
        # Another array may have its folder here.
        with suppress(OSError):
            self.folder.parent.rmdir()

    def last_lines(self) -> str:
        """The last lines that its tasks printed, of those that failed to begin."""
        texts = []
        for log in sorted(self.folder.glob("*.log")):
            # A module system or a crash may print bytes that are no text.
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            texts += lines[-LINES_OF_A_LOG:]
        return "\n".join(texts[-LINES_OF_A_LOG:])


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
        """
        results = chunks[0].cells[0].results
        cells = [cell for chunk in chunks for cell in chunk.cells]
        wanted = {cell.key for cell in cells}
        # An earlier command may have left an array, because it detached or was killed.
        arrays = self._attached(results, wanted)
        queued = set[str]()
        for array in arrays:
            queued.update(chain.from_iterable(array.keys))
        fresh = []
        for chunk in chunks:
            unqueued = [cell for cell in chunk.cells if cell.key not in queued]
            if unqueued:
                # The whole chunk's seconds: a time limit may be too long, not too short.
                fresh.append(Chunk(unqueued, chunk.seconds))
        if fresh:
            arrays.append(self._submit(fresh, results))
        if self.options.detach:
            numbers = ", ".join(array.job for array in arrays)
            raise Detached(
                f"The job array {numbers} is in the queue with {counted(len(wanted), 'cell')}. The same command waits "
                f"for it; `scancel {numbers}` ends it."
            )
        try:
            self._wait(arrays, cells)
        # Also at Ctrl-C and at a time limit: tasks that nobody waits for would train on.
        except BaseException:
            for array in arrays:
                array.cancel()
            raise
        for array in arrays:
            array.forget()

    def _attached(self, results: Path, wanted: set[str]) -> list[SubmittedArray]:
        """The arrays of earlier commands that are still in the queue with some of these cells."""
        arrays = []
        for array in known_arrays(results):
            if not wanted.isdisjoint(chain.from_iterable(array.keys)):
                arrays.append(array)
        # The controller serves the whole cluster, so it is asked as rarely as possible.
        if not arrays:
            return []
        alive = set()
        for task in tasks_in_queue([array.job for array in arrays]):
            # The task 17_3 is one of the array 17.
            alive.add(task.partition("_")[0])
        attached = []
        for array in arrays:
            if array.job in alive:
                self.say(f"Waiting for the job array {array.job}, which an earlier command left in the queue.")
                attached.append(array)
            else:
                array.forget()
        return attached

    def _submit(self, chunks: Sequence[Chunk], results: Path) -> SubmittedArray:
        folder = write_chunks(chunks, results)
        script = folder / "task.sh"
        write_whole(script, self._script(chunks, folder))
        keys = []
        for chunk in chunks:
            keys.append([cell.key for cell in chunk.cells])
        array = SubmittedArray("", folder, keys)
        try:
            printed = _slurm("sbatch", "--parsable", *self._arguments(chunks, folder), str(script))
        except UsageError:
            array.forget()
            raise
        # On a federation of clusters sbatch prints the cluster's name behind a semicolon.
        array.job = printed.strip().partition(";")[0]
        if not JOB.fullmatch(array.job):
            array.forget()
            raise UsageError(f"sbatch printed {array.job!r} in place of a job's number; look at `squeue --me`.")
        note = {"job": array.job, "keys": array.keys}
        write_whole(folder / ARRAY, json.dumps(note) + "\n")
        self.say(f"The job array {array.job} has {counted(len(chunks), 'task')}.")
        return array

    def _arguments(self, chunks: Sequence[Chunk], folder: Path) -> list[str]:
        """The options of sbatch."""
        asked = self.options
        arguments = [
            "--job-name=scarf",
            f"--array=0-{len(chunks) - 1}%{asked.array_parallelism}",
            f"--output={folder}/%a.log",
            # A task that was requeued goes on in its log.
            "--open-mode=append",
            "--requeue",
            "--ntasks=1",
            f"--cpus-per-task={asked.cpus_per_task}",
            f"--time={self._minutes(chunks)}",
            # B sends it to the script's own process, which `exec` makes Python.
            f"--signal=B:USR2@{self._notice(chunks)}",
        ]
        for name in ("partition", "account", "qos", "constraint"):
            value = getattr(asked, name)
            if value is not None:
                arguments.append(f"--{name}={value}")
        # Slurm takes whole numbers, so half a gigabyte is written in megabytes.
        if asked.mem_gb is not None:
            arguments.append(f"--mem={round(1000 * asked.mem_gb)}M")
        if asked.gpus_per_task:
            arguments.append(f"--gpus={asked.gpus_per_task}")
        # The user's own come last, where they replace ours.
        return [*arguments, *asked.sbatch]

    def _minutes(self, chunks: Sequence[Chunk]) -> int:
        if self.options.timeout_min is not None:
            return self.options.timeout_min
        # All tasks of an array have one limit.
        longest = max(chunk.seconds for chunk in chunks)
        return max(MINUTES_AT_LEAST, round(TIMES_AS_LONG * longest / 60))

    def _notice(self, chunks: Sequence[Chunk]) -> int:
        """Seconds before the end at which a task is told: at most a third of its time."""
        return min(SECONDS_OF_NOTICE, 20 * self._minutes(chunks))

    def _script(self, chunks: Sequence[Chunk], folder: Path) -> str:
        """The script of a task. ``exec`` puts Python in the place of the shell, so that signals reach it."""
        job = shlex.join([sys.executable, "-m", "scarf_lightning.cli.job", str(folder)])
        return "\n".join(["#!/bin/bash", *self.options.setup, f"exec {job}", ""])

    def _wait(self, arrays: Sequence[SubmittedArray], cells: Sequence[Cell]) -> None:
        """Return when no task is in the queue any more.

        Raises:
            RuntimeError: tasks have ended without a word on some of their cells.
        """
        jobs = [array.job for array in arrays]
        answered = time.monotonic()
        while True:
            try:
                if not tasks_in_queue(jobs):
                    break
                answered = time.monotonic()
            # The controller restarts, or is busy. The array goes on without it, so the command waits.
            except UsageError as error:
                if time.monotonic() - answered > PATIENCE:
                    self.say(f"Slurm does not answer; waiting. {error}")
                    # The next sentence comes after the same time again.
                    answered = time.monotonic()
            time.sleep(self.options.poll_seconds)
        # Single cells that wait are launched again by the run. If all do, no task could begin, and its log says why.
        lost = [each for each in survey(cells) if each.state is State.WAITING]
        if len(lost) < len(cells):
            return
        text = "\n".join(array.last_lines() for array in arrays)
        if text.strip():
            raise RuntimeError(f"No task of the job array {', '.join(jobs)} finished a cell. They printed:\n{text}")


class Detached(BaseException):
    """An array was left in the queue; the message says how to go on."""


def known_arrays(results: Path) -> list[SubmittedArray]:
    """The arrays that commands have submitted for a results folder and not seen to their end. A warning names a file
    that cannot be used."""
    arrays = []
    for file in sorted(results.absolute().glob(f"chunks/*/{ARRAY}")):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            job, keys = parsed(str, content["job"], "job"), parsed(list[list[str]], content["keys"], "keys")
            if not JOB.fullmatch(job):
                raise DamagedRecordError(f"{job!r} is no number of a job")
            # The folder is removed when the array has ended.
            if file.parent.is_symlink():
                raise DamagedRecordError("its folder is elsewhere")
        except (*UNUSABLE, DamagedRecordError):
            sentence = f"{file} is left out: it names no job array; one that it named is in `squeue --me`."
            warnings.warn(sentence, RecordWarning, stacklevel=2)
            continue
        arrays.append(SubmittedArray(job, file.parent, keys))
    return arrays


def tasks_in_queue(jobs: Sequence[str]) -> list[str]:
    """The tasks of these arrays that are pending or running, such as ``17_3``.

    Raises:
        UsageError: the controller does not answer.
    """
    try:
        listed = _slurm("squeue", "--noheader", "--array", "--format=%i", f"--jobs={','.join(jobs)}")
    except UsageError as error:
        # Slurm forgets jobs some minutes after they end. This is its answer once it has forgotten all of them.
        if "Invalid job id" in str(error):
            return []
        raise
    return listed.split()


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
