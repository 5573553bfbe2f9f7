"""Names to classes. A class is registered by being a subclass: there is no list to keep, and a config runs no code."""

import importlib
import inspect
import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields, make_dataclass
from dataclasses import field as dataclass_field
from typing import Any, get_type_hints

from omegaconf import OmegaConf

from ..errors import UsageError
from .axes import BASES
from .typed import typed


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


def build(axis: str, choice: Mapping[str, Any], place: str | None = None, **parts: Any) -> Any:
    """The object that a configuration names.

    Args:
        axis: of the class.
        choice: its name, and its options.
        place: where in the configuration the options stand, if not under the axis.
        parts: what fields of the class hold that are no options.

    Raises:
        UsageError: no such name, an option that the class does not have, or a value it does not take.
    """
    known, place = options(axis), place or axis
    name = choice.get("name")
    if name not in known:
        raise UsageError(f"{place}.name={name} is unknown; the options are: {', '.join(sorted(known))}.")
    given = {key: value for key, value in choice.items() if key != "name"}
    chosen = known[name]
    taken = {field.name: parts[field.name] for field in fields(chosen) if field.name in parts}
    if not taken:
        return checked(chosen, given, place)
    _check_parts(chosen, taken, place, "" if place == axis else f"{place}.")
    own = checked(_schema_of_options(chosen, taken), given, place)
    try:
        return chosen(**taken, **vars(own))
    except ValueError as error:
        raise UsageError(f"{place}.{error}.") from error


def checked(schema: type[Any], values: Mapping[str, Any], path: str) -> Any:
    """An object of a dataclass from its options.

    Raises:
        UsageError: as `typed`.
    """
    return typed(schema, OmegaConf.create(dict(values)), path)


def _schema_of_options(cls: type[Any], parts: Collection[str]) -> type[Any]:
    """A dataclass of a class's options alone."""
    hints = get_type_hints(cls)
    own = [field for field in fields(cls) if field.name not in parts]
    return make_dataclass(
        cls.__name__,
        [(f.name, hints[f.name], _copy(f)) for f in own],
    )


def _copy(field: "Field[Any]") -> Any:
    return dataclass_field(default_factory=field.default_factory) if field.default is MISSING else field.default


def _check_parts(cls: type[Any], parts: Mapping[str, Any], place: str, path: str) -> None:
    """Refuse a part that is not of the kind that its field asks for.

    Raises:
        UsageError: which one, and what would do.
    """
    hints = get_type_hints(cls)
    for axis, part in parts.items():
        kind = hints[axis]
        if axis in BASES and not isinstance(part, kind):
            fitting = sorted(name for name, option in options(axis).items() if issubclass(option, kind))
            raise UsageError(
                f"{path}{axis}={part.name} does not go with {place}={cls.name}, which takes {', '.join(fitting)}."
            )


def _concrete_subclasses(base: type[Any]) -> list[type[Any]]:
    found = []
    for cls in base.__subclasses__():
        found += _concrete_subclasses(cls)
        if hasattr(cls, "name") and not inspect.isabstract(cls):  # what has no name is a base
            found.append(cls)
    return found
