"""A store as the paper's numbers might have left it: no training, a record a cell."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from paper.published import UNSCALED_IN_PAPER, published_accuracy, published_epochs
from scarf_lightning.options import Config
from scarf_lightning.results import CellStore, Predictions, StackRecord, columns
from tests.cells import OF_WDBC, identity_of, some_record
from tests.composing import config_of

PRETRAINS = ("none", "scarf", "scarf_ae", "add_noise_ae", "no_noise_ae", "scarf_disc")
SPREAD = 0.01
"""Standard deviation of a trial's accuracy around the published mean."""


@cache
def some_competitor(*overrides: str) -> Config:
    return config_of(*overrides)


def described(config: Config, **more: Any) -> dict[str, Any]:
    """What `CellStore.describe` takes besides the data."""
    return OF_WDBC | {"options": columns(config)} | more


def fill_store(
    results: Path,
    *,
    datasets: int,
    trials: int,
    pretrains: Sequence[str] = PRETRAINS,
    regimes: Sequence[str] = ("full",),
    names: dict[int, str] | None = None,
    keeps_predictions: bool = True,
    **values: float,
) -> pd.DataFrame:
    """Cells with the paper's settings on its first datasets, each trial near the published mean.

    Args:
        results: the folder to fill.
        datasets: how many.
        trials: of each cell.
        pretrains, regimes: the product of these, with method control.
        names: of datasets by their OpenML ids; the others are called by their ids.
        keeps_predictions: whether trials have kept predictions, of thirty rows each.
        values: more columns of results.

    Returns:
        The accuracies: ``dataset_id, regime, pretrain, trial, accuracy``.
    """
    random = np.random.default_rng(0)
    accuracy = published_accuracy().set_index(["regime", "dataset_id", "pretrain", "method"])["accuracy"]
    epochs = published_epochs().set_index(["dataset_id", "pretrain"])["epochs"]
    ids = list(dict.fromkeys(accuracy.index.get_level_values("dataset_id")))[:datasets]
    rows = []
    for regime in regimes:
        for pretrain in pretrains:
            for id in ids:
                scaling = "none" if id in UNSCALED_IN_PAPER else "zscore"
                config = some_competitor(f"regime={regime}", f"pretrain={pretrain}", f"scaling={scaling}")
                store = CellStore(results, identity_of(config, f"{id:064x}"))
                mean = accuracy[regime, id, pretrain, "control"]
                accuracies = np.clip(random.normal(mean, SPREAD, trials), 0, 1)
                name = (names or {}).get(id, f"dataset-{id}")
                store.describe(dataset=name, dataset_id=id, source="made up", **described(config))
                record = _record(accuracies, pretrain != "none", epochs[id, pretrain], **values)
                store.add(record if keeps_predictions else replace(record, predictions=()))
                rows += [(id, regime, pretrain, trial, value) for trial, value in enumerate(accuracies)]
    return pd.DataFrame(rows, columns=["dataset_id", "regime", "pretrain", "trial", "accuracy"])


def _record(accuracies: Iterable[float], pretrained: bool, epochs: float, **more: float) -> StackRecord:
    values = list(accuracies)
    record = some_record(range(len(values)), pretrained=pretrained, finetune_epochs=round(epochs), **more)
    rows = [row | {"accuracy": float(value)} for row, value in zip(record.rows, values, strict=True)]
    curves = [
        curve | {"train_loss": curve["validation_loss"] * 1.1}
        for curve in record.curves
        if pretrained or curve["phase"] == "finetune"
    ]
    random = np.random.default_rng(len(values))
    predictions = [
        Predictions(trial, np.arange(30), random.integers(0, 2, 30), random.dirichlet((1, 1), 30), OF_WDBC["target"])
        for trial in range(len(values))
    ]
    return StackRecord(rows, curves, record.preprocessing, record.environment, predictions=predictions)
