"""What is watched while a stack trains: the early stopping of each trial, its curves, and a line of progress."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..metrics import Metric
from ..options.settings import FitSettings
from ..screen import NotebookLine

MUST_BE_FINITE = {"train_loss", "validation_loss", "validation_error"}
"""A trial has diverged if one of these is not finite. Other metrics may be undefined for a sound network."""
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_LINES = 60.0
"""Between lines of text, where the output is no terminal."""


@dataclass(frozen=True)
class EpochCurve:
    """The losses and metrics of an epoch.

    Attributes:
        epoch: its number, counted from 1.
        trials: the numbers of the trials in it, ``(A,)``.
        metrics: by name, float64 ``(A,)`` each.
    """

    epoch: int
    trials: NDArray[np.int64]
    metrics: Mapping[str, NDArray[np.float64]]

    def records(self) -> list[dict[str, Any]]:
        """A record for each trial."""
        records: list[dict[str, Any]] = [{"trial": trial, "epoch": self.epoch} for trial in self.trials.tolist()]
        for name, values in self.metrics.items():
            for record, value in zip(records, values.tolist(), strict=True):
                # Records are JSON, which has no infinity.
                record[name] = value if math.isfinite(value) else math.nan
        return records


class TrialStopping:
    """Watches each trial's validation metric.

    A trial's numbers do not depend on the trials beside it, so leaving changes only the time. A trial stops after more
    than ``patience`` validations without improvement: one that never improves trains patience + 2 epochs, 5 in the
    paper's table of training epochs (dataset 40923).

    A trial with a loss that is not finite has diverged: it stops, and the others go on. It keeps its last good
    weights, and its curve ends with that epoch, with NaN in place of numbers that are not finite.

    Args:
        trials: the trials' numbers, in the order of the stack.
        metric: watched in place of the settings' monitor.
        min_epochs: the first epoch after which a trial may stop.

    Attributes:
        longest_wait: validations without improvement after which a trial stops.
        active: positions in the stack of the trials that have not stopped.
        best: best ``sign`` times metric so far, ``(T,)``; ``sign`` is -1 if higher is better.
        best_epochs: the epoch, counted from 1, that reached it, ``(T,)``; the last one if nothing is watched.
        waited: validations since the best one, ``(T,)``.
        curves: of all epochs.
    """

    def __init__(
        self, trials: Sequence[int], settings: FitSettings, *, metric: Metric | None = None, min_epochs: int = 1
    ) -> None:
        n_trials = len(trials)
        self.trials = np.array(trials)
        self.monitor = f"validation_{settings.monitor}"
        self.sign = 1
        if metric is not None:
            self.monitor = f"validation_{metric.name}"
            self.sign = -metric.sign
        self.min_epochs = min_epochs
        self.longest_wait = settings.stops_after
        self._takes_ties = settings.ties == "last"
        self._watches = settings.monitor != "none"

        # The state of early stopping. These arrays keep the size T; `active` has the positions that still change.
        self.active: NDArray[np.int64] = np.arange(n_trials)
        self.best = np.full(n_trials, np.inf)
        self.best_epochs = np.zeros(n_trials, dtype=np.int64)
        self.epochs = np.zeros(n_trials, dtype=np.int64)
        self.waited = np.zeros(n_trials, dtype=np.int64)
        self.diverged = np.zeros(n_trials, dtype=bool)
        self.curves: list[EpochCurve] = []

    def end_epoch(self, metrics: Mapping[str, NDArray[np.float64]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Take the means of an epoch over the rows of the active trials, ``(A,)`` each.

        Returns:
            the masks ``(A,)`` of the trials that have improved and of those that have stopped; the latter are no
            longer active.
        """
        is_finite = _are_finite(metrics)
        self.diverged[self.active] = ~is_finite
        self.epochs[self.active] += 1
        epoch = int(self.epochs[self.active[0]])
        self.curves.append(EpochCurve(epoch, self.trials[self.active], metrics))

        has_improved = np.zeros_like(is_finite)
        if not self._watches:
            # The weights of the last epoch count.
            self.best_epochs[self.active] = self.epochs[self.active]
        elif self.monitor in metrics:
            # A trial that has diverged is as bad as the start.
            values = np.where(is_finite, self.sign * metrics[self.monitor], np.inf)
            has_improved = self._update_best(values)

        is_patience_over = self.waited[self.active] >= self.longest_wait
        may_stop = self.epochs[self.active] >= self.min_epochs
        has_stopped = ~is_finite | (is_patience_over & may_stop)
        self.active = self.active[~has_stopped]
        return has_improved, has_stopped

    def _update_best(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare the active trials' watched numbers, smaller is better, with their best ones.

        Returns:
            the mask of the active trials that have improved.
        """
        best = self.best[self.active]
        has_improved: NDArray[np.bool_] = values < best
        if self._takes_ties:
            # The start is infinite too, and a trial that diverges at once has not reached it again.
            has_improved |= (values == best) & np.isfinite(values)
        positions = self.active[has_improved]
        self.best[positions] = values[has_improved]
        self.best_epochs[positions] = self.epochs[positions]
        self.waited[self.active] = np.where(has_improved, 0, self.waited[self.active] + 1)
        return has_improved


def _are_finite(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """The mask ``(A,)`` of the trials whose losses are all finite."""
    names = MUST_BE_FINITE & metrics.keys()
    finite: NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(metrics[name]) for name in names])
    return finite


class Watcher:
    """Looks on while a phase trains."""

    def begin_fit(self, steps_per_epoch: int) -> None:
        """Called before the first step."""

    def begin_epoch(self) -> None:
        """Called before the first step of each epoch."""

    def after_step(self, n_done: int) -> None:
        """Called after a step, with the number of steps made in this epoch."""

    def after_steps(self) -> None:
        """Called after the last step of each epoch, before a validation."""

    def after_epoch(self) -> None:
        """Called after each epoch, when the early stopping has seen it."""

    def end_fit(self) -> None:
        """Called at the end, after an error too."""


Watch = Callable[[str, TrialStopping], list[Watcher]]
"""Takes a phase's name and its early stopping, and returns watchers that show its progress."""


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
        self._shown_at = 0.0

    def begin_fit(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = steps_per_epoch
        self._shown_at = time.perf_counter()
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
        return time.perf_counter() - self._shown_at >= seconds

    def _show(self, epoch: float) -> None:
        """Show how far the phase is; within an epoch, ``epoch`` has a fraction."""
        self._shown_at = time.perf_counter()
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
