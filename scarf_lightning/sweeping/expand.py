"""From a command line to cells."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from ..config import Config, check_combination, check_options, unused_options
from ..errors import UsageError
from ..results import axis_columns, identity
from .cell import Cell
from .composer import Composer
from .sweep_file import SweepFile, read_sweep

OF_THE_WHOLE_RUN = ("sweeps", "plan", "force", "trials", "chunk.file", "chunk.minutes", "chunk.max_jobs")
OF_OUR_SWEEPER = ("sweeps", "plan", "chunk.minutes", "chunk.max_jobs")
"""Options of no use to another, nor to Hydra's mode RUN."""


@dataclass(frozen=True)
class ExpandedSweep:
    """What a command line asks for.

    Attributes:
        cells: all of them.
        sweep: the sweep file that they come from, if one does.
        left_out: why some of its cells are left out where the command line replaces an axis of it.
        arguments: the command line.
        usual: the axis columns of a cell for which nothing is asked, where there are several cells.
    """

    cells: list[Cell]
    sweep: SweepFile | None = None
    left_out: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)


def expand(arguments: Sequence[str], composer: Composer, sweeps: Path) -> ExpandedSweep:
    """Every combination of the swept overrides, each composed and checked.

    A product may hold cells that cannot be, as ``pretrain=none,scarf method=control,xgboost`` does: they are left out,
    and named, unless there is no other. With ``sweeps=NAME`` the union of that file's blocks; what the command line
    says of an axis replaces it in each. So ``regime=full`` narrows a sweep of three regimes. A file by itself must name
    none that cannot be.

    Args:
        arguments: overrides.
        composer: of the configuration that Hydra made of the command line.
        sweeps: the folder of sweep files.

    Raises:
        UsageError: a list of all that is wrong; nothing has been trained.
    """
    given = composer.parse(arguments)
    _refuse_sweeping_the_run(given)
    sweep = _sweep_file(given, sweeps)
    blocks = [given]
    if sweep is not None:
        set_here = {_axis(override) for override in given}
        parsed = [composer.parse(block) for block in sweep.blocks()]
        blocks = [[*(o for o in block if _axis(o) not in set_here), *given] for block in parsed]

    combinations = list(dict.fromkeys(itertools.chain.from_iterable(map(_product, blocks))))
    cells, problems, illegal = [], [], []
    for overrides in combinations:
        named = f"{' '.join(overrides)}: " if len(combinations) > 1 else ""
        try:
            config = composer(overrides) if len(combinations) > 1 else composer.whole(overrides)
        except UsageError as error:
            problems.append(f"{named}{error}")
            continue
        try:
            check_combination(config)
        except UsageError as error:
            illegal.append((f"{named}{error}", str(error)))
            continue
        try:
            check_options(config)
        except UsageError as error:
            problems.append(f"{named}{error}")
        else:
            cells.append(Cell(overrides, config))
    is_narrowed = sweep is None or len(given) > 1
    problems += [] if cells and is_narrowed else [sentence for sentence, _ in illegal]
    axes = dict.fromkeys(_axis(override) for block in blocks for override in block)
    if not problems:
        problems = _refuse_unused(axes, cells)
    if "objective" in axes:
        problems.append("objective is what a job returns to another sweeper; ours takes none.")
    if "plugins" not in axes and any(cell.config.plugins for cell in cells):
        problems.append("plugins may be named on the command line only: a configuration file runs no code.")
    if problems:
        raise UsageError("\n".join(problems))
    left_out = tuple(dict.fromkeys(reason for _, reason in illegal))
    usual = axis_columns(identity(composer(()), "")) if len(cells) > 1 else {}
    return ExpandedSweep(cells, sweep, left_out, tuple(arguments), usual)


def one_cell(overrides: Sequence[str], config: Config) -> ExpandedSweep:
    """The cell that a job is, where another sweeper than ours has composed it, or none.

    Raises:
        UsageError: as by `expand`.
    """
    axes = [_axis(override) for override in OverridesParser.create().parse_overrides(list(overrides))]
    cell = Cell(tuple(overrides), config)
    problems = [
        f"{axis} is for our sweeper; leave hydra/sweeper and hydra.mode alone."
        for axis in axes
        if axis in OF_OUR_SWEEPER
    ]
    check_combination(config)
    check_options(config)
    problems = problems or _refuse_unused(axes, [cell])
    if problems:
        raise UsageError("\n".join(problems))
    return ExpandedSweep([cell])


def _refuse_sweeping_the_run(given: Sequence[Override]) -> None:
    for override in given:
        if override.is_sweep_override() and _axis(override) in OF_THE_WHOLE_RUN:
            raise UsageError(f"{override.input_line}: {_axis(override)} is one for the whole run; give it one value.")


def _sweep_file(given: Sequence[Override], folder: Path) -> SweepFile | None:
    names = [override.value() for override in given if _axis(override) == "sweeps"]
    return None if not names or names[-1] is None else read_sweep(str(names[-1]), folder)


def _axis(override: Override) -> str:
    """What an override is about: a dotted option, or the place of a group."""
    group, _, package = override.get_key_element().lstrip("+~").partition("@")
    return (package or group).replace("/", ".")


def _product(block: Sequence[Override]) -> Iterable[tuple[str, ...]]:
    choices = []
    for override in block:
        key = override.get_key_element()
        if not override.is_sweep_override():
            choices.append([str(override.input_line)])
            continue
        if not override.is_discrete_sweep():
            raise UsageError(f"{override.input_line}: name the values, as in {key}=A,B; ranges are not sampled.")
        choices.append([f"{key}={value}" for value in override.sweep_string_iterator()])
        if not choices[-1]:
            raise UsageError(f"{override.input_line} matches no option.")
    return itertools.product(*choices)


def _refuse_unused(axes: Iterable[str], cells: Sequence[Cell]) -> list[str]:
    """A sentence for each option that is set and no cell uses."""
    unused = [unused_options(cell.config) for cell in cells]
    problems = []
    for axis in axes:
        if all(any(axis == option or axis.startswith(option + ".") for option in options) for options in unused):
            problems.append(
                f"{axis} is set, but no cell of this run uses it ({_choices(cells)}); leave it out, or choose what "
                "uses it."
            )
    return problems


def _choices(cells: Sequence[Cell]) -> str:
    """The choices that decide which options are used."""
    chosen = {
        "pretrain": [cell.config.pretrain.name for cell in cells],
        "method": [cell.config.method["name"] for cell in cells],
        "corruption": [cell.config.corruption["name"] for cell in cells],
        "cotrain": [cell.config.cotrain.task for cell in cells],
    }
    return ", ".join(f"{axis}={','.join(dict.fromkeys(names))}" for axis, names in chosen.items())
