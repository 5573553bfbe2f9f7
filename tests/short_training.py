"""Cells trained in this process, with tiny networks and short phases, and what their records must hold."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from scarf_lightning.data.table import Table
from scarf_lightning.engine.hardware import Hardware, choose_device
from scarf_lightning.errors import UsageError
from scarf_lightning.metrics import metrics
from scarf_lightning.options import Config
from scarf_lightning.results import PretrainingStore, StackRecord
from scarf_lightning.training import CellTraining

TRIALS, EPOCHS, WIDTH = 2, 2, 8
SMALL = {"width": WIDTH, "heads": 2, "bins": 4, "embedding": 4}
"""Options of encoders by which they are made tiny."""

QUICK: dict[str, dict[str, Any]] = {
    "random_forest": {"n_estimators": 10},
    "catboost": {"iterations": 10},
    "hist_gradient_boosting": {"max_iter": 5},
    "lightgbm": {"n_estimators": 5},
    "sklearn": {"options": {"n_estimators": 10}},
}
"""Options of methods by which they take little time."""


def hardware_of(config: Config) -> Hardware:
    """What the configuration asks for; the processor, where that is an accelerator which this machine lacks."""
    try:
        device = choose_device(config.trainer.accelerator)
    except UsageError:
        assert not torch.cuda.is_available()
        device = torch.device("cpu")
    return Hardware(device, config.trainer.precision)


def short(config: Config) -> Config:
    """The same cell, with tiny networks and short phases from now on."""
    for part in (config.network.pretrain_head, config.network.head):
        part.width = WIDTH
    config.network.encoder |= {option: value for option, value in SMALL.items() if option in config.network.encoder}
    config.method |= QUICK.get(config.method["name"], {})
    for phase in (config.pretrain, config.finetune):
        phase.max_epochs = EPOCHS
        phase.min_steps = 0
    if config.recipe != "paper":  # whose fixed length would be long
        config.finetune.fixed_below = 0
    return config


def training_of(config: Config, table: Table, cache: PretrainingStore | None = None) -> CellTraining:
    """A short cell, ready to train; by default no pre-training is kept."""
    return replace(CellTraining.prepare(short(config), table, hardware_of(config)), pretrained=cache)


def trained(
    config: Config, table: Table, *, trials: Sequence[int] = range(TRIALS), cache: PretrainingStore | None = None
) -> StackRecord:
    """The record of a short cell; by default no pre-training is kept."""
    return training_of(config, table, cache).run(trials).record(trials)


def check(record: StackRecord, config: Config, table: Table) -> None:
    """Two finished trials, with numbers for everything that is measured."""
    phases = ["finetune"] if "finetune" in config.part("method").uses else []
    phases += ["pretrain"] if config.is_pretrained else []
    measured = [metric.name for metric in metrics([table.target.name])]
    assert [row["trial"] for row in record.rows] == list(range(TRIALS))
    for row in record.rows:
        assert np.isfinite([float(row[name]) for name in measured]).all()
        assert row["n_train"] + row["n_validation"] + row["n_test"] == len(table.labels)
        assert row["fits"] >= 1
        for phase in ("finetune", "pretrain"):
            assert row[f"{phase}_epochs"] == (EPOCHS if phase in phases else None)
    assert sorted((curve["phase"], curve["trial"], curve["epoch"]) for curve in record.curves) == [
        (phase, trial, epoch) for phase in phases for trial in range(TRIALS) for epoch in range(1, EPOCHS + 1)
    ]
    for curve in record.curves:
        assert np.isfinite([curve["train_loss"], curve["validation_loss"]]).all(), curve
