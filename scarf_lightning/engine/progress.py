"""A line for each phase of a stack that trains: trials still training, epoch, best so far, time left."""

import time

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..screen import NotebookLine
from .loop import Watcher
from .stopping import TrialStopping

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_LINES = 60.0
"""Between lines of text, where the output is no terminal."""


class StackProgress(Watcher):
    """Shows one phase, within long epochs too: on a terminal or in a notebook by a line that changes, elsewhere by a
    line a minute."""

    def __init__(self, phase: str, stopping: TrialStopping, max_epochs: int, console: Console) -> None:
        self._phase = phase
        self._stopping = stopping
        self._max_epochs = max_epochs
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}: {task.fields[state]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(phase, total=len(stopping.trials), state="", left="")
        self._line = NotebookLine() if console.is_jupyter else None
        self._changes = console.is_terminal or console.is_jupyter
        self._started = self._shown = 0.0

    def begin_fit(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = steps_per_epoch
        self._started = self._shown = time.perf_counter()
        self._progress.start()

    def after_step(self, n_done: int) -> None:
        """Show the phase within an epoch, after ``n_done`` of its steps."""
        seconds = SECONDS_BETWEEN_LOOKS if self._changes else SECONDS_BETWEEN_LINES
        # The end of an epoch is shown by `after_epoch`.
        if n_done < self._steps_per_epoch and self._is_due(seconds):
            self._show(float(self._stopping.epochs.max()) + n_done / self._steps_per_epoch)

    def after_epoch(self) -> None:
        if self._changes or self._is_due(SECONDS_BETWEEN_LINES):
            self._show(float(self._stopping.epochs.max()))

    def end_fit(self) -> None:
        # `Progress.stop` of rich before 14.3 prints an empty line where nothing was shown.
        self._progress.live.stop()

    def _is_due(self, seconds: float) -> bool:
        """True if the phase was shown at least so many seconds ago."""
        return time.perf_counter() - self._shown >= seconds

    def _show(self, epoch: float) -> None:
        """Show how far the phase is; within an epoch, ``epoch`` has a fraction."""
        self._shown = time.perf_counter()
        stopping = self._stopping
        epochs = f"{epoch:.0f}" if epoch.is_integer() else f"{epoch:.2f}"
        state = f"{len(stopping.active)} of {len(stopping.trials)} trials, epoch {epochs}"
        best = stopping.sign * stopping.best.mean()
        # Before the first validation nothing is best.
        if np.isfinite(best):
            state += f", best {stopping.monitor.removeprefix('validation_')} {best:.4f}"
        # The expectation counts whole epochs, and a part of this one is done.
        epochs_left = expected_epochs_left(stopping, self._max_epochs) - epoch % 1
        seconds_an_epoch = (self._shown - self._started) / epoch
        minutes, seconds = divmod(int(epochs_left * seconds_an_epoch), 60)
        left = f"~{minutes}:{seconds:02d} left"
        self._progress.update(self._task, state=state, left=left)
        if self._line is not None:
            self._line.write(f"{self._phase}: {state}, {left}")
        elif not self._changes:
            self._console.print(f"{self._phase}: {state}, {left}", soft_wrap=True)


def expected_epochs_left(stopping: TrialStopping, max_epochs: int) -> float:
    """Epochs until the last trial stops, if none improves: as many as its patience allows, or until the median of the
    trials that have stopped, if that is later."""
    active = stopping.active
    if len(active) == 0:
        return 0.0
    done = stopping.epochs[active]
    validations_left = stopping.longest_wait - stopping.waited[active]
    epochs_of_patience = validations_left * stopping.validate_every
    # However bad it is, a trial makes its smallest number of epochs.
    patience = np.maximum(epochs_of_patience, stopping.min_epochs - done)
    stopped = np.setdiff1d(np.arange(len(stopping.trials)), active)
    typical = np.zeros(len(active))
    if len(stopped):
        typical = np.median(stopping.epochs[stopped]) - done
    left = np.minimum(np.maximum(patience, typical), max_epochs - done)
    return float(left.max())
