"""Estimators that are trained in a tenth of a second, and a small table with a column of each kind."""

from typing import Any

import numpy as np
import pandas as pd

from scarf_lightning import ScarfClassifier, ScarfRegressor

N = 80
OF_NETWORKS: dict[str, Any] = {
    "network.encoder.width": 8,
    "network.encoder.depth": 1,
    "network.head.width": 8,
    "network.head.depth": 1,
    "finetune.max_epochs": 3,
}


def small(*, is_regressor: bool = False, options: dict[str, Any] | None = None, **parameters: Any) -> Any:
    """An estimator with networks of 8 units and three epochs."""
    chosen: dict[str, Any] = {"n_trials": 1, "pretrain": "none", "device": "cpu"} | parameters
    of_pretraining: dict[str, Any] = {"pretrain.max_epochs": 2, "network.pretrain_head.width": 8}
    given = OF_NETWORKS | (of_pretraining if chosen["pretrain"] != "none" else {}) | (options or {})
    return (ScarfRegressor if is_regressor else ScarfClassifier)(options=given, **chosen)


def table() -> "tuple[pd.DataFrame, pd.Series[int]]":
    """80 rows with two normal numbers and a category, and a label that the numbers decide."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": random.normal(size=N), "b": random.normal(size=N), "c": random.choice(["u", "v", "w"], size=N)}
    )
    return X, (X["a"] + X["b"] > 0).astype(int)
