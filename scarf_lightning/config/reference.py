"""Every option with its meaning, type, default and allowed values.

Meanings and defaults stand in the files of ``conf/``, types and limits in the dataclasses that check the options.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from ..limits import in_words, limits_of
from .axes import BASES
from .registry import options
from .schema import Config

LINE = re.compile(r"^(?P<indent> *)(?P<key>[\w/]+):(?P<value>[^#\n]*)(?:# *(?P<meaning>.*))?$")
NOT_OPTIONS = ("defaults", "hydra")


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes:
        name: as on the command line, ``corruption.rate``.
        default: as in its file.
        kind: its type, as Python writes it; empty where the schema does not say.
        allowed: in words; empty where anything of that type is.
        meaning: what it does.
    """

    name: str
    default: str
    kind: str
    allowed: str
    meaning: str


@dataclass(frozen=True)
class ChoiceReference:
    """One file of a group: what ``axis=name`` chooses, and the options that come with it."""

    axis: str
    name: str
    meaning: str
    options: tuple[Option, ...]


def common_options(conf: Path) -> list[Option]:
    """What every cell has, whatever is chosen: the file ``train.yaml``."""
    return list(_options_in(conf / "train.yaml", "", "", "train"))


def choices(conf: Path, axis: str) -> list[ChoiceReference]:
    """What an axis offers; the paper's datasets, which have no options, are not among them.

    Args:
        conf: the configuration folder.
        axis: a folder in it.
    """
    found = []
    for file in sorted((conf / axis).glob("*.yaml")):
        if not file.stem.startswith("cc18-"):
            is_global = "@package _global_" in file.read_text(encoding="utf-8")
            own = _options_in(file, "" if is_global else axis, axis, file.stem)
            found.append(ChoiceReference(axis, file.stem, _meaning(file, axis), tuple(own)))
    return found


def axes(conf: Path) -> list[str]:
    """The groups of options, but Hydra's own."""
    return sorted(folder.name for folder in conf.iterdir() if folder.is_dir() and folder.name != "hydra")


def _options_in(file: Path, place: str, axis: str, choice: str) -> Iterator[Option]:
    """The options that a file sets, by their dotted names."""
    path: list[tuple[int, str]] = []
    skipped = -1
    for line in file.read_text(encoding="utf-8").splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        indent, key, value = len(match["indent"]), match["key"], match["value"].strip()
        if indent == 0:
            skipped = 0 if key in NOT_OPTIONS else -1
        if skipped == 0:
            continue
        path = [(depth, above) for depth, above in path if depth < indent]
        dotted = ".".join([*([place] if place else []), *(above for _, above in path), key])
        path.append((indent, key))
        is_choice = bool(axis) and dotted in (f"{axis}.name", f"{axis}.task", f"{axis}.source")
        if value and not is_choice:
            schema, name = _schema_of(dotted, axis, choice)
            kind, allowed = _kind(schema, name), _allowed(schema, name)
            yield Option(dotted, value, kind, allowed, _inherited(file, dotted, match["meaning"]))


def _inherited(file: Path, dotted: str, meaning: str | None) -> str:
    """An option of one phase means what that of the other does, where its own line says nothing."""
    if meaning is not None:
        return meaning.strip()
    section, _, name = dotted.rpartition(".")
    if section not in ("finetune", "network.head", "network.pretrain_head"):
        return ""
    for line in file.read_text(encoding="utf-8").splitlines():
        match = LINE.match(line)
        if match and match["key"] == name and match["meaning"]:
            return match["meaning"].strip()
    return ""


def _meaning(file: Path, axis: str) -> str:
    """The comment at the top of a file, or else what the class says of itself."""
    lines = file.read_text(encoding="utf-8").splitlines()
    top = [line.lstrip("# ") for line in lines if line.startswith("#") and "@package" not in line]
    if top and lines[0].startswith("#"):
        return " ".join(top)
    cls = options(axis).get(file.stem) if axis in BASES else None
    if axis == "cotrain":
        cls = options("pretrain").get(file.stem)
    said = " ".join((cls.__doc__ or "").split("\n\n")[0].split()) if cls is not None else ""
    return said.partition(" (``")[0]


def _schema_of(dotted: str, axis: str, choice: str) -> tuple[type[Any] | None, str]:
    """The class that checks an option, and what it is called there."""
    schema: Any = Config
    *groups, name = dotted.split(".")
    for group in groups:
        kind = get_type_hints(schema)[group] if is_dataclass(schema) and group in _names(schema) else None
        if not is_dataclass(kind):
            break
        schema = kind
    if (is_dataclass(schema) and name in _names(schema) and schema is not Config) or not groups:
        return schema, name
    part = "pretrain" if axis == "cotrain" else axis
    return (options(part).get(choice) if part in BASES else None), name


def _names(schema: Any) -> set[str]:
    return {field.name for field in fields(schema)}


def _kind(schema: type[Any] | None, name: str) -> str:
    kind = get_type_hints(schema).get(name) if schema is not None else None
    return getattr(kind, "__name__", str(kind)) if isinstance(kind, type) else str(kind or "").replace("None", "null")


def _allowed(schema: type[Any] | None, name: str) -> str:
    """What a class's limits say of an option."""
    if _kind(schema, name) == "bool":
        return "true, false"
    limit = limits_of(schema).get(name) if schema is not None else None
    return "" if limit is None else in_words(limit)
