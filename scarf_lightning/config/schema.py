"""The schema that every composed configuration is merged into."""

import codecs
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from omegaconf import MISSING, DictConfig, OmegaConf

from ..limits import Limit, Limited
from ..settings import FinetuneSettings, NetworkSettings, PretrainSettings, TrainerSettings
from .facts import facts
from .typed import typed

Choice = dict[str, Any]
"""The name of a registered class and its options, which that class's own fields give the types of."""


@dataclass
class DatasetSettings(Limited):
    """Where a table comes from. Each source knows some of the options, and refuses the others."""

    limits: ClassVar[dict[str, Limit]] = {
        "id": "[1, inf)",
        "task": "[1, inf)",
        "decimal": (".", ","),
        "target_kind": ("classes",),
    }
    source: str = MISSING
    id: int | None = None
    name: str | None = None
    path: str | None = None
    target: str | None = None
    categorical: list[str] | None = None
    numeric: list[str] | None = None
    drop: list[str] | None = None
    dates: list[str] | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    target_kind: str | None = None
    unlabelled: str | None = None
    task: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.separator is not None and len(self.separator) != 1:
            raise ValueError(f"separator must be one character, not {self.separator!r}")
        if self.encoding is not None:
            _known_encoding(self.encoding)


def _known_encoding(name: str) -> None:
    try:
        codecs.lookup(name)
    except LookupError as error:
        raise ValueError(f"encoding must be one that Python knows, such as utf-8 or cp1252, not {name!r}") from error


@dataclass
class ViewsSettings(Limited):
    """How many of the two views of a row are corrupted."""

    limits: ClassVar[dict[str, Limit]] = {"name": ("one", "both")}
    name: str = "one"


@dataclass
class CotrainSettings(Limited):
    """The pretext task that ``method=cotrain`` adds to the supervised loss, with its options, and its weight."""

    limits: ClassVar[dict[str, Limit]] = {"weight": "(0, inf)"}
    task: str = "scarf"
    weight: float = 1.0
    corruption: Choice = field(default_factory=dict)
    loss: Choice = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class WandbSettings(Limited):
    """Where Weights & Biases keeps the runs. ``offline`` and ``disabled`` use no network."""

    limits: ClassVar[dict[str, Limit]] = {"mode": ("offline", "online", "disabled")}
    mode: str = "offline"
    project: str = "scarf-lightning"
    entity: str | None = None


@dataclass
class LoggerSettings(Limited):
    """Where curves are shown, beside the store: as means over trials, and with ``per_trial`` one a trial too."""

    limits: ClassVar[dict[str, Limit]] = {"name": ("none", "wandb", "tensorboard", "both")}
    name: str = "none"
    per_trial: bool = False
    wandb: WandbSettings = field(default_factory=WandbSettings)


@dataclass
class PathSettings:
    """Folders. ``openml=None`` is where the openml client keeps its cache."""

    results: str = "results"
    openml: str | None = None


@dataclass
class CacheSettings(Limited):
    """The cache of pre-trainings: how much it keeps, in gigabytes of 10^9 bytes; 0 keeps and reads none."""

    limits: ClassVar[dict[str, Limit]] = {"max_gb": "[0, inf)"}
    max_gb: float = 20.0


@dataclass
class ChunkSettings(Limited):
    """How cells are dealt out to jobs. Those that share a pre-training are never parted.

    ``minutes`` is how long a job is expected to take at least, ``max_jobs`` how many there are at most, None what suits
    the launcher; ``file`` is where a job finds its cells, which the sweeper sets.
    """

    limits: ClassVar[dict[str, Limit]] = {"minutes": "[0, inf)", "max_jobs": "[1, inf)"}
    minutes: float | None = None
    max_jobs: int | None = None
    file: str | None = None


@dataclass(kw_only=True)
class Config(Limited):
    """One cell, and how and where to train it."""

    limits: ClassVar[dict[str, Limit]] = {
        "tune": "[0, 10000]",
        "trials": "[1, 10000]",
        "seed": "[0, inf)",
        "keep_predictions_mb": "[0, inf)",
        "batch_size": "[2, 1000000000]",
        "fit_on": ("all", "train"),
        "impute_on": ("all", "train"),
    }
    dataset: DatasetSettings
    split: Choice = field(default_factory=lambda: {"name": "random"})
    regime: Choice
    scaling: Choice
    encoding: Choice = field(default_factory=lambda: {"name": "onehot"})
    fit_on: str = "all"
    impute_on: str | None = None
    pretrain: PretrainSettings
    corruption: Choice
    selection: Choice
    views: ViewsSettings
    loss: Choice
    method: Choice
    cotrain: CotrainSettings
    finetune: FinetuneSettings
    network: NetworkSettings
    seed: int = 0
    tune: int = 0
    batch_size: int = 128
    trials: int = 5
    trainer: TrainerSettings
    logger: LoggerSettings
    paths: PathSettings = field(default_factory=PathSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    sweeps: str | None = None
    plan: bool = False
    force: bool = False
    keep_weights: bool = False
    keep_predictions_mb: float = 20
    objective: str = "validation_error"
    plugins: list[str] = field(default_factory=list)

    @property
    def preprocesses_alike(self) -> bool:
        """Whether all trials impute and scale by the whole table, and so alike."""
        return {self.fit_on, self.impute_on} <= {"all", None}


def read(composed: DictConfig | dict[str, Any]) -> Config:
    """Check a composed configuration, or a resolved one that was kept, against the schema.

    Raises:
        UsageError: see `typed`.
    """
    config = OmegaConf.create(composed) if isinstance(composed, dict) else composed
    for section, key, settings in (("pretrain", "name", PretrainSettings), ("cotrain", "task", CotrainSettings)):
        config = _with_own_options(config, section, key, settings)
    return typed(Config, config)


def _with_own_options(config: DictConfig, section: str, key: str, settings: type[Any]) -> DictConfig:
    """What a pre-training calls its own, out of the settings that all of them have."""
    node = config.get(section)
    if not isinstance(node, DictConfig):
        return config
    others = set(node) - {field.name for field in fields(settings)}
    known = facts("pretrain", list(config.get("plugins") or ())) if others else {}
    if node.get(key) not in known:
        return config
    own = others & set(known[node[key]].fields)
    kept = OmegaConf.to_container(node, resolve=False)
    assert isinstance(kept, dict)
    kept["options"] = (kept.get("options") or {}) | {name: kept.pop(name) for name in own}
    changed = OmegaConf.to_container(config, resolve=False)
    assert isinstance(changed, dict)
    return OmegaConf.create({**changed, section: kept})
