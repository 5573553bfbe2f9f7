"""From plain values to checked options, with one clear sentence for whatever is wrong."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

from ..errors import UsageError
from .axes import part
from .option import Option, Options, options_of, suggestion
from .settings import Choice, Config, CotrainSettings, NetworkSettings, PretrainSettings

T = TypeVar("T", bound=Options)

CHOICES = ("split", "regime", "scaling", "encoding", "corruption", "selection", "loss", "method")
"""Sections of a configuration that hold a part's name and its options, and nothing else."""


def read(values: Mapping[str, Any]) -> Config:
    """Check a composed or a stored configuration, and fill in the defaults of what it leaves out.

    Raises:
        UsageError: a section or an option is unknown or missing, of a wrong type, or out of range.
    """
    filled = dict(values)
    plugins = tuple(_list(filled.get("plugins") or [], "plugins"))
    for axis in CHOICES:
        if isinstance(filled.get(axis), Mapping):
            filled[axis] = checked_choice(axis, filled[axis], axis, plugins)
    if isinstance(filled.get("network"), Mapping):
        filled["network"] = _with_encoder(filled["network"], plugins)
    for section, key, settings in (("pretrain", "name", PretrainSettings), ("cotrain", "task", CotrainSettings)):
        if isinstance(filled.get(section), Mapping):
            filled[section] = _with_own_options(filled[section], section, key, settings, plugins)
    return checked(Config, filled)


def checked(schema: type[T], values: Mapping[str, Any], place: str = "") -> T:
    """An `Options` object from plain values, whose options stand at a place of the configuration such as ``finetune``.

    Raises:
        UsageError: an option is unknown or missing, of a wrong type, or out of range; the message names it.
    """
    _refuse_unknown([field.name for field in fields(schema)], values, place)
    known, hints = options_of(schema), get_type_hints(schema)
    found = {}
    for field in fields(schema):
        full = _join(place, field.name)
        if field.name not in values:
            if field.default is MISSING and field.default_factory is MISSING:
                raise UsageError(f"{full} is missing; leave it at its default, or choose one with {full}=NAME.")
            continue
        value, kind = values[field.name], hints[field.name]
        if field.name in known:
            found[field.name] = _value(known[field.name], value, full)
        elif is_dataclass(kind) and isinstance(kind, type):
            found[field.name] = checked(kind, _group(value, full, kind), full)  # type: ignore[type-var]
        else:
            found[field.name] = dict(_finite(_group(value, full), full)) if kind in (Choice, dict) else value
    try:
        return schema(**found)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(_sentence(place, error)) from error


def checked_options(cls: type[Any], values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The options of a part: the values, checked, and the defaults of all others. The part itself is not made."""
    known = options_of(cls)
    _refuse_unknown(list(known), values, place)
    found = {}
    for name, option in known.items():
        full = _join(place, name)
        value = _value(option, values[name], full) if name in values else deepcopy(option.default)
        try:
            option.check(value)
        except ValueError as error:
            raise UsageError(_sentence(place, error)) from error
        found[name] = value
    return found


def checked_choice(axis: str, choice: Mapping[str, Any], place: str, plugins: Sequence[str] = ()) -> Choice:
    """A part's name and all of its options, from those that are given.

    Raises:
        UsageError: there is no such part, or as by `checked`.
    """
    name = choice.get("name")
    cls = part(axis, name, plugins, option=f"{place}.name")
    return {"name": name} | checked_options(cls, {key: v for key, v in choice.items() if key != "name"}, place)


def _with_encoder(node: Mapping[str, Any], plugins: Sequence[str]) -> dict[str, Any]:
    """The network's section with all options of its encoder."""
    name = node.get("name", NetworkSettings.name)
    cls = part("network", name, plugins, option="network.name")
    encoder = _group(node.get("encoder") or {}, "network.encoder")
    return {**node, "name": name, "encoder": checked_options(cls, encoder, "network.encoder")}


def _with_own_options(
    node: Mapping[str, Any], section: str, key: str, settings: type[Any], plugins: Sequence[str]
) -> dict[str, Any]:
    """A pre-training's section, in which its own options stand beside the common ones, with its own ones apart."""
    name = node.get(key, getattr(settings, key))
    common = [field.name for field in fields(settings) if field.name != "options"]
    filled = {option: value for option, value in node.items() if option in common}
    others = {option: value for option, value in node.items() if option not in (*common, "options")}
    others |= dict(node.get("options") or {})
    own: dict[str, Any] = {}
    if (section, name) == ("pretrain", "none"):
        _refuse_unknown(common, others, section)
    else:
        cls = part("pretrain", name, plugins, option=f"{section}.{key}")
        _refuse_unknown([*common, *options_of(cls)], others, section)
        own = checked_options(cls, others, section)
    if section == "cotrain":
        for axis in ("corruption", "loss"):
            if filled.get(axis):
                filled[axis] = checked_choice(axis, filled[axis], f"cotrain.{axis}", plugins)
    return {**filled, key: name, "options": own}


def _refuse_unknown(known: Sequence[str], values: Mapping[str, Any], place: str) -> None:
    for name in values:
        if name not in known:
            where = f"the options of {place}" if place else "the options"
            raise UsageError(
                f"{_join(place, str(name))} is not an option; {where} are: {', '.join(known) or 'none'}."
                f"{suggestion(str(name), known)}"
            )


def _group(value: Any, full: str, kind: type[Any] | None = None) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    names = "" if kind is None else f" ({', '.join(field.name for field in fields(kind))})"
    hint = f"; name one option, or several as in {full}={','.join(map(str, value))}" if isinstance(value, list) else ""
    raise UsageError(f"{full} is a group of options{names}; it cannot be {value}{hint}.")


def _value(option: Option, value: Any, full: str) -> Any:
    """A value as the option's type has it."""
    if value is None:
        if option.optional:
            return None
        raise UsageError(f"{full} must be {_in_words(option.kind)}, not null.")
    if option.kind is list:
        return _list(value, full)
    if isinstance(value, (Mapping, list)):
        raise UsageError(f"{full} must be {_in_words(option.kind)}, not {value}.")
    for kind in (option.kind, *option.others):
        converted = _converted(kind, value)
        if converted is not None:
            return _finite(converted, full)
    wanted = " or ".join([_in_words(option.kind), *map(str, option.choices if option.others else ())])
    raise UsageError(f"{full} must be {wanted}, not {value}.")


def _converted(kind: Any, value: Any) -> Any:
    """The value as this type, or None where it is not one."""
    if kind is str:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if kind is bool:
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        if kind is int:
            return int(value) if isinstance(value, (int, str)) or value.is_integer() else None
        return float(value)
    except (ValueError, OverflowError):
        return None


def _list(value: Any, full: str) -> list[str]:
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{full} must be a list, as in {full}=[a,b].")
    return [str(each) for each in value]


def _finite(value: Any, full: str) -> Any:
    """Refuse numbers that are none: they would compare, hash and train as nonsense."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{full} must be a finite number, not {value}.")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _finite(inner, _join(full, str(name)))
    return value


def _in_words(kind: Any) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}.get(kind, "a value")


def _sentence(place: str, error: ValueError) -> str:
    """What an option takes, with its place; it may end in a question already."""
    said = _join(place, str(error))
    return said if said.endswith("?") else f"{said}."


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)
