from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.loggers import live_curves
from scarf_lightning.loggers import wandb_runs as module
from scarf_lightning.options.settings import LoggerSettings, WandbSettings

ONLINE = LoggerSettings(name="wandb", wandb=WandbSettings(mode="online"))


class Run:
    def __init__(self, *, fails: bool = False) -> None:
        self.logged: list[dict[str, Any]] = []
        self._fails = fails

    def define_metric(self, *_: object, **__: object) -> None: ...

    def log(self, values: dict[str, Any]) -> None:
        if self._fails:
            raise ConnectionError("gone")
        self.logged.append(values)


def records(epoch: int, *losses: float) -> list[dict[str, Any]]:
    return [{"trial": trial, "epoch": epoch, "train_loss": loss} for trial, loss in enumerate(losses)]


def opened(run: Run, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    asked: list[tuple[Any, ...]] = []

    @contextmanager
    def open_run(*given: Any, **_: Any) -> Any:
        asked.append(given)
        yield run

    monkeypatch.setattr(module, "open_run", open_run)
    return asked


def test_means_over_trials_are_sent_every_few_seconds_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, now = Run(), [100.0]
    asked = opened(run, monkeypatch)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    with live_curves(ONLINE, tmp_path, "f" * 16, "iris mean", "corruption") as tell:
        assert tell is not None
        tell("pretrain", records(1, 1.0, 3.0))
        assert run.logged == []
        now[0] += module.SECONDS_BETWEEN
        tell("pretrain", records(2, 0.5))
        assert len(run.logged) == 2
        tell("finetune", records(1, 0.25, 0.75))

    assert asked[0][2:] == ("f" * 16, {"name": "iris mean", "group": "corruption"})
    assert run.logged == [
        {"live/pretrain/epoch": 1, "live/pretrain/trials_training": 2, "live/pretrain/train_loss": 2.0},
        {"live/pretrain/epoch": 2, "live/pretrain/trials_training": 1, "live/pretrain/train_loss": 0.5},
        {"live/finetune/epoch": 1, "live/finetune/trials_training": 2, "live/finetune/train_loss": 0.5},
    ]


def test_a_server_that_goes_away_stops_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(Run(fails=True), monkeypatch)
    monkeypatch.setattr(module, "SECONDS_BETWEEN", 0.0)

    with live_curves(ONLINE, tmp_path, "id", "name", "group") as tell:
        assert tell is not None
        tell("pretrain", records(1, 1.0))


def test_a_server_that_does_not_take_the_end_stops_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def open_run(*_: Any, **__: Any) -> Any:
        yield Run()
        raise TimeoutError("it takes no more")

    monkeypatch.setattr(module, "open_run", open_run)

    with live_curves(ONLINE, tmp_path, "id", "name", "group") as tell:
        assert tell is not None
        tell("pretrain", records(1, 1.0))


def test_a_server_that_is_not_there_stops_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: Any, **__: Any) -> Any:
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(module, "open_run", nobody)

    with live_curves(ONLINE, tmp_path, "id", "name", "group") as tell:
        assert tell is None


@pytest.mark.parametrize(
    "settings", [LoggerSettings(), LoggerSettings(name="wandb"), LoggerSettings(name="tensorboard")]
)
def test_where_nobody_looks_nothing_is_opened(
    settings: LoggerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = opened(Run(), monkeypatch)

    with live_curves(settings, tmp_path, "id", "name", "group") as tell:
        assert tell is None
    assert asked == []
