"""From a command line to cells."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from omegaconf import DictConfig

from ..data.sources import Source
from ..data.targets import Target
from ..errors import UsageError
from ..options import Config, check_combination, load_plugins, unused_options, within_max_epochs
from ..options.combinations import check_method, is_in, used_options, with_dataset
from ..options.option import options_of
from ..results import columns
from .cell import Cell, in_words
from .combining import Choices, bases, combined, number_of
from .composer import Composer
from .each_column import columns_by, number_with_columns, with_columns
from .folders import SWEEPS, SweepFile, read_sweep, recipe_options, swept
from .hydra import UnknownOptionError, read_config
from .overrides import check_choices, override_key
from .plan import labels_to_learn_from

Overrides = tuple[str, ...]
Refusal = tuple[Overrides, str]
"""Overrides that cannot be trained together, and the sentence that says why."""

OF_A_TABLE = ("path", "target", "sheet")
"""Options that say which table of a user's files a dataset is."""
OF_EXPANDING = ("vary", "max_cells")
"""Options that say how cells are made of a command line, and are no part of one."""
OF_OUR_SWEEPER = ("sweeps", *OF_EXPANDING, "reference", "plan", "chunk.minutes", "chunk.max_jobs")
"""Options that other sweepers, and Hydra's mode RUN, do not understand."""
OF_THE_WHOLE_RUN = (*OF_OUR_SWEEPER, "force", "trials", "chunk.file")
MOST_PROBLEMS = 10
"""Sentences that a refusal shows."""


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


def expand(arguments: Sequence[str], composer: Composer, sweeps: Path = SWEEPS) -> ExpandedSweep:
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
    check_choices(arguments)
    given = [each for each in composer.parse(arguments) if not each.is_hydra_override()]
    for each in given:
        if each.is_sweep_override() and override_key(each) in OF_THE_WHOLE_RUN:
            raise UsageError(f"{each.input_line}: {override_key(each)} is one for the whole run; give it one value.")
    sweep, blocks = _blocks(given, composer, [sweeps, *(folder / "sweeps" for folder in composer.folders)])
    most = _of_the_command("max_cells", given, composer)
    choices = _choices(blocks, composer, most)
    combinations = _combinations(choices, columns_by(composer), most)
    cells, illegal, problems = _composed(combinations, composer)

    # The target may have to be read from the data, which a run that is refused does not need.
    unserved, too_many = list[str](), list[str]()
    if not problems:
        cells, unserved = _served(cells)
        if sweep is not None:
            cells, too_many = _labelled(cells)
    # A file by itself has no illegal combinations on purpose. One narrowed by the command line may get some.
    keys = set(map(override_key, given))
    if not cells or (sweep is not None and keys <= {"sweeps", "max_cells"}):
        problems += _each_once(illegal, combinations)
    first_values = {frozenset(base) for axes, vary in choices if vary == "one" for base in bases(axes)}
    for overrides, sentence in illegal if not problems else ():
        if any(base.issuperset(overrides) for base in first_values):
            problems.append(f"The first values of vary=one are what all others differ from: {sentence}")
    if not cells:
        problems += dict.fromkeys(unserved + too_many)
    axes = dict.fromkeys(override_key(override) for block in blocks for override in block)
    # Where cells could not be composed, nobody knows which options they would use.
    problems = problems or [*_unused(axes, cells), *_misplaced(axes, cells, sweep)]
    # One sentence more is shown rather than the sentence that one is left out.
    if len(problems) > MOST_PROBLEMS + 1:
        problems[MOST_PROBLEMS:] = [f"{len(problems) - MOST_PROBLEMS:,} more mistakes are not shown."]
    if problems:
        raise UsageError("\n".join(problems))

    # A file names methods for several kinds of target, so those that do not serve this one need no sentence.
    if sweep is not None and "method" not in keys:
        unserved = []
    left_out = dict.fromkeys([*(sentence for _, sentence in illegal), *unserved, *too_many])
    return ExpandedSweep(
        _with_own_names(cells),
        sweep,
        tuple(left_out),
        tuple(_notes(choices, cells[0])),
        tuple(arguments),
        # A report of several cells says how each differs from the usual one.
        usual=columns(composer(())) if len(cells) > 1 else {},
        flags=("--config-dir", str(composer.folders[0])) if composer.folders else (),
    )


def one_cell(overrides: Sequence[str], config: Config) -> ExpandedSweep:
    """The cell of a job that another sweeper started.

    Raises:
        UsageError: as by `expand`.
    """
    axes = list(map(override_key, OverridesParser.create().parse_overrides(list(overrides))))
    # The sweeper of another project knows neither this rule nor the checks of `expand`, so they are made here.
    config = within_max_epochs(config, axes)
    check_combination(config)
    cell = Cell(tuple(overrides), config)
    ours = [axis for axis in axes if axis in OF_OUR_SWEEPER]
    problems = [f"{axis} is for our sweeper; leave hydra/sweeper and hydra.mode alone." for axis in ours]
    if problems := problems or _unused(axes, [cell]):
        raise UsageError("\n".join(problems))
    return ExpandedSweep([cell])


def composed_cell(composed: DictConfig) -> ExpandedSweep:
    """The cell of a configuration that Hydra composed elsewhere, as in a notebook.

    Args:
        composed: as ``hydra.compose("train", ...)`` returns it.

    Raises:
        UsageError: it is no configuration of `conf/train.yaml`, or as by `expand`.
    """
    if "recipe" not in composed:
        raise UsageError('The configuration has no recipe; compose it from conf/ by compose("train", overrides=[...]).')
    load_plugins(composed.get("plugins") or [])
    config = read_config(composed)
    # What differs from the recipe's and from the defaults, the user has set.
    usual, given = recipe_options(config.recipe), list[str]()
    for phase in ("pretrain", "finetune"):
        settings = getattr(config, phase)
        for name, option in options_of(type(settings)).items():
            if getattr(settings, name) != usual.get(f"{phase}.{name}", option.default):
                given.append(f"{phase}.{name}")
    config = within_max_epochs(config, given)
    check_combination(config)
    cell = Cell(tuple(f"{each.name}={each.value}" for each in used_options(config) if each.differs), config)
    if problems := list(_misplaced([], [cell], None)):
        raise UsageError("\n".join(problems))
    return ExpandedSweep([cell])


def _of_the_command(option: str, overrides: Sequence[Override], composer: Composer) -> Any:
    """The checked value of an option that is no part of a cell; as with every option of Hydra, the last one wins."""
    given = [str(each.input_line) for each in overrides if override_key(each) == option]
    return getattr(composer((given[-1],)), option) if given else options_of(Config)[option].default


def _blocks(
    given: Sequence[Override], composer: Composer, folders: Sequence[Path]
) -> tuple[SweepFile | None, list[list[Override]]]:
    """The sweep file that a command line names, and the overrides of each block: the file's, then the command line's.

    Without a file the command line is the only block.
    """
    # The last one wins; null takes a sweep back.
    names = [each.value() for each in given if override_key(each) == "sweeps"]
    sweep, written = None, list[list[str]]([[]])
    if names and names[-1] is not None:
        sweep = read_sweep(str(names[-1]), folders)
        written = sweep.blocks()
    keys, blocks = set(map(override_key, given)), list[list[Override]]()
    for block in written:
        try:
            check_choices(block)
        except UsageError as error:
            raise UsageError(f"sweeps={names[-1]} sets {error}") from error
        # An axis of the command line takes the place of the file's.
        free = [each for each in composer.parse(block) if override_key(each) not in keys]
        blocks += _with_axes([*free, *given], composer)
    return sweep, blocks


def _with_axes(block: list[Override], composer: Composer) -> Iterator[list[Override]]:
    """The block for each choice of presets, with the axes that these have in Hydra's own place."""
    keys = set(map(override_key, block))
    presets = [each for each in block if each.is_add() and composer.is_of_user(each.key_or_group)]
    others = [each for each in block if each not in presets]
    for chosen in itertools.product(*(_values(each) for each in presets)):
        written = [f"{axis}={swept(values)}" for axis, values in composer.axes(chosen).items()]
        free = [axis for axis in composer.parse(written) if override_key(axis) not in keys]
        yield [*composer.parse(chosen), *free, *others]


def _choices(blocks: Iterable[Sequence[Override]], composer: Composer, most: int | None) -> list[tuple[Choices, str]]:
    """The values of the axes of each block, as overrides without commas, and how they are combined."""
    choices = list[tuple[Choices, str]]()
    for block in blocks:
        axes = [_values(each, most) for each in block if override_key(each) not in OF_EXPANDING]
        choices.append((axes, str(_of_the_command("vary", block, composer))))
    return choices


def _values(override: Override, most: int | None = None) -> list[str]:
    """The values of an axis, as overrides without commas; of a range at most so many."""
    # As the user wrote it, since it becomes the cell's label.
    if not override.is_sweep_override():
        return [str(override.input_line)]
    key, axis = override.get_key_element(), override.value()
    # An interval is continuous; only a sweeper that draws values can use it.
    if not override.is_discrete_sweep():
        raise UsageError(f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled.")
    if isinstance(axis, RangeSweep) and axis.start is not None and axis.stop is not None:
        _check_number(math.ceil((axis.stop - axis.start) / axis.step), most)
    values = [f"{key}={value}" for value in override.sweep_string_iterator()]
    # A pattern such as glob(cc18-x*) may match nothing, and the product would be empty.
    if not values:
        raise UsageError(f"{override.input_line} matches no option.")
    return values


def _combinations(
    choices: Sequence[tuple[Choices, str]], columns_of: Callable[[Overrides], list[str]], most: int | None
) -> list[Overrides]:
    """The overrides of each cell. Nothing is expanded before it is counted, nor a table read before all other axes."""
    _check_number(sum(itertools.starmap(number_of, choices)), most)
    chained = list(itertools.chain.from_iterable(itertools.starmap(combined, choices)))
    _check_number(sum(number_with_columns(each, columns_of) for each in chained), most)
    # Blocks may overlap, and a cell is trained once: a dictionary keeps the first of equal combinations.
    return list(dict.fromkeys(made for each in chained for made in with_columns(each, columns_of)))


def _check_number(n_cells: int, most: int | None) -> None:
    if most is not None and n_cells > most:
        raise UsageError(
            f"This run has {n_cells:,} cells, more than max_cells={most}; max_cells={n_cells} allows them, and "
            "max_cells=null any number."
        )


def _composed(combinations: Sequence[Overrides], composer: Composer) -> tuple[list[Cell], list[Refusal], list[str]]:
    """The cells of combinations; those that do not go together; and a sentence on all that cannot be composed.

    A part's option may be set although some combinations choose a part without it, as in ``regime=full,few
    regime.labels=20``. It is left out of their overrides, and refused if no combination has it.
    """
    cells, illegal, refused = dict[Overrides, Cell](), list[Refusal](), list[Refusal]()
    unknown, known = defaultdict[str, list[Refusal]](list), set[str]()
    for combination in combinations:
        overrides, before = combination, None
        # Hydra names one unknown option at a time; an option of a file is no override to leave out.
        while overrides not in cells and overrides != before:
            before = overrides
            try:
                cells[overrides] = Cell(overrides, composer(overrides))
            except UnknownOptionError as error:
                unknown[error.option].append((combination, str(error)))
                overrides = tuple(each for each in overrides if each.partition("=")[0] != error.option)
                continue
            except UsageError as error:
                refused.append((combination, str(error)))
            # An unknown option is refused before a wrong value, so the options that are left are known.
            known |= {each.partition("=")[0] for each in overrides}
    problems = _each_once(refused, combinations)
    for option, refusals in unknown.items():
        if option not in known:
            # Each part lists its own options; those of the first are enough.
            first = [refusal for refusal in refusals if refusal[1] == refusals[0][1]]
            problems += _each_once(first, combinations)
    for overrides, cell in cells.items():
        try:
            check_combination(cell.config)
        except UsageError as error:
            illegal.append((overrides, str(error)))
    apart = {overrides for overrides, _ in illegal}
    return [cell for overrides, cell in cells.items() if overrides not in apart], illegal, problems


def _each_once(refusals: Sequence[Refusal], combinations: Sequence[Overrides]) -> list[str]:
    """The sentences of refusals, each different one once, after the cells that it concerns.

    What is wrong with all cells is wrong with what they share, such as the dataset, and names none of them.
    """
    concerned = defaultdict[str, list[Overrides]](list)
    for overrides, sentence in refusals:
        concerned[sentence].append(overrides)
    sentences = []
    for sentence, cells in concerned.items():
        label = in_words(cells, combinations)
        is_named = len(cells) == len(combinations) or sentence.startswith(f"{label}:")
        sentences.append(sentence if is_named else f"{label}: {sentence}")
    return sentences


def _served(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose methods serve the target of their data, and why those of the others do not.

    Data are looked at only if no kind of target is served by all methods. Else what does not serve a target is refused
    later, with all else that is wrong with a cell.

    Raises:
        UsageError: the data cannot be loaded.
    """
    # A method without kinds serves every target.
    some = [set(kinds) for cell in cells if (kinds := cell.config.part("method").targets)]
    if not some or set.intersection(*some):
        return list(cells), []
    fitting, reasons, kinds_of = [], [], dict[str, type[Target]]()
    for cell in cells:
        # Many cells share a table, and to find the kind of its target may mean to read it.
        key, serves_all = cell.source.key, not cell.config.part("method").targets
        if not serves_all and key not in kinds_of:
            kinds_of[key] = cell.target_kind()
        try:
            if not serves_all:
                check_method(cell.config, kinds_of[key])
            fitting.append(cell)
        except UsageError as error:
            reasons.append(str(error))
    return fitting, reasons


def _labelled(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose tables have as many labels as their regime shows, and why the others are left out.

    A cell stays if its table is not here to be counted, or if it splits the table by a rule of its own.

    Raises:
        UsageError: a file cannot be read.
    """
    fitting, reasons = [], []
    n_labelled = cache(Source.n_labelled)
    for cell in cells:
        regime = cell.config.regime
        asked, known = regime.get("labels", 0), None
        # A share of the labels is there in any table.
        if asked > 1 and cell.config.split["name"] in ("random", "stratified"):
            known = n_labelled(cell.source)
        if known is not None and asked > labels_to_learn_from(
            known, counts_validation=regime["validation"] == "inside"
        ):
            reasons.append(f"{asked:g} labels; {cell.dataset_name} has {known:,}, a fifth of them for testing.")
        else:
            fitting.append(cell)
    return fitting, reasons


def _unused(axes: Iterable[str], cells: Sequence[Cell]) -> list[str]:
    """A sentence on each option that is set and that no cell uses."""
    unused = [unused_options(cell.config) for cell in cells]
    # An option that some cells use may be set for all of them, as in pretrain=scarf,none loss.temperature=2.
    idle = [axis for axis in axes if all(is_in(axis, options) for options in unused)]
    # The choices that decide which options are used, for a reader who wonders why.
    chosen = defaultdict[str, dict[str, None]](dict)
    for config in (cell.config for cell in cells):
        chosen["pretrain"][config.pretrain.name] = None
        chosen["method"][config.method["name"]] = None
        chosen["corruption"][config.corruption["name"]] = None
        chosen["cotrain"][str(config.cotrain.task)] = None
    why = ", ".join(f"{axis}={','.join(names)}" for axis, names in chosen.items())
    return [
        f"{axis} is set, but no cell of this run uses it ({why}); leave it out, or choose what uses it."
        for axis in idle
    ]


def _misplaced(axes: Iterable[str], cells: Sequence[Cell], sweep: SweepFile | None) -> Iterator[str]:
    """A sentence on each option of the run that stands where it does not count."""
    for option in OF_EXPANDING:
        if any(getattr(cell.config, option) != options_of(Config)[option].default for cell in cells):
            yield f"{option} counts on the command line alone, or in hydra.sweeper.params of a preset."
    if "objective" in axes:
        yield "objective is what a job returns to another sweeper; ours takes none."
    if sweep is None and any(cell.config.sweeps is not None for cell in cells):
        yield "sweeps=NAME is named on the command line alone, and not in a file of options."


def _notes(choices: Iterable[tuple[Choices, str]], cell: Cell) -> Iterator[str]:
    """A sentence on seeds that are swept, as a user of other tools repeats a training."""
    for values in (values for axes, _ in choices for values in axes):
        if values[0].startswith("seed=") and len(values) > 1:
            seeds = ",".join(value.partition("=")[2] for value in values)
            yield (
                f"seed={seeds}: each seed is a cell of its own. The repeats of one number are its trials, which differ "
                f"in split, initialisation and batches: trials={len(values) * cell.config.trials}."
            )
            return


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
        if len(tables[name]) > 1 and dataset.path is not None:
            # The values of each option over all tables of the name.
            columns_of_values = zip(_place(cell), *tables[name], strict=True)
            differing = [str(value) for value, *others in columns_of_values if len(set(others)) > 1]
            own = replace(dataset, name=f"{name} ({', '.join(differing)})")
            cell = replace(cell, config=with_dataset(cell.config, own))
        renamed.append(cell)
    return renamed


def _place(cell: Cell) -> tuple[Any, ...]:
    """The values of `OF_A_TABLE`."""
    return tuple(getattr(cell.config.dataset, option) for option in OF_A_TABLE)
