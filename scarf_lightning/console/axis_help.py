"""What `train.py --help AXIS` shows: every choice of an axis, and what can be set of each."""

from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..config.reference import choices


def axis_page(conf: Path, axis: str) -> Group:
    """The choices of an axis with their meaning, and their options with type, default and allowed values.

    Args:
        conf: the configuration folder.
        axis: a folder in it.
    """
    parts: list[RenderableType] = []
    for choice in choices(conf, axis):
        parts.append(Text(f"{axis}={choice.name}   {choice.meaning}"))
        if choice.options:
            table = Table("option", "default", "type", "allowed", "meaning", box=box.SIMPLE_HEAD)
            for option in choice.options:
                table.add_row(option.name, option.default, option.kind, option.allowed, option.meaning)
            parts.append(table)
        else:
            parts.append(Text())
    return Group(*parts)
