"""Curves that are shown while a cell trains, and a server that stops no training."""

from pathlib import Path
from typing import Any

import pytest

from scarf_lightning.loggers import live_curves
from scarf_lightning.options.settings import LoggerSettings, WandbSettings
from tests.loggers.made_up import OPEN_RUN, FakeRun

ONLINE = LoggerSettings(wandb=WandbSettings(mode="online", write=True))


def records(epoch: int, *losses: float) -> list[dict[str, Any]]:
    return [{"trial": trial, "epoch": epoch, "train_loss": loss} for trial, loss in enumerate(losses)]


def test_means_over_trials_are_sent_after_each_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun()
    monkeypatch.setattr(OPEN_RUN, run.opened)
    with live_curves(ONLINE, tmp_path, "f" * 16, "iris mean", "corruption") as tell:
        assert tell is not None
        tell("pretrain", records(1, 1.0, 3.0))
        tell("pretrain", records(2, 0.5))
        tell("finetune", records(1, 0.25, 0.75))
    assert run.fields.items() >= {"id": "f" * 16, "name": "iris mean", "group": "corruption"}.items()
    assert run.logged == [
        {"epoch": 1, "live/pretrain/trials_training": 2, "live/pretrain/train_loss": 2.0},
        {"epoch": 2, "live/pretrain/trials_training": 1, "live/pretrain/train_loss": 0.5},
        {"epoch": 1, "live/finetune/trials_training": 2, "live/finetune/train_loss": 0.5},
    ]


@pytest.mark.parametrize("moment", ["open", "log", "close"])
def test_a_server_that_goes_away_stops_no_training(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(OPEN_RUN, FakeRun(fails=moment).opened)
    with live_curves(ONLINE, tmp_path, "id", "iris mean", "group") as tell:
        assert (tell is None) == (moment == "open")
        if tell is not None:
            tell("pretrain", records(1, 1.0))
    assert ("no curves of iris mean" in capsys.readouterr().err) == (moment == "open")


def test_a_mistake_in_the_code_is_not_taken_for_a_server_that_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OPEN_RUN, lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), live_curves(ONLINE, tmp_path, "id", "name", "group"):
        pass


@pytest.mark.parametrize("settings", [LoggerSettings(), LoggerSettings(wandb=WandbSettings(write=True))])
def test_where_nobody_looks_nothing_is_opened(settings: LoggerSettings, tmp_path: Path) -> None:
    with live_curves(settings, tmp_path, "id", "name", "group") as tell:
        assert tell is None
