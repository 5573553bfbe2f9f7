"""The pages of ``train.py --help`` and ``train.py --help AXIS``, made from the configuration folder."""

from collections.abc import Iterator
from pathlib import Path

import yaml
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..options.axes import AXES, BASES
from ..options.catalogue import descriptions
from ..options.reference import DESCRIBED, choices, shown
from ..options.settings import PathSettings
from ..screen import program

SUITE = "cc18-"
"""The beginning of the names of the paper's datasets."""
COMMANDS = (
    ("train.py", "SCARF on a bundled dataset"),
    (
        "train.py -m corruption=mean,marginal scaling=zscore,minmax",
        "an ablation: four cells, one table",
    ),
    (
        "train.py pretrain=none,scarf 'regime=glob(*)' trials=30",
        "SCARF against no pre-training, in every regime",
    ),
    (
        "train.py dataset=csv dataset.path=F dataset.target=C",
        "your own table; its column C is predicted",
    ),
    ("train.py corruption.rate=0.3,0.6,0.9", "an option of an axis"),
    (
        "train.py max_epochs=50 batch_size=64",
        "of both phases; pretrain.max_epochs sets one of them",
    ),
    ("train.py sweeps=quick", "all cells behind a figure or table"),
    (
        "train.py sweeps=temperature dataset=wdbc plan=true",
        "what is left to train, and how long it takes",
    ),
)


def help_page(conf: Path) -> Group:
    """From the configuration folder and the sweeps beside it: axes with their options and defaults, sweeps, commands to
    try, and where results go; the parts of imported plugins too."""
    main = yaml.safe_load((conf / "train.yaml").read_text(encoding="utf-8"))
    defaults = {
        axis: entry[axis]
        for entry in main["defaults"]
        if isinstance(entry, dict)
        for axis in entry
    }
    axes = Table("axis", "what it is", "default", "options", box=box.SIMPLE_HEAD)
    for axis in AXES:
        default = str(defaults.get(axis.name, "basic"))
        axes.add_row(
            axis.name, axis.meaning, default, ", ".join(_options(conf / axis.name))
        )
    sweeps = ", ".join(
        sorted(path.stem for path in (conf.parent / "sweeps").glob("*.yaml"))
    )
    commands = Table(box=None, show_header=False, padding=(0, 2))
    for command, meaning in COMMANDS:
        commands.add_row(command.replace("train.py", program("train.py")), meaning)
    return Group(
        Text(
            "Does self-supervised pre-training help on a table, and which part of it matters?\n"
        ),
        Text(f"{program('train.py')} [AXIS=OPTION ...] [AXIS.OPTION=VALUE ...]\n"),
        Text(
            "Commas train every combination: AXIS=A,B. All are checked before the first one trains."
        ),
        axes,
        Text(
            "--help AXIS shows the options of an axis, with their defaults and meaning.\n"
        ),
        Text(
            f"sweeps=NAME trains the cells behind a figure or table: {sweeps}; sweeps=all trains all of these.\n"
        ),
        Text("To try:\n"),
        commands,
        Text(
            f"\nResults go to {PathSettings().results}/ (paths.results=FOLDER); finished cells are not trained again."
        ),
        Text(
            "--cfg job shows everything that can be set, --hydra-help what Hydra itself offers."
        ),
    )


def axis_page(conf: Path, axis: str) -> Group:
    """The choices of an axis with their meaning, and the options of each: default, type and allowed values."""
    lines: list[RenderableType] = []
    if (
        axis not in BASES and axis != "cotrain"
    ):  # its files hold settings, which no class describes
        for file in sorted((conf / axis).glob("*.yaml")):
            if not file.stem.startswith(SUITE):
                settings = " ".join(_settings(axis.replace("/", "."), file))
                lines.append(Text(f"{axis}={file.stem}   {settings or 'the defaults'}"))
    for choice in choices(axis) if axis in DESCRIBED else []:
        lines.append(
            Text(
                f"{axis}={choice.name}   {choice.meaning}"
                if choice.name
                else choice.meaning
            )
        )
        table = Table(
            "option", "default", "type", "allowed", "meaning", box=box.SIMPLE_HEAD
        )
        for name, option in choice.options.items():
            table.add_row(
                name,
                shown(option.default),
                option.type_name,
                option.allowed,
                option.meaning,
            )
        lines.append(table if choice.options else Text())
    return Group(*lines)


def _settings(axis: str, file: Path) -> Iterator[str]:
    """The choices of a file, as the command line writes it."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    is_global = file.read_text(encoding="utf-8").startswith("# @package _global_")
    waiting = [("" if is_global else axis, content)]
    while waiting:
        place, value = waiting.pop(0)
        if isinstance(value, dict):
            waiting += [
                (f"{place}.{name}".lstrip("."), inner)
                for name, inner in value.items()
                if name != "defaults"
            ]
        elif place != axis:
            yield f"{place}={shown(value)}"


def _options(group: Path) -> list[str]:
    """The options of a group; the paper's datasets count as one."""
    files = {path.stem for path in group.glob("*.yaml")}
    names = sorted(files | set(descriptions(group.name) if group.name in BASES else ()))
    suite = [name for name in names if name.startswith(SUITE)]
    return [name for name in names if name not in suite] + (
        [f"cc18-NAME ({len(suite)})"] if suite else []
    )
