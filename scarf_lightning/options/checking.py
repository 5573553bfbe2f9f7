"""From plain values to checked options, with one clear sentence for whatever is wrong."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType
from typing import Any, TypeVar, get_type_hints

from ..errors import UsageError, not_an_option
from .axes import BASES, OURS, TARGET, list_of, part, target_of
from .config import Config
from .option import Option, Options, PartField, default_of, options_of
from .plugins import check_imported
from .settings import Choice

T = TypeVar("T", bound=Options)

IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def read(values: Mapping[str, Any]) -> Config:
    """Check a composed or a stored configuration, and fill in the defaults of what it leaves out.

    Raises:
        UsageError: a section or an option is unknown or missing, of a wrong type, or out of range; or a plugin is not
            imported, see `load_plugins`.
    """
    check_imported(_list(values.get("plugins") or [], "plugins"))
    return checked(Config, values)


def checked(schema: type[T], values: Mapping[str, Any], place: str = "") -> T:
    """An `Options` object from plain values, whose options stand at a place of the configuration such as ``finetune``.

    Raises:
        UsageError: an option is unknown or missing, of a wrong type, or out of range; the message names it.
    """
    if schema.named_part is not None:
        values = _with_options_apart(schema, schema.named_part, values, place)
    if schema.sections_by_target is not None:
        values = _with_sections_apart(schema.sections_by_target, values, place)
    _refuse_unknown([field.name for field in fields(schema)], values, place)
    known = options_of(schema)
    hints = get_type_hints(schema)
    read_values: dict[str, Any] = {}
    for field in fields(schema):
        full = _join(place, field.name)
        if field.name in values:
            kind = hints[field.name]
            value = values[field.name]
            read_values[field.name] = _field(field, kind, known, value, full)
        elif default_of(field) is MISSING:
            raise UsageError(f"{full} is missing; leave it at its default, or choose one with {full}=NAME.")
    # The class checks what no type says: ranges, and options that belong together.
    try:
        return schema(**read_values)
    except UsageError:
        raise
    except ValueError as error:
        raise refused(place, error) from error


def _field(field: Field[Any], kind: Any, known: Mapping[str, Option], value: Any, full: str) -> Any:
    """The value of one field: an option, the choice of an axis, or a group of options."""
    if field.name in known:
        return _value(known[field.name], value, full)
    if field.name in BASES and kind == Choice:
        # An axis may be left out, as co-training's corruption is without co-training.
        is_unset = value == default_of(field) == {}
        return {} if is_unset else _choice(field.name, value, full)
    if isinstance(kind, type) and is_dataclass(kind):
        return checked(kind, _group(value, full, kind), full)  # type: ignore[type-var]
    return value


def checked_options(known: Mapping[str, Option], values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The options of a part: the values, checked, and the defaults of all others. The part itself is not made.

    Raises:
        UsageError: as by `checked`.
    """
    _refuse_unknown(list(known), values, place)
    # Copied, because a default may be a dictionary, which a user of the configuration may change.
    options = {name: deepcopy(option.default) for name, option in known.items()}
    for name, value in values.items():
        options[name] = _value(known[name], value, _join(place, name))
        try:
            known[name].check(options[name])
        except ValueError as error:
            raise refused(place, error) from error
    return options


def refused(place: str, error: ValueError) -> UsageError:
    """The error message for an invalid value, with the option's full name before it."""
    sentence = _join(place, str(error))
    # Some are whole sentences already.
    return UsageError(f"{sentence.removesuffix('.')}.")


def _choice(axis: str, value: Any, place: str) -> Choice:
    """A part's name and all of its options, from those that are set."""
    options = dict(_group(value, place))
    name = options.pop("name", None)
    cls = part(axis, name, option=f"{place}.name")
    known = options_of(cls)
    _take_out_target(options, place, cls)
    return {"name": name} | checked_options(known, options, place)


def _with_options_apart(settings: type[Any], named: PartField, values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values of settings that name a part, with all of the part's options in their field.

    A user may write the part's options beside the common ones, as in ``pretrain.alpha=1``. They are moved into the
    field, here ``pretrain.options``.
    """
    common = [field.name for field in fields(settings) if field.name != named.options]
    name = values.get(named.name, getattr(settings, named.name))
    cls = _class_of(named, name, place)
    known: Mapping[str, Option] = {} if cls is None else options_of(cls)

    own = dict(_group(values.get(named.options) or {}, _join(place, named.options)))
    others: dict[str, Any] = {}
    for each, value in values.items():
        if each == named.options:
            continue
        if named.is_beside and each not in common:
            # A stored configuration has it in the group already.
            own.setdefault(each, value)
        else:
            others[each] = value
    _take_out_target(own, named.place_in(place), cls)
    if named.is_beside:
        _refuse_unknown([*common, *known], own, place)
    others[named.name] = name
    others[named.options] = checked_options(known, own, named.place_in(place))
    return others


def _class_of(named: PartField, name: Any, place: str) -> type[Any] | None:
    """The class of the part that settings name; None for no pre-training."""
    if (place, name) == ("pretrain", "none"):
        return None
    return part(named.axis, name, option=f"{place}.{named.name}")


def _take_out_target(options: dict[str, Any], place: str, cls: type[Any] | None) -> None:
    """Remove the ``_target_`` of a part, which is for ``hydra.utils.instantiate``: parts are built by their name.

    Raises:
        UsageError: it is no class of this package, so that the user expects it to be built.
    """
    target = options.pop(TARGET, None)
    is_known = str(target).startswith(OURS) or (cls is not None and target == target_of(cls))
    if target is not None and not is_known:
        raise UsageError(
            f"{place}.{TARGET}={target}: parts are built by their name, not by a class; a part of your own is named by "
            "plugins=[MODULE]."
        )


def _with_sections_apart(field: str, values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values with all sections that have a ``_target_`` in one field, by the names that the user gave them."""
    # A stored configuration has them in the field already.
    sections = dict(_group(values.get(field) or {}, _join(place, field)))
    others: dict[str, Any] = {}
    for name, value in values.items():
        if name == field:
            continue
        if isinstance(value, Mapping) and TARGET in value:
            sections[name] = value
        else:
            others[name] = value
    checked_sections = {}
    for name, section in sections.items():
        checked_sections[str(name)] = _dictionary(section, _join(place, str(name)))
    return {**others, field: checked_sections}


def _refuse_unknown(known: Sequence[str], values: Mapping[str, Any], place: str) -> None:
    """Raise a UsageError if one of the values is of no known option."""
    for name in values:
        if name in known:
            continue
        where = f"the options of {place}" if place else "the options"
        # The options of a report and of a search have no place there.
        full_list = list_of(place) if place or "trials" in known else ""
        raise UsageError(not_an_option(_join(place, str(name)), where, known, full_list=full_list))


def _group(value: Any, full: str, kind: type[Any] | None = None) -> Mapping[str, Any]:
    """A value that must be a group of options."""
    if isinstance(value, Mapping):
        return value
    names = hint = ""
    if kind is not None:
        names = f" ({', '.join(field.name for field in fields(kind))})"
    if isinstance(value, list):
        hint = f"; name one option, or several as in {full}={','.join(map(str, value))}"
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
    if isinstance(value, (Mapping, list, NoneType)):
        raise UsageError(f"{full} must be {wanted}, not {'null' if value is None else value}.")
    # In the order of the annotation: in int | Literal["auto"] a number is tried before a text.
    for kind in (option.kind, *option.others):
        converted = _converted(kind, value)
        if converted is None:
            continue
        # An infinite number, or one that is none, would train to nonsense.
        if isinstance(converted, float) and not math.isfinite(converted):
            raise UsageError(f"{full} must be a finite number, not {converted}.")
        return converted
    if option.others:
        wanted = " or ".join([wanted, *map(str, option.choices)])
    raise UsageError(f"{full} must be {wanted}, not {value}.")


def _converted(kind: Any, value: Any) -> Any:
    """The value as this type, or None if it is not one."""
    if kind is str:
        # YAML reads true and false as truth values; the command line writes them in small letters.
        return str(value).lower() if isinstance(value, bool) else str(value)
    if kind is bool:
        return value if isinstance(value, bool) else None
    # To Python True is the number 1.
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        if kind is not int:
            return float(value)
        # int() would round 2.5 down without a word.
        if isinstance(value, float) and not value.is_integer():
            return None
        return int(value)
    except (ValueError, OverflowError):
        return None


def _list(value: Any, full: str) -> list[str]:
    """A value that must be a list, whose items may be numbers."""
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{full} must be a list, as in {full}=[a,b].")
    return [str(each) for each in value]


def _dictionary(value: Any, full: str) -> dict[str, Any]:
    """Plain values by name, such as the options of another library's class."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{full} must be options by name, as in {full}={{a:1,b:x}}, not {value}.")
    by_name = {}
    for name, each in value.items():
        by_name[str(name)] = _plain_value(each, _join(full, str(name)))
    return by_name


def _plain_value(value: Any, full: str) -> Any:
    """A value of JSON, of finite numbers."""
    if isinstance(value, Mapping):
        return _dictionary(value, full)
    if isinstance(value, (list, tuple)):
        return [_plain_value(each, full) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{full} must be a finite number, not {value}.")
    return value


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)
