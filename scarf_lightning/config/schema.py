"""The schema that every composed configuration is merged into."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING, DictConfig

from ..settings import (
    FitSettings,
    NetworkSettings,
    PretrainSettings,
    TrainerSettings,
    at_least,
    one_of,
)
from .typed import typed

Choice = dict[str, Any]
"""The name of a registered class and its options, which that class's own fields give the types of."""


@dataclass
class DatasetSettings:
    """Where a table comes from."""

    source: str = MISSING
    id: int | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None:
            at_least(self, "id", 1)


@dataclass
class LoggerSettings:
    """Where curves are shown, beside the store."""

    name: str = "none"

    def __post_init__(self) -> None:
        one_of(self, "name", ("none",))


@dataclass
class PathSettings:
    """Folders. ``openml=None`` is where the openml client keeps its cache."""

    results: str = "results"
    openml: str | None = None


@dataclass
class Config:
    """One cell, and how and where to train it."""

    dataset: DatasetSettings
    regime: Choice
    scaling: Choice
    pretrain: PretrainSettings
    corruption: Choice
    loss: Choice
    method: Choice
    finetune: FitSettings
    network: NetworkSettings
    trainer: TrainerSettings
    logger: LoggerSettings
    paths: PathSettings = field(default_factory=PathSettings)
    trials: int = 5
    seed: int = 0
    fit_on: str = "all"

    def __post_init__(self) -> None:
        at_least(self, "trials", 1)
        at_least(self, "seed", 0)
        one_of(self, "fit_on", ("all", "train"))


def read(composed: DictConfig) -> Config:
    """Check a composed configuration against the schema.

    Raises:
        UsageError: see `typed`.
    """
    return typed(Config, composed)
