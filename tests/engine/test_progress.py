import io

import numpy as np
import pytest
from rich.console import Console

from scarf_lightning.engine.progress import StackProgress
from scarf_lightning.engine.stopping import TrialStopping
from scarf_lightning.metrics import metric_named
from scarf_lightning.options.settings import FinetuneSettings, FitSettings


def state(
    epochs: list[int],
    waited: list[int],
    active: list[int],
    *,
    patience: int | None = 3,
    monitor: str = "loss",
    every: int = 1,
) -> TrialStopping:
    """Where early stopping stands: for each trial its epochs and validations since its best one; who still trains."""
    settings = FitSettings(monitor=monitor, patience=patience, validate_every=every)
    stopping = TrialStopping(range(len(epochs)), settings)
    stopping.epochs, stopping.waited, stopping.active = np.array(epochs), np.array(waited), np.array(active, dtype=int)
    stopping.best = np.full(len(epochs), 0.25)
    return stopping


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


def started(
    stopping: TrialStopping, console: Console, monkeypatch: pytest.MonkeyPatch, n_steps: int = 10
) -> tuple[StackProgress, Clock]:
    """The progress of a phase that starts, and the clock."""
    clock = Clock()
    monkeypatch.setattr("scarf_lightning.engine.progress.time", clock)
    progress = StackProgress("pretrain", stopping, console)
    progress.begin_fit(n_steps)
    return progress, clock


def shown(
    stopping: TrialStopping,
    *,
    terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float = 0.0,
    width: int = 160,
) -> str:
    """What a phase prints that is in this state after this time."""
    monkeypatch.setenv("TERM", "xterm")
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=width)
    progress, clock = started(stopping, console, monkeypatch)
    clock.now += seconds
    progress.after_epoch()
    progress.end_fit()
    return written.getvalue()


def test_a_short_phase_prints_nothing_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(state([5], [0], [0]), terminal=False, monkeypatch=monkeypatch, seconds=59.0) == ""


def test_a_pipe_gets_a_line_a_minute_within_an_epoch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    written, stopping = io.StringIO(), state([0], [0], [0])
    stopping.best[:] = np.inf
    progress, clock = started(stopping, Console(file=written, width=160), monkeypatch)

    for done in (1, 2, 3, 4):
        clock.now += 30.0
        progress.after_step(done)
    stopping.epochs, stopping.best = np.array([1]), np.array([0.25])
    clock.now += 180.0
    progress.after_epoch()

    assert written.getvalue().splitlines() == [
        "pretrain: 1 of 1 trials, epoch 0.20",
        "pretrain: 1 of 1 trials, epoch 0.40",
        "pretrain: 1 of 1 trials, epoch 1, best loss 0.2500",
    ]


AUROC = TrialStopping([0], FinetuneSettings(metric="auroc"), metric=metric_named("auroc"))
AUROC.best, AUROC.epochs = np.array([-0.75]), np.array([10])


@pytest.mark.parametrize(
    ("stopping", "seconds", "width", "line"),
    [
        (state([20, 30, 6, 30], [4, 4, 3, 2], [2, 3]), 120.0, 160, "2 of 4 trials, epoch 30, best loss 0.2500"),
        (AUROC, 0.0, 160, "1 of 1 trials, epoch 10, best auroc 0.7500"),
        *[
            (
                state([995] * 30, [0] * 30, list(range(30))),
                3000.0,
                width,
                "30 of 30 trials, epoch 995, best loss 0.2500",
            )
            for width in (80, 100)
        ],
    ],
)
def test_a_terminal_shows_phase_trials_epoch_and_best_until_the_phase_ends(
    monkeypatch: pytest.MonkeyPatch, stopping: TrialStopping, seconds: float, width: int, line: str
) -> None:
    """A metric is shown in its own direction, and the line is whole on a narrow terminal."""
    text = shown(stopping, terminal=True, monkeypatch=monkeypatch, seconds=seconds, width=width)

    assert f"pretrain: {line}" in text
    assert "…" not in text
    erase_line, show_cursor = "\x1b[2K", "\x1b[?25h"
    assert text.rfind(erase_line) > text.rfind("pretrain")
    assert show_cursor in text
