"""`scarf`, one command with a sub-command for each job.

Each sub-command is a function of its arguments, and returns an exit status; see `STATUS`.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any, NoReturn

from ..errors import UsageError, counted, unknown_name
from ..options.paths import expanded
from ..version import __version__
from . import commands
from .commands import answered

STATUS = """\
scarf COMMAND --help says more of each.
Exit status: 0 answered, or done; 1 not finished; 2 a mistake in the command;
3 undecided (report)."""
MEANINGS = {
    "train": "train one cell, or every combination of options",
    "plan": "what scarf train with these options would train, and how long that takes",
    "report": "the answer, figures and tables of what was trained",
    "results": "a line for each cell that was trained",
    "check": "try the parts of a module of yours before they train",
}
"""The sub-commands, in the order of a user's work."""
CHECK = """\
Try the parts of a module of yours on two small tables.

Each class is taken, or a sentence says what to change. Each run that names the
module in plugins=[MODULE] begins with the same, without a word.
"""
SHOWN_LETTERS = 6
"""Letters of a fingerprint in a table."""
LEADING = ("accuracy", "rmse")
"""Metrics in a table: of classes, and of numbers."""


class Parser(ArgumentParser):
    """argparse's parser, which refuses in one of our sentences."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help says more.")


def scarf() -> int:
    """`scarf COMMAND ...`: run a sub-command, and return its exit status."""
    return answered(run)


def run(arguments: list[str]) -> int:
    """Run a sub-command, and return its exit status.

    Raises:
        UsageError: the arguments are wrong.
    """
    command, *words = arguments or ["--help"]
    # Hydra reads the arguments of these.
    if command in ("train", "plan"):
        # The last of two options wins, so plan=false before it trains nothing.
        commands.run_train([*words, "plan=true"] if command == "plan" else words)
        return 0
    if command == "report":
        written = commands.run_report(words)
        return commands.OPEN if written is not None and written.is_open else 0
    # Before Python 3.14 argparse names no command that may have been meant.
    if command not in MEANINGS and not command.startswith("-"):
        fault = f"scarf has no command {command}"
        raise UsageError(unknown_name(fault, command, MEANINGS, "its commands", full_list="scarf --help"))
    asked = make_parser().parse_args([command, *words])
    return show_cells(expanded(asked.folder)) if command == "results" else check(asked.module)


def make_parser() -> Parser:
    """The parser of `scarf`, with a sub-command for each job."""
    whole = Parser(prog="scarf", epilog=STATUS, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)
    whole.add_argument("--version", action="version", version=f"scarf-lightning {__version__}")
    added = whole.add_subparsers(title="commands", metavar="COMMAND")
    each = {}
    for name, meaning in MEANINGS.items():
        description = CHECK if name == "check" else f"{meaning[0].upper()}{meaning[1:]}."
        each[name] = added.add_parser(
            name, help=meaning, description=description, formatter_class=RawDescriptionHelpFormatter
        )
    each["results"].add_argument("folder", metavar="FOLDER", nargs="?", default="results", help="(results)")
    each["check"].add_argument("module", metavar="MODULE", help="file or module with your classes")
    return whole


def show_cells(folder: Path) -> int:
    """Print a table of the cells in a folder of results: the options in which they differ, and their leading metric.

    Raises:
        UsageError: as by `scarf_lightning.load`.
    """
    from ..metrics import metric_named
    from ..options.axes import COLUMNS
    from ..reporting.levels import LevelledRows, levels_of_cell
    from ..results import Rows, load
    from ..screen import screen
    from .tables import shared_trials, sweep_table

    trials = load(folder)
    # A cell has an empty place for an option that it does not use.
    known = trials.astype(object).where(trials.notna(), None)
    # The name of an option has a dot, but for the choice of an axis.
    options = [name for name in map(str, trials) if name in COLUMNS or "." in name]
    metric = metric_named(next(name for name in LEADING if name in trials))
    cells: list[tuple[dict[str, Any], Rows]] = []
    for fingerprint, frame in known.groupby("fingerprint", sort=False):
        axes = {"cell": str(fingerprint)[:SHOWN_LETTERS]} | {name: frame[name].iloc[0] for name in options}
        rows = Rows(len(frame), {name: frame[name].tolist() for name in map(str, frame)})
        cells.append((axes, LevelledRows(rows, levels_of_cell(folder / str(fingerprint), rows, metric))))
    if (n_trials := shared_trials(cells)) is not None:
        screen().say(f"{counted(len(cells), 'cell')}; {counted(n_trials, 'trial')} each")
    screen().print(sweep_table(cells, metric))
    return 0


def check(module: str) -> int:
    """Try the parts of a module of the user's, and print a sentence on each."""
    from ..trying import check_module

    verdicts = check_module(module)
    sys.stdout.write("".join(f"{verdict}\n" for verdict in verdicts))
    return 0 if all(verdict.fault is None for verdict in verdicts) else UsageError.status


if __name__ == "__main__":
    sys.exit(scarf())
