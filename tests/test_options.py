"""Every option of every group of `conf/`, trained to the end. Nothing here lists options: the files are found.

Of the datasets, which mostly need a network, `tests/config/test_conf_folder.py` opens every one.
"""

from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from scarf_lightning.config import Config, build_parts
from scarf_lightning.data.sources.wdbc import WdbcSource
from scarf_lightning.data.table import Table
from scarf_lightning.errors import UsageError
from scarf_lightning.modules.hardware import Hardware, choose_device
from scarf_lightning.randomness import Streams
from scarf_lightning.results import StackRecord
from scarf_lightning.trial_stack import train_stack
from tests.composing import GROUPS, asking_for, cells_of, config_of, names

TRIALS, EPOCHS, WIDTH = 2, 2, 8
METRICS = ("accuracy", "balanced_accuracy", "log_loss", "auroc")
TRAINED = [(group, name) for group in GROUPS if group != "dataset" for name in names(group)]


@pytest.fixture(scope="module")
def wdbc() -> Table:
    return WdbcSource().load()


@pytest.fixture(params=["wdbc", "mixed_table"])
def table(request: pytest.FixtureRequest) -> Table:
    found: Table = request.getfixturevalue(request.param)
    return found


def hardware_of(config: Config) -> Hardware:
    """What the configuration asks for; the processor, where that is an accelerator which this machine lacks."""
    try:
        device = choose_device(config.trainer.accelerator)
    except UsageError:
        assert not torch.cuda.is_available()
        device = torch.device("cpu")
    return Hardware(device, config.trainer.precision)


def trained(config: Config, table: Table) -> StackRecord:
    """What a cell leaves, with tiny networks and short phases."""
    for part in (config.network.encoder, config.network.pretrain_head, config.network.head):
        part.width = WIDTH
    for phase in (config.pretrain, config.finetune):
        phase.max_epochs = EPOCHS
    streams = Streams(config.seed, table.hash)
    return train_stack(
        config, build_parts(config), table, range(TRIALS), streams, hardware_of(config), Console(quiet=True)
    )


def check(record: StackRecord, config: Config, table: Table) -> None:
    """Two finished trials, with numbers for everything that is measured."""
    assert [row["trial"] for row in record.rows] == list(range(TRIALS))
    values = np.array([[row[metric] for metric in METRICS] for row in record.rows], dtype=float)
    assert np.isfinite(values).all()
    trained = {"finetune": config.method["name"] != "xgboost", "pretrain": config.pretrain.name != "none"}
    phases = [phase for phase, has_network in trained.items() if has_network]
    assert sorted((curve["phase"], curve["trial"], curve["epoch"]) for curve in record.curves) == [
        (phase, trial, epoch) for phase in phases for trial in range(TRIALS) for epoch in range(1, EPOCHS + 1)
    ]
    for curve in record.curves:
        numbers: dict[str, Any] = {key: value for key, value in curve.items() if key != "phase"}
        assert {"train_loss", "validation_loss"} <= set(numbers)
        assert all(value is not None and np.isfinite(value) for value in numbers.values()), curve
    for row in record.rows:
        assert row["finetune_epochs"] == (EPOCHS if "finetune" in phases else None)
        assert row["fits"] >= 1
        assert row["pretrain_epochs"] == (EPOCHS if "pretrain" in phases else None)
        assert row["n_train"] + row["n_validation"] + row["n_test"] == len(table.labels)


@pytest.mark.parametrize(("group", "name"), TRAINED, ids=lambda value: value)
def test_every_option_trains_to_the_end(group: str, name: str, table: Table) -> None:
    (cell,) = cells_of(*asking_for(group, name))

    check(trained(cell.config, table), cell.config, table)


@pytest.mark.parametrize("name", names("corruption"))
@pytest.mark.parametrize("method", ["cotrain", "scarf_augment"])
def test_every_corruption_trains_to_the_end_in_every_place(method: str, name: str, mixed_table: Table) -> None:
    place = "corruption@cotrain.corruption" if method == "cotrain" else "corruption"
    config = config_of(f"method={method}", f"{place}={name}")

    check(trained(config, mixed_table), config, mixed_table)
