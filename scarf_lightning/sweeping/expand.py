"""From a command line to cells: parse it, read the sweep file, combine the values, compose, and check."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override, RangeSweep
from omegaconf import DictConfig

from ..data.sources import Source
from ..errors import UsageError, enumeration
from ..options import Config, check_combination, load_plugins, unused_options
from ..options.combinations import check_method, is_in, used_options, with_dataset
from ..results import columns
from .cell import Cell
from .composer import Composer
from .folders import SWEEPS, SweepFile, read_sweep, swept
from .hydra import UnknownOptionError, read_config
from .overrides import check_choices, hydra_text, override_key
from .plan import labels_to_learn_from

Overrides = tuple[str, ...]
Choices = Sequence[Sequence[str]]
"""The overrides of a block: for each axis one for each of its values."""

OF_EXPANDING = ("vary", "max_cells")
"""Options that say how cells are made of a command line, and are no part of one."""
OF_OUR_SWEEPER = ("sweeps", *OF_EXPANDING, "reference", "plan", "chunk.minutes", "chunk.max_jobs")
"""Options that other sweepers, and Hydra's mode RUN, do not understand."""
OF_THE_WHOLE_RUN = (*OF_OUR_SWEEPER, "force", "trials", "chunk.file")
OF_DATA = ("dataset", "paths", "split", "recipe", "plugins")
"""Sections that decide which table is read, and how."""
EACH = ("dataset.drop=each", "pretrain.drop=each", "corruption.keep=each", "cotrain.corruption.keep=each")
"""Lists of columns that stand for every column of the table in turn: ``dataset.drop=null,each`` is a cell with all
columns, and a cell without each of them."""
DECIDING = ("pretrain", "method", "corruption", "cotrain.task")
"""Axes that decide which options a cell uses."""
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
    given = _given(arguments, composer)
    composer.check_names(given)
    keys = dict.fromkeys(map(override_key, given))
    sweep, blocks = _blocks(given, composer, [sweeps, *(folder / "sweeps" for folder in composer.folders)])
    most = _own_options(given, composer).max_cells
    choices = list[tuple[Choices, str]]()
    for block in blocks:
        axes = [_values(each, most) for each in block if override_key(each) not in OF_EXPANDING]
        choices.append((axes, _own_options(block, composer).vary))
    combinations = _combinations(choices, composer, most)
    cells, apart, problems = _composed(combinations, composer)
    left_out = dict.fromkeys(apart.values())
    # A file by itself has no combinations that cannot be trained on purpose.
    if not cells or (sweep is not None and keys.keys() <= {"sweeps", "max_cells"}):
        problems += left_out
    for base in (tuple(values[0] for values in axes) for axes, vary in choices if vary == "one"):
        if base in apart:
            problems.append(f"The first values of vary=one are what all others differ from: {apart[base]}")
    # The target may have to be read from the data, which a run that is refused does not need.
    if not problems:
        cells, unserved, too_many = _serving(cells, counts_labels=sweep is not None)
        # A file names methods for several kinds of target, so those that do not serve this one need no sentence.
        is_silent = cells and sweep is not None and "method" not in keys
        left_out |= dict.fromkeys([*(() if is_silent else unserved), *too_many])
        problems += _unused(keys | dict.fromkeys(override_key(each) for each in chain(*blocks)), cells)
        problems += () if cells else left_out
    _refuse(problems)
    return ExpandedSweep(
        _with_own_names(cells),
        sweep,
        tuple(left_out),
        tuple(_notes(choices, cells[0].config.trials)),
        tuple(arguments),
        # A report of several cells says how each differs from the usual one.
        usual=columns(composer(())) if len(cells) > 1 else {},
        flags=("--config-dir", str(composer.folders[0])) if composer.folders else (),
    )


def _given(arguments: Sequence[str], composer: Composer) -> list[Override]:
    """The overrides of a command line that are not Hydra's own.

    Raises:
        UsageError: one of them chooses no part by its name, is swept and may not be, or is for another sweeper.
    """
    check_choices(arguments)
    given = [each for each in composer.parse(arguments) if not each.is_hydra_override()]
    for each in given:
        key = override_key(each)
        if each.is_sweep_override() and key in OF_THE_WHOLE_RUN:
            raise UsageError(f"{each.input_line}: {key} is one for the whole run; give it one value.")
        if key == "objective":
            raise UsageError("objective is what a job returns to another sweeper; ours takes none.")
    return given


def _refuse(problems: list[str]) -> None:
    """Raise a `UsageError` of some problems, if there are any."""
    # One sentence more is shown rather than the sentence that one is left out.
    if len(problems) > MOST_PROBLEMS + 1:
        problems[MOST_PROBLEMS:] = [f"{len(problems) - MOST_PROBLEMS:,} more mistakes are not shown."]
    if problems:
        raise UsageError("\n".join(problems))


def one_cell(arguments: Sequence[str], composer: Composer) -> ExpandedSweep:
    """The cell of a job that another sweeper started.

    Raises:
        UsageError: as by `expand`, or an option is for our sweeper.
    """
    for axis in (each.partition("=")[0] for each in arguments):
        if axis in OF_OUR_SWEEPER:
            raise UsageError(f"{axis} is for our sweeper; leave hydra/sweeper and hydra.mode alone.")
    return expand([each for each in arguments if not each.startswith("objective=")], composer)


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
    check_combination(config)
    overrides = tuple(f"{each.name}={each.value}" for each in used_options(config) if each.differs)
    return ExpandedSweep([Cell(overrides, config)])


def _own_options(block: Sequence[Override], composer: Composer) -> Config:
    """The options of `OF_EXPANDING` that the presets of a block have, or the block itself."""
    own = [each for each in block if override_key(each) in OF_EXPANDING or _is_preset(each)]
    return composer(tuple(str(each.input_line) for each in own if not each.is_sweep_override()))


def _is_preset(override: Override) -> bool:
    """True for ``+experiment=NAME``."""
    return override.is_add() and "." not in override.key_or_group


def _blocks(
    given: Sequence[Override], composer: Composer, folders: Sequence[Path]
) -> tuple[SweepFile | None, list[list[Override]]]:
    """The sweep file that a command line names, and the overrides of each block: the file's, then the command line's.

    Without a file the command line is the only block. Each choice of presets is a block, with the axes that they have
    in Hydra's own place.
    """
    # The last one wins; null takes a sweep back.
    names = [each.value() for each in given if override_key(each) == "sweeps"]
    sweep = read_sweep(str(names[-1]), folders) if names and names[-1] is not None else None
    presets, others = [each for each in given if _is_preset(each)], [each for each in given if not _is_preset(each)]
    blocks = list[list[Override]]()
    for chosen in product(*map(_values, presets)):
        if sweep is None and chosen and composer(chosen).sweeps is not None:
            raise UsageError("sweeps=NAME is named on the command line alone, and not in a file of options.")
        of_presets = [f"{axis}={swept(values)}" for axis, values in composer.axes(chosen).items()]
        for written in [[]] if sweep is None else sweep.blocks():
            try:
                check_choices(written)
            except UsageError as error:
                raise UsageError(f"sweeps={names[-1]} sets {error}") from error
            # An axis of the command line takes the place of a file's.
            axes = {override_key(each): each for each in composer.parse([*of_presets, *written])}
            free = [each for key, each in axes.items() if key not in map(override_key, given)]
            blocks.append([*composer.parse(chosen), *free, *others])
    return sweep, blocks


def _values(override: Override, most: int | None = None) -> list[str]:
    """The values of an axis, as overrides without commas; of a range at most so many."""
    # As the user wrote it, since it becomes the cell's label.
    if not override.is_sweep_override():
        return [str(override.input_line)]
    key, axis = override.get_key_element(), override.value()
    # An interval is continuous; only a sweeper that draws values can use it.
    if not override.is_discrete_sweep():
        raise UsageError(f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled.")
    if isinstance(axis, RangeSweep):
        _check_number(math.ceil((axis.stop - axis.start) / axis.step), most)  # type: ignore[operator]
    values = [f"{key}={value}" for value in override.sweep_string_iterator()]
    # A pattern such as glob(cc18-x*) may match nothing, and the product would be empty.
    if not values:
        raise UsageError(f"{override.input_line} matches no option.")
    return values


def combined(choices: Choices, vary: str) -> Iterator[Overrides]:
    """The overrides of each cell.

    - ``all``: every combination.
    - ``one``: the first values together are the base; each other value is put into the base by itself. Each dataset
      has a base of its own.
    - ``pairs``: the n-th values together. An axis of one value has it in every cell.

    >>> corruption, loss = ["corruption=mean", "corruption=joint"], ["loss=infonce", "loss=barlow_twins"]
    >>> list(combined([corruption, loss], "one"))[1:]
    [('corruption=joint', 'loss=infonce'), ('corruption=mean', 'loss=barlow_twins')]
    >>> list(combined([corruption, loss, ["seed=1"]], "pairs"))[1]
    ('corruption=joint', 'loss=barlow_twins', 'seed=1')

    Raises:
        UsageError: axes of pairs have different numbers of values.
    """
    if vary == "all":
        yield from product(*choices)
    elif vary == "pairs":
        lengths = {values[0].partition("=")[0]: len(values) for values in choices if len(values) > 1}
        if len(set(lengths.values())) > 1:
            numbers = enumeration([f"{axis} has {n}" for axis, n in lengths.items()])
            raise UsageError(f"vary=pairs takes the n-th values of all axes together, and {numbers} values.")
        for n in range(max(lengths.values(), default=1)):
            yield tuple(values[n % len(values)] for values in choices)
    else:
        is_data = [values[0].startswith(("dataset=", "dataset.path=")) for values in choices]
        for base in product(*(choices[i] if is_data[i] else choices[i][:1] for i in range(len(choices)))):
            yield base
            for i, values in enumerate(choices):
                for value in () if is_data[i] else values[1:]:
                    yield (*base[:i], value, *base[i + 1 :])


def _combinations(choices: Sequence[tuple[Choices, str]], composer: Composer, most: int | None) -> list[Overrides]:
    """The overrides of each cell. Nothing is expanded before it is counted, nor a table read before all other axes."""
    # Of the other ways to combine there are hardly more cells than values.
    _check_number(sum(math.prod(map(len, axes)) for axes, vary in choices if vary == "all"), most)
    chained = [each for axes, vary in choices for each in combined(axes, vary)]
    _check_number(len(chained), most)
    columns_of, with_columns = cache(partial(_columns, composer)), list[Choices]()
    for overrides in chained:
        # Only the data matter to columns, so the other options cannot be wrong.
        named = [each for each in overrides if is_in(each.partition("=")[0].lstrip("+"), OF_DATA)]
        of_data = tuple(each for each in named if each not in EACH)
        axes = []
        for each in overrides:
            option = each.removesuffix("each")
            axes.append([f"{option}{column}" for column in columns_of(of_data)] if each in EACH else [each])
        with_columns.append(axes)
    _check_number(sum(math.prod(map(len, axes)) for axes in with_columns), most)
    # Blocks may overlap, and a cell is trained once: a dictionary keeps the first of equal combinations.
    return list(dict.fromkeys(chain.from_iterable(product(*axes) for axes in with_columns)))


def _columns(composer: Composer, of_data: Overrides) -> list[str]:
    """The columns of the table that overrides name, each in a list of its own.

    Raises:
        UsageError: the table cannot be read, or has a single column.
    """
    source = Cell((), composer(of_data)).source
    found = list(source.read().table.features_of)
    if len(found) < 2:
        raise UsageError(f"each needs a table of two columns at least, and {source.label} has {len(found)}.")
    return [hydra_text([name]) for name in found]


def _check_number(n_cells: int, most: int | None) -> None:
    if most is not None and n_cells > most:
        raise UsageError(
            f"This run has {n_cells:,} cells, more than max_cells={most}; max_cells={n_cells} allows them, and "
            "max_cells=null any number."
        )


def _composed(
    combinations: Sequence[Overrides], composer: Composer
) -> tuple[list[Cell], dict[Overrides, str], list[str]]:
    """The cells of combinations; a sentence on each combination that does not go together; and one on all that cannot
    be composed.

    A part's option may be set although some combinations choose a part without it, as in ``regime=full,few
    regime.labels=20``. It is left out of their overrides, and refused if no combination has it.
    """
    cells, apart = dict[Overrides, Cell](), dict[Overrides, str]()
    wrong, unknown, known = dict[str, None](), dict[str, str](), set[str]()
    for combination in combinations:
        overrides, before = combination, None
        # Hydra names one unknown option at a time; an option of a file is no override to leave out.
        while overrides != before:
            before = overrides
            try:
                config = composer(overrides)
            except UnknownOptionError as error:
                # Each part lists its own options; those of the first are enough.
                unknown.setdefault(error.option, str(error))
                overrides = tuple(each for each in overrides if each.partition("=")[0] != error.option)
                continue
            except UsageError as error:
                wrong[str(error)] = None
            else:
                try:
                    check_combination(config)
                    cells.setdefault(overrides, Cell(overrides, config))
                except UsageError as error:
                    apart[combination] = str(error)
            # An unknown option is refused before a wrong value, so the options that are left are known.
            known |= {each.partition("=")[0] for each in overrides}
    return list(cells.values()), apart, [*wrong, *(unknown[option] for option in unknown if option not in known)]


def _serving(cells: Sequence[Cell], *, counts_labels: bool) -> tuple[list[Cell], list[str], list[str]]:
    """The cells that the target and the labels of their data serve, and why those of others do not: because of their
    methods, and of their numbers of labels.

    Data are looked at only if no kind of target is served by all methods. Else what does not serve a target is refused
    later, with all else that is wrong with a cell.
    """
    n_labelled = cache(Source.n_labelled)
    # A method without kinds serves every target.
    some = [set(kinds) for cell in cells if (kinds := cell.config.part("method").targets)]
    looks = bool(some) and not set.intersection(*some)
    fitting, unserved, too_many = list[Cell](), list[str](), list[str]()
    for cell in cells:
        try:
            if looks and cell.config.part("method").targets:
                check_method(cell.config, cell.target_kind())
        except UsageError as error:
            unserved.append(str(error))
            continue
        regime, known = cell.config.regime, None
        # A share of the labels is there in any table, and a split by a rule of its own leaves any number of them.
        if counts_labels and regime.get("labels", 0) > 1 and cell.config.split["name"] in ("random", "stratified"):
            # None of a table that is not here to be counted.
            known = n_labelled(cell.source)
        is_inside = regime["validation"] == "inside"
        if known is None or regime["labels"] <= labels_to_learn_from(known, counts_validation=is_inside):
            fitting.append(cell)
        else:
            number = f"{regime['labels']:g} labels"
            too_many.append(f"{number}; {cell.dataset_name} has {known:,}, a fifth of them for testing.")
    return fitting, unserved, too_many


def _unused(axes: Iterable[str], cells: Sequence[Cell]) -> list[str]:
    """A sentence on each option that is set and that no cell uses."""
    unused = [unused_options(cell.config) for cell in cells]
    # An option that some cells use may be set for all of them, as in pretrain=scarf,none loss.temperature=2.
    idle = [axis for axis in axes if cells and all(is_in(axis, options) for options in unused)]
    # The choices that decide which options are used, for a reader who wonders why.
    rows = [columns(cell.config) for cell in cells] if idle else []
    names = {axis: dict.fromkeys(str(row[axis]) for row in rows if axis in row) for axis in DECIDING}
    why = ", ".join(f"{axis}={','.join(chosen)}" for axis, chosen in names.items() if chosen)
    return [
        f"{axis} is set, but no cell of this run uses it ({why}); leave it out, or choose what uses it."
        for axis in idle
    ]


def _notes(choices: Iterable[tuple[Choices, str]], trials: int) -> Iterator[str]:
    """A sentence on seeds that are swept, as a user of other tools repeats a training."""
    seeds = [values for axes, _ in choices for values in axes if values[0].startswith("seed=") and len(values) > 1]
    for values in seeds[:1]:
        yield (
            f"seed={','.join(value.partition('=')[2] for value in values)}: each seed is a cell of its own. The "
            "repeats of one number are its trials, which differ in split, initialisation and batches: "
            f"trials={len(values) * trials}."
        )


def _with_own_names(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with a name of its own for each table of the user's: tables of one name get their file, their target
    and their sheet, as ``x (a/x.csv, y)``.

    Results tell the datasets of a run apart by their names.
    """
    tables = defaultdict[str, set[str]](set)
    for cell in cells:
        tables[cell.dataset_name].add(_table(cell))
    renamed = []
    for cell in cells:
        if len(tables[cell.dataset_name]) > 1 and _table(cell):
            dataset = replace(cell.config.dataset, name=f"{cell.dataset_name} ({_table(cell)})")
            cell = replace(cell, config=with_dataset(cell.config, dataset))
        renamed.append(cell)
    return renamed


def _table(cell: Cell) -> str:
    """Which table of a user's files a cell has; nothing for other tables."""
    dataset = cell.config.dataset
    return ", ".join(filter(None, (dataset.path, dataset.target, dataset.sheet))) if dataset.path else ""
