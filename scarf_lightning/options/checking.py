"""From plain values to checked options, with one clear sentence for whatever is wrong."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, TypeVar, get_type_hints

from ..errors import UsageError, did_you_mean
from .axes import BASES
from .catalogue import description
from .option import Option, Options, PartField, default_of, options_of
from .plugins import load_plugins
from .settings import Choice, Config

T = TypeVar("T", bound=Options)

RENAMED = {("trainer", "slow_bfloat16"): "force_precision"}
"""Options of earlier releases, by their section and their name there, with their name in this one."""
IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def read(values: Mapping[str, Any]) -> Config:
    """Check a composed or a stored configuration, and fill in the defaults of what it leaves out.

    Raises:
        UsageError: a section or an option is unknown or missing, of a wrong type, or out of range.
    """
    load_plugins(_list(values.get("plugins") or [], "plugins"))
    return checked(Config, _with_present_names(values))


def checked(schema: type[T], values: Mapping[str, Any], place: str = "") -> T:
    """An `Options` object from plain values, whose options stand at a place of the configuration such as ``finetune``.

    Raises:
        UsageError: an option is unknown or missing, of a wrong type, or out of range; the message names it.
    """
    if schema.named_part is not None:
        values = _with_options_apart(schema, schema.named_part, values, place)
    _refuse_unknown([field.name for field in fields(schema)], values, place)
    known, hints = options_of(schema), get_type_hints(schema)
    found: dict[str, Any] = {}
    for field in fields(schema):
        full = _join(place, field.name)
        if field.name not in values:
            if default_of(field) is MISSING:
                raise UsageError(f"{full} is missing; leave it at its default, or choose one with {full}=NAME.")
            continue
        value, kind = values[field.name], hints[field.name]
        if field.name in known:
            found[field.name] = _value(known[field.name], value, full)
        elif field.name in BASES and kind == Choice:
            found[field.name] = {} if value == default_of(field) == {} else _choice(field.name, value, full)
        elif is_dataclass(kind) and isinstance(kind, type):
            found[field.name] = checked(kind, _group(value, full, kind), full)  # type: ignore[type-var]
        else:
            found[field.name] = value
    try:
        return schema(**found)
    except UsageError:
        raise
    except ValueError as error:
        raise refused(place, error) from error


def _with_present_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration that an earlier release may have stored, with the names that its options have in this one."""
    found = dict(values)
    for (section, former), name in RENAMED.items():
        options = found.get(section)
        if isinstance(options, Mapping) and former in options:
            others = {each: value for each, value in options.items() if each != former}
            found[section] = {name: options[former]} | others
    return found


def checked_options(known: Mapping[str, Option], values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The options of a part: the values, checked, and the defaults of all others. The part itself is not made.

    Raises:
        UsageError: as by `checked`.
    """
    _refuse_unknown(list(known), values, place)
    found = {name: deepcopy(option.default) for name, option in known.items()}
    for name, value in values.items():
        found[name] = _value(known[name], value, _join(place, name))
        try:
            known[name].check(found[name])
        except ValueError as error:
            raise refused(place, error) from error
    return found


def refused(place: str, error: ValueError) -> UsageError:
    """The error message for an invalid value, with the option's full name before it."""
    sentence = _join(place, str(error))
    return UsageError(sentence if sentence.endswith("?") else f"{sentence}.")


def _choice(axis: str, value: Any, place: str) -> Choice:
    """A part's name and all of its options, from those that are given."""
    given = dict(_group(value, place))
    name = given.pop("name", None)
    return {"name": name} | checked_options(description(axis, name, option=f"{place}.name").options, given, place)


def _with_options_apart(settings: type[Any], named: PartField, values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values of settings that name a part, with all of the part's options in their field."""
    common = [field.name for field in fields(settings) if field.name != named.options]
    others = dict(values)
    own = dict(_group(others.pop(named.options, None) or {}, _join(place, named.options)))
    if named.is_beside:
        own = {name: others.pop(name) for name in values if name in others and name not in common} | own
    name = values.get(named.name, getattr(settings, named.name))
    is_none = (place, name) == ("pretrain", "none")  # the one choice without a class
    known = {} if is_none else description(named.axis, name, option=f"{place}.{named.name}").options
    if named.is_beside:
        _refuse_unknown([*common, *known], own, place)
    return {**others, named.name: name, named.options: checked_options(known, own, named.place_in(place))}


def _refuse_unknown(known: Sequence[str], values: Mapping[str, Any], place: str) -> None:
    for name in values:
        if name not in known:
            where = f"the options of {place}" if place else "the options"
            raise UsageError(
                f"{_join(place, str(name))} is not an option; {where} are: {', '.join(known) or 'none'}."
                f"{did_you_mean(str(name), known)}"
            )


def _group(value: Any, full: str, kind: type[Any] | None = None) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    names = "" if kind is None else f" ({', '.join(field.name for field in fields(kind))})"
    hint = f"; name one option, or several as in {full}={','.join(map(str, value))}" if isinstance(value, list) else ""
    raise UsageError(f"{full} is a group of options{names}; it cannot be {value}{hint}.")


def _value(option: Option, value: Any, full: str) -> Any:
    """A value as the option's type has it."""
    if value is None and option.optional:
        return None
    if option.kind is list:
        return _list(value, full)
    if option.kind is dict:
        return _dictionary(value, full)
    wanted = IN_WORDS.get(option.kind, "a value")
    if not isinstance(value, (Mapping, list, NoneType)):
        for kind in (option.kind, *option.others):
            converted = _converted(kind, value)
            if isinstance(converted, float) and not math.isfinite(converted):
                raise UsageError(f"{full} must be a finite number, not {converted}.")  # others would train as nonsense
            if converted is not None:
                return converted
        wanted = " or ".join([wanted, *map(str, option.choices if option.others else ())])
    raise UsageError(f"{full} must be {wanted}, not {'null' if value is None else value}.")


def _converted(kind: Any, value: Any) -> Any:
    """The value as this type, or None if it is not one."""
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


def _dictionary(value: Any, full: str) -> dict[str, Any]:
    """Plain values by name, such as the options of another library's class."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{full} must be options by name, as in {full}={{a:1,b:x}}, not {value}.")
    return {str(name): _plain_value(each, _join(full, str(name))) for name, each in value.items()}


def _plain_value(value: Any, full: str) -> Any:
    if isinstance(value, Mapping):
        return _dictionary(value, full)
    if isinstance(value, (list, tuple)):
        return [_plain_value(each, full) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{full} must be a finite number, not {value}.")
    return value


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)
