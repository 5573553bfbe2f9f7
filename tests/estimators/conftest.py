"""A user's table with columns of every kind, and models of cells that were trained on it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scarf_lightning.estimators import Model, load_model
from tests.estimators.small import small, table
from tests.storing import stored, write_csv


@dataclass(frozen=True)
class OfACell:
    """A trained cell: its folder, the rows of its table, and the overrides that ask for it."""

    folder: Path
    rows: pd.DataFrame
    overrides: tuple[str, ...]

    @cached_property
    def model(self) -> Model:
        return load_model(self.folder)


TrainOn = Callable[..., OfACell]
KNOWN: dict[tuple[str, ...], OfACell] = {}
"""The cells of this session by their overrides; other rooms use the fixtures too."""


@pytest.fixture(scope="session")
def rows() -> pd.DataFrame:
    random, n = np.random.default_rng(5), 120
    frame = pd.DataFrame(
        {
            "id": [f"A-{i}" for i in range(n)],
            "height": random.normal(170, 10, n),
            "price": [f"{value:,.2f} €" for value in random.lognormal(7, 1, n)],
            "since": [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2021" for i in range(n)],
            "colour": random.choice(["red", "green", "blue"], n),
            "grade": random.integers(1, 4, n),
        }
    )
    frame.loc[::9, "height"] = np.nan
    frame.loc[::11, "colour"] = None
    return frame


@pytest.fixture(scope="session")
def train_on(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> TrainOn:
    """Trains a cell of two trials on the table, in a folder of its own. Tests that ask for the same cell share it, and
    only read it."""

    def run(*overrides: str) -> OfACell:
        if overrides not in KNOWN:
            folder = tmp_path_factory.mktemp("cell")
            target = pd.Series(np.where(rows["grade"] + (rows["colour"] == "red") > 2, "yes", "no"))
            data = write_csv(folder, rows, target)
            arguments = (*data, "dataset.categorical=[grade]", "trials=2", "keep_weights=true", *overrides)
            KNOWN[overrides] = OfACell(stored(folder / "results", *arguments).folder, rows, arguments)
        return KNOWN[overrides]

    return run


@pytest.fixture(scope="session")
def scarf(train_on: TrainOn) -> OfACell:
    return train_on()


@pytest.fixture(scope="session")
def small_fit() -> Any:
    """A small estimator of the small table. All tests share it, so none fits it again."""
    return small().fit(*table())
