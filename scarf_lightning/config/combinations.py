"""Which choices go together, and which of a configuration's options a cell does not use."""

from dataclasses import asdict, fields
from typing import Any

from ..errors import UsageError
from ..settings import PretrainSettings
from .schema import Config

PRETRAININGS = ("none", "scarf")


def is_pretrained(config: Config) -> bool:
    return config.pretrain.name != "none"


def check_combination(config: Config) -> None:
    """Refuse choices that do not go together.

    Raises:
        UsageError: which ones, and why.
    """
    if config.pretrain.name not in PRETRAININGS:
        known = ", ".join(PRETRAININGS)
        raise UsageError(f"pretrain.name={config.pretrain.name} is unknown; the options are: {known}.")


def unused_options(config: Config) -> set[str]:
    """Dotted names of options, or of groups of them, that have no part in this cell."""
    if is_pretrained(config):
        return set()
    of_pretrain = {f"pretrain.{field.name}" for field in fields(PretrainSettings) if field.name != "name"}
    return of_pretrain | {"corruption", "loss", "network.pretrain_head"}


def canonical(config: Config) -> dict[str, Any]:
    """What decides a cell's numbers, but for the data: nested, with None for whatever the cell does not use.

    Paths, hardware, loggers and the number of trials are not in it, nor is the dataset: its hash names its content.
    """
    everything = asdict(config)
    scientific = (
        "regime",
        "scaling",
        "fit_on",
        "pretrain",
        "corruption",
        "loss",
        "method",
        "finetune",
        "network",
        "seed",
    )
    chosen = {name: everything[name] for name in scientific}
    for option in unused_options(config):
        *groups, last = option.split(".")
        node = chosen
        for group in groups:
            node = node[group]
        node[last] = None
    return chosen
