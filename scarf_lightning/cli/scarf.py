"""`scarf`, one command with a sub-command for each job.

Each sub-command is a function of its arguments, and returns an exit status.
"""

import sys
from pathlib import Path

from ..errors import UsageError, unknown_name
from ..options.settings import expanded
from ..version import __version__
from . import commands
from .commands import HELP, answered

MEANINGS = {
    "train": "train one cell, or every combination of options",
    "plan": "what scarf train with these options would train, and how long that takes",
    "report": "the answer, figures and tables of what was trained",
    "results": "a line for each cell in a FOLDER (results)",
    "check": "try the parts of MODULE, a file or module of yours, before they train",
}
"""The sub-commands, in the order of a user's work."""
USAGE = """\
scarf COMMAND ...

{commands}

--help after train, plan or report says more. Exit status: 0 answered, or done;
1 not finished; 2 a mistake in the command; 3 undecided (report).
"""
SHOWN_LETTERS = 6
"""Letters of a fingerprint in a table."""
LEADING = ("accuracy", "rmse")
"""Metrics in a table: of classes, and of numbers."""


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
        report = commands.run_report(words)
        return commands.OPEN if report is not None and report.is_open else 0
    if command == "--version":
        sys.stdout.write(f"scarf-lightning {__version__}\n")
    elif not HELP.isdisjoint((command, *words)):
        lines = (f"  {name:10}{meaning}" for name, meaning in MEANINGS.items())
        sys.stdout.write(USAGE.format(commands="\n".join(lines)))
    elif command not in MEANINGS:
        fault = f"scarf has no command {command}"
        raise UsageError(unknown_name(fault, command, MEANINGS, "its commands", full_list="scarf --help"))
    elif command == "results" and len(words) < 2:
        show_cells(expanded(words[0] if words else "results"))
    elif command == "check" and len(words) == 1:
        return check(words[0])
    else:
        raise UsageError(f"scarf {command} takes one {'MODULE' if command == 'check' else 'FOLDER'}.")
    return 0


def show_cells(folder: Path) -> None:
    """Print a line for each cell in a folder of results: the options in which cells differ, and their leading metric.

    Raises:
        UsageError: as by `scarf_lightning.load`.
    """
    from ..options.axes import COLUMNS
    from ..results import load
    from ..screen import screen

    trials = load(folder)
    trials["cell"] = trials["fingerprint"].str[:SHOWN_LETTERS]
    # The name of an option has a dot, but for the choice of an axis.
    options = [name for name in map(str, trials) if name in (*COLUMNS, "fit_on", "seed") or "." in name]
    factors = [name for name in options if trials[name].nunique() > 1]
    # A cell has the metric of its target, and a folder may hold both kinds.
    metrics = [name for name in LEADING if name in trials]
    metric = " or ".join(metrics)
    trials[metric] = trials[metrics].max(axis="columns")
    cells = trials.groupby(["cell", *factors], sort=False, dropna=False)[metric]
    table = cells.agg(["mean", "std", "count"]).set_axis([metric, "std", "trials"], axis="columns").reset_index()
    # Some columns have a missing value of pandas, which would be printed as <NA>.
    table[factors] = table[factors].astype(object).where(table[factors].notna(), "")
    screen().print(table.to_string(index=False, na_rep="", float_format="{:.4g}".format), soft_wrap=True)


def check(module: str) -> int:
    """Try the parts of a module of the user's, and print a sentence on each."""
    from ..trying import check_module

    # A shell completes the name of a file.
    verdicts = check_module(module.removeprefix("./").removesuffix(".py") or module)
    sys.stdout.write("".join(f"{verdict}\n" for verdict in verdicts))
    return 0 if all(verdict.fault is None for verdict in verdicts) else UsageError.status


if __name__ == "__main__":
    sys.exit(scarf())
