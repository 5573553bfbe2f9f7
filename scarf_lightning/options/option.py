"""The language of options: one line of a dataclass gives an option's name, type, default, meaning and limits.

    >>> @dataclass
    ... class Marginal(Options):
    ...     rate: float = option(0.6, "share of the features to replace", "(0, 1]")
    ...     values: Literal["rows", "distinct"] = option("rows", "what the values are drawn from")

The check of a value, the sentence that refuses it, ``--help``, the page of options and a cell's identity come from it.
"""

import dataclasses
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import MISSING, dataclass
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Literal, Self, Union, cast, get_args, get_origin, get_type_hints

from ..errors import unknown_name

LARGEST = 2**53 - 1
"""The largest number that an option takes. Larger whole numbers are not exact in a file."""
Values = Mapping[str, Any]
"""Values by name, as YAML or JSON has them."""
Part = type[Any]
"""The class of a part. Parts have no base in common but `Options`, and are looked up by name."""


def option(default: Any, meaning: str, limits: str | None = None) -> Any:
    """A field of an `Options` dataclass.

    Args:
        default: the value if the user sets none; a list or a dictionary is copied for each object.
        meaning: a phrase that says what the option does, for ``--help`` and the page of options.
        limits: an interval of the numbers allowed, such as ``"(0, 1]"`` or ``"[1, inf)"``; None allows all. For
            strings, a ``Literal`` type lists the values allowed.
    """
    metadata = {"meaning": meaning, "limits": limits}
    # Dataclasses refuse a default that all objects would share.
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: deepcopy(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def part_name(default: Any) -> Any:
    """A field that holds the choice of an axis: in settings the name of a part. It is no option of its class."""
    return dataclasses.field(default=default, metadata={"part": True})


@cache
def _ends(limits: str) -> tuple[float, float]:
    """The ends of an interval such as ``"(0, 1]"``."""
    low, high = limits[1:-1].split(", ")
    return float(low), float(high)


def _is_within(value: float, limits: str) -> bool:
    """Whether a number is in an interval; ``[`` and ``]`` include an end."""
    low, high = _ends(limits)
    if value == low:
        return limits.startswith("[")
    if value == high:
        return limits.endswith("]")
    return low < value < high


@dataclass
class Option:
    """An option of a dataclass, as its line defines it.

    Attributes:
        hint: its annotation.
        default: the value if the user sets none. Copy it before you change it.
        choices: the strings allowed; empty if any string is.
    """

    name: str
    hint: Any
    default: Any
    meaning: str
    limits: str | None
    choices: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The values allowed, in words; empty if the type alone decides."""
        return "; ".join(filter(None, (", ".join(self.choices), self.limits)))

    def check(self, value: Any) -> None:
        """Refuse a value that has the right type but is not allowed.

        Raises:
            ValueError: what the option takes.
        """
        if isinstance(value, (int, float)):
            if self.limits is not None and not _is_within(value, self.limits):
                raise ValueError(f"{self.name}={value}: it takes a number in {self.limits}")
            if abs(value) > LARGEST:
                raise ValueError(f"{self.name}={value}: it takes a number of at most {LARGEST:g} in size")
        elif self.choices and isinstance(value, str) and value not in self.choices:
            raise ValueError(unknown_name(f"{self.name}={value} is unknown", value, self.choices, "its values"))


@dataclass
class Options:
    """A dataclass whose fields are options. Its constructor refuses values outside their limits.

    A field with a default is an option, without a meaning, even if it is made without `option`. Any other field holds a
    part that the configuration composes in.

    Raises:
        ValueError: names the option, what it takes and the value.
    """

    n_classes: ClassVar[int] = 0
    """Number of classes of options. What was looked up among them is looked up again after a new one."""

    named_part: ClassVar[tuple[str, str] | None] = None
    """The field that names a part, and the part's axis; None in a class that names none."""

    rest: ClassVar[str | None] = None
    """The field for values under other names than those of fields; None where there are none."""

    settings_beside: ClassVar[Part | None] = None
    """The settings whose options stand beside those of the part in its section; None where there are none."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Options.n_classes += 1

    @classmethod
    def place_of_rest(cls, place: str) -> str:
        """The section of the options in the field `rest`, if that of the settings is ``place``.

        Options in a field ``options`` are given beside those of the settings, as in ``pretrain.alpha``.
        """
        return f"{place}.{cls.rest}".removesuffix(".options")

    @classmethod
    def from_config(cls, **section: Any) -> Self:
        """The part that a section of the configuration describes, as ``hydra.utils.instantiate`` makes it.

        Args:
            section: the part's ``name`` and options, and the parts that it is made of, as objects. Options of the phase
                in the same section, such as ``pretrain.max_epochs``, are left out.

        Raises:
            TypeError: the section has an option that the part does not have.
            ValueError: a value is not allowed.
        """
        other_names = {"name"}
        if cls.settings_beside is not None:
            other_names |= {field.name for field in dataclasses.fields(cls.settings_beside)}
        return cls(**{name: value for name, value in section.items() if name not in other_names})

    def __post_init__(self) -> None:
        for each in options_of(type(self)).values():
            each.check(getattr(self, each.name))


def options_of(cls: Part) -> dict[str, Option]:
    """The options of a dataclass by name, in order.

    A subclass may change a default by a plain ``name: type = value``; the option keeps its meaning and limits.
    """
    return _options_of(cast("Any", cls))


@cache
def _options_of(cls: Any) -> dict[str, Option]:
    """See `options_of`; mypy knows no hash of a class."""
    types = get_type_hints(cls)
    options = {}
    for field in dataclasses.fields(cls):
        metadata = _metadata(cls, field.name)
        # A plugin's ``factor: float = 0.5`` is an option too.
        if "part" in metadata or (not metadata and field.default is MISSING):
            continue
        hint = types[field.name]
        default = field.default if field.default_factory is MISSING else field.default_factory()
        meaning, limits = metadata.get("meaning", ""), metadata.get("limits")
        options[field.name] = Option(field.name, hint, default, meaning, limits, _choices(hint))
    return options


def members_of(hint: Any) -> tuple[Any, ...]:
    """The annotations of a union, or the one annotation that it is."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _choices(hint: Any) -> tuple[str, ...]:
    """The strings that the literals of an annotation allow: ``("auto",)`` of ``int | Literal["auto"] | None``."""
    literals = [each for each in members_of(hint) if get_origin(each) is Literal]
    return tuple(text for each in literals for text in get_args(each))


def _metadata(cls: Part, name: str) -> Any:
    """What `option` or `part_name` keeps with a field, in this class or else in the nearest parent."""
    for each in cls.__mro__:
        field = getattr(each, "__dataclass_fields__", {}).get(name)
        # A subclass that changes the default alone has no metadata of its own.
        if field is not None and field.metadata:
            return field.metadata
    return {}
