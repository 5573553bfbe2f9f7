"""What several test modules share: a small table with every kind of column, and quick, repeatable Hypothesis."""

import gc
import os
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hypothesis import settings
from lightning_fabric.utilities import registry

import scarf_lightning.metrics
from scarf_lightning.data.table import Table
from scarf_lightning.options import plugins
from scarf_lightning.options.axes import BASES, _registered
from scarf_lightning.options.option import _options_of
from scarf_lightning.sweeping import workers
from scarf_lightning.sweeping.folders import CONF

gc.disable()
torch.set_num_threads(1)
# One core has no workers, so that a test sees what the training of a run does in this process.
workers.usable_cores = lambda: 1

# Other packages do the same again and again: Lightning looks for callbacks of all installed packages for each of its
# trainers, and PyTorch notes who has set a seed for devices that are not there.
registry.entry_points = cache(registry.entry_points)
for device in (torch.cuda, torch.xpu, torch.mtia):
    if hasattr(device, "manual_seed_all") and not device.is_available():
        device.manual_seed_all = lambda seed: None

kept_files: dict[str, bytes] = {}
"""What Hydra has read of each file in `conf/`, which no test changes."""
# Hydra imports its plugins anew when it looks for them, so the class is the one that it has registered.
Plugins.instance()
FileSource = SourcesRegistry.instance().resolve("file")
load_file = FileSource.load_config


def load_kept_file(source: ConfigSource, config_path: str) -> ConfigResult:
    """A file as Hydra loads it, which parses all files again for each composition."""
    if Path(source.path) != CONF:
        return load_file(source, config_path)
    if config_path not in kept_files:
        kept_files[config_path] = pickle.dumps(load_file(source, config_path))
    loaded: ConfigResult = pickle.loads(kept_files[config_path])
    return loaded


FileSource.load_config = load_kept_file  # type: ignore[method-assign]

settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """From now on garbage is collected, but never looked for among modules and tests, which stay to the end."""
    gc.freeze()
    gc.enable()
    # What tests share grows, and is looked through in vain: a twentieth of all time, with Python's own numbers.
    gc.set_threshold(5000, 20, 50)


@pytest.fixture(autouse=True)
def alike_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on the terminal that it is run from, or on those that drew random numbers before it."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    torch.manual_seed(0)
    # The disk need not keep what a test writes.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def plugins_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test imports from a folder of its own is gone after it, so that others may use the names of its parts."""
    folder = str(tmp_path_factory.getbasetemp())
    last = next(reversed(sys.modules))
    imported, metrics = dict(plugins._imported), dict(scarf_lightning.metrics._registered)
    yield
    # Modules that were imported since come after the last one. There are thousands before it.
    since = list(takewhile(lambda name: name != last, reversed(sys.modules)))
    theirs = [name for name in since if folder in str(getattr(sys.modules[name], "__file__", ""))]
    for name in theirs:
        del sys.modules[name]
    if theirs:
        for axis in BASES:
            ConfigStore.instance().repo.pop(axis, None)
        _options_of.cache_clear()
        _registered.cache_clear()
    for kept, before in ((plugins._imported, imported), (scarf_lightning.metrics._registered, metrics)):
        kept.clear()
        kept.update(before)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def mixed_data() -> dict[str, Any]:
    """Arguments of ``Table.from_frame``: 60 rows, three classes, columns of every kind."""
    random = np.random.default_rng(20)
    n = 60

    def with_gaps(values: Any, every: int) -> list[Any]:
        return [None if i % every == every - 2 else value for i, value in enumerate(values)]

    features = pd.DataFrame(
        {
            "length": random.normal(3, 2, n),
            "colour": with_gaps(random.choice(["red", "green", "blue", "amber"], n, p=[0.2, 0.5, 0.2, 0.1]), 8),
            "income": pd.Series(with_gaps(random.lognormal(10, 1, n), 5), dtype="float64"),
            "constant": np.full(n, 0.1),
            "grade": pd.Series(with_gaps(random.integers(1, 13, n), 9), dtype="Int64"),
            "nothing": [np.nan] * n,
            "flag": random.random(n) < 0.3,
            "steps": random.integers(0, 50, n),
            "same": ["x"] * n,
        }
    )
    target = pd.Series(random.choice(["low", "mid", "top"], n, p=[0.5, 0.3, 0.2]), name="level")
    categorical = [name in {"colour", "grade", "flag", "same"} for name in features.columns]
    return {"features": features, "target": target, "categorical": categorical}


@pytest.fixture(scope="session")
def mixed_table(mixed_data: dict[str, Any]) -> Table:
    return Table.from_frame(**mixed_data, name="mixed", source="test:mixed")
