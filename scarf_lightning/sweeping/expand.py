"""From a command line to cells: parse it, read the sweep file, combine the values, compose, and check."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

from ..data.sources import Source
from ..data.targets import KINDS
from ..errors import UsageError
from ..options import check_combination, unused_options
from ..options.combinations import check_method, is_in
from ..results import columns
from .cell import MOST_PROBLEMS, Cell, distinct, named, refuse
from .compose import Composer, Overrides, hydra_text, parsed, values_of
from .folders import SWEEPS, SweepFile, read_sweep

EXPANDING = ("vary", "max_cells")
"""Options that say how cells are made of a command line, and are no part of one."""
TABLES = ("dataset", "dataset.path")
"""Axes of tables, each of which has a base of its own."""
MOST_VALUES = 100_000
"""Of an axis."""

Axes = dict[str, list[str]]
"""The overrides of each axis, one a value, by its name."""


@dataclass
class ExpandedSweep:
    """The cells of a command line.

    Attributes:
        cells: at least one; equal ones once, with the names that they have in this run.
        sweep: the file that names them, if there is one.
        left_out: sentences on combinations that do not go together.
        notes: sentences on what a user may have meant otherwise.
        arguments: the command line, as the user wrote it; a sweeper adds its folder of options.
        usual: the axis columns of the usual cell, which has no overrides.
    """

    cells: list[Cell]
    sweep: SweepFile | None = None
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()
    arguments: Sequence[str] = ()
    usual: Mapping[str, Any] | None = None


def expand(arguments: Sequence[str], composer: Composer) -> ExpandedSweep:
    """Compose and check the combinations of the swept overrides, all of them unless ``vary`` says otherwise.

    With ``sweeps=NAME`` the cells are the union of the blocks of that file. An axis given on the command line replaces
    that axis in every block, so ``regime=full`` narrows a sweep of three regimes.

    Combinations that do not go together, such as ``pretrain=scarf method=xgboost``, are left out with a sentence, and
    refused if there is no other. So is what does not serve the data of a cell: methods for another kind of target, such
    as ``ridge`` for classes, and numbers of labels that are beyond a table.

    Raises:
        UsageError: everything that is wrong, a sentence a line; nothing has been trained.
    """
    settings = values_of(arguments, ("sweeps", "trials", "reference", *EXPANDING))
    sweep = None
    # sweeps=null cancels a sweep.
    if settings.get("sweeps"):
        sweep = read_sweep(str(settings["sweeps"]), [SWEEPS, Path(composer.config_dir or SWEEPS, "sweeps")])
    line_axes = _axes(arguments)
    if "dataset.path" in line_axes:
        line_axes.setdefault("dataset", ["dataset=csv"])
    candidates, unknown = _compose(_combinations(line_axes, sweep, composer), composer)
    cells, left_out = _select_valid(candidates)
    refuse(_problems(cells, unknown) if cells else left_out)
    usual = composer(())
    config = cells[0].config
    if (config.vary, config.max_cells, bool(config.sweeps)) != (usual.vary, usual.max_cells, sweep is not None):
        raise UsageError("sweeps=NAME, vary and max_cells belong on the command line, and not in a file of options.")
    notes = []
    if len(line_axes.get("seed", ())) > 1:
        notes.append(
            "Each seed is a cell of its own. The repeats of one number are its trials, which differ in split, "
            "initialisation and batches: trials=N."
        )
    return ExpandedSweep(named(distinct(cells)), sweep, list(dict.fromkeys(left_out)), notes, arguments, columns(usual))


def _axes(arguments: Sequence[str]) -> Axes:
    """The overrides of each axis of a command line, one for each value, by the name of the axis.

    Raises:
        UsageError: an axis has too many values, or none.
    """
    axes = {}
    for override in parsed(arguments):
        line = str(override.input_line)
        # They make no cell.
        if override.is_hydra_override():
            continue
        # As the user wrote it, since it becomes the cell's label.
        lines = [line]
        if override.is_sweep_override():
            values = override.sweep_string_iterator() if override.is_discrete_sweep() else ()
            lines = [f"{override.get_key_element()}={value}" for value in islice(values, MOST_VALUES)]
            # A pattern such as glob(cc18-x*) may match nothing, and an interval has no values of its own.
            if not 0 < len(lines) < MOST_VALUES:
                raise UsageError(f"{line}: name values, fewer than {MOST_VALUES}, as in OPTION=A,B.")
        axes[_option(line)] = lines
    return axes


def _option(override: str) -> str:
    """The axis or the dotted option that an override sets; of ``loss@cotrain.loss=NAME`` the place."""
    return override.lstrip("+~").partition("=")[0].rpartition("@")[2]


def _combinations(line_axes: Axes, sweep: SweepFile | None, composer: Composer) -> list[Overrides]:
    """The overrides of each cell. The blocks are those of a sweep file, or the command line is one; what the command
    line sets replaces axes of the file.

    Raises:
        UsageError: they are more than ``max_cells``.
    """
    combinations = list[Overrides]()
    file_axes = {"trials": [f"trials={sweep.trials}"]} if sweep and sweep.trials is not None else {}
    for block in sweep.cells if sweep else [{}]:
        axes = file_axes | _axes([f"{axis}={_text(values)}" for axis, values in block.items()]) | line_axes
        config = composer(tuple(chain(*(axes.pop(name, ()) for name in EXPANDING))))
        for overrides in combined(axes, config.vary):
            combinations += _with_columns(overrides, composer)
            if config.max_cells and len(combinations) > config.max_cells:
                raise UsageError(
                    f"This run has {len(combinations)} cells or more, and max_cells={config.max_cells}; max_cells=N "
                    "allows N, and max_cells=null any number."
                )
    return combinations


def _text(values: Any) -> str:
    """The values of an axis of a file in Hydra's notation. A list is swept; a list in a list is one value. A text is as
    on the command line: ``glob(cc18-*)``."""
    if isinstance(values, str):
        return values
    listed_values = values if isinstance(values, list) else [values]
    return ",".join(map(hydra_text, listed_values))


def combined(axes: Axes, vary: str) -> Iterator[Overrides]:
    """The overrides of each cell.

    - ``all``: every combination.
    - ``one``: the first values together are the base; each other value is put into the base by itself. Each dataset
      has a base of its own.
    - ``pairs``: the n-th values together. An axis with one value has this value in every cell.

    >>> axes = {"corruption": ["corruption=mean", "corruption=joint"], "loss": ["loss=infonce", "loss=barlow_twins"]}
    >>> list(combined(axes, "one"))[1:]
    [('corruption=joint', 'loss=infonce'), ('corruption=mean', 'loss=barlow_twins')]
    >>> list(combined({**axes, "seed": ["seed=1"]}, "pairs"))[1]
    ('corruption=joint', 'loss=barlow_twins', 'seed=1')

    Raises:
        UsageError: axes of pairs have different numbers of values.
    """
    if vary == "all":
        yield from product(*axes.values())
    elif vary == "pairs":
        lengths = {len(each) for each in axes.values()} - {1}
        if len(lengths) > 1:
            raise UsageError("vary=pairs takes the n-th values together: each axis has as many, or one.")
        for n in range(max(lengths, default=1)):
            yield tuple(each[n % len(each)] for each in axes.values())
    else:
        for base in product(*(each if name in TABLES else each[:1] for name, each in axes.items())):
            yield base
            for name, values in axes.items():
                for value in () if name in TABLES else values[1:]:
                    yield tuple({**dict(zip(axes, base, strict=True)), name: value}.values())


def _with_columns(overrides: Overrides, composer: Composer) -> Iterable[Overrides]:
    """The overrides with ``each`` replaced by each column of their table.

    ``dataset.drop=null,each`` is a cell with all columns, and a cell without each of them.
    """
    others = tuple(each for each in overrides if not each.endswith("=each"))
    if others == overrides:
        return [overrides]
    columns_of = [hydra_text([name]) for name in Cell((), composer(others)).source.read().table.features_of]
    return product(
        *([each] if each in others else [each.removesuffix("each") + name for name in columns_of] for each in overrides)
    )


def _compose(combinations: Sequence[Overrides], composer: Composer) -> tuple[list[Cell], dict[str, UsageError]]:
    """The cells of combinations, and a refusal of each override of an option that a cell lacks.

    A part's option may be set although some combinations choose a part without it, as in ``regime=full,few
    regime.labels=20``. It is left out of their overrides.
    """
    cells, problems = {}, []
    unknown = dict[str, UsageError]()
    for combination in combinations:
        try:
            config, refusals = composer.setting(combination)
        except UsageError as error:
            problems.append(str(error))
            # A wrong choice takes as long to compose as a right one.
            if len(problems) == MOST_PROBLEMS:
                break
        else:
            overrides = tuple(each for each in combination if each not in refusals)
            cells[overrides] = Cell(overrides, config)
            unknown |= refusals
    refuse(problems)
    return list(cells.values()), unknown


def _select_valid(candidates: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose choices go together, and serve their data; and sentences on the others."""
    # A method without kinds serves every target. The kind may have to be found in the data.
    kinds = set(KINDS).intersection(*(cell.config.part("method").targets or KINDS for cell in candidates))
    # A large table takes seconds to read, so it is read once for all of its cells.
    read = cache(Source.read)
    cells, left_out = [], []
    for cell in candidates:
        try:
            check_combination(cell.config)
            if not kinds:
                check_method(cell.config, cell.target_kind())
            # Any table has a share of its labels. A number of labels is checked if the table is on this machine.
            if cell.config.regime.get("labels", 0) > 1 and cell.source.is_here:
                # Imports numpy.
                from ..data.trials import check_request

                check_request(cell.config, read(cell.source).table)
            cells.append(cell)
        except UsageError as error:
            left_out.append(str(error))
    return cells, left_out


def _problems(cells: Sequence[Cell], unknown: Mapping[str, UsageError]) -> list[str]:
    """A sentence on each option that is set and that no cell has or uses, and on tables that have one name."""
    unused = [unused_options(cell.config) for cell in cells]
    names = dict.fromkeys(map(_option, chain(*(cell.overrides for cell in cells))))
    sentences = [str(refusal) for line, refusal in unknown.items() if _option(line) not in names]
    for name in names:
        # An option that some cells use may be set for all of them, as in pretrain=scarf,none loss.temperature=2.
        if all(is_in(name, options) for options in unused):
            sentences.append(f"{name} is set, but no cell of this run uses it; leave it out, or choose what uses it.")
    # Results distinguish the datasets of a run by their names.
    tables = {(cell.config.dataset.path, cell.config.dataset.target, cell.dataset_name) for cell in cells}
    if len({name for _, _, name in tables}) < len(tables):
        sentences.append("Tables of this run have one name; train them one by one, each with dataset.name=NAME.")
    return sentences
