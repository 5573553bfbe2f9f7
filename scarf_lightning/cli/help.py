"""The pages of ``train.py --help`` and ``train.py --help AXIS``, made from the configuration folder."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..options.axes import AXES, BASES, first_paragraph, is_own, parts
from ..options.conf_files import DocumentedOption, documented, meaning_of, read_choice
from ..options.option import options_of
from ..options.reference import shown
from ..options.run_settings import PathSettings
from ..screen import program

SUITE = "cc18-"
"""The beginning of the names of the paper's datasets."""
COMMANDS = (
    ("train.py", "SCARF on a bundled dataset"),
    ("train.py -m corruption=mean,marginal scaling=zscore,minmax", "an ablation: four cells, one table"),
    ("train.py pretrain=none,scarf 'regime=glob(*)' trials=30", "SCARF against no pre-training, in every regime"),
    ("train.py dataset=csv dataset.path=F dataset.target=C", "your own table; its column C is predicted"),
    ("train.py corruption.rate=0.3,0.6,0.9", "an option of an axis"),
    ("train.py max_epochs=50 batch_size=64", "of both phases; pretrain.max_epochs sets one of them"),
    ("train.py sweeps=quick", "all cells behind a figure or table"),
    ("train.py sweeps=temperature dataset=wdbc plan=true", "what is left to train, and how long it takes"),
)


def help_page(conf: Path) -> Group:
    """From the configuration folder and the sweeps beside it: axes with their options and defaults, sweeps, commands to
    try, and where results go; the parts of imported plugins too."""
    main = yaml.safe_load((conf / "train.yaml").read_text(encoding="utf-8"))
    # An entry that is no dictionary is `_self_`.
    defaults: dict[str, str] = {}
    for entry in main["defaults"]:
        if isinstance(entry, dict):
            defaults |= entry
    axes = Table("axis", "what it is", "default", "options", box=box.SIMPLE_HEAD)
    for axis in AXES:
        # The launcher's default is Hydra's own, and no file of ours has it.
        default = str(defaults.get(axis.name, "basic") or "")
        options = ", ".join(_options(conf / axis.name))
        axes.add_row(axis.name, axis.meaning, default, options)
    files = (conf.parent / "sweeps").glob("*.yaml")
    sweeps = ", ".join(sorted(path.stem for path in files))
    commands = Table(box=None, show_header=False, padding=(0, 2))
    for command, meaning in COMMANDS:
        commands.add_row(command.replace("train.py", program("train.py")), meaning)
    return Group(
        Text("Does self-supervised pre-training help on a table, and which part of it matters?\n"),
        Text(f"{program('train.py')} [AXIS=OPTION ...] [AXIS.OPTION=VALUE ...]\n"),
        Text("Commas train every combination: AXIS=A,B. All are checked before the first one trains."),
        axes,
        Text("--help AXIS shows the options of an axis, with their defaults and meaning.\n"),
        Text(f"sweeps=NAME trains the cells behind a figure or table: {sweeps}; sweeps=all trains all of these.\n"),
        Text("To try:\n"),
        commands,
        Text(
            f"\nResults go to {PathSettings().results}/ (paths.results=FOLDER); finished cells are not trained again."
        ),
        Text("--cfg job shows everything that can be set, --hydra-help what Hydra itself offers."),
    )


def axis_page(conf: Path, axis: str) -> Group:
    """The choices of an axis with their meaning, and the options of each: default, meaning, type and allowed values."""
    lines: list[RenderableType] = []
    section = axis.replace("/", ".")
    train_options = documented((conf / "train.yaml").read_text(encoding="utf-8"))
    common = [option for option in train_options if option.name.startswith(f"{section}.")]
    if common:
        lines += [Text(f"{axis}: of every choice"), _table(common)]
    for file in sorted((conf / axis).glob("*.yaml")):
        # Seventy lines of datasets would hide the others.
        if file.stem.startswith(SUITE):
            continue
        choice = read_choice(file, section)
        lines.append(Text(f"{axis}={choice.name}   {choice.meaning}"))
        lines.append(_table(choice.options) if choice.options else Text())
    for name, cls in sorted(_imported(axis).items()):
        lines.append(Text(f"{axis}={name}   {first_paragraph(cls)}"))
        place = "network.encoder" if axis == "network" else section
        options = []
        for option in options_of(cls).values():
            options.append(DocumentedOption(f"{place}.{option.name}", option.default, meaning_of(option)))
        lines.append(_table(options) if options else Text())
    return Group(*lines)


def _table(options: Iterable[DocumentedOption]) -> Table:
    table = Table("option", "default", "meaning", box=box.SIMPLE_HEAD)
    for option in options:
        table.add_row(option.name, shown(option.default), option.meaning)
    return table


def _imported(axis: str) -> dict[str, type[Any]]:
    """The parts of an axis that plugins brought; none if no class of parts was imported."""
    module = BASES.get(axis, "").partition(":")[0]
    if module not in sys.modules:
        return {}
    return {name: cls for name, cls in parts(axis).items() if not is_own(cls)}


def _options(group: Path) -> list[str]:
    """The options of a group; the paper's datasets count as one."""
    names = {path.stem for path in group.glob("*.yaml")} | set(_imported(group.name))
    options, n_of_suite = list[str](), 0
    for name in sorted(names):
        if name.startswith(SUITE):
            n_of_suite += 1
        else:
            options.append(name)
    if n_of_suite:
        options.append(f"cc18-NAME ({n_of_suite})")
    return options
