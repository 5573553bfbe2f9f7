"""Estimators that are trained in a tenth of a second, and a small table with a column of each kind."""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from scarf_lightning import ScarfClassifier, ScarfRegressor
from scarf_lightning.data.table import Table

N = 80
OF_NETWORKS: dict[str, Any] = {
    "network.encoder.width": 8,
    "network.encoder.depth": 1,
    "network.head.width": 8,
    "network.head.depth": 1,
    "finetune.max_epochs": 3,
}
OF_ENCODERS = {name: value for name, value in OF_NETWORKS.items() if ".encoder" in name} | {
    "network.pretrain_head.width": 8,
    "pretrain.max_epochs": 2,
}


def small(*, is_regressor: bool = False, options: dict[str, Any] | None = None, **parameters: Any) -> Any:
    """An estimator with networks of 8 units and three epochs."""
    chosen: dict[str, Any] = {"n_trials": 1, "pretrain": "none", "device": "cpu"} | parameters
    given = OF_NETWORKS | (OF_ENCODERS if chosen["pretrain"] != "none" else {}) | (options or {})
    return (ScarfRegressor if is_regressor else ScarfClassifier)(options=given, **chosen)


def overrides(options: dict[str, Any]) -> list[str]:
    """Overrides that ask for options on the command line, as an estimator does."""
    return [
        *(f"{name}={value}" for name, value in options.items()),
        "recipe=practical",
        "trainer.accelerator=cpu",
        "trials=2",
    ]


def table() -> "tuple[pd.DataFrame, pd.Series[int]]":
    """80 rows with two normal numbers and a category, and a label that the numbers decide."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": random.normal(size=N), "b": random.normal(size=N), "c": random.choice(["u", "v", "w"], size=N)}
    )
    return X, (X["a"] + X["b"] > 0).astype(int)


def read(X: Any, y: Any, **parameters: Any) -> Table:
    """The table that `fit` would learn, without its warnings; networks of equal tables are equal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: Table = small(**parameters)._read(X, y, None).table
    return found
