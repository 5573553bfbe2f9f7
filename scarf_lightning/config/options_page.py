"""The reference of every option as a Markdown page.

python -m scarf_lightning.config.options_page > docs/options.md
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from .reference import Option, axes, choices, common_options

CONF = Path(__file__).parents[2] / "conf"
INTRODUCTION = """\
# Options

Made by `make docs` from the files in `conf/` and from what checks the options; a test keeps it complete. An axis is
chosen by `AXIS=NAME`, an option set by its dotted name, several values are separated by commas: every combination is
trained. `python train.py --cfg job` prints what a command amounts to.
"""
SUITE = (
    "`cc18-NAME` is one of the 69 datasets of the OpenML-CC18 suite that the paper uses; `dataset=glob(cc18-*)` is all."
)


def page(conf: Path = CONF) -> str:
    """The page.

    Args:
        conf: the configuration folder.
    """
    parts = [INTRODUCTION, "## Of every cell\n", _table(common_options(conf))]
    for axis in axes(conf):
        parts.append(f"## {axis}\n")
        parts += [SUITE + "\n"] if axis == "dataset" else []
        for choice in choices(conf, axis):
            parts.append(f"### {axis}={choice.name}\n")
            parts += [f"{_plain(choice.meaning)}\n"] if choice.meaning else []
            parts += [_table(choice.options)] if choice.options else []
    return "\n".join(parts)


def _table(options: Sequence[Option]) -> str:
    lines = ["| option | default | type | allowed | meaning |", "|---|---|---|---|---|"]
    for option in options:
        entries = (f"`{option.name}`", f"`{option.default}`", option.kind, option.allowed, option.meaning)
        lines.append(f"| {' | '.join(_plain(entry) for entry in entries)} |")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


if __name__ == "__main__":
    sys.stdout.write(page())
