"""From a command line to cells: parse it, read the sweep file, combine the values, compose, and check."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

from ..data.sources import Source
from ..data.targets import KINDS
from ..errors import UsageError
from ..options import check_combination, load_plugins, unused_options
from ..options.combinations import check_method, is_in, used_options, with_dataset
from ..results import columns
from .cell import Cell, distinct, named, refuse
from .compose import Composer, Overrides, read_config
from .folders import SWEEPS, SweepFile, read_sweep
from .overrides import hydra_text, override_key, swept

EXPANDING = ("vary", "max_cells")
"""Options that say how cells are made of a command line, and are no part of one."""
OF_THE_WHOLE_RUN = ("sweeps", *EXPANDING, "reference", "plan", "force", "trials", "chunk")
"""Options that have one value a run, and sections of them."""
TABLES = ("dataset", "dataset.path")
"""Axes of tables, each of which has a base of its own."""
OF_DATA = ("dataset", "paths", "split", "recipe", "plugins")
"""Sections that decide which table is read, and how."""
EACH = ("dataset.drop=each", "pretrain.drop=each", "corruption.keep=each", "cotrain.corruption.keep=each")
"""Lists of columns that stand for every column of the table in turn: ``dataset.drop=null,each`` is a cell with all
columns, and a cell without each of them."""
ANY_NUMBER = 10**15
"""Of cells, as good as no bound."""


@dataclass
class ExpandedSweep:
    """The cells that a command line stands for.

    Attributes:
        composed: the cells as they were composed, at least one.
        sweep: the file that names them, if there is one.
        left_out: sentences on combinations that do not go together.
        notes: sentences on what a user may have meant otherwise.
        arguments: the command line, as the user wrote it.
        usual: the axis columns of the usual cell, which has no overrides; empty for one cell.
        flags: of the command line that its repetition needs, such as ``--config-dir FOLDER``.
    """

    composed: list[Cell]
    sweep: SweepFile | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> list[Cell]:
        """Equal cells once, with the names that they have in this run. A cell whose data are no table is refused."""
        return named(distinct(self.composed))


Axes = Mapping[str, Sequence[str]]
"""The overrides of each axis, one a value, by its name."""


class Block(NamedTuple):
    """Axes, how their values are combined, and the largest number of cells of the run."""

    axes: Axes
    vary: str
    most: int


def expand(arguments: Sequence[str], composer: Composer, sweeps: Path = SWEEPS) -> ExpandedSweep:
    """Compose and check the combinations of the swept overrides, all of them unless ``vary`` says otherwise.

    With ``sweeps=NAME`` the cells are the union of the blocks of that file. An axis given on the command line replaces
    that axis in every block, so ``regime=full`` narrows a sweep of three regimes.

    Combinations that do not go together, such as ``pretrain=scarf method=xgboost``, are left out with a sentence, and
    refused if there is no other. So is what does not serve the data of a cell: methods for another kind of target, such
    as ``ridge`` for classes, and numbers of labels that are beyond a table, if a file names them.

    Raises:
        UsageError: everything that is wrong, a sentence a line; nothing has been trained.
    """
    given = {override_key(each): each for each in composer.parse(arguments) if not each.is_hydra_override()}
    for name, override in given.items():
        if is_in(name, OF_THE_WHOLE_RUN) and override.is_sweep_override():
            raise UsageError(f"{override.input_line}: {name} is one for the whole run; give it one value.")
    # Null takes a sweep back.
    named = given["sweeps"].value() if "sweeps" in given else None
    sweep = None if named is None else read_sweep(str(named), [sweeps, *(each / "sweeps" for each in composer.folders)])
    blocks = list(_blocks(given, sweep, composer))
    composed = _composed(_combinations(blocks, composer), composer)
    # A method without kinds serves every target. The kind may have to be found in the data.
    # Cells of one table may stand apart, and a large one takes seconds to read.
    read = cache(Source.read)
    looks_at_targets = not set.intersection(*(set(cell.config.part("method").targets or KINDS) for cell in composed))
    cells, left_out = list[Cell](), list[str]()
    for cell in composed:
        try:
            check_combination(cell.config)
            if looks_at_targets:
                check_method(cell.config, cell.target_kind())
            # A share of the labels is there in any table; a number is counted in a table that is here.
            counts_labels = sweep is not None and cell.config.regime.get("labels", 0) > 1
            if counts_labels and (cell.source.is_found_out or cell.source.known_size):
                # Imports numpy.
                from ..data.trials import check_request

                check_request(cell.config, read(cell.source).table)
            cells.append(cell)
        except UsageError as error:
            left_out.append(str(error))
    refuse(_unused(blocks, cells) if cells else left_out)
    usual, config = composer(()), cells[0].config
    if (config.vary, config.max_cells) != (usual.vary, usual.max_cells) or (config.sweeps and sweep is None):
        raise UsageError("sweeps, vary and max_cells are named on the command line, and not in a file of options.")
    seed = given.get("seed")
    notes = []
    if seed and seed.is_sweep_override():
        notes = [
            f"{seed.input_line}: each seed is a cell of its own. The repeats of one number are its trials, which "
            f"differ in split, initialisation and batches: trials={len(_values(seed)) * config.trials}."
        ]
    return ExpandedSweep(
        _with_own_names(cells),
        sweep,
        tuple(dict.fromkeys(left_out)),
        tuple(notes),
        tuple(arguments),
        # A report of several cells says how each differs from the usual one.
        usual=columns(usual) if len(cells) > 1 else {},
        flags=("--config-dir", str(composer.folders[0])) if composer.folders else (),
    )


def one_cell(arguments: Sequence[str], composer: Composer) -> ExpandedSweep:
    """The cell of a job that another sweeper started.

    Raises:
        UsageError: as by `expand`, or it is no single cell to train.
    """
    request = expand([each for each in arguments if not each.startswith("objective=")], composer)
    if request.sweep or len(request.cells) > 1 or request.cells[0].config.plan:
        raise UsageError("sweeps and plan are for our sweeper, since another one trains a cell a job; leave them out.")
    return request


def composed_cell(composed: DictConfig) -> ExpandedSweep:
    """The cell of a configuration that Hydra composed elsewhere, as in a notebook.

    Args:
        composed: as ``hydra.compose("train", ...)`` returns it.

    Raises:
        UsageError: it is no configuration of `conf/train.yaml`, or as by `expand`.
    """
    load_plugins(composed.get("plugins") or [])
    config = read_config(composed)
    check_combination(config)
    overrides = tuple(f"{each.name}={each.value}" for each in used_options(config) if each.differs)
    return ExpandedSweep([Cell(overrides, config)])


def _blocks(given: Mapping[str, Override], sweep: SweepFile | None, composer: Composer) -> Iterator[Block]:
    """The blocks of a sweep file, or the command line as one. What the command line sets replaces axes of the file."""
    for axes in sweep.blocks() if sweep else [{}]:
        written = composer.parse([f"{axis}={swept(values)}" for axis, values in axes.items()])
        free = {override_key(each): each for each in written if override_key(each) not in given}
        overrides = {**free, **given}
        config = composer(tuple(str(overrides[name].input_line) for name in EXPANDING if name in overrides))
        most = config.max_cells or ANY_NUMBER
        of_cells = {name: _values(each, most) for name, each in overrides.items() if name not in EXPANDING}
        yield Block(of_cells, config.vary, most)


def _combinations(blocks: Sequence[Block], composer: Composer) -> list[Overrides]:
    """The overrides of each cell, of which no more are made than there may be."""
    columns_of, most = cache(partial(_columns, composer)), blocks[0].most
    made = chain.from_iterable(combined(block.axes, block.vary) for block in blocks)
    found = list(islice(chain.from_iterable(_with_columns(each, columns_of) for each in made), most + 1))
    if len(found) > most:
        number = max(len(found), sum(math.prod(map(len, block.axes.values())) for block in blocks))
        raise UsageError(
            f"This run has up to {number:,} cells, more than max_cells={most}; max_cells=N allows N, and "
            "max_cells=null any number."
        )
    # Blocks may overlap, and a cell is trained once.
    return list(dict.fromkeys(found))


def _values(override: Override, most: int = ANY_NUMBER) -> list[str]:
    """The values of an axis, as overrides without commas; of a long range one more than ``most``."""
    # As the user wrote it, since it becomes the cell's label.
    if not override.is_sweep_override():
        return [str(override.input_line)]
    key = override.get_key_element()
    # An interval is continuous; only a sweeper that draws values can use it.
    if not override.is_discrete_sweep():
        raise UsageError(f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled.")
    values = islice(override.sweep_string_iterator(), most + 1)
    axis = [f"{key}={value}" for value in values]
    # A pattern such as glob(cc18-x*) may match nothing, and the product would be empty.
    if not axis:
        raise UsageError(f"{override.input_line} matches no option.")
    return axis


def combined(axes: Axes, vary: str) -> Iterator[Overrides]:
    """The overrides of each cell.

    - ``all``: every combination.
    - ``one``: the first values together are the base; each other value is put into the base by itself. Each dataset
      has a base of its own.
    - ``pairs``: the n-th values together. An axis of one value has it in every cell.

    >>> axes = {"corruption": ["corruption=mean", "corruption=joint"], "loss": ["loss=infonce", "loss=barlow_twins"]}
    >>> list(combined(axes, "one"))[1:]
    [('corruption=joint', 'loss=infonce'), ('corruption=mean', 'loss=barlow_twins')]
    >>> list(combined({**axes, "seed": ["seed=1"]}, "pairs"))[1]
    ('corruption=joint', 'loss=barlow_twins', 'seed=1')

    Raises:
        UsageError: axes of pairs have different numbers of values.
    """
    values = list(axes.values())
    if vary == "all":
        yield from product(*values)
    elif vary == "pairs":
        lengths = {name: len(each) for name, each in axes.items() if len(each) > 1}
        if len(set(lengths.values())) > 1:
            raise UsageError(f"vary=pairs takes the n-th values together, and axes differ in their number: {lengths}.")
        for n in range(max(lengths.values(), default=1)):
            yield tuple(each[n % len(each)] for each in values)
    else:
        for base in product(*(each if name in TABLES else each[:1] for name, each in axes.items())):
            yield base
            for i, name in enumerate(axes):
                for value in () if name in TABLES else values[i][1:]:
                    yield (*base[:i], value, *base[i + 1 :])


def _with_columns(overrides: Overrides, columns_of: Callable[[Overrides], Sequence[str]]) -> Iterator[Overrides]:
    """The overrides with each column of their table in the place of ``each``."""
    # Only the data matter to columns, so the other options cannot be wrong.
    of_data = [each for each in overrides if is_in(each.partition("=")[0], OF_DATA) and each not in EACH]
    axes = [[each] for each in overrides]
    for values in axes:
        if values[0] in EACH:
            values[:] = [values[0].removesuffix("each") + column for column in columns_of(tuple(of_data))]
    return product(*axes)


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


def _composed(combinations: Sequence[Overrides], composer: Composer) -> list[Cell]:
    """The cells of combinations.

    A part's option may be set although some combinations choose a part without it, as in ``regime=full,few
    regime.labels=20``. It is left out of their overrides, and refused if no combination has it.
    """
    cells, wrong, unknown = dict[Overrides, Cell](), list[str](), dict[str, str]()
    for combination in combinations:
        config, lacking = composer.setting(combination)
        overrides = tuple(each for each in combination if each not in lacking)
        # Each part lists its own options; those of the first are enough.
        unknown = {each.partition("=")[0]: str(refusal) for each, refusal in lacking.items()} | unknown
        if isinstance(config, UsageError):
            wrong.append(str(config))
        else:
            cells.setdefault(overrides, Cell(overrides, config))
    known = {each.partition("=")[0] for each in chain(*cells)}
    refuse(wrong + [sentence for option, sentence in unknown.items() if option not in known])
    return list(cells.values())


def _unused(blocks: Sequence[Block], cells: Sequence[Cell]) -> list[str]:
    """A sentence on each option that is set and that no cell uses."""
    unused = [unused_options(cell.config) for cell in cells]
    names = dict.fromkeys(chain(*(block.axes for block in blocks)))
    # An option that some cells use may be set for all of them, as in pretrain=scarf,none loss.temperature=2.
    idle = [name for name in names if all(is_in(name, options) for options in unused)]
    return [f"{name} is set, but no cell of this run uses it; leave it out, or choose what uses it." for name in idle]


def _with_own_names(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with a name of its own for each table of the user's: tables of one name get their file and target, as
    ``x (a/x.csv, y)``. Results tell the datasets of a run apart by their names."""
    tables = {(cell.dataset_name, cell.config.dataset.path, cell.config.dataset.target) for cell in cells}
    number = Counter(name for name, _, _ in tables)
    renamed = []
    for cell in cells:
        dataset = cell.config.dataset
        if dataset.path and number[cell.dataset_name] > 1:
            own = replace(dataset, name=f"{cell.dataset_name} ({dataset.path}, {dataset.target})")
            cell = replace(cell, config=with_dataset(cell.config, own))
        renamed.append(cell)
    return renamed
