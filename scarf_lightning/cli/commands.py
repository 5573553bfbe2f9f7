"""The command lines. Whatever is wrong is answered in a sentence, and decides the exit status.

Heavy packages are imported after the first line is on the screen.
"""

import atexit
import gc
import os
import signal
import sys
import warnings
from argparse import ArgumentError, ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import NoSubjectError, RecordWarning, UnfinishedError, UsageError, explained
from ..importing import without_garbage_collection
from ..sweeping.flags import CONFIG_DIR, MODES, OF_OTHER_CONFIGURATIONS, SHOWING
from ..sweeping.folders import CONF
from ..version import __version__
from .own_parts import refuse_untaken
from .signals import Terminated, ended_by_signals
from .streams import give_up_full_output, is_reader_gone, prepare_streams, written_together

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

HELP = {"-h", "--help"}
RERUN = "--experimental-rerun"
COMPLETING = {"--shell-completion", "-sc"}
READING = "Reading the configuration ...\n"
"""The first line, which comes before the imports."""


def run_train(arguments: list[str]) -> None:
    """Train by a command line."""
    if "--version" in arguments:
        sys.stdout.write(f"scarf-lightning {__version__}\n")
        return
    flags = [argument.partition("=")[0] for argument in arguments]
    _refuse_flags(flags, arguments)
    # A program may read what these flags print, so no line of ours goes before it.
    shows_one = any(flag in SHOWING for flag in flags)
    if not shows_one:
        sys.stderr.write(READING)

    with without_garbage_collection():
        import hydra
        from hydra.errors import ConfigCompositionException

        from ..sweeping.hydra import OF_TODAY, named_plugins, offer, our_files
        from ..sweeping.overrides import check_choices, check_words, spelled_out
        from .running import sweeping, train_job

        _refuse_dashes(arguments)
        check_words(arguments)

    plugins = named_plugins(arguments)
    if not shows_one:
        refuse_untaken(plugins)
    asked = spelled_out([argument for argument in arguments if argument not in MODES])
    check_choices(asked)
    # Other sweepers than ours leave this file in the working folder.
    record = Path("multirun.yaml").absolute()
    was_there = record.exists()
    try:
        if not shows_one and "hydra.mode=RUN" not in asked:
            config_dir, overrides = _config_dir(asked)
            with sweeping(overrides, config_dir) as sweep:
                sweep()
            return
        # Hydra reads its flags from the process's arguments alone.
        sys.argv[1:] = _flags_first(asked)
        offer(plugins)
        with our_files():
            main = hydra.main(config_path=str(CONF), config_name="train", **OF_TODAY)
            with written_together() if shows_one else nullcontext():
                try:
                    main(train_job)()
                # Hydra ends the process after its page of help.
                except SystemExit as ended:
                    if ended.code or HELP.isdisjoint(flags):
                        raise
                    sys.stdout.write(_documented(arguments))
    # Hydra calls a comma an ambiguous value, and advises --multirun, which would train.
    except ConfigCompositionException as error:
        if shows_one and "Ambiguous value" in str(error):
            raise UsageError("This flag shows the configuration of one cell; give every option one value.") from error
        raise
    finally:
        if not was_there:
            record.unlink(missing_ok=True)


def _refuse_flags(flags: Sequence[str], arguments: Sequence[str]) -> None:
    """Refuse flags of Hydra's that lead nowhere here.

    Args:
        flags: the arguments without their values.
        arguments: of the command.
    """
    # Hydra would look for a file that no run of ours writes, and end in a traceback.
    if RERUN in flags:
        raise UsageError(f"{RERUN} reads a job that Hydra pickled, and no run leaves one; repeat the command instead.")
    for flag in flags:
        if flag in OF_OTHER_CONFIGURATIONS:
            raise UsageError(
                f"{flag} would name another configuration than that of this program; files of yours go into a folder: "
                "--config-dir FOLDER +experiment=NAME."
            )
    # Hydra's completion knows the words of train.py, and none of scarf's sub-commands. It asks by a line of the shell.
    is_typed = "query" in " ".join(arguments) and "COMP_LINE" not in os.environ
    if not COMPLETING.isdisjoint(flags) and (is_typed or Path(sys.argv[0]).stem == "scarf"):
        raise UsageError('Hydra completes the words of train.py: eval "$(python train.py -sc install=bash)".')


def _documented(arguments: Sequence[str]) -> str:
    """The files of `conf/`, with a comment on each option: of the choices of a command line, or of every cell."""
    files = []
    for argument in arguments:
        file = CONF / f"{argument.replace('=', '/', 1)}.yaml"
        if file.is_file():
            files.append(file)
    pages = []
    for file in files or [CONF / "train.yaml"]:
        pages.append(f"# {file.relative_to(CONF.parent)}\n{file.read_text(encoding='utf-8')}")
    return "\n".join(pages)


def _refuse_dashes(arguments: Sequence[str]) -> None:
    """Refuse ``--trials 3``, which Hydra would answer with a page of its flags."""
    from hydra._internal.utils import get_args_parser

    # Hydra's own parser says which flags it would take; no public module lists them. It must not end the process.
    parser = get_args_parser()
    parser.exit_on_error = False
    try:
        known, unknown = parser.parse_known_args(list(arguments))
    except ArgumentError as error:
        raise UsageError(f"{str(error).removeprefix('argument ')}.") from error
    if (known.resolve or known.package) and not known.cfg:
        raise UsageError("--resolve and --package go with --cfg; add it, or leave them out.")
    for flag in unknown:
        if flag.startswith("-"):
            name, _, value = flag.lstrip("-").partition("=")
            raise UsageError(f"{flag} is not known; options have no dashes: {name}={value or 'VALUE'}.")


def run_report(arguments: list[str]) -> "WrittenReport | None":
    """Write the report that a command line asks for, and say what it found; None if it asks for help."""
    if not HELP.isdisjoint(arguments):
        from ..reporting.report_options import help_lines
        from ..screen import program

        sys.stdout.write(USAGE.format(program=program("report.py"), options="\n".join(help_lines())))
        return None
    # Before the imports, which take seconds.
    if not arguments:
        raise NoSubjectError
    with without_garbage_collection():
        from ..reporting.report_options import NAMES
        from ..sweeping.overrides import spelled_out
    from .report_command import write

    config_dir, arguments = _config_dir(arguments)
    known = ("results", "out", "sections", *NAMES)
    # The report's own options are taken out; Hydra knows none of them.
    given = dict[str, Any]()
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if sign and key in known:
            given[key] = value
    overrides = spelled_out([argument for argument in arguments if argument.partition("=")[0] not in given])
    written = write(overrides, config_dir=config_dir, **given)
    _write(str(written), sys.stdout)
    return written


def _flags_first(arguments: Sequence[str]) -> list[str]:
    """The same arguments with flags and their values before the options: Hydra takes no options on both sides of one.

    >>> _flags_first(["corruption=mean", "--config-dir", "a=b", "trials=2"])
    ['--config-dir', 'a=b', 'corruption=mean', 'trials=2']
    """
    flags, options = list[str](), list[str]()
    previous = ""
    for argument in arguments:
        # An option has a sign of equality, which values of flags have not, unless it is in the name of a folder.
        is_value = previous in CONFIG_DIR or (previous.startswith("-") and "=" not in argument)
        if is_value or argument.startswith("-"):
            flags.append(argument)
        else:
            options.append(argument)
        previous = argument
    return flags + options


def _config_dir(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The folder of ``--config-dir`` or ``-cd``, as Hydra takes it, and the other arguments.

    Raises:
        UsageError: no folder follows.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(*CONFIG_DIR, metavar="FOLDER")
    try:
        flags, others = parser.parse_known_args(arguments)
    except ArgumentError as error:
        raise UsageError("--config-dir needs a folder: --config-dir FOLDER.") from error
    return flags.config_dir, others


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
    usual = warnings.formatwarning
    warnings.formatwarning = _warning_format(usual)
    try:
        with ended_by_signals():
            status = command(arguments)
    # A shell reports a process that a signal ended by 128 and the signal's number, and so do we.
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; the same command goes on where it ended.\n")
        return 128 + signal.SIGINT
    except Terminated:
        sys.stderr.write("Ended by SIGTERM; the same command goes on where it ended.\n")
        return 128 + signal.SIGTERM
    except Exception as error:
        # As the shell reports a program that wrote on.
        if isinstance(error, BrokenPipeError) and is_reader_gone():
            return 128 + signal.SIGPIPE
        give_up_full_output()
        problem = _problem(error)
        # A mistake in the code keeps its traceback.
        if wants_traceback or problem is None:
            raise
        _write(str(problem), sys.stderr)
        return problem.status
    finally:
        warnings.formatwarning = usual
    return status if isinstance(status, int) else 0


train = partial(answered, run_train)
"""`train.py`: Hydra composes the command line, our sweeper expands and checks it, and `train_job` trains."""
report = partial(answered, run_report)
"""`report.py`: read the results, compare them, and write the page."""


def _warning_format(usual: Callable[..., str]) -> Callable[..., str]:
    """The printer of warnings: the sentence alone if it is about a record. It may quote a file, so it is escaped."""

    def format_warning(message: Warning | str, category: type[Warning], *where: object, **named: object) -> str:
        # The line of code that warns means nothing to whoever owns the record.
        if issubclass(category, RecordWarning):
            return _escaped(f"{message}\n")
        return _escaped(usual(message, category, *where, **named))

    return format_warning


def _write(text: str, stream: TextIO) -> None:
    """Write a text; on a terminal its lines break between words."""
    if stream.isatty():
        # Imports rich.
        from ..screen import screen

        screen(stderr=stream is sys.stderr).say(_escaped(text))
    else:
        stream.write(f"{_escaped(text)}\n")


def _problem(error: Exception) -> UsageError | UnfinishedError | None:
    """The mistake in words for the user; None if the code is wrong."""
    if isinstance(error, (UsageError, UnfinishedError)):
        return error
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from ..sweeping.hydra import usage_error

    if isinstance(error, (HydraException, OmegaConfBaseException)):
        return usage_error(error)
    # Such as a full disk, or a folder without rights.
    reason = explained(error)
    return UnfinishedError(reason) if reason else None


def _escaped(text: str) -> str:
    # Imports rich.
    from ..screen import escaped

    return escaped(text)
