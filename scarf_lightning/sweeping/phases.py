"""The phases of a cell, and what decides how long they take: the data's size, the epochs, the network, the fits."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..config import Config
from ..config.combinations import is_pretrained, method_facts
from ..config.facts import facts
from ..settings import DEFAULT_PRECISION, FitSettings, NetworkSettings
from .cell import Cell

PRETRAIN_SECONDS, FINETUNE_SECONDS = 1.0, 0.2
"""A trial on 1,000 rows of 30 columns by default, on one core."""
RIVAL_SECONDS = 1.3
"""A fit without a network on a million cells of a table, for each output: of XGBoost's trees by default."""

DEFAULT_NETWORK = NetworkSettings.name
TRAINED_SHARE = 0.7
PRETRAIN_EPOCHS, FINETUNE_EPOCHS = 21.0, 11.0
"""By default, on average over 33 datasets (docs/agreement.md); in docs/readings.md they grow in proportion to the
patience and to the epochs between validations."""
TYPICAL_PATIENCE = 3


class Size(NamedTuple):
    """Of data."""

    n_rows: int
    n_columns: int
    n_classes: int


TYPICAL_SIZE = Size(1000, 20, 2)
"""Of data that were never loaded and are none of the paper's."""


@dataclass(frozen=True)
class Phase:
    """One phase of a cell.

    Attributes:
        name: ``pretrain`` or ``finetune``.
        kind: the pre-training or the method.
        n_rows: of the data.
        n_columns: of the data.
        times: how many times as long it takes as one fit of the default network for the default epochs.
        network: its name; None for methods without one.
        precision: of training. How much faster a lower one is depends on the machine, so the rule has no part in it.
    """

    name: str
    kind: str
    n_rows: int
    n_columns: int
    times: float = 1.0
    network: str | None = DEFAULT_NETWORK
    precision: str = DEFAULT_PRECISION

    @property
    def rule(self) -> float:
        """Seconds a trial by the rule of thumb."""
        if self.network is None:
            return self.times * (0.02 + RIVAL_SECONDS * self.n_rows * self.n_columns / 1e6)
        scale = PRETRAIN_SECONDS if self.name == "pretrain" else FINETUNE_SECONDS
        return scale * self.times * (0.05 + self.n_rows / 1000) * (1 + self.n_columns / 1000)


def supervised(cell: Cell) -> Phase:
    """The supervised phase of a cell."""
    config, method = cell.config, method_facts(cell.config).variables
    (n_rows, n_columns, n_classes), name = size(cell), config.method["name"]
    fits = method["typical_fits"] * max(1, config.tune)
    share = labelled_share(config, n_rows)
    if "network" not in method["uses"]:
        n_outputs = n_classes if n_classes > 2 else 1
        return Phase("finetune", name, n_rows, n_columns, fits * share * n_outputs, network=None)
    epochs = expected_epochs(config.finetune, FINETUNE_EPOCHS, n_rows * share) / FINETUNE_EPOCHS
    if config.finetune.epoch == "labelled_rows":
        epochs *= share
    times = fits * epochs * network_cost(config)
    return Phase("finetune", name, n_rows, n_columns, times, config.network.name, config.trainer.precision)


def pretraining(cell: Cell) -> Phase | None:
    """The pre-training of a cell, if it has one."""
    config = cell.config
    if not is_pretrained(config):
        return None
    n_rows, n_columns, _ = size(cell)
    epochs = expected_epochs(config.pretrain, PRETRAIN_EPOCHS, n_rows) / PRETRAIN_EPOCHS
    times = max(1, config.tune) * epochs * network_cost(config)
    kind, network = config.pretrain.name, config.network.name
    return Phase("pretrain", kind, n_rows, n_columns, times, network, config.trainer.precision)


def expected_epochs(settings: FitSettings, typical: float, n_rows: float) -> float:
    """How many epochs a phase is expected to train.

    Args:
        settings: the phase's.
        typical: the epochs by default.
        n_rows: of the data, as far as an epoch goes through them.
    """
    if settings.patience is None:
        expected: float = settings.max_epochs
    else:
        waits = (settings.patience + 1) / (TYPICAL_PATIENCE + 1) * settings.validate_every
        expected = min(settings.max_epochs, typical * waits)
    steps_an_epoch = max(1.0, TRAINED_SHARE * n_rows / settings.batch_size)
    return max(expected, settings.min_epochs, settings.min_steps / steps_an_epoch)


def labelled_share(config: Config, n_rows: int) -> float:
    """The share of the training rows that the regime leaves a label."""
    asked = float(config.regime.get("labelled") or config.regime.get("labels") or 1.0)
    return float(min(1.0, asked if asked <= 1 else asked / (TRAINED_SHARE * n_rows)))


def network_cost(config: Config) -> float:
    """How many times as long a step takes as one of the default network.

    What a network says of itself at its own default size, and of that the share of its products, which grow with the
    width's square and with the depth.
    """
    network = facts("network", config.plugins)[config.network.name]

    def times_default(option: str) -> float:
        default = network.defaults.get(option)
        return float(config.network.encoder.get(option, default) / default) if default else 1.0

    width, depth = times_default("width"), times_default("depth")
    return float(network.variables["typical_cost"] * (0.4 + 0.6 * width**2 * depth))


def size(cell: Cell) -> Size:
    """Of a cell's data, without loading them."""
    known = cell.data()
    if known is not None:
        return Size(known.n_rows, known.n_columns, known.n_classes)
    return _published_sizes().get(cell.config.dataset.id or 0, TYPICAL_SIZE)


@cache
def _published_sizes() -> dict[int, Size]:
    """Of the paper's 69 datasets, as OpenML lists them."""
    with Path(__file__).with_name("cc18_sizes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {int(row["dataset_id"]): Size(*(int(row[name]) for name in Size._fields)) for row in rows}
