"""Cells and what their trials leave, made up: no configuration is composed and nothing is trained."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scarf_lightning.data.targets import Classes
from scarf_lightning.options import Config
from scarf_lightning.options.combinations import pretraining_options, used_options
from scarf_lightning.options.settings import (
    CotrainSettings,
    DatasetSettings,
    FinetuneSettings,
    LoggerSettings,
    NetworkSettings,
    PathSettings,
    PretrainSettings,
    TrainerSettings,
    ViewsSettings,
)
from scarf_lightning.results import (
    CellStore,
    KnownData,
    PretrainedTrial,
    Row,
    StackRecord,
    columns,
    identity,
    note_data,
)
from scarf_lightning.sweeping.cell import Cell

DATA_HASH = "0" * 64
OF_WDBC: dict[str, Any] = {
    "columns": [{"name": "V1", "categories": None}, {"name": "V2", "categories": ["a", "b"]}],
    "target": Classes(("1", "2")), "overrides": (),
    "config": {"seed": 0}, "options": {}, "reading": {},
}  # fmt: skip
"""The fields of a description on the data and on the overrides of a cell."""
WDBC = KnownData(DATA_HASH, n_rows=569, n_columns=30)


def some_config(*, pretrain: str | PretrainSettings = "scarf", **chosen: Any) -> Config:
    """A cell's configuration, as `train.py` would read it."""
    usual = {
        "dataset": DatasetSettings("wdbc", 1510, "wdbc"),
        "regime": {"name": "semi25", "labelled": 0.25},
        "scaling": {"name": "zscore"},
        "pretrain": PretrainSettings(name=pretrain) if isinstance(pretrain, str) else pretrain,
        "corruption": {"name": "marginal", "rate": 0.6},
        "selection": {"name": "exact"},
        "views": ViewsSettings(),
        "loss": {"name": "infonce", "temperature": 1.0},
        "method": {"name": "control"},
        "cotrain": CotrainSettings(
            corruption={"name": "marginal", "rate": 0.6}, loss={"name": "infonce", "temperature": 1.0}
        ),
        "finetune": FinetuneSettings(),
        "network": NetworkSettings(encoder={"width": 256, "depth": 4}),
        "trainer": TrainerSettings(),
        "logger": LoggerSettings(),
    }
    return Config(**usual | chosen)  # type: ignore[arg-type]


def identity_of(config: Config, data_hash: str) -> Row:
    """The identity of a cell, on data with this hash."""
    return identity(config, used_options(config), data_hash)


def pretraining_identity_of(config: Config, data_hash: str) -> Row:
    """That of its pre-training."""
    return identity(config, pretraining_options(config), data_hash)


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


def some_cell(*overrides: str, **chosen: Any) -> Cell:
    """A cell of two trials with these overrides."""
    return Cell(overrides, some_config(**{"trials": 2} | chosen))


def described(store: CellStore, **changed: Any) -> CellStore:
    """The same cell, with what says what it is of."""
    store.describe(**{"dataset": "wdbc", "dataset_id": 1510, "source": "somewhere"} | OF_WDBC | changed)
    return store


def finish(cell: Cell, *, trials: Sequence[int] | None = None, data: KnownData = WDBC, **values: Any) -> CellStore:
    """Leave in the store what a job that trains these trials of a cell would leave, by default all that it lacks."""
    note_data(cell.results, cell.source, data, cell.source.stamps())
    store = CellStore(cell.results, identity_of(cell.config, data.hash))
    described(store, options=columns(cell.config))
    wanted = range(cell.config.trials) if trials is None else trials
    if missing := store.missing(wanted):
        store.add(some_record(missing, pretrained=cell.config.pretrain.name != "none", **values))
    return store


def results_in(folder: Path) -> PathSettings:
    """A results folder of its own."""
    return PathSettings(results=str(folder / "results"))


def some_pretrained(trial: int, dtype: Any = np.float32, n: int = 6) -> PretrainedTrial:
    """What might come of pre-training one trial; ``n`` numbers are its first weight."""
    random = np.random.default_rng(trial)
    weights = {
        "encoder.0.weight": random.normal(size=n).astype(dtype),
        "head.bias": random.normal(size=2).astype(dtype),
    }
    curve = [{"trial": trial, "epoch": epoch, "validation_loss": 1 / (3 * epoch)} for epoch in (1, 2)]
    return PretrainedTrial(trial, epochs=2, best_epoch=1, seconds=1 / 3, curve=curve, weights=weights)
