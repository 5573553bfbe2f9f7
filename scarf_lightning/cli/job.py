"""A task of a Slurm array: ``python -m scarf_lightning.cli.job FOLDER`` trains the chunk of its number in a folder.

A task that has to stop gives its claims back first, so that its cells can be trained at once by others:

- SIGUSR2 says that its time is nearly over. It puts itself into the queue again, as soon as it has finished a stack: a
  task that never finishes one would be queued for ever.
- SIGTERM comes from a job of higher priority, or from ``scancel``. In the first case it puts itself into the queue
  again; in the second one it ends.

It begins no stack that would take longer than the time that is left.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .signals import NearlyOutOfTime, Terminated, ended_by_signals

MARGIN = 1.2
"""The time that a stack is expected to take, over the longest one so far."""
WAIT = 3600.0
"""Seconds for which a task waits that Slurm ends it, after it was put into the queue again."""
CANCELLED = ("CANCELLED", "COMPLETING", "TIMEOUT", "NODE_FAIL")
"""States in which a job is not to be trained again."""


class StackTimes:
    """The time that stacks take, and the time at which the job ends.

    Args:
        ends: seconds since the epoch; None if the job has no limit.

    Attributes:
        n_finished: the number of stacks that have ended.
        is_told: true as soon as Slurm has sent SIGUSR2.
    """

    def __init__(self, ends: float | None) -> None:
        self._ends = ends
        self._longest = 0.0
        self.n_finished = 0
        self.is_told = False

    def nearly_over(self, number: int, frame: object) -> None:
        """The handler of SIGUSR2.

        Raises:
            NearlyOutOfTime: a stack has ended, so nothing but the one in training is lost.
        """
        # A task that was queued again without a finished stack would begin the same one for ever.
        self.is_told = True
        if self.n_finished:
            raise NearlyOutOfTime

    @contextmanager
    def stack(self) -> Iterator[None]:
        """A context for a stack.

        Raises:
            NearlyOutOfTime: a stack like the longest one so far does not end in the time that is left.
        """
        # By the clock of the machine, since Slurm tells the end as a time of day.
        started = time.time()
        if self._ends is not None and started + MARGIN * self._longest > self._ends:
            raise NearlyOutOfTime
        yield
        self._longest = max(self._longest, time.time() - started)
        self.n_finished += 1
        if self.is_told:
            raise NearlyOutOfTime


def main() -> int:
    """Train the chunk of this task. The exit status is 0 if all its cells were tried."""
    job = os.environ["SLURM_JOB_ID"]
    times = StackTimes(_end_of_job(job))
    try:
        with ended_by_signals():
            # The handler of the block raises at once; this one asks whether a stack has ended.
            signal.signal(signal.SIGUSR2, times.nearly_over)
            # Imported when signals are answered: the imports take seconds, and a task may be ended in them.
            from ..sweeping.chunks import read_chunk
            from .running import OwnTraining

            cells = read_chunk(_file_of_task(Path(sys.argv[1])))
            OwnTraining().imported(times.stack)(cells)
    except NearlyOutOfTime:
        return _queued_again(job, "Its time is nearly over")
    except Terminated as ended:
        # SIGUSR2 came before, so this is the end of the time limit.
        if times.is_told and not times.n_finished:
            _say("Its time is over before a stack has ended; set hydra.launcher.timeout_min higher, or train fewer "
                 "trials at once by trainer.trials_per_stack.")  # fmt: skip
            return int(ended.code or 1)
        if _is_cancelled(job):
            _say("Cancelled; the same command goes on where it ended.")
            return int(ended.code or 1)
        return _queued_again(job, "It has to make room for another job")
    return 0


def _file_of_task(folder: Path) -> str:
    return str(folder / f"{int(os.environ['SLURM_ARRAY_TASK_ID']):05d}.json")


def _end_of_job(job: str) -> float | None:
    """The time at which Slurm ends this job, in seconds since the epoch. Older versions do not tell a job its end."""
    ends = os.environ.get("SLURM_JOB_END_TIME")
    if ends is not None:
        return float(ends)
    # A job without a limit has the end "Unknown", which is no number.
    shown = re.search(r"\bEndTime=(\d+)\b", _scontrol("show", "job", job) or "")
    return None if shown is None else float(shown[1])


def _is_cancelled(job: str) -> bool:
    """True if the job is to end for good, or if nobody can tell."""
    shown = _scontrol("show", "job", job)
    return shown is None or any(f"JobState={state}" in shown for state in CANCELLED)


def _queued_again(job: str, reason: str) -> int:
    """Put this task into the queue again, and wait until Slurm ends it: a task that ends by itself counts as done."""
    if _scontrol("requeue", job) is None:
        # It refuses, too, where it is about to queue the task by itself, as after a pre-emption.
        _say(f"{reason}, and Slurm refuses to put it into the queue again. If Slurm does so by itself, it goes on "
             "where it ended; if not, the same command does.")  # fmt: skip
        return 1
    _say(f"{reason}; it is in the queue again.")
    # Slurm ends the process within this time, so the status is never seen.
    time.sleep(WAIT)
    return 1


def _scontrol(*arguments: str) -> str | None:
    """The output of scontrol; None if it refuses, or is not there, as in a container."""
    # Times since the epoch, whatever the zone.
    environment = {**os.environ, "SLURM_TIME_FORMAT": "%s"}
    try:
        ran = subprocess.run(["scontrol", *arguments], env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return ran.stdout if ran.returncode == 0 else None


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
