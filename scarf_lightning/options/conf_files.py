"""The files of `conf/`: written from the classes, read by plain Hydra, by ``--help`` and by people.

A file of a part begins with what is written by hand: Hydra's directives, its defaults list, values of other sections.
From the part's name on it is made from the class: its ``_target_``, and a line for each option with its default and its
meaning. `conf/train.yaml` ends with the options of every cell in the same way. One command writes them,
``python docs/generate.py``, and a test holds them to the classes.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .axes import TARGET
from .config import SHORTHANDS
from .option import Option

GLOBAL = "_global_"
"""The package of a file that names its sections itself."""

WIDTH = 120
MADE = "# The options of every cell and run, with their defaults."
"""The line of `conf/train.yaml` below which it is made from the classes."""
NAMES_PART = re.compile(r" *(_target_|name|task): ")
"""The line from which on the file of a part is made from its class."""
BY_REFERENCE = {"finetune.metric": "${metric}", "paths.openml": "${oc.env:OPENML_CACHE_DIR,null}"}
"""Options whose value in `conf/` is that of another option or of the environment."""


@dataclass(frozen=True)
class DocumentedOption:
    """An option as a file documents it.

    Attributes:
        name: dotted, within the whole configuration.
        default: its value in the file.
        meaning: its comment: what it does, and in parentheses its type and the values allowed.
    """

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True)
class DocumentedChoice:
    """A choice of an axis as its file documents it.

    Attributes:
        name: as in ``axis=name``.
        meaning: the comment at the top of the file.
        options: of the part; empty if it has none.
    """

    name: str
    meaning: str
    options: tuple[DocumentedOption, ...]


def target_of(cls: type[Any]) -> str:
    """The ``_target_`` of a part, by which ``hydra.utils.instantiate`` makes it from its section."""
    return f"{cls.__module__}.{cls.__qualname__}.from_config"


def part_file(text: str, meaning: str, section: str, name: str, target: str | None, options: Iterable[Option]) -> str:
    """The text of a part's file, made anew below what is written by hand.

    Args:
        text: of the file as it is; empty for a part without one.
        meaning: of the part, in a sentence.
        section: of the configuration that the file sets, such as ``corruption``.
        name: of the part.
        target: see `target_of`; None leaves it out.
        options: of the part.
    """
    handwritten = _handwritten_lines(text)
    directives = [line for line in handwritten if line.startswith("# @")]
    own = [line for line in handwritten if not line.startswith("#")]
    key = "task" if section == "cotrain" else "name"
    lines = [f"{key}: {name}"]
    values = list(_option_lines(options))
    if section == "network":
        lines += ["encoder:", *(f"  {line}" for line in [f"{TARGET}: {target}", *values])]
    else:
        lines = [f"{TARGET}: {target}", *lines] if target else lines
        lines += values
    # A file of the global package names its section.
    if any(GLOBAL in line for line in directives):
        if f"{section}:" not in own:
            own += [f"{section}:"]
        lines = [f"  {line}" for line in lines]
    header = textwrap.wrap(meaning, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    return "\n".join([*directives, *header, *own, *lines]) + "\n"


def main_file(text: str, options: Mapping[str, Option]) -> str:
    """The text of `conf/train.yaml`, with the options of every cell made anew.

    Args:
        text: of the file as it is.
        options: by dotted name; groups follow one another.
    """
    handwritten, _, _ = text.partition(MADE)
    lines = [handwritten.rstrip("\n"), "", MADE]
    open_groups: list[str] = []
    for full, option in options.items():
        *groups, name = full.split(".")
        shared = _n_shared(open_groups, groups)
        for depth, group in enumerate(groups[shared:], shared):
            # Sections of the main level stand apart.
            lines += ["", f"{group}:"] if depth == 0 else [f"{'  ' * depth}{group}:"]
        open_groups = groups
        indent = "  " * len(groups)
        lines += [f"{indent}{line}" for line in _lines_of(name, _main_value(full, option), option, WIDTH - len(indent))]
    return "\n".join(lines) + "\n"


def _handwritten_lines(text: str) -> list[str]:
    """The lines of a part's file before its name."""
    lines = []
    for line in text.splitlines():
        if NAMES_PART.match(line):
            break
        lines.append(line)
    return lines


def _main_value(full: str, option: Option) -> str:
    """The default of an option of every cell. A phase takes an option that it does not set from its shorthand."""
    phase, _, name = full.partition(".")
    if full in SHORTHANDS:
        # Missing, so that ${oc.select:...} takes the phase's own default.
        return "???"
    if phase in ("pretrain", "finetune") and name in SHORTHANDS:
        return f"${{oc.select:{name},{written(option.default)}}}"
    return BY_REFERENCE.get(full, written(option.default))


def _n_shared(first: list[str], second: list[str]) -> int:
    """How many groups two places share, from the outermost on."""
    n = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        n += 1
    return n


def _option_lines(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        yield from _lines_of(option.name, written(option.default), option, WIDTH - 4)


def _lines_of(name: str, value: str, option: Option, width: int) -> list[str]:
    """An option with its comment: behind its value, or before it if the line would be too long."""
    comment = meaning_of(option)
    line = f"{name}: {value}"
    if len(line) + len(comment) + 3 <= width:
        return [f"{line} # {comment}"]
    return [*textwrap.wrap(comment, width, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False), line]


def meaning_of(option: Option) -> str:
    """What an option does, with its type and the values allowed in parentheses."""
    values = "; ".join(filter(None, (option.type_name, option.allowed)))
    return f"{option.meaning} ({values})".lstrip()


def written(value: Any) -> str:
    """A value in YAML, on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")


def read_choice(file: Path, section: str) -> DocumentedChoice:
    """The choice of an axis that a file documents.

    Args:
        file: of the choice.
        section: of the configuration that the file sets.
    """
    text = file.read_text(encoding="utf-8")
    header = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @"):
            header.append(line.removeprefix("#").strip())
    is_global = text.startswith(f"# @package {GLOBAL}")
    options = []
    for option in documented(text):
        name = option.name if is_global else f"{section}.{option.name}"
        # Values of other sections are what a part is used with, and no options of it.
        if name.startswith(f"{section}."):
            options.append(DocumentedOption(name, option.default, option.meaning))
    return DocumentedChoice(file.stem, " ".join(header), tuple(options))


def documented(text: str) -> Iterator[DocumentedOption]:
    """The options of a file that have a comment, by their dotted names within it."""
    values: Any = yaml.safe_load(text) or {}
    groups: list[str] = []
    comment_lines: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment_lines.append(stripped.removeprefix("#").strip())
            continue
        found = re.match(r"( *)(\w+):", line)
        if found:
            groups = [*groups[: len(found[1]) // 2], found[2]]
            _, _, trailing_comment = line.partition(" # ")
            comment = trailing_comment or " ".join(comment_lines)
            value = _nested_value(values, groups)
            # A group has no comment of its own; the comment at the top of a file is of the whole file.
            if comment.endswith(")") and not isinstance(value, dict):
                yield DocumentedOption(".".join(groups), value, comment)
        comment_lines = []


def _nested_value(values: Any, groups: list[str]) -> Any:
    for group in groups:
        values = values[group]
    return values
