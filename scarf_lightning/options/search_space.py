"""What ``tune=N`` searches in a cell: ranges of the options of the parts that the cell is made of.

A part says its ranges in the class variable ``search_space``, by option:

- ``("float", low, high)`` and ``("int", low, high)``, uniform; ``("log", low, high)`` and ``("log_int", low, high)``,
  uniform in the logarithm; all include both ends;
- ``("one_of", a, b, ...)``.

The learning rates of the cell's phases are searched too. The first try is what the cell's configuration says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import reduce
from operator import getitem
from typing import Any

from ..importing import require
from .catalogue import description
from .checking import read
from .combinations import part_axis, used_options
from .settings import Config

Range = tuple[Any, ...]
LEARNING_RATE: Range = ("log", 1e-4, 1e-2)
SEARCHED = ("method", "network", "corruption", "loss", "cotrain.corruption", "cotrain.loss")
"""The options that name the parts, in an order that decides which values Optuna draws."""


def search_space(config: Config) -> dict[str, Range]:
    """Ranges by dotted name of the option."""
    chosen = {each.name: each.value for each in used_options(config)}
    rates = ("pretrain.learning_rate", "finetune.learning_rate")
    found = {name: LEARNING_RATE for name in rates if name in chosen}
    for option in SEARCHED:
        axis = part_axis(option)
        if option in chosen and axis is not None:
            place = "network.encoder" if option == "network" else option
            ranges: Mapping[str, Range] = description(axis, chosen[option]).said.get("search_space", {})
            found |= {f"{place}.{name}": of_option for name, of_option in ranges.items()}
    return found


def options_of(config: Config, names: Iterable[str]) -> dict[str, Any]:
    """The values of these options."""
    chosen = {each.name: each.value for each in used_options(config)}
    return {name: chosen[name] for name in names}


def with_options(config: Config, options: Mapping[str, Any]) -> Config:
    """The configuration with these options, checked as any other."""
    everything = asdict(config)
    for full, value in options.items():
        *groups, name = full.split(".")
        reduce(getitem, groups, everything)[name] = value
    return read(everything)


def check_search(config: Config) -> None:
    """Make sure that a cell can be tuned.

    Raises:
        UsageError: Optuna is missing.
    """
    if config.tune:
        require("optuna", f"tune={config.tune}")
