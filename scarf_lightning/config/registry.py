"""Names to classes. A class is registered by being a subclass: there is no list to keep, and a config runs no code."""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any

from omegaconf import OmegaConf

from ..errors import UsageError
from .typed import typed

BASES = {
    "regime": "scarf_lightning.data.regimes:Regime",
    "scaling": "scarf_lightning.data.scaling:Scaling",
    "corruption": "scarf_lightning.corruption:Corruption",
    "selection": "scarf_lightning.corruption:Selection",
    "loss": "scarf_lightning.losses:PretextLoss",
    "method": "scarf_lightning.methods:Method",
}
"""For each axis the class whose subclasses are its options. Looking them up imports torch."""


def options(axis: str) -> dict[str, type[Any]]:
    """The classes that an axis can name, by name."""
    return registered(BASES[axis])


def registered(base: str) -> dict[str, type[Any]]:
    """The subclasses of ``module:Class`` that have a name, by name; the modules of a package are imported first."""
    module_name, _, class_name = base.partition(":")
    module = importlib.import_module(module_name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        importlib.import_module(f"{module_name}.{found.name}")
    return {cls.name: cls for cls in _concrete_subclasses(getattr(module, class_name))}


def build(axis: str, choice: Mapping[str, Any], path: str = "") -> Any:
    """The object that a configuration names; ``path`` is what stands before the axis in the configuration.

    Raises:
        UsageError: no such name, an option that the class does not have, or a value it does not take.
    """
    known = options(axis)
    name = choice.get("name")
    if name not in known:
        raise UsageError(f"{path}{axis}.name={name} is unknown; the options are: {', '.join(sorted(known))}.")
    return checked(known[name], {key: value for key, value in choice.items() if key != "name"}, path + axis)


def checked(schema: type[Any], values: Mapping[str, Any], path: str) -> Any:
    """An object of a dataclass from its options.

    Raises:
        UsageError: as `typed`.
    """
    return typed(schema, OmegaConf.create(dict(values)), path)


def _concrete_subclasses(base: type[Any]) -> list[type[Any]]:
    found = []
    for cls in base.__subclasses__():
        found += _concrete_subclasses(cls)
        if hasattr(cls, "name") and not inspect.isabstract(cls):  # what has no name is a base
            found.append(cls)
    return found
