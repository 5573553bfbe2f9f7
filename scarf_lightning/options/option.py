"""The language of options: one line of a dataclass gives an option's name, type, default, meaning and limits.

    >>> @dataclass
    ... class Marginal(Options):
    ...     rate: float = option(0.6, "share of the features to replace", "(0, 1]")
    ...     values: Literal["rows", "distinct"] = option("rows", "what the values are drawn from")

The check of a value, the sentence that refuses it, ``--help``, docs/options.md and a cell's identity are made from it.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import MISSING, dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from ..errors import SYNONYMS, did_you_mean

LARGEST: dict[type, float] = {int: 2**53 - 1, float: 1e12}
"""The largest numbers that an option takes if its limits name none. Larger whole numbers are not exact in a file, and
products of larger fractions overflow."""
PLAIN = {bool, int, float, str}


def option(default: Any, meaning: str, limits: str | None = None, *, aliases: tuple[str, ...] = ()) -> Any:
    """A field of an `Options` dataclass.

    Args:
        default: the value if the user sets none; a list or a dictionary is copied for each object.
        meaning: a phrase that says what the option does, for ``--help`` and the page of options.
        limits: an interval of the numbers allowed, such as ``"(0, 1]"`` or ``"[1, inf)"``; None allows all. For
            strings, a ``Literal`` type lists the values allowed.
        aliases: other names that people use for the option. They do not set it; the error message suggests the option.

    Raises:
        TypeError: `limits` is not an interval.
    """
    parsed = None if limits is None else Interval.parse(limits)
    metadata = {"meaning": meaning, "limits": parsed, "aliases": aliases}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: deepcopy(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def part_name(default: str) -> Any:
    """A field that holds the choice of an axis: in settings the name of a part. It is no option of its class."""
    return dataclasses.field(default=default, metadata={"part": True})


class PartField(NamedTuple):
    """The field of settings that names a part of an axis, and the field that holds the part's options."""

    name: str
    axis: str
    options: str

    @property
    def is_beside(self) -> bool:
        """Whether the part's options are given beside those of the settings, as in ``pretrain.alpha``."""
        return self.options == "options"

    def place_in(self, place: str) -> str:
        """Where the part's options stand, if the settings stand at ``place``."""
        return place if self.is_beside else f"{place}.{self.options}"


@dataclass(frozen=True)
class Interval:
    """The numbers that an option takes, as mathematics writes them: ``[`` and ``]`` include an end."""

    low: float
    high: float
    includes_low: bool
    includes_high: bool
    text: str

    @classmethod
    def parse(cls, text: str) -> "Interval":
        """Read ``"(0, 1]"``.

        Raises:
            TypeError: the text is no interval.
        """
        found = re.fullmatch(r"([\[(])(\S+), (\S+)([\])])", text)
        if found is None:
            raise TypeError(f"{text!r} is not an interval such as '(0, 1]'")
        opening, low, high, closing = found.groups()
        return cls(float(low), float(high), opening == "[", closing == "]", text)

    def __contains__(self, value: float) -> bool:
        above = value > self.low or (self.includes_low and value == self.low)
        return above and (value < self.high or (self.includes_high and value == self.high))

    def refusal(self, value: float) -> str:
        """What a value outside must do: ``"lie in (0, 1]"`` for a share, else the bound that it exceeds."""
        least, most = self._ends()
        if self.high <= 1:
            return f"lie in {self.text}"
        return f"be {least if value <= self.low or not most else most}"

    def __str__(self) -> str:
        return self.text if self.high <= 1 else "; ".join(end for end in self._ends() if end)

    def _ends(self) -> tuple[str, str]:
        low, high = self.text[1:-1].split(", ")
        most = "" if self.high == math.inf else f"{'at most' if self.includes_high else 'below'} {high}"
        return f"{'at least' if self.includes_low else 'greater than'} {low}", most


@dataclass(frozen=True)
class Option:
    """An option of a dataclass, as its line defines it.

    Attributes:
        kind: its type without None: ``int``, ``float``, ``bool``, ``str``, ``list`` or ``dict``.
        optional: whether None is allowed.
        default: the value if the user sets none. Copy it before you change it.
        choices: the strings allowed; empty if any string is.
        others: further types, such as ``str`` in ``int | Literal["auto"]``.
        aliases: other names that people use for it.
    """

    name: str
    kind: Any
    optional: bool
    default: Any
    meaning: str
    limits: Interval | None
    choices: tuple[Any, ...]
    others: tuple[Any, ...]
    aliases: tuple[str, ...] = ()

    @property
    def type_name(self) -> str:
        """The type, as the page of options shows it."""
        kinds = " | ".join(kind.__name__ for kind in (self.kind, *self.others))
        return f"{kinds} | null" if self.optional else kinds

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
                raise ValueError(f"{self.name} must {self.limits.refusal(value)}, not {value}")
            if (self.limits is None or self.limits.high == math.inf) and abs(value) > LARGEST[type(value + 0)]:
                raise ValueError(f"{self.name} must be at most {LARGEST[type(value + 0)]:g} in size, not {value}")
        if self.choices and isinstance(value, str) and value not in self.choices:
            listed, hint = ", ".join(map(str, self.choices)), did_you_mean(value, self.choices)
            raise ValueError(f"{self.name} must be one of {listed}, not {value}{hint and '.' + hint}")


@dataclass
class Options:
    """A dataclass whose fields are options. Its constructor refuses values outside their limits.

    A field of a plain type with a default is an option, without a meaning, even if it is made without `option`. Any
    other field holds a part that the configuration composes in.

    Raises:
        ValueError: names the option, what it takes and the value.
    """

    n_classes: ClassVar[int] = 0
    """How many classes of options there are, so that what was found among them is looked up again after a new one."""

    named_part: ClassVar[PartField | None] = None
    """How settings name a part, if they do."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Options.n_classes += 1
        for name, field in vars(cls).items():  # @dataclass, which runs later, leaves only the default
            add_synonyms(name, getattr(field, "metadata", {}).get("aliases", ()))

    def __post_init__(self) -> None:
        for each in options_of(type(self)).values():
            each.check(getattr(self, each.name))


def add_synonyms(name: str, aliases: Iterable[str]) -> None:
    """Let the message on an unknown option suggest this one if it has one of these names."""
    for alias in aliases:
        SYNONYMS.setdefault(alias, set()).add(name)


def options_of(cls: type[Any]) -> dict[str, Option]:
    """The options of a dataclass by name, in order.

    A subclass may change a default by a plain ``name: type = value``; the option keeps its meaning and limits.
    """
    return _options_of(cast("Any", cls))


@cache
def _options_of(cls: type[Any]) -> dict[str, Option]:
    hints = get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        hint, default = hints[field.name], default_of(field)
        members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        literals = [member for member in members if get_origin(member) is Literal]
        kinds = [str if each in literals else get_origin(each) or each for each in members if each is not NoneType]
        said = _metadata(cls, field.name)
        # A plugin's ``factor: float = 0.5`` is an option too.
        is_plain = PLAIN.issuperset(kinds) and default is not MISSING and "part" not in field.metadata
        if said or is_plain:
            found[field.name] = Option(
                name=field.name,
                kind=kinds[0],
                optional=NoneType in members,
                default=default,
                meaning=said.get("meaning", ""),
                limits=said.get("limits"),
                choices=tuple(choice for literal in literals for choice in get_args(literal)),
                others=tuple(kinds[1:]),
                aliases=said.get("aliases", ()),
            )
    return found


def default_of(field: "dataclasses.Field[Any]") -> Any:
    """A field's default, or MISSING."""
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _metadata(cls: type[Any], name: str) -> Mapping[str, Any]:
    """What `option` says of a field, in this class or else in the nearest parent."""
    fields = (getattr(each, "__dataclass_fields__", {}).get(name) for each in cls.__mro__)
    said = (field.metadata for field in fields if field is not None)
    return next((metadata for metadata in said if "meaning" in metadata), {})
