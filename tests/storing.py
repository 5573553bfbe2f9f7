"""Cells trained in this process by `train.py`'s own function, and left in a store."""

from pathlib import Path

import numpy as np
import pandas as pd

from scarf_lightning.results import CellStore
from scarf_lightning.screen import Screen
from scarf_lightning.sweeping.cell import Cell
from scarf_lightning.training.cell_loop import CellLoop
from tests.composing import config_of
from tests.processes import TINY


def stored(results: Path, *overrides: str) -> CellStore:
    """A cell of tiny networks, trained to the end."""
    arguments = (*TINY, f"paths.results={results}", *overrides)
    cell = Cell(arguments, config_of(*arguments))
    assert CellLoop(Screen(quiet=True)).train_cell(cell)
    assert cell.store is not None
    return cell.store


def write_csv(folder: Path, features: pd.DataFrame, target: "pd.Series[str]") -> list[str]:
    """A table as a user would bring it; the overrides that ask for it."""
    file = folder / "mine.csv"
    features.assign(target=target.to_numpy()).to_csv(file, index=False)
    return ["dataset=csv", f"dataset.path={file}", "dataset.target=target"]


def one_overflows(folder: Path) -> list[str]:
    """Two cells, the first of which fails: its numbers are too large for their squares."""
    random = np.random.default_rng(3)
    huge = np.linspace(-9e200, 9e200, 60)
    features = pd.DataFrame({"huge": huge, "usual": random.normal(size=60)})
    arguments = write_csv(folder, features, pd.Series(random.choice(["a", "b"], 60)))
    return [*arguments, "scaling=zscore,minmax"]
