"""What ``tune=N`` searches in a cell: ranges of the options of the parts that the cell is made of.

A part says its ranges in the class variable ``search_space``, by option:

- ``("float", low, high)`` and ``("int", low, high)``, uniform; ``("log", low, high)`` and ``("log_int", low, high)``,
  uniform in the logarithm; all with both ends among them;
- ``("one_of", a, b, ...)``.

To these come the learning rates of the phases that a cell has. What the cell's configuration says is the first try.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..errors import UsageError
from .axes import part
from .checking import read
from .combinations import is_cotrained, is_in, is_pretrained, unused_options
from .settings import Config

Range = tuple[Any, ...]
LEARNING_RATE: Range = ("log", 1e-4, 1e-2)


def search_space(config: Config) -> dict[str, Range]:
    """Ranges by dotted name of the option, in an order of their own."""
    unused = unused_options(config)
    found: dict[str, Range] = {}
    for phase, is_there in (("pretrain", is_pretrained(config)), ("finetune", True)):
        if is_there and not is_in(f"{phase}.learning_rate", unused):
            found[f"{phase}.learning_rate"] = LEARNING_RATE
    parts = {"method": ("method", config.method["name"]), "network.encoder": ("network", config.network.name)}
    parts |= {"corruption": ("corruption", config.corruption["name"]), "loss": ("loss", config.loss["name"])}
    if is_cotrained(config):
        asked = config.cotrain
        parts |= {f"cotrain.{axis}": (axis, getattr(asked, axis)["name"]) for axis in ("corruption", "loss")}
    for place, (axis, name) in parts.items():
        if not is_in(place, unused):
            ranges = getattr(part(axis, name, config.plugins), "search_space", {})
            found |= {f"{place}.{option}": of_option for option, of_option in ranges.items()}
    return found


def options_of(config: Config, names: Mapping[str, Range]) -> dict[str, Any]:
    """What the configuration says of these options."""
    everything = asdict(config)
    return {name: _node(everything, name)[name.rpartition(".")[2]] for name in names}


def with_options(config: Config, options: Mapping[str, Any]) -> Config:
    """The configuration with these options, checked as any other."""
    everything = asdict(config)
    for name, value in options.items():
        _node(everything, name)[name.rpartition(".")[2]] = value
    return read(everything)


def check_search(config: Config) -> None:
    """Make sure that a cell can be tuned.

    Raises:
        UsageError: Optuna is missing.
    """
    if config.tune:
        try:
            import optuna  # noqa: F401
        except ModuleNotFoundError as error:
            raise UsageError("tune=N needs the package optuna: install it with `pip install -e .[tune]`.") from error


def _node(everything: dict[str, Any], name: str) -> dict[str, Any]:
    node = everything
    for group in name.split(".")[:-1]:
        node = node[group]
    return node
