"""Writes the files of conf/ from the classes of the parts: what each means, its values and its comments.

python docs/generate.py
"""

from pathlib import Path
from typing import Any

from scarf_lightning.options.axes import AXES, BASES, Axis, field_names, first_paragraph, is_own, parts
from scarf_lightning.options.conf_files import main_file, part_file, target_of
from scarf_lightning.options.option import options_of
from scarf_lightning.options.reference import main_options

CONF = Path(__file__).parents[1] / "conf"
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


def conf_files() -> dict[Path, str]:
    """The files of `conf/` that are made from the classes, by their path, see `scarf_lightning.options.conf_files`."""
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


if __name__ == "__main__":
    for path, text in conf_files().items():
        path.write_text(text, encoding="utf-8")
