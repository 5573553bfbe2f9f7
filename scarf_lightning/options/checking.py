"""The one checker of typed values: from plain values to a dataclass, with one clear sentence for whatever is wrong.

`checked` reads options, the records of a store, sweep files and drawings. What a command line or YAML writes otherwise,
such as the number ``"7"``, is taken as the type that the field has; of a file that a program has written, values are
``exact``.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import UsageError, not_an_option, unknown_name
from .axes import BASES, OURS, TARGET, list_of, part, target_of
from .config import Config
from .option import Option, Options, Values, options_of
from .plugins import check_imported
from .settings import Choice

T = TypeVar("T")

IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def read(values: Values) -> Config:
    """Check a composed or a stored configuration, and fill in the defaults of what it leaves out.

    Raises:
        UsageError: a section or an option is unknown or missing, of a wrong type, or out of range; or a plugin is not
            imported, see `load_plugins`.
    """
    check_imported(typed(list[str], values.get("plugins") or [], "plugins"))
    return checked(Config, values)


def checked(schema: type[T], values: Values, place: str = "", *, exact: bool = False) -> T:
    """An object of a dataclass from plain values, which stand at a place such as ``finetune``.

    Args:
        schema: the dataclass.
        values: by name of the field.
        place: for messages.
        exact: a value of another type is refused, though it could be converted.

    Raises:
        UsageError: a field is unknown or missing, of a wrong type, or out of range; the message names it.
    """
    # mypy knows no hash of a class.
    kind: Any = schema
    is_of_options = issubclass(schema, Options)
    if is_of_options:
        values = _with_sections_apart(kind, _with_part_apart(kind, values, place))
    hints = _hints_of(kind)
    refuse_unknown(list(hints), values, place, is_of_options=is_of_options)
    arguments: dict[str, Any] = {}
    for field in fields(schema):  # type: ignore[arg-type]
        full = _join(place, field.name)
        if field.name not in values:
            if field.default is MISSING and field.default_factory is MISSING:
                raise UsageError(f"{full} is missing.")
            continue
        value, hint = values[field.name], hints[field.name]
        # An axis may be left out, as co-training's corruption is without co-training.
        is_part = hint == Choice and field.name in BASES and (value != {} or field.default_factory is not dict)
        arguments[field.name] = _choice(field.name, value, full) if is_part else typed(hint, value, full, exact=exact)
    # The class checks what no type says: ranges, and fields that belong together.
    try:
        return schema(**arguments)
    except UsageError:
        raise
    except ValueError as error:
        raise refused(place, error) from error


@cache
def _hints_of(schema: Any) -> dict[str, Any]:
    """The annotation of each field."""
    hints = get_type_hints(schema)
    return {field.name: hints[field.name] for field in fields(schema)}


def typed(hint: Any, value: Any, full: str, *, exact: bool = False) -> Any:
    """A plain value as an annotation has it.

    Args:
        hint: ``bool``, ``int``, ``float``, ``str``, ``Any``, a ``Literal``, a union, ``list[K]``, ``tuple[K, ...]``,
            ``dict[str, K]``, or a dataclass.
        value: as YAML or JSON has it.
        full: the name of the value, for messages.
        exact: see `checked`.

    Raises:
        UsageError: it is of another type.
    """
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return value if exact else _plain_value(value, full)
    if origin in (Union, UnionType):
        return _one_of(inner, value, full, exact=exact)
    if origin is Literal:
        # YAML reads the words true and false as truth values.
        text = str(value).lower() if isinstance(value, bool) else f"{value!s:.80}"
        if text not in inner:
            raise UsageError(unknown_name(f"{full}={text} is unknown", text, inner, "its values"))
        return text
    if is_dataclass(origin) and isinstance(origin, type):
        return checked(origin, _group(value, full), full, exact=exact)
    if origin is dict:
        kind = (*inner, Any)[1]
        group = _group(value, full).items()
        return {str(name): typed(kind, each, _join(full, f"{name!s:.40}"), exact=exact) for name, each in group}
    if origin in (list, tuple):
        if not isinstance(value, (list, tuple)):
            raise _refusal(full, value, "a list, as in [a,b]")
        kind = (*inner, Any)[0]
        # A column may have a million categories.
        if kind is str and all(type(each) is str for each in value):
            return origin(value)
        return origin(typed(kind, each, full, exact=exact) for each in value)
    converted = value if exact else _converted(origin, value)
    is_of_type = type(converted) is origin or (origin is float and type(converted) is int)
    # An infinite number, or one that is none, would train to nonsense.
    if not is_of_type or (origin is float and not math.isfinite(converted)):
        raise _refusal(full, value, IN_WORDS.get(origin, "another value"))
    return converted


def _one_of(kinds: Sequence[Any], value: Any, full: str, *, exact: bool) -> Any:
    """A plain value as the first of several annotations that takes it."""
    # Most options of thousands of descriptions. Of a number it is checked that it is finite.
    if type(value) in kinds and type(value) is not float:
        return value
    # In the order of the annotation: in int | Literal["auto"] a number is tried before a text.
    *first, last = [each for each in kinds if each is not NoneType]
    for each in first:
        with suppress(UsageError):
            return typed(each, value, full, exact=exact)
    return typed(last, value, full, exact=exact)


def _refusal(full: str, value: Any, takes: str) -> UsageError:
    """The refusal of a value, of which a file may have any length."""
    text = "null" if value is None else f"{value!s:.80}"
    return UsageError(f"{full}={text}: it takes {takes}.")


def checked_options(known: Mapping[str, Option], values: Values, place: str) -> dict[str, Any]:
    """The options of a part: the values, checked, and the defaults of all others. The part itself is not made.

    Raises:
        UsageError: as by `checked`.
    """
    refuse_unknown(list(known), values, place)
    # Copied, because a default may be a dictionary, which a user of the configuration may change.
    options = {name: deepcopy(option.default) for name, option in known.items()}
    for name, value in values.items():
        options[name] = typed(known[name].hint, value, _join(place, name))
        try:
            known[name].check(options[name])
        except ValueError as error:
            raise refused(place, error) from error
    return options


def refused(place: str, error: ValueError) -> UsageError:
    """The error message for an invalid value, with the option's full name before it."""
    # Some are whole sentences already.
    return UsageError(f"{_join(place, str(error)).removesuffix('.')}.")


def _choice(axis: str, value: Any, place: str) -> Choice:
    """A part's name and all of its options, from those that are set."""
    options = dict(_group(value, place))
    name = options.pop("name", None)
    return {"name": name} | _options_of_part(axis, name, f"{place}.name", options, place)


def _options_of_part(
    axis: str, name: Any, option: str, values: Values, place: str, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """All options of a part, from those that are set; ``option`` names it, and options ``beside`` stand in its section.

    A ``_target_`` is for ``hydra.utils.instantiate``; one outside this package is refused, for the user expects it to
    be built.
    """
    options, known, targets = dict(values), dict[str, Option](), [OURS]
    # The one choice without a class.
    if (option, name) != ("pretrain.name", "none"):
        cls = part(axis, name, option=option)
        known, targets = options_of(cls), [OURS, target_of(cls)]
    target = str(options.pop(TARGET, OURS))
    if not target.startswith(tuple(targets)):
        raise UsageError(f"{place}.{TARGET}={target}: parts are built by their name; plugins=[MODULE] names your own.")
    refuse_unknown([*beside, *known], options, place)
    return checked_options(known, options, place)


def _with_part_apart(settings: type[Options], values: Values, place: str) -> Values:
    """The values of settings that name a part, with all of the part's options in their field.

    A user may write the part's options beside the common ones, as in ``pretrain.alpha=1``. They are moved into the
    field, here ``pretrain.options``. A stored configuration has them there already.
    """
    part_field = settings.named_part
    if part_field is None:
        return values
    given, beside = dict(values), list[str]()
    own = dict(_group(given.pop(part_field.options, None) or {}, _join(place, part_field.options)))
    if part_field.is_beside:
        beside = [each.name for each in fields(settings) if each.name != part_field.options]
        for name in given.keys() - set(beside):
            own.setdefault(name, given.pop(name))
    name = given.setdefault(part_field.name, getattr(settings, part_field.name))
    option, place = f"{place}.{part_field.name}", part_field.place_in(place)
    return given | {part_field.options: _options_of_part(part_field.axis, name, option, own, place, beside)}


def _with_sections_apart(settings: type[Options], values: Values) -> Values:
    """The values of settings with the sections that have a ``_target_`` in their field."""
    field = settings.sections_by_target
    if field is None:
        return values
    sections = {name: value for name, value in values.items() if isinstance(value, Mapping) and TARGET in value}
    others = {name: value for name, value in values.items() if name not in sections}
    return others | {field: {**others.get(field, {}), **sections}}


def refuse_unknown(known: Sequence[str], values: Iterable[str], place: str, *, is_of_options: bool = True) -> None:
    """Raise a UsageError if one of the values is of no known option."""
    for name in values:
        if name not in known:
            where = f"the options of {place}" if place else "the options"
            # The options of a report have no place there.
            full_list = list_of(place) if is_of_options and (place or "trials" in known) else ""
            raise UsageError(not_an_option(_join(place, str(name)), where, known, full_list=full_list))


def _group(value: Any, full: str) -> Values:
    """A value that must be a group of options."""
    if isinstance(value, Mapping):
        return value
    raise _refusal(full, value, "options by name, as in {a:1,b:x}")


def _converted(kind: Any, value: Any) -> Any:
    """The value as this type, where a command line or YAML writes it otherwise; or else as it is."""
    if kind is str and isinstance(value, (bool, int, float)):
        # YAML reads true and false as truth values; the command line writes them in small letters.
        return str(value).lower() if isinstance(value, bool) else str(value)
    # To Python True is the number 1.
    is_number = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    # int() would round 2.5 down without a word.
    if kind not in (int, float) or not is_number or (kind is int and isinstance(value, float) and value % 1):
        return value
    with suppress(ValueError, OverflowError):
        return kind(value)
    return value


def _plain_value(value: Any, full: str) -> Any:
    """A value of JSON, of finite numbers."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except (ValueError, TypeError) as error:
        raise _refusal(full, value, "finite numbers, texts, lists and options by name") from error


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)
