"""A small table of a user's with words and numbers, and a cell that was trained on it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.results import CellStore
from tests.storing import stored, write_csv


@dataclass(frozen=True)
class Trained:
    """A cell, the rows it was trained on, and where it is."""

    store: CellStore
    features: pd.DataFrame
    overrides: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        return self.store.fingerprint

    @property
    def results(self) -> Path:
        return self.store.results


TrainOn = Callable[..., Trained]


@pytest.fixture(scope="session")
def features() -> pd.DataFrame:
    """120 rows; numbers and words with gaps, a constant column, and category names that are numbers."""
    random = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "height": random.normal(170, 10, n),
            "colour": random.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]),
            "income": random.lognormal(10, 1, n),
            "same": 0.1,
            "grade": random.integers(1, 4, n),
        }
    )
    frame.loc[::9, "income"] = np.nan
    frame.loc[::11, "colour"] = None
    return frame


@pytest.fixture(scope="session")
def train_on(features: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> TrainOn:
    """Trains a cell of two trials on the table, in a folder of its own."""

    def run(*overrides: str) -> Trained:
        folder = tmp_path_factory.mktemp("inspected")
        target = pd.Series(np.where(features["height"] + 20 * (features["colour"] == "red") > 175, "yes", "no"))
        data = write_csv(folder, features, target)
        asked = (*data, "dataset.categorical=[grade]", "dataset.numeric=[same]", "trials=2", *overrides)
        return Trained(stored(folder / "results", *asked), features, asked)

    return run


@pytest.fixture(scope="session")
def scarf(train_on: TrainOn) -> Trained:
    """A pre-trained cell whose fine-tuned weights are kept."""
    return train_on("keep_weights=true")
