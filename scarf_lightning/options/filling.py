"""The files of `conf/` with what their classes say: each option that a file leaves out, at its default."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from .axes import BASES, part
from .option import options_of
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

MAIN = "train"
"""The file that a run starts from."""

SETTINGS = {
    "dataset": DatasetSettings,
    "views": ViewsSettings,
    "trainer": TrainerSettings,
    "logger": LoggerSettings,
}
"""Groups whose files hold settings."""


def filled(path: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """A file's content, with the defaults of the options that it leaves out.

    Args:
        path: of the file below `conf/`, without its ending: ``corruption/marginal``.
        content: as the file has it. A file of the global package has its options in the section of its group.
    """
    group, _, name = path.rpartition("/")
    if path == MAIN:
        return _filled_main(content)
    if group not in BASES and group not in SETTINGS and group != "cotrain":
        return dict(content)
    if isinstance(content.get(group), Mapping):
        return {**content, group: _filled_choice(group, name, content[group])}
    return _filled_choice(group, name, content)


def _filled_main(content: Mapping[str, Any]) -> dict[str, Any]:
    of_files = {*BASES, *SETTINGS, "cotrain"} - {"pretrain"}
    defaults = {name: value for name, value in _defaults(Config).items() if name not in of_files}
    for phase in ("pretrain", "finetune"):
        for name in SHORTHANDS:
            defaults[phase][name] = f"${{scarf.given:${{{name}}},{defaults[phase][name]}}}"
    defaults["finetune"]["metric"] = "${metric}"
    return _merged(defaults, content)


def _filled_choice(group: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    if group in SETTINGS:
        return _merged(_defaults(SETTINGS[group]), content)
    if group == "network":
        encoder = _of_part("network", content.get("name", name))
        return _merged({**_defaults(NetworkSettings), "encoder": encoder}, content)
    if group == "cotrain":
        own = _of_part("pretrain", content.get("task", name))
        return _merged({"task": name, **_defaults(CotrainSettings), **own}, content)
    return _merged({"name": name, **_of_part(group, content.get("name", name))}, content)


def _of_part(group: str, name: Any) -> dict[str, Any]:
    """The options of a part at their defaults; none of a name that is unknown or that depends on other choices."""
    if "${" in str(name) or (group == "pretrain" and name == "none"):
        return {}
    return {option.name: option.default for option in options_of(part(group, name)).values()}


def _defaults(settings: type[Any]) -> dict[str, Any]:
    """All options of settings, group within group."""
    hints, known = get_type_hints(settings), options_of(settings)
    found: dict[str, Any] = {}
    for field in fields(settings):
        kind = hints[field.name]
        if field.name in known:
            found[field.name] = known[field.name].default
        elif is_dataclass(kind) and isinstance(kind, type):
            found[field.name] = _defaults(kind)
    return found


def _merged(defaults: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """The content over the defaults, group within group."""
    merged = dict(defaults)
    for name, value in content.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged
