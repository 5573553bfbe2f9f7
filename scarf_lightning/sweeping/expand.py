"""From a command line to cells."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, Quote, QuotedString
from hydra.errors import HydraException

from ..data.sources import ENDING
from ..data.targets import Target
from ..errors import UsageError
from ..options import Config, check_combination, unused_options, within_max_epochs
from ..options.axes import AXES, BASES, SEVERAL
from ..options.combinations import check_method, is_in, method_of
from ..options.logger_classes import TARGET
from ..results import columns
from .cell import Cell, in_words
from .composer import Composer
from .folders import SweepFile, read_sweep
from .hydra import UnknownOptionError

OF_THE_WHOLE_RUN = (
    "sweeps",
    "reference",
    "plan",
    "time_limit",
    "force",
    "trials",
    "chunk.file",
    "chunk.minutes",
    "chunk.max_jobs",
)
OF_OUR_SWEEPER = (
    "sweeps",
    "reference",
    "plan",
    "time_limit",
    "chunk.minutes",
    "chunk.max_jobs",
)
"""Options that other sweepers, and Hydra's mode RUN, do not understand."""
OUR_SWEEPERS = ("hydra/sweeper=scarf", "hydra/sweeper=optuna")
AS_GIVEN = "as given: "
"""Begins the value of an option that waits until its part is chosen, see `deferred`."""
MOST_PROBLEMS = 10
"""Sentences that a refusal shows."""


@dataclass(frozen=True)
class Refusal:
    """A combination of overrides that cannot be trained, and the sentence that says why."""

    overrides: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class ExpandedSweep:
    """The cells that a command line stands for.

    Attributes:
        cells: at least one.
        sweep: the file that names them, if there is one.
        left_out: sentences on combinations that do not go together.
        arguments: the command line, as the user wrote it.
        usual: the axis columns of the usual cell, which has no overrides; empty for one cell.
    """

    cells: list[Cell]
    sweep: SweepFile | None = None
    left_out: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)


def expand(
    arguments: Sequence[str],
    composer: Composer,
    sweeps: Path,
    *,
    most: int | None = None,
) -> ExpandedSweep:
    """Compose and check every combination of the swept overrides.

    With ``sweeps=NAME`` the cells are the union of the blocks of that file. An axis given on the command line replaces
    that axis in every block, so ``regime=full`` narrows a sweep of three regimes.

    Combinations that do not go together, such as ``pretrain=scarf method=xgboost``, are left out with a sentence. They
    are refused if there is no other, or if a file alone names them. A file may name methods for different kinds of
    target, such as ``logistic`` and ``ridge``: those that do not serve the target of a cell's data are left out.

    With ``most`` only so many combinations are looked at.

    Raises:
        UsageError: everything that is wrong, a sentence a line; nothing has been trained.
    """
    # First the overrides of each block: those of the file, then those of the command line.
    given = composer.parse(as_given(arguments))
    for override in given:
        if override.is_sweep_override() and override_key(override) in OF_THE_WHOLE_RUN:
            raise UsageError(
                f"{override.input_line}: {override_key(override)} is one for the whole run; give it one value."
            )
    sweep: SweepFile | None = None
    name: Any = None
    replaced = set[str]()
    for override in given:
        replaced.add(override_key(override))
        # As with every option of Hydra, the last one wins; null takes a sweep back.
        if override_key(override) == "sweeps":
            name = override.value()
    blocks = [given]
    if name is not None:
        sweep = read_sweep(str(name), sweeps)
        blocks = []
        for block in sweep.blocks():
            kept = []
            for override in composer.parse(block):
                _refuse_class(override, sweep.name)
                if override_key(override) not in replaced:
                    kept.append(override)
            blocks.append([*kept, *given])

    # Blocks may overlap, and a cell is trained once: a dictionary keeps the first of equal combinations.
    asked = dict[tuple[str, ...], None]()
    for overrides_of_block in blocks:
        product = _product(overrides_of_block, composer)
        asked |= dict.fromkeys(itertools.islice(product, most))
    combinations = list(asked)[:most]
    composed, problems = _composed(combinations, composer)
    cells, illegal = list[Cell](), list[Refusal]()
    for overrides, config in composed.items():
        try:
            check_combination(config)
        except UsageError as error:
            illegal.append(Refusal(overrides, str(error)))
        else:
            cells.append(Cell(overrides, config))

    # The target may have to be read from the data, which a run that is refused does not need.
    unserved = list[str]()
    if not problems:
        cells, unserved = _served(cells)

    # A file by itself has no illegal combinations on purpose. One narrowed by the command line may get some.
    is_file_alone = sweep is not None and len(given) == 1
    if not cells or is_file_alone:
        problems += _each_once(illegal, combinations)
    if not cells:
        problems += dict.fromkeys(unserved)
    axes = dict.fromkeys(
        override_key(override) for block in blocks for override in block
    )
    # Where cells could not be composed, nobody knows which options they would use.
    problems = problems or _refuse_unused(axes, [cell.config for cell in cells])
    if "objective" in axes:
        problems.append(
            "objective is what a job returns to another sweeper; ours takes none."
        )
    # A file of somebody else's must not import a module by being read.
    if "plugins" not in axes and any(cell.config.plugins for cell in cells):
        problems.append(
            "plugins may be named on the command line only: a configuration file runs no code."
        )
    # One sentence more is shown rather than the sentence that one is left out.
    if len(problems) > MOST_PROBLEMS + 1:
        problems[MOST_PROBLEMS:] = [
            f"{len(problems) - MOST_PROBLEMS:,} more mistakes are not shown."
        ]
    if problems:
        raise UsageError("\n".join(problems))

    reasons = [refusal.sentence for refusal in illegal]
    # A file names methods for several kinds of target, so those that do not serve this one need no sentence.
    if sweep is None or "method" in replaced:
        reasons += unserved
    left_out = tuple(dict.fromkeys(reasons))
    # A report of several cells says how each differs from the usual one.
    usual = columns(composer(())) if len(cells) > 1 else {}
    return ExpandedSweep(cells, sweep, left_out, tuple(as_given(arguments)), usual)


def _composed(
    combinations: Sequence[tuple[str, ...]], composer: Composer
) -> tuple[dict[tuple[str, ...], Config], list[str]]:
    """The configurations by their overrides, and a sentence on all that cannot be composed.

    A part's option may be set although some combinations choose a part without it, as in ``regime=full,few
    regime.labels=20``. It is left out of their overrides, and refused if no combination has it.
    """
    composed = dict[tuple[str, ...], Config]()
    unknown, known = dict[str, Refusal](), set[str]()
    refused = list[Refusal]()
    for asked in combinations:
        overrides = asked
        # Hydra names one unknown option at a time. The loop ends early where two combinations become equal without it.
        while overrides not in composed:
            try:
                composed[overrides] = composer(overrides)
            except UnknownOptionError as error:
                unknown.setdefault(error.option, Refusal(asked, str(error)))
                kept = _without(error.option, overrides)
                # The option is one of a file, so leaving out overrides does not help.
                if kept == overrides:
                    break
                overrides = kept
            except UsageError as error:
                refused.append(Refusal(asked, str(error)))
                # An unknown option is refused before a wrong value, so the options that are left are known.
                known |= _names(overrides)
                break
        else:
            known |= _names(overrides)
    problems = _each_once(refused, combinations)
    for option, refusal in unknown.items():
        if option not in known:
            problems += _each_once([refusal], combinations)
    return composed, problems


def _names(overrides: Sequence[str]) -> set[str]:
    """The names of the options that overrides set."""
    return {override.partition("=")[0] for override in overrides}


def _each_once(
    refusals: Sequence[Refusal], combinations: Sequence[tuple[str, ...]]
) -> list[str]:
    """The sentences of refusals, each different one once, after the cells that it concerns.

    What is wrong with all cells is wrong with what they share, such as the dataset, and names none of them.
    """
    concerned = dict[str, list[tuple[str, ...]]]()
    for refusal in refusals:
        concerned.setdefault(refusal.sentence, []).append(refusal.overrides)
    sentences = []
    for sentence, cells in concerned.items():
        if len(cells) == len(combinations):
            sentences.append(sentence)
        else:
            sentences.append(f"{in_words(cells, combinations)}: {sentence}")
    return sentences


def _without(option: str, overrides: tuple[str, ...]) -> tuple[str, ...]:
    """The overrides that do not set an option."""
    return tuple(each for each in overrides if each.partition("=")[0] != option)


def _served(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose methods serve the target of their data, and why those of the others do not.

    Data are looked at only if no kind of target is served by all methods. Else what does not serve a target is refused
    later, with all else that is wrong with a cell.

    Raises:
        UsageError: the data cannot be loaded.
    """
    served, some = list[set[str]](), list[set[str]]()
    for cell in cells:
        served.append(set(method_of(cell.config).targets))
        # A method without kinds serves every target.
        if served[-1]:
            some.append(served[-1])
    if not some or set.intersection(*some):
        return list(cells), []
    fitting, reasons, kinds_of = [], [], dict[str, type[Target]]()
    for cell, kinds in zip(cells, served, strict=True):
        if kinds:
            # Many cells share a table, and to find the kind of its target may mean to read it.
            key = cell.source.key
            if key not in kinds_of:
                kinds_of[key] = cell.target_kind()
            try:
                check_method(cell.config, kinds_of[key])
            except UsageError as error:
                reasons.append(str(error))
                continue
        fitting.append(cell)
    return fitting, reasons


def checked_cell(overrides: Sequence[str], composer: Composer) -> Cell:
    """The cell of a search's try, without the options that its parts do not have.

    Raises:
        UsageError: it cannot be composed, or its options do not go together.
    """
    composed, problems = _composed([tuple(overrides)], composer)
    if not composed:
        raise UsageError("\n".join(problems))
    ((kept, config),) = composed.items()
    check_combination(config)
    return Cell(kept, config)


def one_cell(overrides: Sequence[str], config: Config) -> ExpandedSweep:
    """The cell of a job that another sweeper started.

    Raises:
        UsageError: as by `expand`.
    """
    ending = "is for our sweeper; leave hydra/sweeper and hydra.mode alone."
    axes, problems = list[str](), list[str]()
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        axes.append(override_key(override))
        if axes[-1] in OF_OUR_SWEEPER:
            problems.append(f"{axes[-1]} {ending}")
    # The sweeper of another project knows neither this rule nor the checks of `expand`, so they are made here.
    config = within_max_epochs(config, axes)
    check_combination(config)
    problems = problems or _refuse_unused(axes, [config])
    if problems:
        raise UsageError("\n".join(problems))
    return ExpandedSweep([Cell(tuple(overrides), config)])


def overrides_of(asked: str | Sequence[str], more: Sequence[str]) -> list[str]:
    """Overrides from Python, where a sweep may be named without ``sweeps=``."""
    first = [asked] if isinstance(asked, str) else list(asked)
    overrides = []
    for each in first:
        overrides.append(each if "=" in each else f"sweeps={each}")
    return spelled_out([*overrides, *more])


def answer_of_file(path: str | None = None, target: str | None = None) -> list[str]:
    """The overrides of ``sweeps=answer`` on a file, or on the bundled table."""
    asked = ["sweeps=answer"]
    for option, value in (("dataset.path", path), ("dataset.target", target)):
        if value is None:
            continue
        # A column may be called null or have a comma in its name.
        text = value if is_plain_text(value) else _in_quotes(value)
        asked.append(f"{option}={text}")
    return spelled_out(asked)


def is_plain_text(value: str) -> bool:
    """True if Hydra reads a value as this text also without quotes."""
    not_text = ("null", "true", "false", "nan", "inf")
    return (
        re.fullmatch(r"[A-Za-z_./][\w./-]*", value, re.ASCII) is not None
        and value.lower() not in not_text
    )


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """A command line for Hydra: a file of the user's is ``dataset=csv dataset.path=FILE``, however it was named, and a
    value that Hydra's grammar does not have, such as ``Größe (cm)``, is in quotes."""
    names = [argument for argument in arguments if argument.startswith("dataset=")]
    has_path = any(argument.startswith("dataset.path=") for argument in arguments)
    file, spelled = names[-1].partition("=")[2] if names else "", list(arguments)
    if has_path and not names:
        spelled += ["dataset=csv"]
    elif ENDING.search(file):
        # Each earlier dataset= is dropped as well: the last one wins.
        others = [argument for argument in arguments if argument not in names]
        spelled = [*others, "dataset=csv", f"dataset.path={file}"]
    return [_readable(argument) for argument in spelled]


def deferred(arguments: Sequence[str]) -> list[str]:
    """Overrides for Hydra: in a run of several cells, options of parts are sweeps of one value,
    ``regime.labels=choice('as given: 20')``, until `as_given`.

    Hydra composes the command line's single values with the default part of each axis first, and would refuse an
    option that only other parts have. The value travels as a text, because Hydra's grammar of sweeps lacks values that
    its grammar of options has, such as null.
    """
    parser, axes = OverridesParser.create(), {*BASES, "cotrain"}

    def is_option(argument: str) -> bool:
        return "=" in argument and not argument.startswith("-")

    def is_sweep(argument: str) -> bool:
        # A sweep file has many cells, though Hydra sees one value.
        if argument.startswith("sweeps="):
            return True
        return parser.parse_override(argument).is_sweep_override()

    options = [argument for argument in arguments if is_option(argument)]
    # Another sweeper would take a choice of one value for an axis of its search.
    has_other_sweeper = False
    for each in options:
        if each.startswith("hydra/sweeper=") and each not in OUR_SWEEPERS:
            has_other_sweeper = True
    if has_other_sweeper or not any(map(is_sweep, options)):
        return list(arguments)
    later = []
    for argument in arguments:
        key, _, value = argument.partition("=")
        axis, dot, _ = key.partition(".")
        is_of_part = is_option(argument) and axis in axes and bool(dot)
        if is_of_part and not is_sweep(argument):
            later.append(_as_choice(key, value))
        else:
            later.append(argument)
    return later


def as_given(arguments: Sequence[str]) -> list[str]:
    """Overrides as the user wrote them, before `deferred`."""
    overrides = []
    for argument in arguments:
        # Hydra's parser is slow, so it sees only what may be a choice.
        is_choice = "=choice(" in argument
        overrides.append(_without_choice(argument) if is_choice else argument)
    return overrides


def _as_choice(key: str, value: str) -> str:
    return f"{key}=choice({QuotedString(AS_GIVEN + value, Quote.single).with_quotes()})"


def _without_choice(argument: str) -> str:
    override = OverridesParser.create().parse_override(argument)
    chosen = override.value()
    # A choice of several values is the user's own.
    if not isinstance(chosen, ChoiceSweep) or len(chosen.list) != 1:
        return argument
    (value,) = chosen.list
    if isinstance(value, str) and value.startswith(AS_GIVEN):
        return f"{override.get_key_element()}={value.removeprefix(AS_GIVEN)}"
    return f"{override.get_key_element()}={next(override.sweep_string_iterator())}"


def _readable(argument: str) -> str:
    """An override whose value, or each value of a list, is in quotes if Hydra's grammar does not have it as it is.

    Raises:
        UsageError: the value is a dictionary, and Python runs without assertions.
    """
    key, sign, value = argument.partition("=")
    if not sign or argument.startswith("-"):
        return argument
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        # A list stays one: its values are put in quotes, each by itself.
        if value.startswith("[") and value.endswith("]"):
            each = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s][^,]*", value[1:-1])
            return f"{key}=[{','.join(map(_in_quotes, each))}]"
        return f"{key}={_in_quotes(value)}"
    except AttributeError as error:
        # Hydra's grammar of dictionaries is made by assertions, which python -O leaves out.
        if __debug__:
            raise
        reason = (
            "Hydra cannot read a dictionary under python -O; start Python without -O"
        )
        raise UsageError(f"{argument}: {reason}.") from error
    return argument


def _in_quotes(value: str) -> str:
    # The user's own quotes are kept: a shell removes the outer ones, so these are meant for Hydra.
    if value[:1] in ("'", '"'):
        return value
    return QuotedString(value, Quote.single).with_quotes()


def override_key(override: Override) -> str:
    """The axis or the dotted option that an override sets; of ``loss@cotrain.loss=NAME`` the place, cotrain.loss."""
    group, _, package = override.get_key_element().lstrip("+~").partition("@")
    return (package or group).replace("/", ".")


def _product(
    block: Sequence[Override], composer: Composer
) -> Iterator[tuple[str, ...]]:
    """Every combination of the values of a block, as overrides without commas."""
    choices = []
    for override in block:
        key = override.get_key_element()
        if not override.is_sweep_override():
            given = override.value()
            is_choice = composer.is_group(key) and key not in SEVERAL
            if isinstance(given, list) and is_choice:
                _refuse_several(key, ",".join(map(str, given)))
            # As the user wrote it, since it becomes the cell's label.
            choices.append([str(override.input_line)])
            continue
        # An interval is continuous; only a sweeper that draws values can use it.
        if not override.is_discrete_sweep():
            raise UsageError(
                f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled."
            )
        values = list(override.sweep_string_iterator())
        # A pattern such as glob(cc18-x*) may match nothing, and the product would be empty.
        if not values:
            raise UsageError(f"{override.input_line} matches no option.")
        for value in values:
            is_choice = composer.is_group(key) and key not in SEVERAL
            if value.startswith("[") and is_choice:
                _refuse_several(key, value.strip("[]"))
        choices.append([f"{key}={value}" for value in values])
    return itertools.product(*choices)


def check_choices(arguments: Sequence[str]) -> None:
    """Refuse what Hydra answers by a traceback: an override without a name, and a number, a list or null where one
    chooses by name. Raises `UsageError`."""
    axes = {axis.name for axis in AXES}
    for argument in arguments:
        group = argument.partition("=")[0].lstrip("+").partition("@")[0]
        if not group.strip("~ "):
            raise UsageError(f"{argument} names no option; write OPTION=VALUE.")
        if "=" not in argument or group not in axes:
            continue
        override = OverridesParser.create().parse_override(argument)
        value = override.value()
        if override.is_sweep_override() or isinstance(value, str):
            continue
        # A list of names was meant as a sweep; a list of anything else is no choice.
        names = value if isinstance(value, list) else []
        if names and all(isinstance(each, str) for each in names):
            if group in SEVERAL:
                continue
            _refuse_several(group, ",".join(names))
        raise UsageError(
            f"{argument}: {group} is chosen by name; --help {group} lists the names."
        )


def _refuse_several(axis: str, options: str) -> NoReturn:
    """Hydra would merge several options of an axis, and the last one would win."""
    raise UsageError(
        f"{axis}=[{options}]: name one option, or try each of them with {axis}={options}."
    )


def _refuse_class(override: Override, sweep: str) -> None:
    """Refuse a class that a sweep file names: one of somebody else's must not import a module by being read."""
    is_of_logger = override_key(override).partition(".")[0] == "logger"
    if is_of_logger and TARGET in str(override.input_line):
        raise UsageError(
            f"sweeps={sweep} sets {override.input_line}: a class may be named on the command line only; "
            "a sweep file runs no code."
        )


def _refuse_unused(axes: Iterable[str], configs: Sequence[Config]) -> list[str]:
    """A sentence on each option that is set and that no cell uses."""
    unused = [unused_options(config) for config in configs]
    # The choices that decide which options are used, for a reader who wonders why.
    chosen: dict[str, list[str]] = {}
    for config in configs:
        deciding = {
            "pretrain": config.pretrain.name,
            "method": config.method["name"],
            "corruption": config.corruption["name"],
            "cotrain": config.cotrain.task,
        }
        for axis, name in deciding.items():
            names = chosen.setdefault(axis, [])
            if name not in names:
                names.append(name)
    choices = [f"{axis}={','.join(names)}" for axis, names in chosen.items()]
    cells = ", ".join(choices)
    sentences = []
    for axis in axes:
        # An option that some cells use may be set for all of them, as in pretrain=scarf,none loss.temperature=2.
        if all(is_in(axis, options) for options in unused):
            sentences.append(
                f"{axis} is set, but no cell of this run uses it ({cells}); leave it out, or choose what uses it."
            )
    return sentences
