"""Every choice of `conf/` with its options, from the classes: for Hydra, ``--help AXIS`` and docs/options.md."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

from .axes import AXES, BASES
from .catalogue import description, descriptions, first_paragraph
from .option import Option, PartField, options_of
from .settings import SHORTHANDS, Config

MAIN = "train"
"""The file of `conf/` that a run starts from."""


class ChoiceReference(NamedTuple):
    """What ``axis=name`` chooses, and its options by dotted name."""

    name: str
    meaning: str
    options: Mapping[str, Option]


def common_options() -> dict[str, Option]:
    """The options of every cell, whatever it chooses, by dotted name."""
    found = dict(options_of(Config))
    for section, kind in _groups(Config).items():
        if section in ("pretrain", "network") or section not in DESCRIBED:
            found |= _at(section, _of_settings(kind))
    return found


def choices(axis: str) -> list[ChoiceReference]:
    """What an axis offers: its parts, each with its options, or the options of its settings."""
    settings, named = _settings_of(axis)
    found = []
    if settings is not None and (named is None or named.is_beside):
        found.append(ChoiceReference("", first_paragraph(settings), _at(axis, _of_settings(settings))))
    if axis == "pretrain":
        found.append(ChoiceReference("none", "No pre-training.", {}))
    if named is not None:
        for name, each in sorted(descriptions(named.axis).items()):
            if axis != "cotrain" or each.can_cotrain:
                found.append(ChoiceReference(name, each.summary, _at(named.place_in(axis), each.options)))
    return found


def shown(value: Any) -> str:
    """A value as the command line writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(path: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file of `conf/`, with the defaults of the options that it leaves out.

    Args:
        path: of the file below `conf/`, without its ending: ``corruption/marginal``.
        content: as the file has it. A file of the global package has its options in the section of its group.
    """
    group, _, name = path.rpartition("/")
    if path == MAIN:
        return _merged(_main_defaults(), content)
    if group not in DESCRIBED:
        return dict(content)
    if isinstance(content.get(group), Mapping):
        return {**content, group: _filled_choice(group, name, content[group])}
    return _filled_choice(group, name, content)


def _main_defaults() -> dict[str, Any]:
    """The defaults of what is no choice of an axis. A phase takes an option that it does not set from its shorthand."""
    found: dict[str, Any] = _defaults(options_of(Config))
    for section, kind in _groups(Config).items():
        if section == "pretrain" or section not in DESCRIBED:
            found[section] = _defaults(_of_settings(kind))
    for phase in ("pretrain", "finetune"):
        for name in SHORTHANDS:
            found[phase][name] = f"${{scarf.given:${{{name}}},{found[phase][name]}}}"
    found["finetune"]["metric"] = "${metric}"
    return found


def _filled_choice(axis: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    settings, named = _settings_of(axis)
    found = _defaults(_of_settings(settings)) if settings is not None else {}
    if named is not None:
        own = _of_part(named.axis, content.get(named.name, name))
        found = {named.name: name} | found | (own if named.is_beside else {named.options: own})
    return _merged(found, content)


def _settings_of(axis: str) -> tuple[type[Any] | None, PartField | None]:
    """The settings that the files of an axis hold, if any, and the field that names a part, if they name one."""
    settings = SETTINGS.get(axis)
    return settings, PartField("name", axis, "options") if settings is None else settings.named_part


def _of_part(axis: str, name: Any) -> dict[str, Any]:
    """The options of a part at their defaults; none if other choices decide which part it is."""
    if "${" in str(name) or (axis, name) == ("pretrain", "none"):
        return {}
    return _defaults(description(axis, name).options)


def _groups(settings: type[Any]) -> dict[str, type[Any]]:
    """The groups of options in settings, by the name of their field."""
    hints = get_type_hints(settings)
    return {field.name: hints[field.name] for field in fields(settings) if is_dataclass(hints[field.name])}


def _of_settings(settings: type[Any]) -> dict[str, Option]:
    """The options of settings, and of the groups in them, by dotted name."""
    found = dict(options_of(settings))
    for name, group in _groups(settings).items():
        found |= _at(name, _of_settings(group))
    return found


def _at(place: str, options: Mapping[str, Option]) -> dict[str, Option]:
    return {f"{place}.{name}": option for name, option in options.items()}


def _defaults(options: Mapping[str, Option]) -> dict[str, Any]:
    """The defaults of options, group within group."""
    found: dict[str, Any] = {}
    for full, option in options.items():
        node = found
        *groups, name = full.split(".")
        for group in groups:
            node = node.setdefault(group, {})
        node[name] = option.default
    return found


def _merged(defaults: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """The content over the defaults, group within group."""
    merged = dict(defaults)
    for name, value in content.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


SETTINGS = {
    axis.name: _groups(Config)[axis.name] for axis in AXES if axis.name in _groups(Config) and axis.name != "pretrain"
}
"""The axes whose files hold settings; those of ``pretrain`` are common to all of its choices."""
DESCRIBED = {*BASES, *SETTINGS}
"""The axes whose options stand in classes."""
