"""Every choice of `conf/` with its options, from the classes: for `tools/conf.py` and the page of options."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, Literal, NamedTuple, get_origin, get_type_hints

from scarf_lightning.options.axes import AXES, BASES, parts
from scarf_lightning.options.config import Config
from scarf_lightning.options.option import Option, members_of, options_of


class ChoiceReference(NamedTuple):
    """One choice of an axis.

    Attributes:
        name: as in ``axis=name``; empty for settings that every choice of the axis has.
        meaning: in a sentence.
        options: by dotted name.
    """

    name: str
    meaning: str
    options: Mapping[str, Option]


def first_paragraph(cls: type[Any]) -> str:
    """The first paragraph of a class's docstring, in one line."""
    paragraph = (cls.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def values_of(option: Option) -> str:
    """The type of an option and the values that it takes, in words."""
    members = [each for each in members_of(option.hint) if each is not NoneType]
    names = ["str" if get_origin(each) is Literal else (get_origin(each) or each).__name__ for each in members]
    if NoneType in members_of(option.hint):
        names.append("null")
    return "; ".join(filter(None, (" | ".join(names), option.allowed)))


def common_options() -> dict[str, Option]:
    """The options of every cell, whatever it chooses, by dotted name."""
    options = dict(options_of(Config))
    for section, kind in _groups(Config).items():
        # The settings of other axes are theirs.
        if section in ("pretrain", "network") or section not in DESCRIBED:
            options |= _qualified(section, _setting_options(kind))
    return options


def choices(axis: str) -> list[ChoiceReference]:
    """The choices of an axis: its parts, each with its options, or the options of its settings."""
    settings, named = _settings_of(axis)
    offered = []
    # Settings that hold their part in a group of its own, as networks do, are options of every cell.
    if settings is not None and (named is None or settings.rest == "options"):
        common = _qualified(axis, _setting_options(settings))
        offered.append(ChoiceReference("", first_paragraph(settings), common))
    if axis == "pretrain":
        # The one choice without a class.
        offered.append(ChoiceReference("none", "No pre-training.", {}))
    if named is None:
        return offered
    place = axis if settings is None else settings.place_of_rest(axis)
    for name, each in sorted(parts(named[1]).items()):
        # Co-training takes those pretexts alone that work on the supervised batches.
        if axis == "cotrain" and not each.can_cotrain:
            continue
        options = _qualified(place, options_of(each))
        offered.append(ChoiceReference(name, first_paragraph(each), options))
    return offered


def shown(value: Any) -> str:
    """A value as the command line writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def main_options() -> dict[str, Option]:
    """The options of every cell and run, by dotted name: those that no file of an axis sets for its choice alone."""
    options = dict(options_of(Config))
    for section, kind in _groups(Config).items():
        # Its one option is what its files choose.
        if section != "views":
            options |= _qualified(section, _setting_options(kind))
    return options


def _settings_of(axis: str) -> tuple[type[Any] | None, tuple[str, str] | None]:
    """The settings that the files of an axis hold, if any, and the field that names a part, if they name one."""
    settings = SETTINGS.get(axis)
    if settings is None:
        return None, ("name", axis)
    return settings, settings.named_part


def _groups(settings: type[Any]) -> dict[str, type[Any]]:
    """The groups of options in settings, by the name of their field."""
    types = get_type_hints(settings)
    groups: dict[str, type[Any]] = {}
    for field in fields(settings):
        kind = types[field.name]
        if isinstance(kind, type) and is_dataclass(kind):
            groups[field.name] = kind
    return groups


def _setting_options(settings: type[Any]) -> dict[str, Option]:
    """The options of settings, and of the groups in them, by dotted name."""
    options = dict(options_of(settings))
    for name, group in _groups(settings).items():
        options |= _qualified(name, _setting_options(group))
    return options


def _qualified(place: str, options: Mapping[str, Option]) -> dict[str, Option]:
    """Options by their dotted name in a section."""
    return {f"{place}.{name}": option for name, option in options.items()}


_AXES_WITHOUT_PRETRAIN = {axis.name for axis in AXES} - {"pretrain"}
SETTINGS = {name: group for name, group in _groups(Config).items() if name in _AXES_WITHOUT_PRETRAIN}
"""The axes whose files hold settings; those of ``pretrain`` are common to all of its choices."""
DESCRIBED = {*BASES, *SETTINGS}
"""The axes whose options stand in classes."""
