"""The command lines. Whatever is wrong is answered in a sentence, and decides the exit status.

Heavy packages are imported after the first line is on the screen.
"""

import atexit
import gc
import os
import signal
import sys
import warnings
from argparse import ArgumentError, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NoSubjectError, RecordWarning, UnfinishedError, UsageError, explained
from ..machine import without_garbage_collection
from ..sweeping.folders import CONF
from ..version import __version__
from .process import Terminated, ended_by_signals, give_up_full_output, prepare_streams

if TYPE_CHECKING:
    from .report_command import WrittenReport

OPEN = 3
"""The exit status of `scarf report` where of no comparison we can tell."""
USAGE = """\
{program} sweeps=NAME [AXIS=OPTION ...]      a sweep's answer, figures and tables; overrides narrow it
{program} results=FOLDER [AXIS=OPTION ...]   all cells in a folder, or those with these options: dataset=iris

  out=FOLDER                    folder to write to (reports/NAME)
  sections=[MODULE]             more sections, made by the function report_section of each module
  plugins=[MODULE]              modules of the parts and metrics of your own that cells use
  --config-dir FOLDER           files of yours: FOLDER/experiment/NAME.yaml is +experiment=NAME
{options}
"""

MODES = ("--multirun", "-m", "--run", "-r")
"""Flags of Hydra's that change nothing: a plain run is a sweep of one cell."""
SHOWING = ("--help", "-h", "--cfg", "-c", "--info", "-i", "--hydra-help", "--shell-completion", "-sc")
"""Flags of Hydra's that show something and train nothing."""
HELP = frozenset({"-h", "--help"})
READING = "Reading the configuration ...\n"
"""The first line, which comes before the imports."""
REFUSED = {
    "experimental_rerun": "--experimental-rerun reads a job that Hydra pickled, and no run leaves one; repeat the "
    "command instead.",
} | dict.fromkeys(
    ("config_name", "config_path"),
    "This program has one configuration; files of yours go into a folder: --config-dir FOLDER +experiment=NAME.",
)
"""Flags of Hydra's that lead nowhere here, by their names in its parser."""
FORMAT_OF_OTHERS = warnings.formatwarning


def run_train(arguments: list[str]) -> None:
    """Train by a command line."""
    if "--version" in arguments:
        sys.stdout.write(f"scarf-lightning {__version__}\n")
        return
    # A program may read what these flags print, so nothing else is printed before it.
    shows_one = any(argument.partition("=")[0] in SHOWING for argument in arguments)
    if not shows_one:
        sys.stderr.write(READING)

    with without_garbage_collection():
        import hydra
        from hydra.errors import ConfigCompositionException

        from ..sweeping.compose import OF_TODAY, named_plugins, offer, parsed, search_path
        from .running import refuse_untaken, sweeping, train_job

    namespace = _parse(arguments)
    overrides = namespace.overrides
    plugins = named_plugins(overrides)
    if not shows_one:
        refuse_untaken(plugins)
    # Hydra would answer a choice that is no name by a traceback.
    parsed(overrides)
    # Other sweepers than ours leave this file in the working folder.
    record = Path("multirun.yaml").absolute()
    was_there = record.exists()
    try:
        if not shows_one and "hydra.mode=RUN" not in overrides:
            with sweeping(overrides, namespace.config_dir) as sweep:
                sweep()
            return
        # Hydra reads its flags from the process's arguments alone, and takes no options on both sides of one.
        flags = [argument for argument in arguments if argument not in (*overrides, *MODES)]
        sys.argv[1:] = [*flags, *search_path(namespace.config_dir), *overrides]
        offer(plugins)
        main = hydra.main(config_path=str(CONF), config_name="train", **OF_TODAY)
        try:
            main(train_job)()
        # Hydra ends the process after its page of help.
        except SystemExit as ended:
            if ended.code or not namespace.help:
                raise
            sys.stdout.write(_document(overrides))
    # Hydra calls a comma an ambiguous value, and advises --multirun, which would train.
    except ConfigCompositionException as error:
        if shows_one and "Ambiguous value" in str(error):
            raise UsageError("This flag shows the configuration of one cell; give every option one value.") from error
        raise
    finally:
        if not was_there:
            record.unlink(missing_ok=True)


def _parse(arguments: Sequence[str]) -> Namespace:
    """The flags and the options of a command line, as Hydra's own parser reads them.

    Raises:
        UsageError: a word is neither, or a flag leads nowhere.
    """
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    # It must not end the process.
    parser.exit_on_error = False
    try:
        namespace, unknown = parser.parse_known_intermixed_args(arguments)
    except ArgumentError as error:
        raise UsageError(f"{str(error).removeprefix('argument ')}.") from error
    for flag in unknown:
        name, _, value = flag.lstrip("-").partition("=")
        raise UsageError(f"{flag} is not known; options have no dashes: {name}={value or 'VALUE'}.")
    for name, sentence in REFUSED.items():
        if getattr(namespace, name) is not None:
            raise UsageError(sentence)
    if (namespace.resolve or namespace.package) and not namespace.cfg:
        raise UsageError("--resolve and --package go with --cfg; add it, or leave them out.")
    return namespace


def _document(choices: Sequence[str]) -> str:
    """The files of `conf/`, with a comment on each option: of the choices of a command line, or of every cell."""
    files = [CONF / f"{choice.replace('=', '/', 1)}.yaml" for choice in choices]
    pages = []
    for file in [each for each in files if each.is_file()] or [CONF / "train.yaml"]:
        pages.append(f"# {file.relative_to(CONF.parent)}\n{file.read_text(encoding='utf-8')}")
    return "\n".join(pages)


def run_report(arguments: list[str]) -> "WrittenReport | None":
    """Write the report of a command line and print its answer; None if the line is a request for help."""
    if not HELP.isdisjoint(arguments):
        from ..reporting.report_options import help_lines
        from ..screen import program

        sys.stdout.write(USAGE.format(program=program("report.py"), options="\n".join(help_lines())))
        return None
    # Before the imports, which take seconds.
    if not arguments:
        raise NoSubjectError
    with without_garbage_collection():
        from ..sweeping.compose import values_of
        from .report_command import OWN, report

    namespace = _parse(arguments)
    overrides = [word for word in namespace.overrides if word.partition("=")[0] not in OWN]
    written_report = report(overrides, config_dir=namespace.config_dir, **values_of(namespace.overrides, OWN))
    _say(str(written_report), stderr=False)
    return written_report


def answered(command: Callable[[list[str]], object], arguments: list[str] | None = None) -> int:
    """Run a command on these arguments, or on those of this process, and return its exit status.

    A command that returns no number, such as one that returns the page it wrote, has succeeded.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    # At its end Python would look through all modules for garbage once more.
    atexit.register(gc.freeze)
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    # Hydra's own handler would swallow the exception and print its frames.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    warnings.formatwarning = _format_warning
    try:
        with ended_by_signals():
            status = command(arguments)
        # A closed output fails here, and not when Python ends.
        sys.stdout.flush()
    # A shell reports a process that a signal ended by 128 and the signal's number, and so do we.
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; the same command goes on where it ended.\n")
        return 128 + signal.SIGINT
    except Terminated:
        sys.stderr.write("Ended by SIGTERM; the same command goes on where it ended.\n")
        return 128 + signal.SIGTERM
    # The reader has gone, as after ``| head``. The status is the shell's for a program that wrote on.
    except BrokenPipeError:
        give_up_full_output()
        return 128 + signal.SIGPIPE
    except Exception as error:
        give_up_full_output()
        problem = _problem(error)
        # A mistake in the code keeps its traceback.
        if wants_traceback or problem is None:
            raise
        _say(str(problem), stderr=True)
        return problem.status
    finally:
        warnings.formatwarning = FORMAT_OF_OTHERS
    return status if isinstance(status, int) else 0


train = partial(answered, run_train)
"""`train.py`: Hydra composes the command line, our sweeper expands and checks it, and `train_job` trains."""
report = partial(answered, run_report)
"""`report.py`: read the results, compare them, and write the page."""


def _format_warning(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> str:
    """A warning as it is printed, without the line of code for a record, which means nothing to its owner."""
    # Imports rich.
    from ..screen import escaped

    # It may quote a file.
    return escaped(
        f"{message}\n"
        if issubclass(category, RecordWarning)
        else FORMAT_OF_OTHERS(message, category, *where, **options)
    )


def _say(text: str, *, stderr: bool) -> None:
    """Write a text; on a terminal its lines break between words."""
    # Imports rich.
    from ..screen import screen

    screen(stderr=stderr).say(text)


def _problem(error: Exception) -> UsageError | UnfinishedError | None:
    """The mistake in words for the user; None if the code is wrong."""
    if isinstance(error, (UsageError, UnfinishedError)):
        return error
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from ..sweeping.compose import usage_error

    if isinstance(error, (HydraException, OmegaConfBaseException)):
        return usage_error(error)
    # For instance, a disk is full or a folder lacks rights.
    reason = explained(error)
    return UnfinishedError(reason) if reason else None
