"""The one checker of typed values: from plain values to a dataclass, with one clear sentence for whatever is wrong.

`checked` reads options, the records of a store, sweep files and drawings. What a command line or YAML writes otherwise,
such as the number ``"7"``, is taken as the type that the field has; of a file that a program has written, values are
``exact``.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ..errors import HABITS, UsageError, unknown_name
from .axes import CONFIGURATION, OURS, TARGET, part, target_of
from .config import Config
from .option import Option, Options, Values, options_of
from .settings import Choice

T = TypeVar("T")

IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def read(values: Values) -> Config:
    """Check a composed or a stored configuration, and fill in the defaults of what it leaves out.

    Raises:
        UsageError: a section or an option is unknown or missing, of a wrong type, or out of range.
    """
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
    if issubclass(schema, Options):
        values = _arrange(schema, values, place)
    # mypy knows no hash of a class.
    hints = _hints_of(cast("Any", schema))
    arguments = _type_values(hints, values, place, exact=exact)
    for field in fields(schema):  # type: ignore[arg-type]
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"{_join(place, field.name)} is missing.")
    # The class checks what types cannot express: ranges, and fields that belong together.
    with refusals_at(place):
        return schema(**arguments)


@cache
def _hints_of(schema: Any) -> dict[str, Any]:
    """The annotation of each field."""
    hints = get_type_hints(schema, include_extras=True)
    return {field.name: hints[field.name] for field in fields(schema)}


def _type_values(hints: Mapping[str, Any], values: Values, place: str, *, exact: bool = False) -> dict[str, Any]:
    """Each value as its annotation has it; an unknown name is refused."""
    for name in values:
        if name not in hints:
            raise unknown_option(hints, _join(place, str(name)))
    return {name: typed(hints[name], value, _join(place, name), exact=exact) for name, value in values.items()}


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
    if hint is Choice:
        options = dict(_group(value, full))
        # An axis may be left out, as co-training's corruption is without co-training.
        if not options:
            return options
        name = options.pop("name", None)
        return {"name": name} | _options_of_part(full.rpartition(".")[2], name, f"{full}.name", options, full)
    if origin in (Union, UnionType):
        # A short cut for most options of thousands of descriptions. A float goes on: it must be finite.
        if type(value) in inner and type(value) is not float:
            return value
        # In the order of the annotation: in int | Literal["auto"] a number is tried before a text.
        *first, last = [each for each in inner if each is not NoneType]
        for each in first:
            with suppress(UsageError):
                return typed(each, value, full, exact=exact)
        return typed(last, value, full, exact=exact)
    if origin is Literal:
        text = f"{value!s:.80}"
        if text not in inner:
            raise UsageError(unknown_name(f"{full}={text} is unknown", text, inner, "its values"))
        return text
    if is_dataclass(origin):
        return checked(origin, _group(value, full), full, exact=exact)  # type: ignore[arg-type]
    if origin is dict:
        group = _group(value, full).items()
        return {str(name): typed(inner[1], each, _join(full, str(name)), exact=exact) for name, each in group}
    if origin in (list, tuple):
        if not isinstance(value, (list, tuple)):
            raise _refusal(full, value, "a list, as in [a,b]")
        # A column may have a million categories.
        if inner[0] is str and all(type(each) is str for each in value):
            return origin(value)
        return origin(typed(inner[0], each, full, exact=exact) for each in value)
    converted = value if exact else _convert(origin, value)
    is_of_type = type(converted) is origin or (origin is float and type(converted) is int)
    # An infinite number, or one that is none, would train to nonsense.
    if not is_of_type or (origin is float and not math.isfinite(converted)):
        raise _refusal(full, value, IN_WORDS.get(origin, "another value"))
    return converted


def _refusal(full: str, value: Any, takes: str) -> UsageError:
    """The refusal of a value, of which a file may have any length."""
    text = "null" if value is None else f"{value!s:.80}"
    return UsageError(f"{full}={text}: it takes {takes}.")


def checked_options(options: Mapping[str, Option], values: Values, place: str) -> dict[str, Any]:
    """The options of a part: the values, checked, and the defaults of all others. The part itself is not made.

    Raises:
        UsageError: as by `checked`.
    """
    typed_values = _type_values({name: option.hint for name, option in options.items()}, values, place)
    with refusals_at(place):
        for name, value in typed_values.items():
            options[name].check(value)
    # Copied, because a default may be a dictionary, which a user of the configuration may change.
    return {name: deepcopy(option.default) for name, option in options.items()} | typed_values


@contextmanager
def refusals_at(place: str) -> Iterator[None]:
    """Within this context a ValueError is a UsageError that begins with the place of the options."""
    try:
        yield
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{_join(place, str(error)).removesuffix('.')}.") from error


def _options_of_part(axis: str, name: Any, option: str, values: Values, place: str) -> dict[str, Any]:
    """All options of a part, from those that are set; ``option`` names it.

    A ``_target_`` is for ``hydra.utils.instantiate``; one outside this package is refused, for the user expects it to
    be built.
    """
    cls, options = part(axis, name, option=option), dict(values)
    target = str(options.pop(TARGET, OURS))
    if not target.startswith((OURS, target_of(cls))):
        raise UsageError(f"{place}.{TARGET}={target}: parts are built by their name; plugins=[MODULE] names your own.")
    return checked_options(options_of(cls), options, place)


def _arrange(settings: type[Options], values: Values, place: str) -> Values:
    """The values of settings by field: those under other names are in the field `Options.rest`.

    A user may write a part's options beside the common ones, as in ``pretrain.alpha=1``. They are moved into the field,
    here ``pretrain.options``, and checked. A stored configuration has them there already.
    """
    rest, named_part = settings.rest, settings.named_part
    if rest is None:
        return values
    common = [each.name for each in fields(settings) if each.name != rest]
    common_values = {name: value for name, value in values.items() if name in common}
    part_options = {name: value for name, value in values.items() if name not in (*common, rest)}
    part_options |= _group(values.get(rest) or {}, _join(place, rest))
    if named_part is not None:
        option, axis = named_part
        name = common_values.setdefault(option, getattr(settings, option))
        part_options = _options_of_part(axis, name, f"{place}.{option}", part_options, settings.place_of_rest(place))
    return common_values | {rest: part_options}


def unknown_option(known: Iterable[str], full: str, full_list: str = CONFIGURATION) -> UsageError:
    """The refusal of an option, by its dotted name, in whose place these options are known.

    >>> unknown_option(["temperature"], "loss.temperatur")
    UsageError('loss.temperatur is not an option. Did you mean temperature? The options of loss are: temperature.')
    """
    place, _, name = full.rpartition(".")
    return UsageError(
        unknown_name(
            f"{full} is not an option",
            name,
            known,
            f"the options of {place}" if place else "the options",
            hint=HABITS.get(full) or HABITS.get(place),
            full_list=full_list,
        )
    )


def _group(value: Any, full: str) -> Values:
    """A value that must be a group of options."""
    if isinstance(value, Mapping):
        return value
    raise _refusal(full, value, "options by name, as in {a:1,b:x}")


def _convert(kind: Any, value: Any) -> Any:
    """The value as this type, where a command line or YAML writes it otherwise; or else as it is."""
    # To Python True is the number 1.
    if isinstance(value, bool):
        return value
    if kind is str and isinstance(value, (int, float)):
        return str(value)
    if kind in (int, float) and isinstance(value, (int, float, str)):
        with suppress(ValueError, OverflowError):
            number = kind(value)
            # int() would round 2.5 down without a word.
            return number if isinstance(value, str) or number == value else value
    return value


def _plain_value(value: Any, full: str) -> Any:
    """A value of JSON, of finite numbers."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except (ValueError, TypeError) as error:
        raise _refusal(full, value, "finite numbers, texts, lists and options by name") from error


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
