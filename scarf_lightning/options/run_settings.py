"""Sections of the options of a run, which change no number: loggers, folders, the cache and the jobs."""

import os
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from .option import Options, option
from .paths import expanded


@dataclass
class WandbSettings(Options):
    """Where Weights & Biases keeps the runs."""

    mode: Literal["offline", "online", "disabled"] = option("offline", "offline and disabled use no network")
    project: str = option("scarf-lightning", "project of the runs")
    entity: str | None = option(None, "user or team that owns the project; null is your own")
    write: bool = option(False, "write a run for each cell; logger=wandb sets it")


@dataclass
class LoggerSettings(Options):
    """Where curves are shown, beside the store.

    Each section is a logger. Any other logger of Lightning's is a section with a name of its own and the class as its
    ``_target_``; its further options are the arguments of the class. ``logger=[csv,wandb]`` chooses several.
    """

    sections_by_target: ClassVar[str | None] = "others"
    wandb: WandbSettings = field(default_factory=WandbSettings)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def views(self) -> list[str]:
        """The names of the loggers that are written."""
        is_off = "disabled" in (self.wandb.mode, os.environ.get("WANDB_MODE"))
        return ["wandb", *self.others] if self.wandb.write and not is_off else [*self.others]

    def without_secrets(self) -> Self:
        """The same without what may hold a key or a password: the arguments of a class by _target_."""
        targets = {}
        for name, section in self.others.items():
            targets[name] = {"_target_": section["_target_"]}
        return replace(self, others=targets)


@dataclass
class PathSettings(Options):
    """Folders."""

    results: str = option("results", "folder of the results, relative to the folder that the command runs in")
    openml: str | None = option(None, "cache of the openml client; null is OPENML_CACHE_DIR or the client's own folder")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.results = str(expanded(self.results))


@dataclass
class CacheSettings(Options):
    """The cache of pre-trainings in the results folder."""

    max_gb: float = option(20.0, "largest size in gigabytes of 10^9 bytes; 0 keeps and reads nothing", "[0, inf)")


@dataclass
class ChunkSettings(Options):
    """How a job of a launcher gets its cells."""

    file: str | None = option(None, "file in which a job finds its cells; the sweeper sets it")
