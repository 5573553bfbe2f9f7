"""Descriptions of parts: what a part's class says of its options and of itself, without the class.

Most classes of parts import torch, which takes more than a second of processor time. ``--help``, a refusal, a plan,
cells that are finished and a report need the descriptions alone. They are kept in ``catalogue.json`` beside this
module, which ``make docs`` writes from the classes. The file counts for an axis as long as

- no class of the axis has been imported: a class that is there describes itself, so that a part of a plugin, of a
  notebook or of a test is described like any other;
- the sources of the axis are those that the file was written from, so that an edited class is never taken for what it
  was before.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from .axes import BASES, parts, unknown_part
from .option import Interval, Option, Options, add_synonyms, options_of

FILE = Path(__file__).with_name("catalogue.json")
PACKAGE = Path(__file__).parents[1]
KINDS: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, str, list, dict)}
"""The types of options by name."""
PLAIN = (bool, int, float, str, tuple, dict, type(None))
"""The types of the class variables that are part of a description."""


@dataclass(frozen=True)
class Description:
    """A part as its class describes it. Its class variables are attributes, as in ``description.can_cotrain``.

    Attributes:
        name: by which the configuration chooses the part.
        module: the module that the class stands in.
        summary: the first paragraph of its docstring.
        options: its options by name.
        fields: the names of all its fields: its options, and the other parts that it is made of.
        said: its class variables of plain values, by name.
    """

    name: str
    module: str
    summary: str
    options: Mapping[str, Option]
    fields: frozenset[str]
    said: Mapping[str, Any]

    @classmethod
    def of(cls, part: type[Any]) -> "Description":
        """The description of a class."""
        names = frozenset(field.name for field in fields(part))
        facts = {}
        for name, value in _class_variables(part):
            if name != "name" and name not in names:
                facts[name] = value
        return cls(
            name=part.name,
            module=part.__module__,
            summary=first_paragraph(part),
            options=options_of(part),
            fields=names,
            said=facts,
        )

    @property
    def is_own(self) -> bool:
        """True if the part is one of this package, and not a user's."""
        return self.module.startswith(f"{PACKAGE.name}.")

    def __getattr__(self, name: str) -> Any:
        # Copying and pickling ask for private names before the fields are there.
        if name.startswith("_") or name not in self.said:
            raise AttributeError(f"a description has no {name}")
        return self.said[name]


def descriptions(axis: str) -> Mapping[str, Description]:
    """The parts of an axis by name.

    Raises:
        UsageError: two parts have one name.
    """
    base = BASES[axis]
    module, _, _ = base.partition(":")
    if module not in sys.modules:
        kept = _kept(axis)
        if kept is not None:
            return kept
    # The number of classes makes a new entry of the cache once a plugin has defined another part.
    return _of_classes(axis, base, Options.n_classes)


def description(axis: str, name: Any, *, option: str | None = None) -> Description:
    """The part of an axis with this name. The message calls the ``option`` that names it so.

    Raises:
        UsageError: there is none; the message lists those that there are.
    """
    known = descriptions(axis)
    if not isinstance(name, str) or name not in known:
        raise unknown_part(axis, name, known, option)
    return known[name]


def label(axis: str, name: str) -> str:
    """Label of a part in tables and figures: its class's ``label``, or its name with spaces."""
    # The one choice of an axis of parts that has no class.
    if (axis, name) == ("pretrain", "none"):
        return "no pre-training"
    own = None
    if axis in BASES:
        described = descriptions(axis).get(name)
        own = None if described is None else described.said.get("label")
    return str(own or name.replace("_", " "))


def first_paragraph(cls: type[Any]) -> str:
    """The first paragraph of a class's docstring, in one line."""
    paragraph = (cls.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def write_catalogue() -> None:
    """Write the descriptions of all parts of the package to the file."""
    axes = {}
    for axis in BASES:
        own = []
        # In a fixed order, so that a part that is added changes its own lines of the file alone.
        for _, each in sorted(descriptions_of_classes(axis).items()):
            if each.is_own:
                own.append(each)
        axes[axis] = {"sources": _sources(axis), "parts": [_as_plain(each) for each in own]}
    FILE.write_text(json.dumps(axes, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def descriptions_of_classes(axis: str) -> Mapping[str, Description]:
    """The parts of an axis by name, as their classes describe them; the classes are imported."""
    return {name: Description.of(cls) for name, cls in parts(axis).items()}


@lru_cache
def _of_classes(axis: str, base: str, n_classes: int) -> Mapping[str, Description]:
    return descriptions_of_classes(axis)


@cache
def _kept(axis: str) -> Mapping[str, Description] | None:
    """The descriptions of an axis in the file; None if it has none of the sources as they are."""
    of_axis = _content().get(axis)
    if of_axis is None or of_axis["sources"] != _sources(axis):
        return None
    return {each["name"]: _from_plain(each) for each in of_axis["parts"]}


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return content


def _sources(axis: str) -> dict[str, str]:
    """A hash of each module that the parts of an axis stand in, by its path below the package."""
    module, _, _ = BASES[axis].partition(":")
    _, *below = module.split(".")
    place = PACKAGE.joinpath(*below)
    modules = sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    # Hashes and not times, which a checkout or an installation changes.
    hashes = {}
    for path in modules:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        hashes[path.relative_to(PACKAGE).as_posix()] = digest[:16]
    return hashes


def _class_variables(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """The public class variables of plain values that a part has of itself and of its parents below `Options`."""
    of_options = dir(Options)
    for name in dir(cls):
        if name.startswith("_") or name in of_options:
            continue
        value = getattr(cls, name)
        if isinstance(value, PLAIN):
            yield name, value


def _as_plain(described: Description) -> dict[str, Any]:
    """A description in JSON."""
    return {
        "name": described.name,
        "module": described.module,
        "summary": described.summary,
        "options": [_option_as_plain(option) for option in described.options.values()],
        "fields": sorted(described.fields),
        "said": described.said,
    }


def _from_plain(plain: Mapping[str, Any]) -> Description:
    """The description that JSON has."""
    options = [_option_from_plain(each) for each in plain["options"]]
    return Description(
        name=plain["name"],
        module=plain["module"],
        summary=plain["summary"],
        options={option.name: option for option in options},
        fields=frozenset(plain["fields"]),
        said=_with_tuples(plain["said"]),
    )


def _option_as_plain(option: Option) -> dict[str, Any]:
    """An option in JSON, without what most options lack."""
    plain: dict[str, Any] = {
        "name": option.name,
        "kind": option.kind.__name__,
        "default": option.default,
        "meaning": option.meaning,
    }
    if option.optional:
        plain["optional"] = True
    if option.limits:
        plain["limits"] = option.limits.text
    if option.choices:
        plain["choices"] = option.choices
    if option.others:
        plain["others"] = [kind.__name__ for kind in option.others]
    if option.aliases:
        plain["aliases"] = option.aliases
    return plain


def _option_from_plain(plain: Mapping[str, Any]) -> Option:
    """The option that JSON has. Its aliases count from here on, as they do once its class is imported."""
    aliases = tuple(plain.get("aliases", ()))
    add_synonyms(plain["name"], aliases)
    return Option(
        name=plain["name"],
        kind=KINDS[plain["kind"]],
        optional=plain.get("optional", False),
        default=plain["default"],
        meaning=plain["meaning"],
        limits=Interval.parse(plain["limits"]) if "limits" in plain else None,
        choices=tuple(plain.get("choices", ())),
        others=tuple(KINDS[kind] for kind in plain.get("others", ())),
        aliases=aliases,
    )


def _with_tuples(value: Any) -> Any:
    """A value of JSON with tuples in the place of lists: class variables are no lists."""
    if isinstance(value, dict):
        return {name: _with_tuples(each) for name, each in value.items()}
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    return value
