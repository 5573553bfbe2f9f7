"""A line on the terminal for each phase of a stack: trials still training, epoch, best so far, time left."""

import time

import numpy as np
import pytorch_lightning as pl
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..screen import NotebookLine
from .early_stopping import TrialStopping


class StackProgress(pl.Callback):
    """Shows one phase and the state of its trials, on a terminal or in a notebook. Elsewhere it shows nothing."""

    def __init__(self, phase: str, stopping: TrialStopping, max_epochs: int, console: Console) -> None:
        self._phase, self._stopping, self._max_epochs = phase, stopping, max_epochs
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
        self._started = 0.0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._started = time.perf_counter()
        self._progress.start()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        stopping, epoch = self._stopping, int(self._stopping.epochs.max())
        training = f"{len(stopping.active)} of {len(stopping.trials)} trials"
        best = stopping.sign * stopping.best.mean()
        watched = f"best {stopping.monitor.removeprefix('validation_')} {best:.4f}"
        state = f"{training}, epoch {epoch}, {watched}"
        left = self._time_left(epoch)
        self._progress.update(self._task, state=state, left=left)
        if self._line is not None:
            self._line.write(f"{self._phase}: {state}, {left}")

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._progress.stop()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self._progress.stop()

    def _time_left(self, epoch: int) -> str:
        remaining = expected_epochs_left(self._stopping, self._max_epochs)
        seconds = remaining * (time.perf_counter() - self._started) / epoch
        return f"~{int(seconds) // 60}:{int(seconds) % 60:02d} left"


def expected_epochs_left(stopping: TrialStopping, max_epochs: int) -> float:
    """Epochs until the last trial stops: what the patience alone still allows, or, where trials have stopped already,
    until their median is reached if that is later. A trial that goes on improving makes it longer."""
    if len(stopping.active) == 0:
        return 0.0
    now = stopping.epochs[stopping.active]
    patience = (stopping.longest_wait - stopping.waited[stopping.active]) * stopping.validate_every
    patience = np.maximum(patience, stopping.min_epochs - now)
    stopped = np.setdiff1d(np.arange(len(stopping.trials)), stopping.active)
    typical = np.median(stopping.epochs[stopped]) - now if len(stopped) else np.zeros_like(now)
    return float(np.minimum(np.maximum(patience, typical), max_epochs - now).max())
