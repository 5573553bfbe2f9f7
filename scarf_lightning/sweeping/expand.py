"""From a command line to cells."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, RangeSweep

from ..data.targets import Target
from ..errors import UsageError
from ..options import Config, check_combination, unused_options, within_max_epochs
from ..options.axes import SEVERAL
from ..options.combinations import check_method, is_in, with_dataset
from ..options.option import options_of
from ..results import columns
from .cell import Cell, in_words
from .combining import combined, number_of
from .composer import Composer
from .cost import labels_to_learn_from
from .each_column import EachColumn
from .folders import SweepFile, read_sweep, swept
from .hydra import UnknownOptionError
from .overrides import check_choices, override_key, refuse_several

OF_A_TABLE = ("path", "target", "sheet")
"""Options that say which table of a user's files a dataset is."""
OF_THE_WHOLE_RUN = (
    "sweeps",
    "vary",
    "max_cells",
    "reference",
    "plan",
    "force",
    "trials",
    "chunk.file",
    "chunk.minutes",
    "chunk.max_jobs",
)
OF_OUR_SWEEPER = ("sweeps", "vary", "max_cells", "reference", "plan", "chunk.minutes", "chunk.max_jobs")
"""Options that other sweepers, and Hydra's mode RUN, do not understand."""
OF_EXPANDING = ("vary", "max_cells")
"""Options that say how cells are made of a command line, and are no part of one."""
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
        notes: sentences on what a user may have meant otherwise.
        arguments: the command line, as the user wrote it.
        usual: the axis columns of the usual cell, which has no overrides; empty for one cell.
        flags: of the command line that its repetition needs, such as ``--config-dir FOLDER``.
    """

    cells: list[Cell]
    sweep: SweepFile | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def expand(arguments: Sequence[str], composer: Composer, sweeps: Path) -> ExpandedSweep:
    """Compose and check the combinations of the swept overrides, all of them unless ``vary`` says otherwise.

    With ``sweeps=NAME`` the cells are the union of the blocks of that file. An axis given on the command line replaces
    that axis in every block, so ``regime=full`` narrows a sweep of three regimes.

    Combinations that do not go together, such as ``pretrain=scarf method=xgboost``, are left out with a sentence. They
    are refused if there is no other, or if a file alone names them. A file may name methods for different kinds of
    target, such as ``logistic`` and ``ridge``, and numbers of labels for tables of several sizes: what does not serve
    the data of a cell is left out.

    Raises:
        UsageError: everything that is wrong, a sentence a line; nothing has been trained.
    """
    given = composer.parse(arguments)
    _refuse_several_for_the_run(given)
    sweep, blocks = _blocks(given, composer, sweeps)
    blocks = [block for each in blocks for block in _with_axes_of_files(each, composer)]
    max_cells = _of_the_command("max_cells", given, composer)
    choices = [(_choices(block, composer, max_cells), _of_the_command("vary", block, composer)) for block in blocks]
    each_column = EachColumn(composer)
    # Nothing is expanded before it is counted, nor a table read before its other axes are.
    if max_cells is not None:
        _check_number(sum(itertools.starmap(number_of, choices)), max_cells)
        chained = itertools.chain.from_iterable(itertools.starmap(combined, choices))
        _check_number(sum(map(each_column.number, chained)), max_cells)

    # Blocks may overlap, and a cell is trained once: a dictionary keeps the first of equal combinations.
    asked = dict[tuple[str, ...], None]()
    for combination in itertools.starmap(combined, choices):
        with_columns = itertools.chain.from_iterable(map(each_column, combination))
        asked |= dict.fromkeys(with_columns)
    combinations = list(asked)
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
    unserved, too_many = list[str](), list[str]()
    if not problems:
        cells, unserved = _served(cells)
        if sweep is not None:
            cells, too_many = _labelled(cells)

    # A file by itself has no illegal combinations on purpose. One narrowed by the command line may get some.
    is_file_alone = sweep is not None and {override_key(override) for override in given} <= {"sweeps", "max_cells"}
    if not cells or is_file_alone:
        problems += _each_once(illegal, combinations)
    bases = [set(next(combined(axes, vary))) for axes, vary in choices if vary == "one"]
    for refusal in illegal if not problems else ():
        if any(base.issuperset(refusal.overrides) for base in bases):
            problems.append(f"The first values of vary=one are what all others differ from: {refusal.sentence}")
    if not cells:
        problems += dict.fromkeys(unserved + too_many)
    axes = dict.fromkeys(override_key(override) for block in blocks for override in block)
    # Where cells could not be composed, nobody knows which options they would use.
    problems = problems or _refuse_unused(axes, [cell.config for cell in cells])
    for option in OF_EXPANDING:
        if any(getattr(cell.config, option) != options_of(Config)[option].default for cell in cells):
            problems.append(f"{option} counts on the command line alone, or in hydra.sweeper.params of a preset.")
    if "objective" in axes:
        problems.append("objective is what a job returns to another sweeper; ours takes none.")
    if sweep is None and any(cell.config.sweeps is not None for cell in cells):
        problems.append("sweeps=NAME is named on the command line alone, and not in a file of options.")
    # One sentence more is shown rather than the sentence that one is left out.
    if len(problems) > MOST_PROBLEMS + 1:
        problems[MOST_PROBLEMS:] = [f"{len(problems) - MOST_PROBLEMS:,} more mistakes are not shown."]
    if problems:
        raise UsageError("\n".join(problems))

    reasons = [refusal.sentence for refusal in illegal]
    # A file names methods for several kinds of target, so those that do not serve this one need no sentence.
    if sweep is None or "method" in map(override_key, given):
        reasons += unserved
    reasons += too_many
    left_out = tuple(dict.fromkeys(reasons))
    # A report of several cells says how each differs from the usual one.
    usual = columns(composer(())) if len(cells) > 1 else {}
    notes = _notes(itertools.chain.from_iterable(block for block, _ in choices), cells[0])
    return ExpandedSweep(_with_own_names(cells), sweep, left_out, notes, tuple(arguments), usual)


def _of_the_command(option: str, overrides: Sequence[Override], composer: Composer) -> Any:
    """The checked value of an option that is no part of a cell."""
    given = [override for override in overrides if override_key(override) == option]
    if not given:
        return options_of(Config)[option].default
    # As with every option of Hydra, the last one wins.
    return getattr(composer((str(given[-1].input_line),)), option)


def _check_number(n_cells: int, most: int) -> None:
    if n_cells > most:
        raise UsageError(
            f"This run has {n_cells:,} cells, more than max_cells={most}; max_cells={n_cells} allows them, and "
            "max_cells=null any number."
        )


def _notes(axes: Iterable[Sequence[str]], cell: Cell) -> tuple[str, ...]:
    """A sentence on seeds that are swept, as a user of other tools repeats a training."""
    for values in axes:
        name, _, _ = values[0].partition("=")
        if name == "seed" and len(values) > 1:
            seeds = ",".join(value.partition("=")[2] for value in values)
            trials = len(values) * cell.config.trials
            return (
                f"seed={seeds}: each seed is a cell of its own. The repeats of one number are its trials, which differ "
                f"in split, initialisation and batches: trials={trials}.",
            )
    return ()


def _with_own_names(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with a name of its own for each table: tables of one name get what they differ in, as ``x (a/x.csv)``.

    Results tell the datasets of a run apart by their names.
    """
    tables = defaultdict[str, dict[tuple[Any, ...], None]](dict)
    for cell in cells:
        if cell.config.dataset.path is not None:
            tables[cell.dataset_name][_place(cell)] = None
    renamed = []
    for cell in cells:
        dataset, name = cell.config.dataset, cell.dataset_name
        if dataset.path is not None and len(tables[name]) > 1:
            # The values of each option over all tables of the name.
            options = zip(_place(cell), zip(*tables[name], strict=True), strict=True)
            differing = [str(value) for value, values in options if len(set(values)) > 1]
            own = replace(dataset, name=f"{name} ({', '.join(differing)})")
            cell = replace(cell, config=with_dataset(cell.config, own))
        renamed.append(cell)
    return renamed


def _place(cell: Cell) -> tuple[Any, ...]:
    """The values of `OF_A_TABLE`."""
    return tuple(getattr(cell.config.dataset, option) for option in OF_A_TABLE)


def _refuse_several_for_the_run(given: Sequence[Override]) -> None:
    """Refuse several values of an option that has one for all cells."""
    for override in given:
        key = override_key(override)
        if override.is_sweep_override() and key in OF_THE_WHOLE_RUN:
            raise UsageError(f"{override.input_line}: {key} is one for the whole run; give it one value.")


def _blocks(
    given: Sequence[Override], composer: Composer, sweeps: Path
) -> tuple[SweepFile | None, list[list[Override]]]:
    """The sweep file that a command line names, and the overrides of each block: the file's, then the command line's.

    Without a file the command line is the only block.
    """
    name: Any = None
    for override in given:
        # As with every option of Hydra, the last one wins; null takes a sweep back.
        if override_key(override) == "sweeps":
            name = override.value()
    if name is None:
        return None, [list(given)]
    sweep = read_sweep(str(name), sweeps)
    keys = {override_key(override) for override in given}
    blocks = []
    for block in sweep.blocks():
        file_overrides = []
        try:
            check_choices(block)
        except UsageError as error:
            raise UsageError(f"sweeps={name} sets {error}") from error
        for override in composer.parse(block):
            # An axis of the command line takes the place of the file's.
            if override_key(override) not in keys:
                file_overrides.append(override)
        blocks.append([*file_overrides, *given])
    return sweep, blocks


def _with_axes_of_files(block: list[Override], composer: Composer) -> list[list[Override]]:
    """The blocks of a block whose presets sweep axes in Hydra's own place for them; each preset has its own."""
    keys = {override_key(override) for override in block}
    choices, others = list[list[str]](), list[Override]()
    for override in block:
        key = override.get_key_element()
        values: list[Any] = [override.value()]
        # Numbers choose no file, and a range of them may not fit into memory.
        if isinstance(values[0], (ChoiceSweep, Glob)):
            values = list(override.sweep_string_iterator())
        if any(isinstance(name, str) and composer.is_of_user(str(override.key_or_group), name) for name in values):
            choices.append([f"{key}={name}" for name in values])
        else:
            others.append(override)
    blocks = []
    for chosen in itertools.product(*choices) if choices else ():
        written = [f"{axis}={swept(values)}" for axis, values in composer.axes_of_files(chosen).items()]
        axes = composer.parse(written)
        free = [axis for axis in axes if override_key(axis) not in keys]
        blocks.append([*composer.parse(chosen), *free, *others])
    return blocks or [block]


def _composed(
    combinations: Sequence[tuple[str, ...]], composer: Composer
) -> tuple[dict[tuple[str, ...], Config], list[str]]:
    """The configurations by their overrides, and a sentence on all that cannot be composed.

    A part's option may be set although some combinations choose a part without it, as in ``regime=full,few
    regime.labels=20``. It is left out of their overrides, and refused if no combination has it.
    """
    composed = dict[tuple[str, ...], Config]()
    unknown, known = defaultdict[str, list[Refusal]](list), set[str]()
    refused = list[Refusal]()
    for asked in combinations:
        overrides = asked
        # Hydra names one unknown option at a time. The loop ends early where two combinations become equal without it.
        while overrides not in composed:
            try:
                composed[overrides] = composer(overrides)
            except UnknownOptionError as error:
                unknown[error.option].append(Refusal(asked, str(error)))
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
    for option, refusals in unknown.items():
        if option not in known:
            # Each part lists its own options; those of the first are enough.
            first = [refusal for refusal in refusals if refusal.sentence == refusals[0].sentence]
            problems += _each_once(first, combinations)
    return composed, problems


def _names(overrides: Sequence[str]) -> set[str]:
    """The names of the options that overrides set."""
    return {override.partition("=")[0] for override in overrides}


def _each_once(refusals: Sequence[Refusal], combinations: Sequence[tuple[str, ...]]) -> list[str]:
    """The sentences of refusals, each different one once, after the cells that it concerns.

    What is wrong with all cells is wrong with what they share, such as the dataset, and names none of them.
    """
    concerned = dict[str, list[tuple[str, ...]]]()
    for refusal in refusals:
        concerned.setdefault(refusal.sentence, []).append(refusal.overrides)
    sentences = []
    for sentence, cells in concerned.items():
        label = in_words(cells, combinations)
        is_named = len(cells) == len(combinations) or sentence.startswith(f"{label}:")
        sentences.append(sentence if is_named else f"{label}: {sentence}")
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
        served.append(set(cell.config.part("method").targets))
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


def _labelled(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose tables have as many labels as their regime shows, and why the others are left out.

    A cell stays if its table is not here to be counted, or if it splits the table by a rule of its own.

    Raises:
        UsageError: a file cannot be read.
    """
    fitting, reasons, known = [], [], dict[str, int | None]()
    for cell in cells:
        # A share of the labels is there in any table.
        asked = cell.config.regime.get("labels", 0)
        if asked > 1 and cell.config.split["name"] in ("random", "stratified"):
            if cell.source.key not in known:
                known[cell.source.key] = cell.source.n_labelled()
            n_labelled = known[cell.source.key]
            is_inside = cell.config.regime["validation"] == "inside"
            if n_labelled is not None and asked > labels_to_learn_from(n_labelled, counts_validation=is_inside):
                reasons.append(
                    f"{asked:g} labels; {cell.dataset_name} has {n_labelled:,}, a fifth of them for testing."
                )
                continue
        fitting.append(cell)
    return fitting, reasons


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


def _choices(block: Sequence[Override], composer: Composer, max_cells: int | None) -> list[list[str]]:
    """The values of each axis of a block, as overrides without commas."""
    choices = []
    for override in block:
        key = override.get_key_element()
        if override_key(override) in OF_EXPANDING:
            continue
        if not override.is_sweep_override():
            value = override.value()
            is_choice = composer.is_group(key) and key not in SEVERAL
            if isinstance(value, list) and is_choice:
                refuse_several(key, ",".join(map(str, value)))
            # As the user wrote it, since it becomes the cell's label.
            choices.append([str(override.input_line)])
            continue
        # An interval is continuous; only a sweeper that draws values can use it.
        if not override.is_discrete_sweep():
            raise UsageError(f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled.")
        axis = override.value()
        if isinstance(axis, RangeSweep) and max_cells is not None:
            # The grammar gives no range without its ends.
            assert axis.start is not None
            assert axis.stop is not None
            _check_number(math.ceil((axis.stop - axis.start) / axis.step), max_cells)
        values = list(override.sweep_string_iterator())
        # A pattern such as glob(cc18-x*) may match nothing, and the product would be empty.
        if not values:
            raise UsageError(f"{override.input_line} matches no option.")
        for value in values:
            is_choice = composer.is_group(key) and key not in SEVERAL
            if value.startswith("[") and is_choice:
                refuse_several(key, value.strip("[]"))
        choices.append([f"{key}={value}" for value in values])
    return choices


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
