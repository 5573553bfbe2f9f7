"""The reference of all options, made from the classes: what ``--help AXIS`` shows, and docs/options.md.

python -m scarf_lightning.options.reference > docs/options.md
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

from .axes import AXES, BASES, parts
from .filling import SETTINGS
from .option import Option, options_of
from .settings import Config, CotrainSettings

INTRODUCTION = """\
# Options

`make docs` makes this page from the classes that hold the options; a test keeps it complete. `AXIS=NAME` chooses an
option of an axis, `AXIS.OPTION=VALUE` sets an option of it, and commas train every combination. `python train.py --cfg
job` prints all options of a command.
"""
SUITE = (
    "`cc18-NAME` is one of the 69 datasets of the OpenML-CC18 suite that the paper uses; `dataset=glob(cc18-*)` is all "
    "of them."
)
SECTIONS = ("pretrain", "finetune", "network", "paths", "cache", "chunk")
"""Groups of options that every cell has, whatever it chooses."""
LONG_NUMBER = re.compile(r"\d{5,}")
DESCRIBED = (*BASES, *SETTINGS, "cotrain")
"""The axes whose options stand in classes."""


@dataclass(frozen=True)
class ChoiceReference:
    """What ``axis=name`` chooses, and its options by dotted name."""

    axis: str
    name: str
    meaning: str
    options: tuple[tuple[str, Option], ...]


def common_options() -> list[tuple[str, Option]]:
    """The options of every cell, by dotted name."""
    hints = get_type_hints(Config)
    found = list(_of_settings("", Config))
    return found + [each for section in SECTIONS for each in _of_settings(section, hints[section])]


def choices(axis: str) -> list[ChoiceReference]:
    """What an axis offers: its parts, each with its options, or the options of its settings."""
    if axis in SETTINGS:
        settings = SETTINGS[axis]
        return [ChoiceReference(axis, "", _summary(settings), tuple(_of_settings(axis, settings)))]
    place = "network.encoder" if axis == "network" else axis
    offered = sorted(parts("pretrain" if axis == "cotrain" else axis).items())
    if axis == "cotrain":
        offered = [(name, cls) for name, cls in offered if cls.can_cotrain]
    found = [ChoiceReference(axis, name, _summary(cls), tuple(_of_part(place, cls))) for name, cls in offered]
    if axis == "pretrain":
        found.insert(0, ChoiceReference(axis, "none", "No pre-training.", ()))
    if axis == "cotrain":
        found.insert(0, ChoiceReference(axis, "", _summary(CotrainSettings), tuple(_of_part(axis, CotrainSettings))))
    return found


def page() -> str:
    """The page of all options, in Markdown."""
    text = [INTRODUCTION, "## Of every cell\n", _table(common_options())]
    for axis in AXES:
        if axis.name in DESCRIBED:
            text.append(f"## {axis.name}: {axis.meaning}\n")
            text += [SUITE + "\n"] if axis.name == "dataset" else []
            for choice in choices(axis.name):
                text += [f"### {axis.name}={choice.name}\n"] if choice.name else []
                text.append(f"{_escaped(choice.meaning)}\n")
                text += [_table(choice.options)] if choice.options else []
    return "\n".join(text)


def shown(value: Any) -> str:
    """A value as the command line writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_part(place: str, cls: type[Any]) -> Iterator[tuple[str, Option]]:
    for option in options_of(cls).values():
        yield f"{place}.{option.name}", option


def _of_settings(place: str, settings: type[Any]) -> Iterator[tuple[str, Option]]:
    """The options of settings, and of the groups in them that are not axes or sections of their own."""
    hints = get_type_hints(settings)
    for field in fields(settings):
        full = f"{place}.{field.name}" if place else field.name
        if field.name in options_of(settings):
            yield full, options_of(settings)[field.name]
        elif place and is_dataclass(hints[field.name]):
            yield from _of_settings(full, hints[field.name])


def _table(options: Sequence[tuple[str, Option]]) -> str:
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for name, option in options:
        values = LONG_NUMBER.sub(
            lambda n: f"{int(n[0]):,}", "; ".join(filter(None, (option.type_name, option.allowed)))
        )
        entries = (f"`{name}`", f"`{shown(option.default)}`", f"{option.meaning} *({values})*")
        lines.append(f"| {' | '.join(_escaped(entry) for entry in entries)} |")
    return "\n".join(lines) + "\n"


def _summary(cls: type[Any]) -> str:
    """The first paragraph of a class's docstring."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


if __name__ == "__main__":
    sys.stdout.write(page())
