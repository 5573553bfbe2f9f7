"""Every choice of `conf/` with its options, from the classes: for Hydra, ``--help AXIS`` and docs/options.md."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

from .axes import BASES, part, parts
from .option import Option, options_of
from .settings import (
    SHORTHANDS,
    Config,
    CotrainSettings,
    DatasetSettings,
    LoggerSettings,
    NetworkSettings,
    TrainerSettings,
    ViewsSettings,
)

SETTINGS: dict[str, type[Any]] = {
    "dataset": DatasetSettings,
    "views": ViewsSettings,
    "trainer": TrainerSettings,
    "logger": LoggerSettings,
}
"""The axes whose files hold settings."""
DESCRIBED = (*BASES, *SETTINGS, "cotrain")
"""The axes whose options stand in classes."""
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
    if axis in SETTINGS:
        return [_reference(axis, "", SETTINGS[axis], axis)]
    offered = sorted(parts("pretrain" if axis == "cotrain" else axis).items())
    if axis == "cotrain":
        offered = [("", CotrainSettings), *((name, cls) for name, cls in offered if cls.can_cotrain)]
    place = "network.encoder" if axis == "network" else axis
    found = [_reference(axis, name, cls, place) for name, cls in offered]
    return [ChoiceReference("none", "No pre-training.", {}), *found] if axis == "pretrain" else found


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


def _filled_choice(group: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    if group in SETTINGS:
        return _merged(_defaults(_of_settings(SETTINGS[group])), content)
    if group == "cotrain":
        own = _of_part("pretrain", content.get("task", name))
        return _merged({"task": name} | _defaults(_of_settings(CotrainSettings)) | own, content)
    own = _of_part(group, content.get("name", name))
    if group == "network":
        return _merged(_defaults(_of_settings(NetworkSettings)) | {"encoder": own}, content)
    return _merged({"name": name} | own, content)


def _of_part(axis: str, name: Any) -> dict[str, Any]:
    """The options of a part at their defaults; none if other choices decide which part it is."""
    if "${" in str(name) or (axis, name) == ("pretrain", "none"):
        return {}
    return _defaults(options_of(part(axis, name)))


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


def _reference(axis: str, name: str, cls: type[Any], place: str) -> ChoiceReference:
    meaning = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    options = _of_settings(cls) if axis in SETTINGS else options_of(cls)
    return ChoiceReference(name, meaning, _at(place, options))
