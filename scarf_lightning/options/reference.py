"""Every choice of `conf/` with its options, from the classes: for Hydra, ``--help AXIS`` and docs/options.md."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

from .axes import AXES, BASES, SEVERAL
from .catalogue import description, descriptions, first_paragraph
from .config import SHORTHANDS, Config
from .option import Option, PartField, options_of

MAIN = "train"
"""The file of `conf/` that a run starts from."""


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


def common_options() -> dict[str, Option]:
    """The options of every cell, whatever it chooses, by dotted name."""
    options = dict(options_of(Config))
    for section, kind in _groups(Config).items():
        # The settings of other axes are theirs.
        if section in ("pretrain", "network") or section not in DESCRIBED:
            options |= _at(section, _of_settings(kind))
    return options


def choices(axis: str) -> list[ChoiceReference]:
    """The choices of an axis: its parts, each with its options, or the options of its settings."""
    settings, named = _settings_of(axis)
    offered = []
    # Settings that hold their part in a group of its own, as networks do, are options of every cell.
    if settings is not None and (named is None or named.is_beside):
        common = _at(axis, _of_settings(settings))
        offered.append(ChoiceReference("", first_paragraph(settings), common))
    if axis == "pretrain":
        # The one choice without a class.
        offered.append(ChoiceReference("none", "No pre-training.", {}))
    if named is None:
        return offered
    place = named.place_in(axis)
    for name, each in sorted(descriptions(named.axis).items()):
        # Co-training takes those pretexts alone that work on the supervised batches.
        if axis == "cotrain" and not each.can_cotrain:
            continue
        options = _at(place, each.options)
        offered.append(ChoiceReference(name, each.summary, options))
    return offered


def shown(value: Any) -> str:
    """A value as the command line writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def filled(path: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file of `conf/`, with the defaults of the options that it leaves out.

    Args:
        path: of the file below `conf/`, without its ending: ``corruption/marginal``.
        content: as the file has it. A file of the global package has its options in the section of its group.
    """
    group, _, name = path.rpartition("/")
    if path == MAIN:
        return _merged(_main_defaults(), content)
    # Of several choices one would set back to its default what another sets.
    if group not in DESCRIBED or group in SEVERAL:
        return dict(content)
    # A file of the global package names its section.
    if isinstance(content.get(group), Mapping):
        return {**content, group: _filled_choice(group, name, content[group])}
    return _filled_choice(group, name, content)


def _main_defaults() -> dict[str, Any]:
    """The defaults of what is no choice of an axis. A phase takes an option that it does not set from its shorthand."""
    defaults: dict[str, Any] = _defaults(options_of(Config))
    for section, kind in _groups(Config).items():
        is_of_choice = section in DESCRIBED and section not in SEVERAL
        if section == "pretrain" or not is_of_choice:
            defaults[section] = _defaults(_of_settings(kind))
    for phase in ("pretrain", "finetune"):
        for name in SHORTHANDS:
            # The resolver `given` takes the shorthand if it is set, as in ${scarf.given:${max_epochs},200}.
            own = defaults[phase][name]
            shorthand = f"${{{name}}}"
            defaults[phase][name] = f"${{scarf.given:{shorthand},{own}}}"
    # One metric for tables and early stopping, unless the latter is given its own.
    defaults["finetune"]["metric"] = "${metric}"
    return defaults


def _filled_choice(axis: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a choice's file, with the defaults of its settings and of its part."""
    settings, named = _settings_of(axis)
    # Settings before the part, and both before the file: what comes later takes the place of what was there.
    defaults: dict[str, Any] = {}
    if named is not None:
        defaults[named.name] = name
    if settings is not None:
        defaults |= _defaults(_of_settings(settings))
    if named is not None:
        own = _of_part(named.axis, content.get(named.name, name))
        defaults |= own if named.is_beside else {named.options: own}
    return _merged(defaults, content)


def _settings_of(axis: str) -> tuple[type[Any] | None, PartField | None]:
    """The settings that the files of an axis hold, if any, and the field that names a part, if they name one."""
    settings = SETTINGS.get(axis)
    if settings is None:
        return None, PartField("name", axis, "options")
    return settings, settings.named_part


def _of_part(axis: str, name: Any) -> dict[str, Any]:
    """The options of a part at their defaults; none if other choices decide which part it is."""
    if "${" in str(name) or (axis, name) == ("pretrain", "none"):
        return {}
    return _defaults(description(axis, name).options)


def _groups(settings: type[Any]) -> dict[str, type[Any]]:
    """The groups of options in settings, by the name of their field."""
    types = get_type_hints(settings)
    groups: dict[str, type[Any]] = {}
    for field in fields(settings):
        kind = types[field.name]
        if isinstance(kind, type) and is_dataclass(kind):
            groups[field.name] = kind
    return groups


def _of_settings(settings: type[Any]) -> dict[str, Option]:
    """The options of settings, and of the groups in them, by dotted name."""
    options = dict(options_of(settings))
    for name, group in _groups(settings).items():
        options |= _at(name, _of_settings(group))
    return options


def _at(place: str, options: Mapping[str, Option]) -> dict[str, Option]:
    """Options by their dotted name in a section."""
    return {f"{place}.{name}": option for name, option in options.items()}


def _defaults(options: Mapping[str, Option]) -> dict[str, Any]:
    """The defaults of options, group within group."""
    defaults: dict[str, Any] = {}
    for full, option in options.items():
        *groups, name = full.split(".")
        section = defaults
        for group in groups:
            section = section.setdefault(group, {})
        section[name] = option.default
    return defaults


def _merged(defaults: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """The content over the defaults, group within group."""
    merged = dict(defaults)
    for name, value in content.items():
        default = merged.get(name)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            merged[name] = _merged(default, value)
        else:
            merged[name] = value
    return merged


_AXES_WITHOUT_PRETRAIN = {axis.name for axis in AXES} - {"pretrain"}
SETTINGS = {name: group for name, group in _groups(Config).items() if name in _AXES_WITHOUT_PRETRAIN}
"""The axes whose files hold settings; those of ``pretrain`` are common to all of its choices."""
DESCRIBED = {*BASES, *SETTINGS}
"""The axes whose options stand in classes."""
