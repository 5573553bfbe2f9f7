import io
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from scarf_lightning.engine.watching import StackProgress, TrialStopping
from scarf_lightning.metrics import metric_named
from scarf_lightning.options.settings import FinetuneSettings


def state(epochs: list[int], active: list[int], metric: str | None = None, best: float = 0.25) -> TrialStopping:
    """Where early stopping stands: for each trial its epochs; who still trains."""
    settings = FinetuneSettings(metric=metric) if metric else FinetuneSettings(monitor="loss")
    stopping = TrialStopping(range(len(epochs)), settings, metric=metric and metric_named(metric))
    stopping.epochs, stopping.active = np.array(epochs), np.array(active)
    stopping.best = np.full(len(epochs), best)
    return stopping


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that is set by hand."""
    clock = SimpleNamespace(now=100.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr("scarf_lightning.engine.watching.time", clock)
    return clock


def test_a_short_phase_prints_nothing_where_there_is_no_terminal(clock: SimpleNamespace) -> None:
    console = Console(file=io.StringIO(), width=160)
    progress = StackProgress("pretrain", state([5], [0]), console)
    progress.begin_fit(10)
    clock.now += 59.0
    progress.after_epoch()
    progress.end_fit()
    assert console.file.getvalue() == ""


def test_a_pipe_gets_a_line_a_minute_within_an_epoch_too(clock: SimpleNamespace) -> None:
    console, stopping = Console(file=io.StringIO(), width=160), state([0], [0], best=np.inf)
    progress = StackProgress("pretrain", stopping, console)
    progress.begin_fit(10)

    for done in (1, 2, 3, 4):
        clock.now += 30.0
        progress.after_step(done)
    stopping.epochs, stopping.best = np.array([1]), np.array([0.25])
    clock.now += 180.0
    progress.after_epoch()

    assert console.file.getvalue().splitlines() == [
        "pretrain: 1 of 1 trials, epoch 0.20",
        "pretrain: 1 of 1 trials, epoch 0.40",
        "pretrain: 1 of 1 trials, epoch 1, best loss 0.2500",
    ]


@pytest.mark.parametrize(
    ("stopping", "line"),
    [
        (state([20, 30, 6, 30], [2, 3]), "2 of 4 trials, epoch 30, best loss 0.2500"),
        (state([10], [0], "auroc", best=-0.75), "1 of 1 trials, epoch 10, best auroc 0.7500"),
    ],
)
def test_a_terminal_shows_phase_trials_epoch_and_best_until_the_phase_ends(
    clock: SimpleNamespace, stopping: TrialStopping, line: str
) -> None:
    """A metric is shown in its own direction, and the line is whole on a narrow terminal."""
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    progress = StackProgress("pretrain", stopping, console)
    progress.begin_fit(10)
    clock.now += 3000.0
    progress.after_epoch()
    progress.end_fit()

    text = console.file.getvalue()
    assert f"pretrain: {line}" in text
    assert "…" not in text
    assert text.rfind("\x1b[2K") > text.rfind("pretrain"), "the line is erased"
