"""`scarf`, one command with a sub-command for each job.

Each sub-command is a function of its arguments, and returns an exit status; see `STATUS`.
"""

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..version import __version__
from . import commands
from .commands import answered
from .parser import AXES, JSON, OVERRIDES, Parser

if TYPE_CHECKING:
    from .report_command import WrittenReport

STATUS = """\
Exit status: 0 answered, or done; 1 not finished; 2 a mistake in the command;
3 we cannot tell (report)."""
SHELLS = ("bash", "zsh")

CHECK = """\
Try the parts of a module of yours on two small tables.

Each class is taken, or a sentence says what to change. Each run that names the
module in plugins=[MODULE] begins with the same, without a word.
"""
OPTIONS = """\
Everything that can be chosen; of an axis, every choice with its options.

  plugins=[MODULE]   parts of your own, too
"""
RESULTS = """\
Look through what was trained.

  CELL             the first letters of its fingerprint, as ls lists them
  results=FOLDER   folder of the results (results)
"""
DOCTOR = """\
Versions, machine and store, for a report of a fault.

It shows nothing secret: paths below your home begin with ~, and of the
environment it shows a few variables that decide how numbers are computed.
"""
COMPLETION = """\
A script for bash or zsh that completes what you type.

  bash   scarf completion bash > ~/.local/share/bash-completion/completions/scarf
  zsh    scarf completion zsh > "${fpath[1]}/_scarf"

After an update of the package, write it again.
"""


def scarf() -> int:
    """`scarf COMMAND ...`: run a sub-command, and return its exit status."""
    return answered(run)


def run(arguments: list[str]) -> int:
    """Run a sub-command, and return its exit status.

    Raises:
        UsageError: the arguments are wrong.
    """
    asked, others = make_parser().parse_known_args(arguments)
    if asked.passes_on:
        # Their order tells flags from the values of flags.
        asked.words, others = [argument for argument in arguments[1:] if argument != JSON], []
    for argument in others:
        if argument.startswith("-") or "words" not in asked:
            raise UsageError(f"{argument} is not known; {asked.program} --help names what is.")
        # A flag between words ends the list of words for argparse.
        asked.words.append(argument)
    status: int = asked.run(asked)
    return status


def make_parser() -> Parser:
    """The parser of the whole command line."""
    whole = Parser(prog="scarf", epilog=f"scarf COMMAND --help says more of each.\n{STATUS}")
    whole.add_argument("--version", action="version", version=f"scarf-lightning {__version__}")
    whole.add_commands()
    # The help of these two is made from the options.
    whole.add_command(
        "train",
        "train one cell, or every combination of options",
        _train,
        words=OVERRIDES,
        passes_on=True,
        add_help=False,
    )
    whole.add_command(
        "plan",
        "what scarf train with these options would train, and how long that takes",
        _plan,
        words=OVERRIDES,
        passes_on=True,
        takes_json=True,
    )
    whole.add_command(
        "report",
        "the answer, figures and tables of what was trained",
        _report,
        words=OVERRIDES,
        passes_on=True,
        takes_json=True,
        add_help=False,
    )
    _add_results(whole)
    check = whole.add_command("check", "try the parts of a module of yours before they train", _check, CHECK)
    check.add_argument("module", metavar="MODULE", help="file or module with your classes")
    whole.add_command("options", "what can be chosen, and what it means", _options, OPTIONS, words=AXES)
    whole.add_command(
        "doctor", "versions, machine and store, for a report of a fault", _doctor, DOCTOR, words="results=FOLDER"
    )
    completion = whole.add_command("completion", "let the shell complete what you type", _completion, COMPLETION)
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))
    return whole


def _add_results(whole: Parser) -> None:
    results = whole.add_command("results", "look through what was trained", text=RESULTS)
    results.add_commands()
    results.add_command(
        "ls",
        "every cell, or those with these options, newest first: name, trials, metric, age, version",
        _list_results,
        words=OVERRIDES,
        takes_json=True,
    )
    results.add_command(
        "drop", "set cells aside, so that nothing reads them", _drop_results, words=f"CELL or {OVERRIDES}"
    )
    export = results.add_command(
        "export",
        "a row for each trial, as .csv, .parquet or .json",
        _export_results,
        words=f"FILE {OVERRIDES}",
        usage="scarf results export FILE [AXIS=OPTION ...] [--force]",
    )
    export.add_argument("--force", action="store_true", help="replace a file that is there")


def _train(asked: Namespace) -> int:
    commands.run_train(asked.words)
    return 0


def _plan(asked: Namespace) -> int:
    if not asked.json:
        # The last of two options wins, so plan=false before it trains nothing.
        commands.run_train([*asked.words, "plan=true"])
        return 0
    from .api import plan
    from .as_json import plan_as_json, write

    write(plan_as_json(plan(asked.words)))
    return 0


def _report(asked: Namespace) -> int:
    return _reported(lambda: commands.run_report(asked.words), as_json=asked.json)


def _reported(run: "Callable[[], WrittenReport | None]", *, as_json: bool) -> int:
    """Write a report, and return the exit status: `OPEN` if of no comparison in it we can tell."""
    if as_json:
        from .as_json import report_as_json, to_stderr, write

        # Progress and tables are shown as ever, and a script reads the one object on standard output.
        with to_stderr():
            written = run()
        # A plan, or help, has no report.
        if written is not None:
            write(report_as_json(written))
    else:
        written = run()
    return commands.OPEN if written is not None and written.is_open else 0


def _list_results(asked: Namespace) -> int:
    from .browsing import list_cells

    list_cells(asked.words, as_json=asked.json)
    return 0


def _drop_results(asked: Namespace) -> int:
    from .browsing import drop_cells

    drop_cells(asked.words)
    return 0


def _export_results(asked: Namespace) -> int:
    from .browsing import export_trials

    export_trials(asked.words, force=asked.force)
    return 0


def _options(asked: Namespace) -> int:
    commands.show_help(asked.words)
    return 0


def _check(asked: Namespace) -> int:
    from ..trying import check_module

    verdicts = check_module(asked.module)
    sys.stdout.write("".join(f"{verdict}\n" for verdict in verdicts))
    return 0 if all(verdict.fault is None for verdict in verdicts) else UsageError.status


def _doctor(asked: Namespace) -> int:
    from .doctor import doctor

    doctor(asked.words)
    return 0


def _completion(asked: Namespace) -> int:
    from .completion import script

    sys.stdout.write(script(asked.shell, make_parser()))
    return 0


if __name__ == "__main__":
    sys.exit(scarf())
