"""The page that `train.py --help` shows, made from the configuration folder."""

from pathlib import Path

import yaml
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..config.axes import AXES

COMMANDS = (
    ("train.py", "SCARF on a bundled dataset"),
    ("train.py -m corruption=mean,marginal scaling=zscore,minmax", "an ablation: four cells, one table"),
    ("train.py pretrain=none,scarf 'regime=glob(*)' trials=30", "against no pre-training, in every regime"),
    ("train.py dataset=csv dataset.path=F dataset.target=C", "your own table, its column C the classes"),
    ("train.py corruption.rate=0.3,0.6,0.9", "an option of an axis"),
    ("train.py batch_size=64,128,256", "of both phases; pretrain.batch_size is one of them"),
    ("train.py sweeps=quick", "all cells behind a figure or table"),
    ("train.py sweeps=temperature dataset=wdbc plan=true", "what there is to do, and how long it takes"),
)


def help_page(conf: Path) -> Group:
    """Axes with their options and defaults, sweeps, commands to try, and where results go.

    Args:
        conf: the configuration folder; sweeps are beside it.
    """
    main = yaml.safe_load((conf / "train.yaml").read_text(encoding="utf-8"))
    defaults = {axis: entry[axis] for entry in main["defaults"] if isinstance(entry, dict) for axis in entry}
    axes = Table("axis", "what it is", "default", "options", box=box.SIMPLE_HEAD)
    for axis in AXES:
        default = str(defaults.get(axis.name, "basic"))
        axes.add_row(axis.name, axis.meaning, default, ", ".join(_options(conf / axis.name)))
    sweeps = ", ".join(sorted(path.stem for path in (conf.parent / "sweeps").glob("*.yaml")))
    commands = Table(box=None, show_header=False, padding=(0, 2))
    for command, meaning in COMMANDS:
        commands.add_row(f"python {command}", meaning)
    return Group(
        Text("Does self-supervised pre-training help on a table, and which part of it matters?\n"),
        Text("python train.py [AXIS=OPTION ...] [AXIS.OPTION=VALUE ...]\n"),
        Text("Commas train every combination: AXIS=A,B. All are checked before the first one trains."),
        axes,
        Text(f"sweeps=NAME trains the cells behind a figure or table: {sweeps}; sweeps=all those of all.\n"),
        Text("To try:\n"),
        commands,
        Text(
            f"\nResults go to {main['paths']['results']}/ (paths.results=FOLDER); finished cells are not trained again."
        ),
        Text("--cfg job shows everything that can be set, --hydra-help what Hydra itself offers."),
    )


def _options(group: Path) -> list[str]:
    """The options of a group; the paper's datasets count as one."""
    names = sorted(path.stem for path in group.glob("*.yaml"))
    suite = [name for name in names if name.startswith("cc18-")]
    return [name for name in names if name not in suite] + ([f"cc18-NAME ({len(suite)})"] if suite else [])
