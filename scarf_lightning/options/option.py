"""The language of options: one line of a dataclass gives an option's name, type, default, meaning and limits.

    >>> @dataclass
    ... class Marginal(Options):
    ...     rate: float = option(0.6, "share of the features to replace", "(0, 1]")
    ...     values: Literal["rows", "distinct"] = option("rows", "what the values are drawn from")

The check of a value, the sentence that refuses it, ``--help``, the page of options and a cell's identity come from it.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import MISSING, dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Self, Union, cast, get_args, get_origin, get_type_hints

from ..errors import UsageError, unknown_name

LARGEST: dict[type, float] = {int: 2**53 - 1, float: 1e12}
"""The largest numbers that an option takes if its limits name none. Larger whole numbers are not exact in a file, and
products of larger fractions overflow."""
Values = Mapping[str, Any]
"""Values by name, as YAML or JSON has them."""
Part = type[Any]
"""The class of a part. Parts have no base in common but `Options`, and are looked up by name."""
PLAIN = {bool, int, float, str}


def option(default: Any, meaning: str, limits: str | None = None) -> Any:
    """A field of an `Options` dataclass.

    Args:
        default: the value if the user sets none; a list or a dictionary is copied for each object.
        meaning: a phrase that says what the option does, for ``--help`` and the page of options.
        limits: an interval of the numbers allowed, such as ``"(0, 1]"`` or ``"[1, inf)"``; None allows all. For
            strings, a ``Literal`` type lists the values allowed.

    Raises:
        TypeError: `limits` is not an interval.
    """
    metadata = {"meaning": meaning, "limits": None if limits is None else Interval.parse(limits)}
    # Dataclasses refuse a default that all objects would share.
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: deepcopy(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def part_name(default: Any) -> Any:
    """A field that holds the choice of an axis: in settings the name of a part. It is no option of its class."""
    return dataclasses.field(default=default, metadata={"part": True})


class PartField(NamedTuple):
    """Fields of settings for a part.

    Attributes:
        name: of the field that names the part.
        axis: of the part.
        options: of the field that holds the part's options.
    """

    name: str
    axis: str
    options: str

    @property
    def is_beside(self) -> bool:
        """True if the part's options are given beside those of the settings, as in ``pretrain.alpha``."""
        return self.options == "options"

    def place_in(self, place: str) -> str:
        """The section of the part's options, if the section of the settings is ``place``."""
        if self.is_beside:
            return place
        return f"{place}.{self.options}"


@dataclass(frozen=True)
class Interval:
    """The numbers that an option takes, as mathematics writes them: ``[`` and ``]`` include an end."""

    text: str
    low: float
    high: float

    @classmethod
    def parse(cls, text: str) -> "Interval":
        """Read ``"(0, 1]"``.

        Raises:
            TypeError: the text is no interval.
        """
        match = re.fullmatch(r"[\[(](\S+), (\S+)[\])]", text)
        if match is None:
            raise TypeError(f"{text!r} is not an interval such as '(0, 1]'")
        return cls(text, float(match[1]), float(match[2]))

    def __contains__(self, value: float) -> bool:
        if value == self.low:
            return self.text.startswith("[")
        if value == self.high:
            return self.text.endswith("]")
        return self.low < value < self.high

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
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
    limits: Interval | None
    choices: tuple[Any, ...]

    @property
    def allowed(self) -> str:
        """The values allowed, in words; empty if the type alone decides."""
        ends = [", ".join(map(str, self.choices)), str(self.limits or "")]
        return "; ".join(end for end in ends if end)

    def check(self, value: Any) -> None:
        """Refuse a value that has the right type but is not allowed.

        Raises:
            ValueError: what the option takes.
        """
        if isinstance(value, (int, float)):
            if self.limits is not None and value not in self.limits:
                raise ValueError(f"{self.name}={value}: it takes a number in {self.limits}")
            largest = LARGEST[float if isinstance(value, float) else int]
            if (self.limits is None or self.limits.high == math.inf) and abs(value) > largest:
                raise ValueError(f"{self.name}={value}: it takes a number of at most {largest:g} in size")
        elif self.choices and isinstance(value, str) and value not in self.choices:
            raise ValueError(
                unknown_name(f"{self.name}={value} is unknown", value, map(str, self.choices), "its values")
            )


@dataclass
class Options:
    """A dataclass whose fields are options. Its constructor refuses values outside their limits.

    A field of a plain type with a default is an option, without a meaning, even if it is made without `option`. Any
    other field holds a part that the configuration composes in.

    Raises:
        ValueError: names the option, what it takes and the value.
    """

    n_classes: ClassVar[int] = 0
    """Number of classes of options. What was looked up among them is looked up again after a new one."""

    named_part: ClassVar[PartField | None] = None
    """The fields for a part; None in a class that names none."""

    sections_by_target: ClassVar[str | None] = None
    """The field for sections with names of the user's own, each with a class as its ``_target_``; None where there are
    none."""

    settings_beside: ClassVar[Part | None] = None
    """The settings whose options stand beside those of the part in its section; None where there are none."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Options.n_classes += 1

    @classmethod
    def from_config(cls, **section: Any) -> Self:
        """The part that a section of the configuration describes, as ``hydra.utils.instantiate`` makes it.

        Args:
            section: the part's ``name`` and options, and the parts that it is made of, as objects. Options of the phase
                in the same section, such as ``pretrain.max_epochs``, are left out.

        Raises:
            UsageError: the section has an option that the part does not have.
            ValueError: a value is not allowed.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        beside = (
            set() if cls.settings_beside is None else {each.name for each in dataclasses.fields(cls.settings_beside)}
        )
        for name in section.keys() - known - beside - {"name"}:
            part = getattr(cls, "name", cls.__name__)
            raise UsageError(unknown_name(f"{name} is not an option of {part}", name, options_of(cls), "its options"))
        return cls(**{name: value for name, value in section.items() if name in known})

    def __post_init__(self) -> None:
        for each in options_of(type(self)).values():
            each.check(getattr(self, each.name))


def options_of(cls: Part) -> dict[str, Option]:
    """The options of a dataclass by name, in order.

    A subclass may change a default by a plain ``name: type = value``; the option keeps its meaning and limits.
    """
    return _options_of(cast("Any", cls))


@cache
def _options_of(cls: Part) -> dict[str, Option]:
    """See `options_of`; mypy knows no hash of a class."""
    types = get_type_hints(cls)
    options = {}
    for field in dataclasses.fields(cls):
        default = default_of(field)
        kinds, choices = _kinds_of(types[field.name])
        metadata = _metadata(cls, field.name)
        # A plugin's ``factor: float = 0.5`` is an option too.
        is_plain = PLAIN.issuperset(kinds) and default is not MISSING and "part" not in field.metadata
        if not metadata and not is_plain:
            continue
        options[field.name] = Option(
            name=field.name,
            hint=types[field.name],
            default=default,
            meaning=metadata.get("meaning", ""),
            limits=metadata.get("limits"),
            choices=choices,
        )
    return options


def _kinds_of(hint: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """The types of an annotation but None, and the strings that its literals allow.

    ``int | Literal["auto"] | None`` gives ``[int, str]`` and ``("auto",)``.
    """
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds: list[Any] = []
    choices: list[Any] = []
    for member in members:
        if get_origin(member) is Literal:
            kinds.append(str)
            choices += get_args(member)
        elif member is not NoneType:
            kinds.append(get_origin(member) or member)
    return kinds, tuple(choices)


def default_of(field: "dataclasses.Field[Any]") -> Any:
    """A field's default, or MISSING."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _metadata(cls: Part, name: str) -> Values:
    """The metadata that `option` gave a field, in this class or else in the nearest parent."""
    for each in cls.__mro__:
        field = getattr(each, "__dataclass_fields__", {}).get(name)
        # A subclass that changes the default alone has no metadata of its own.
        if field is not None and "meaning" in field.metadata:
            metadata: Values = field.metadata
            return metadata
    return {}
