"""Cells and what their trials leave, made up: no configuration is composed and nothing is trained."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scarf_lightning.config import Config
from scarf_lightning.config.schema import CotrainSettings, DatasetSettings, LoggerSettings, ViewsSettings
from scarf_lightning.results import StackRecord
from scarf_lightning.settings import FitSettings, NetworkSettings, PretrainSettings, TrainerSettings

DATA_HASH = "0" * 64


def some_config(*, pretrain: str = "scarf", **chosen: Any) -> Config:
    """A cell's configuration, as `train.py` would read it."""
    usual = {
        "dataset": DatasetSettings("wdbc", 1510, "wdbc"),
        "regime": {"name": "semi25", "labelled": 0.25},
        "scaling": {"name": "zscore"},
        "pretrain": PretrainSettings(name=pretrain),
        "corruption": {"name": "marginal", "rate": 0.6},
        "selection": {"name": "exact"},
        "views": ViewsSettings(),
        "loss": {"name": "infonce", "temperature": 1.0},
        "method": {"name": "control"},
        "cotrain": CotrainSettings(
            corruption={"name": "marginal", "rate": 0.6}, loss={"name": "infonce", "temperature": 1.0}
        ),
        "finetune": FitSettings(),
        "network": NetworkSettings(),
        "trainer": TrainerSettings(),
        "logger": LoggerSettings(),
    }
    return Config(**usual | chosen)  # type: ignore[arg-type]


def some_record(trials: Sequence[int], *, first: float = 0.5, pretrained: bool = True, **values: Any) -> StackRecord:
    """What a stack of these trials might leave; the accuracy of trial n is ``first + n / 100``."""
    rows = [
        {
            "trial": trial,
            "accuracy": first + trial / 100,
            "balanced_accuracy": np.float64(0.5),
            "log_loss": 0.7,
            "auroc": 0.9,
            "pretrain_epochs": np.int64(12) if pretrained else None,
            "pretrain_best_epoch": np.int64(8) if pretrained else None,
            "pretrain_seconds": 1.5 if pretrained else None,
            "finetune_epochs": np.int64(7),
            "finetune_best_epoch": np.int64(3),
            "finetune_seconds": 0.25,
            "n_train": 398,
            "device": "cpu",
        }
        | values
        for trial in trials
    ]
    curves = [
        {"phase": phase, "trial": trial, "epoch": epoch, "validation_loss": 1 / epoch}
        for phase in ("pretrain", "finetune")
        for trial in trials
        for epoch in (1, 2)
    ]
    arrays = {name: np.arange(len(trials) * 3.0).reshape(len(trials), 3) for name in ("fill", "shift", "scale")}
    return StackRecord(rows, curves, arrays, {"python": "3.11", "packages": {"torch": "2"}})
