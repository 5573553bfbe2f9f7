"""`scarf`, one command with a sub-command for each job.

Each sub-command is a function of its arguments and returns an exit status, see `STATUS`.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError, did_you_mean
from ..version import __version__
from . import commands, completion
from .commands import HELP, answered
from .streams import prepare_streams

if TYPE_CHECKING:
    from .reporting import WrittenReport

STATUS = """\
Exit status: 0 answered, or done; 1 not finished; 2 a mistake in the command; 3 we cannot tell (answer and report)."""
JSON = "--json"
"""Prints one JSON object on standard output; everything else goes to standard error."""

ANSWER = """\
scarf answer FILE TARGET [OPTION=VALUE ...]   which model to use, and does pre-training help, with how many labels?
scarf answer                                  the same of a bundled table

  time_limit=10min   time of the whole command; the same command goes on
  trials=N           so many trials of everything, in the place of rounds
  --json             print one JSON object

The same as: scarf train sweeps=answer dataset.path=FILE dataset.target=TARGET
"""
PLAN = """\
scarf plan [OPTION=VALUE ...]   what `scarf train` with these options would train, and how long that takes

  --json   print one JSON object
"""
CHECK = """\
scarf check MODULE [NAME]   try the parts of a module of yours on two small tables, or the one of this name

Each class is taken, or a sentence says what to change. Before each run that names the module in plugins=[MODULE] the
same is done without a word, once for each version of its source.
"""
OPTIONS = """\
scarf options [AXIS ...]   everything that can be chosen; of an axis, every choice with its options

  plugins=[MODULE]   parts of your own, too
"""
DOCTOR = """\
scarf doctor [results=FOLDER]   versions, machine and store, for a report of a fault

It shows nothing secret: paths below your home begin with ~, and of the environment it shows a few variables that decide
how numbers are computed.
"""
COMPLETION = """\
scarf completion SHELL   a script for bash or zsh that completes what you type

  bash   scarf completion bash > ~/.local/share/bash-completion/completions/scarf
  zsh    scarf completion zsh > "${fpath[1]}/_scarf"

After an update of the package, write it again.
"""


@dataclass(frozen=True)
class SubCommand:
    """A sub-command.

    Attributes:
        usage: its arguments.
        meaning: in a few words, for the list of all.
        run: takes its arguments and returns the exit status.
    """

    usage: str
    meaning: str
    run: Callable[[list[str]], int]


def scarf() -> int:
    """`scarf COMMAND ...`: run a sub-command, and return its exit status."""
    prepare_streams()
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in HELP:
        sys.stdout.write(_help_page())
        return 0
    if name == "--version":
        sys.stdout.write(f"scarf-lightning {__version__}\n")
        return 0
    # Nothing is imported for a word that is no command, so the answer comes at once.
    if name not in SUB_COMMANDS:
        known = ", ".join(SUB_COMMANDS)
        sys.stderr.write(f"scarf has no command {name}; it has: {known}.{did_you_mean(name, SUB_COMMANDS)}\n")
        return UsageError.status
    return SUB_COMMANDS[name].run(arguments)


def _help_page() -> str:
    width = max(len(f"{name} {each.usage}") for name, each in SUB_COMMANDS.items())
    lines = ["scarf COMMAND ...\n"]
    for name, each in SUB_COMMANDS.items():
        lines.append(f"  {f'{name} {each.usage}':<{width}}   {each.meaning}")
    lines.append(f"\nscarf COMMAND --help says more of each, scarf --version which version this is.\n{STATUS}\n")
    return "\n".join(lines)


def _asks_help(arguments: Sequence[str]) -> bool:
    return not HELP.isdisjoint(arguments)


def _train(arguments: list[str]) -> int:
    return answered(_train_alone, arguments)


def _train_alone(arguments: list[str]) -> None:
    commands.run_train(arguments)


def _plan(arguments: list[str]) -> int:
    if _asks_help(arguments):
        sys.stdout.write(PLAN)
        return 0
    if JSON in arguments:
        return answered(_plan_as_json, arguments)
    # The last of two options wins, so plan=false before it trains nothing.
    return answered(_train_alone, [*arguments, "plan=true"])


def _plan_as_json(arguments: list[str]) -> None:
    from .api import plan
    from .as_json import of_plan, write

    write(of_plan(plan(_without_json(arguments))))


def _answer(arguments: list[str]) -> int:
    if _asks_help(arguments):
        sys.stdout.write(f"{ANSWER}{STATUS}\n")
        return 0
    return answered(_answer_in_words_or_json, arguments)


def _answer_in_words_or_json(arguments: list[str]) -> int:
    asked = commands.answer_arguments(_without_json(arguments))
    if JSON not in arguments:
        return _status(commands.run_train(asked))
    from .as_json import of_report, to_stderr, write

    # Progress and tables are shown as ever, and a script reads the one object on standard output.
    with to_stderr():
        written = commands.run_train(asked)
    # A plan, or help, has no report.
    if written is not None:
        write(of_report(written))
    return _status(written)


def _report(arguments: list[str]) -> int:
    return answered(_report_in_words_or_json, arguments)


def _report_in_words_or_json(arguments: list[str]) -> int:
    if JSON not in arguments:
        return _status(commands.run_report(arguments))
    from .as_json import of_report, to_stderr, write

    with to_stderr():
        written = commands.run_report(_without_json(arguments))
    if written is not None:
        write(of_report(written))
    return _status(written)


def _without_json(arguments: Sequence[str]) -> list[str]:
    return [argument for argument in arguments if argument != JSON]


def _status(written: "WrittenReport | None") -> int:
    """The exit status of a report: `OPEN` if of no comparison in it we can tell."""
    return commands.OPEN if written is not None and written.is_open else 0


def _predict(arguments: list[str]) -> int:
    # It answers mistakes by itself, and needs neither Hydra nor the store.
    from .predict import main

    return main(arguments)


def _results(arguments: list[str]) -> int:
    from .browsing import browse

    return answered(browse, arguments)


def _options(arguments: list[str]) -> int:
    if _asks_help(arguments):
        sys.stdout.write(OPTIONS)
        return 0
    return answered(commands.show_help, arguments)


def _check(arguments: list[str]) -> int:
    if _asks_help(arguments) or not arguments:
        sys.stdout.write(CHECK)
        return 0
    return answered(_check_in_words, arguments)


def _check_in_words(arguments: list[str]) -> int:
    from ..trying import check_module

    if len(arguments) > 2:
        raise UsageError("scarf check takes a module and the name of one of its parts: scarf check my_parts Median.")
    verdicts = check_module(*arguments)
    sys.stdout.write("".join(f"{verdict}\n" for verdict in verdicts))
    return 0 if all(verdict.fault is None for verdict in verdicts) else UsageError.status


def _doctor(arguments: list[str]) -> int:
    if _asks_help(arguments):
        sys.stdout.write(DOCTOR)
        return 0
    from .doctor import doctor

    return answered(doctor, arguments)


def _completion(arguments: list[str]) -> int:
    if _asks_help(arguments) or not arguments:
        sys.stdout.write(COMPLETION)
        return 0
    return answered(_write_completion, arguments)


def _write_completion(arguments: list[str]) -> None:
    shell, *others = arguments
    if others or shell not in completion.SHELLS:
        raise UsageError(f"scarf completion takes one of: {', '.join(completion.SHELLS)}.")
    sys.stdout.write(completion.script(shell, list(SUB_COMMANDS)))


SUB_COMMANDS = {
    "answer": SubCommand("FILE TARGET", "which model to use on a table; does pre-training help?", _answer),
    "train": SubCommand("[AXIS=OPTION ...]", "train one cell, or every combination of options", _train),
    "plan": SubCommand("[AXIS=OPTION ...]", "what train would do, and how long it takes", _plan),
    "report": SubCommand("sweeps=NAME|results=FOLDER", "the answer, figures and tables of what was trained", _report),
    "predict": SubCommand("MODEL FILE", "predict the rows of a file", _predict),
    "results": SubCommand("ls|drop|export", "look through what was trained", _results),
    "check": SubCommand("MODULE [NAME]", "try the parts of a module of yours before they train", _check),
    "options": SubCommand("[AXIS ...]", "what can be chosen, and what it means", _options),
    "doctor": SubCommand("[results=FOLDER]", "versions, machine and store, for a report of a fault", _doctor),
    "completion": SubCommand("bash|zsh", "let the shell complete what you type", _completion),
}
"""The sub-commands by name."""

if __name__ == "__main__":
    sys.exit(scarf())
