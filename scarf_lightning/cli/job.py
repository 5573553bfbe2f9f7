"""A task of a Slurm array: ``python -m scarf_lightning.cli.job FOLDER`` trains the job of its number in a folder.

A task that has to stop gives its claims back first, so that its cells can be trained at once by others:

- SIGUSR2 says that its time is nearly over. It puts itself into the queue again, as soon as it has finished a stack: a
  task that never finishes one would be queued for ever.
- SIGTERM comes from a job of higher priority, or from ``scancel``. In the first case it puts itself into the queue
  again; in the second one it ends.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .signals import NearlyOutOfTime, Terminated, ended_by_signals

WAIT = 3600.0
"""Seconds for which a task waits that Slurm ends it, after it was put into the queue again."""
CANCELLED = ("CANCELLED", "COMPLETING", "TIMEOUT", "NODE_FAIL")
"""States in which a job is not to be trained again."""
TOO_SHORT = (
    "Its time is over before a stack has ended; set hydra.launcher.timeout_min higher, or train fewer trials at once "
    "by trainer.trials_per_stack."
)


class Stacks:
    """The number of stacks of a task that have ended, and whether Slurm has sent SIGUSR2."""

    n_finished = 0
    is_told = False

    def nearly_over(self, *_: object) -> None:
        """The handler of SIGUSR2.

        Raises:
            NearlyOutOfTime: a stack has ended, so nothing but the one in training is lost.
        """
        self.is_told = True
        if self.n_finished:
            raise NearlyOutOfTime

    @contextmanager
    def stack(self) -> Iterator[None]:
        """A context for a stack.

        Raises:
            NearlyOutOfTime: Slurm has told this task while it trained its first stack.
        """
        yield
        self.n_finished += 1
        if self.is_told:
            raise NearlyOutOfTime


def main() -> int:
    """Train the job of this task. The exit status is 0 if all its cells were tried."""
    stacks = Stacks()
    try:
        with ended_by_signals():
            # The handler of the block raises at once; this one asks whether a stack has ended.
            signal.signal(signal.SIGUSR2, stacks.nearly_over)
            # Imported when signals are answered: the imports take seconds, and a task may be ended in them.
            from ..sweeping.jobs import read_job
            from .running import OwnTraining

            cells = read_job(f"{sys.argv[1]}/{int(os.environ['SLURM_ARRAY_TASK_ID']):05d}.json")
            OwnTraining().imported(stacks.stack)(cells)
        return 0
    except NearlyOutOfTime:
        reason = "Its time is nearly over"
    except Terminated as ended:
        # SIGUSR2 came before, so this is the end of the time limit.
        if stacks.is_told and not stacks.n_finished:
            return _end(TOO_SHORT, int(ended.code or 1))
        shown = _scontrol("show", "job")
        # It also ends for good where nobody can tell.
        if shown is None or any(f"JobState={state}" in shown for state in CANCELLED):
            return _end("Cancelled; the same command goes on where it ended.", int(ended.code or 1))
        reason = "It has to make room for another job"
    if _scontrol("requeue") is None:
        # Slurm refuses, too, where it is about to queue the task by itself, as after a pre-emption.
        return _end(f"{reason}, and Slurm refuses to put it into the queue again. If Slurm does so by itself, it goes "
                    "on where it ended; if not, the same command does.", 1)  # fmt: skip
    _end(f"{reason}; it is in the queue again.", 1)
    # A task that ends by itself counts as done. Slurm ends the process within this time.
    time.sleep(WAIT)
    return 1


def _scontrol(*command: str) -> str | None:
    """The output of a command of scontrol on this job; None if it refuses, or is not there, as in a container."""
    arguments = ["scontrol", *command, os.environ["SLURM_JOB_ID"]]
    try:
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


def _end(sentence: str, status: int) -> int:
    """Say why the task ends, and give its exit status."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
