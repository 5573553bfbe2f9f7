"""A line for each phase of a stack that trains: trials still training, epoch, best so far."""

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

    def __init__(self, phase: str, stopping: TrialStopping, console: Console) -> None:
        self._phase = phase
        self._stopping = stopping
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(phase)
        self._line = NotebookLine() if console.is_jupyter else None
        self._changes = console.is_terminal or console.is_jupyter
        self._shown = 0.0

    def begin_fit(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = steps_per_epoch
        self._shown = time.perf_counter()
        self._progress.start()

    def after_step(self, n_done: int) -> None:
        """Show the phase within an epoch, after ``n_done`` of its steps."""
        # The end of an epoch is shown by `after_epoch`.
        if n_done < self._steps_per_epoch and self._is_due():
            self._show(float(self._stopping.epochs.max()) + n_done / self._steps_per_epoch)

    def after_epoch(self) -> None:
        if self._is_due():
            self._show(float(self._stopping.epochs.max()))

    def end_fit(self) -> None:
        # `Progress.stop` of rich before 14.3 prints an empty line where nothing was shown.
        self._progress.live.stop()

    def _is_due(self) -> bool:
        """True if the phase was shown long enough ago."""
        seconds = SECONDS_BETWEEN_LOOKS if self._changes else SECONDS_BETWEEN_LINES
        return time.perf_counter() - self._shown >= seconds

    def _show(self, epoch: float) -> None:
        """Show how far the phase is; within an epoch, ``epoch`` has a fraction."""
        self._shown = time.perf_counter()
        stopping = self._stopping
        epochs = f"{epoch:.0f}" if epoch.is_integer() else f"{epoch:.2f}"
        text = f"{self._phase}: {len(stopping.active)} of {len(stopping.trials)} trials, epoch {epochs}"
        best = stopping.sign * stopping.best.mean()
        # Before the first validation nothing is best.
        if np.isfinite(best):
            text += f", best {stopping.monitor.removeprefix('validation_')} {best:.4f}"
        self._progress.update(self._task, description=text)
        if self._line is not None:
            self._line.write(text)
        elif not self._changes:
            self._console.print(text, soft_wrap=True)
