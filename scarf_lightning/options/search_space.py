"""The ranges that ``tune=N`` searches in a cell: those of the options of its parts.

A part gives its ranges in the class variable ``search_space``, by option:

- ``("float", low, high)`` and ``("int", low, high)``, uniform; ``("log", low, high)`` and ``("log_int", low, high)``,
  uniform in the logarithm; all include both ends;
- ``("one_of", a, b, ...)``.

The learning rates of the cell's phases are searched too. The first try is the cell's own configuration.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import reduce
from operator import getitem
from typing import Any

from ..importing import require
from .axes import part
from .checking import read
from .combinations import part_axis, used_options
from .config import Config

Range = tuple[Any, ...]
LEARNING_RATE: Range = ("log", 1e-4, 1e-2)
SEARCHED = ("method", "network", "corruption", "loss", "cotrain.corruption", "cotrain.loss", "pretrain")
"""The options that name the parts, in an order that decides which values Optuna draws."""
UNSEARCHED = ("binning", "target_aware")
"""Pretexts whose ranges wait for the next science version, since cells of this one were tuned without them."""


def search_space(config: Config) -> dict[str, Range]:
    """Ranges by dotted name of the option."""
    values = {each.name: each.value for each in used_options(config)}
    space: dict[str, Range] = {}
    for name in ("pretrain.learning_rate", "finetune.learning_rate"):
        if name in values:
            space[name] = LEARNING_RATE
    for option in SEARCHED:
        axis = part_axis(option)
        if option not in values or axis is None or values[option] in UNSEARCHED:
            continue
        # No pre-training is no part.
        if (option, values[option]) == ("pretrain", "none"):
            continue
        # The options of the network's part are those of its encoder.
        place = "network.encoder" if option == "network" else option
        ranges: Mapping[str, Range] = getattr(part(axis, values[option]), "search_space", {})
        for name, own in ranges.items():
            space[f"{place}.{name}"] = own
    return space


def options_of(config: Config, names: Iterable[str]) -> dict[str, Any]:
    """The values of these options."""
    values = {each.name: each.value for each in used_options(config)}
    return {name: values[name] for name in names}


def with_options(config: Config, options: Mapping[str, Any]) -> Config:
    """The configuration with these options, checked as any other."""
    # By the way of any configuration, so that a value which the search suggests is checked like a user's.
    everything = asdict(config)
    for full, value in options.items():
        # ``finetune.learning_rate`` is in the group ``finetune``.
        *groups, name = full.split(".")
        section = reduce(getitem, groups, everything)
        # A pretext's options have a place of their own, though a user sets them as ``pretrain.NAME``.
        if name not in section:
            section = section["options"]
        section[name] = value
    return read(everything)


def check_search(config: Config) -> None:
    """Make sure that a cell can be tuned.

    Raises:
        UsageError: Optuna is missing.
    """
    if config.tune:
        require("optuna", f"tune={config.tune}")
