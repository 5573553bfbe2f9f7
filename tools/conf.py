"""Writes the files of `conf/` from the classes; plain Hydra, ``--help`` and people read them.

python -m tools.conf

A file of a part begins with what is written by hand: Hydra's directives, its defaults list, values of other sections.
From the part's name on it is made from the class: its ``_target_``, and a line for each option with its default and its
meaning. `conf/train.yaml` ends with the options of every cell in the same way. A test holds the files to the classes.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from scarf_lightning.options.axes import (
    AXES,
    BASES,
    TARGET,
    Axis,
    field_names,
    is_own,
    parts,
    target_of,
)
from scarf_lightning.options.config import SHORTHANDS
from scarf_lightning.options.option import Option, options_of
from tools.reference import first_paragraph, main_options, values_of

CONF = Path(__file__).parents[1] / "conf"
GLOBAL = "_global_"
"""The package of a file that names its sections itself."""
NEVER_PRETRAINED = """\
# @package _global_
defaults:
  - override /pretrain: none

"""
"""The first lines in the file of a method that is never pre-trained."""
CORRUPTED = """\
defaults:
  - /corruption@corruption: marginal
  - _self_

"""
"""The first lines in the file of a task of co-training that corrupts rows."""
WIDTH = 120
MADE = "# The options of every cell and run, with their defaults."
"""The line of `conf/train.yaml` below which it is made from the classes."""
NAMES_PART = re.compile(r" *(_target_|name|task): ")
"""The line from which on the file of a part is made from its class."""
BY_REFERENCE = {"finetune.metric": "${metric}", "paths.openml": "${oc.env:OPENML_CACHE_DIR,null}"}
"""Options whose value in `conf/` is that of another option or of the environment."""


def conf_files() -> dict[Path, str]:
    """The files of `conf/` that are made from the classes, by their path."""
    main = CONF / "train.yaml"
    files = {main: main_file(main.read_text(encoding="utf-8"), main_options())}
    for axis in AXES:
        if axis.name not in BASES and axis.name != "cotrain":
            continue
        for name, cls in parts("pretrain" if axis.name == "cotrain" else axis.name).items():
            path = CONF / axis.name / f"{name}.yaml"
            if not is_own(cls) or (axis.name == "cotrain" and not cls.can_cotrain):
                continue
            text = path.read_text(encoding="utf-8") if path.exists() else _first_lines(axis, cls)
            meaning = first_paragraph(cls).replace("|", "\\|").replace("``", "`")
            target = None if axis.name == "cotrain" else target_of(cls)
            files[path] = part_file(text, meaning, axis.name, name, target, options_of(cls).values())
    return files


def _first_lines(axis: Axis, cls: type[Any]) -> str:
    """The lines of a new file that are the author's to change."""
    if axis.name == "method" and not cls.pretrainable:
        return NEVER_PRETRAINED
    return CORRUPTED if axis.name == "cotrain" and "corruption" in field_names(cls) else ""


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
    return f"{option.meaning} ({values_of(option)})".lstrip()


def written(value: Any) -> str:
    """A value in YAML, on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")


if __name__ == "__main__":
    for path, text in conf_files().items():
        path.write_text(text, encoding="utf-8")
