"""The search of ``hydra/sweeper=optuna``: its options, its axes, and the cell of a try. Free of Optuna.

A try is what Optuna calls a trial: one cell of ours, with all of its trials.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from ..errors import UsageError
from ..options import Options, checked
from ..options.gate import Gate, Origin
from ..options.option import option
from .cell import Cell
from .composer import Composer
from .expand import checked_cell, expand
from .folders import swept
from .overrides import as_given, check_written, override_key, reaches_far

PLACE = "hydra.sweeper"
NOT_SEARCHED = {
    "sweeps": "a file names its cells itself",
    "reference": "a search compares nothing with a reference",
    "force": "a search never trains a finished cell again",
}
"""Options of our own sweeper that a search has no use for, and why."""
MOST_CHECKED = 1000
"""Combinations of choices that are composed and checked before the first try."""
INNER = 0.382
"""The place between the ends of an interval that is checked."""
DIGITS = 12
"""Decimals of the steps of a range."""
VALIDATION_ERROR = "validation_error"
"""The objective that uses no test row."""


@dataclass
class SamplerOptions(Options):
    """The sampler that suggests the tries: ``hydra/sweeper/sampler=NAME``."""

    name: Literal["tpe", "random"] = option("tpe", "tpe learns from the tries before it, random draws each by itself")
    seed: int = option(0, "of its random numbers", "[0, 4294967295]")


@dataclass
class SearchOptions(Options):
    """The options of ``hydra/sweeper=optuna``."""

    sampler: SamplerOptions = field(default_factory=SamplerOptions)
    n_trials: int = option(20, "tries in all, those of earlier commands among them", "[1, 1000000]")
    n_jobs: int = option(1, "tries that are suggested and trained together", "[1, 4096]")
    storage: str | None = option(
        None,
        "where the study is kept: a database such as sqlite:///study.db, or a file that ends in .log; null is a file "
        "in the folder of results",
    )
    study_name: str | None = option(None, "name of the study; null is a name made of what is searched")
    direction: Literal["minimize", "maximize"] | None = option(None, "of the objective; null is the one that is better")
    params: dict[str, Any] = option({}, "spaces by option, as in a file: corruption.rate: interval(0.2, 0.8)")


class Suggests(Protocol):
    """What a search uses of `optuna.Trial`."""

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any: ...
    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int: ...
    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float: ...


@dataclass(frozen=True)
class SearchAxis:
    """An option with the values that are searched.

    Attributes:
        key: the option.
        given: its space, as the user wrote it.
        values: the choices, or the numbers of a range in their order; none of an interval.
        low, high: the ends of a range or an interval; None of choices.
        step: between two numbers of a range.
        is_log: True if an interval is searched on a logarithmic scale.
    """

    key: str
    given: str
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    is_log: bool = False

    @property
    def checked(self) -> tuple[str, ...]:
        """All choices; or of numbers both ends, and one between them, which is a fraction if they may be."""
        if self.low is None or self.high is None:
            return self.values
        if self.values:
            return self.values[0], self.values[len(self.values) // 2], self.values[-1]
        is_whole = isinstance(self.low, int) and isinstance(self.high, int)
        between = self.low + INNER * (self.high - self.low)
        between = round(between, None if is_whole else DIGITS)
        return repr(self.low), repr(between), repr(self.high)

    def suggested(self, trial: Suggests) -> str:
        """The override that a try gets."""
        if self.low is None or self.high is None:
            return f"{self.key}={trial.suggest_categorical(self.key, self.values)}"
        number: float
        if isinstance(self.low, int) and isinstance(self.high, int):
            step = 1 if self.step is None else int(self.step)
            number = trial.suggest_int(self.key, self.low, self.high, step=step, log=self.is_log)
        else:
            number = trial.suggest_float(self.key, self.low, self.high, step=self.step, log=self.is_log)
        # As Hydra writes the numbers of a range, so that a sweep over it has the same cells.
        if self.values:
            return f"{self.key}={min(self.values, key=lambda value: abs(float(value) - number))}"
        return f"{self.key}={number!r}"


def axis_of(override: Override) -> SearchAxis | None:
    """The axis that an override spans; None if it has one value.

    Raises:
        UsageError: its space has no value.
    """
    if not override.is_sweep_override():
        return None
    key, space = override.get_key_element(), override.value()
    given = str(override.input_line).partition("=")[2]
    if isinstance(space, IntervalSweep):
        low, high, is_log = space.start, space.end, "log" in space.tags
        assert low is not None
        assert high is not None
        if low >= high:
            raise UsageError(f"{override.input_line}: name the lower end first.")
        if is_log and low <= 0:
            raise UsageError(f"{override.input_line}: a logarithmic scale begins above 0.")
        return SearchAxis(key, given, (), low, high, is_log=is_log)
    values = list(override.sweep_string_iterator())
    if not values:
        raise UsageError(f"{override.input_line} matches no option.")
    numbers = _numbers(values) if isinstance(space, RangeSweep) else []
    if not numbers:
        return SearchAxis(key, given, tuple(dict.fromkeys(values)))
    # A range may go down, or be shuffled.
    values.sort(key=float)
    numbers.sort()
    n_steps = len(numbers) - 1
    if n_steps == 0 or isinstance(numbers[0], int):
        step = numbers[1] - numbers[0] if n_steps else None
        return SearchAxis(key, given, tuple(values), numbers[0], numbers[-1], step)
    # Optuna leaves out the last number if the sum of the steps misses it by a rounding error.
    step = round((numbers[-1] - numbers[0]) / n_steps, DIGITS)
    high = round(numbers[0] + n_steps * step, DIGITS)
    return SearchAxis(key, given, tuple(values), numbers[0], high, step)


def _numbers(values: Sequence[str]) -> list[int] | list[float]:
    """The numbers of a range, whole ones if all are; none if it was cast to something else."""
    for kind in (int, float):
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return []


@dataclass(frozen=True)
class Search:
    """A search that is checked.

    Attributes:
        options: of the sweeper.
        axes: what is searched.
        fixed: the overrides that all tries share.
        cells: of the choices, at the ends of numbers and between them, which were checked.
        objective: what a cell is judged by.
        composer: of the cells of its tries.
    """

    options: SearchOptions
    axes: Sequence[SearchAxis]
    fixed: Sequence[str]
    cells: Sequence[Cell]
    objective: str
    composer: Composer

    @property
    def description(self) -> dict[str, Any]:
        """What a study is of. Tries of two descriptions must not be compared."""
        first = self.cells[0]
        return {
            "cell": first.key,
            "trials": first.config.trials,
            "space": {axis.key: axis.given for axis in self.axes},
            "objective": self.objective,
        }

    def resumed(self, overrides: Sequence[str], study: str) -> tuple[str, ...]:
        """The overrides of a try that a study has kept, with those of this command that reach beyond a cell's numbers.

        Args:
            overrides: of the try.
            study: the place of the study, for messages.

        Raises:
            UsageError: an override reaches beyond the numbers of a cell, and the command does not set its option.
        """
        gate, typed = Gate(Origin.RESULTS, study), self.composer.parse(self.fixed)
        given = [str(override.input_line) for override in typed if reaches_far(override)]
        keys = {override_key(override) for override in typed}
        # A choice such as method.estimator=A,B is typed, too.
        choices = {f"{axis.key}={value}" for axis in self.axes for value in axis.values}
        kept = []
        for override in self.composer.parse(overrides):
            line = str(override.input_line)
            if line in choices or not reaches_far(override):
                kept.append(line)
            # The results may have been moved since, so the folder of this command is the right one.
            elif override_key(override) not in keys:
                check_written(gate, [override])
        return (*given, *kept)

    def cell(self, overrides: Sequence[str]) -> Cell:
        """The cell of a try.

        Raises:
            UsageError: its options do not go together.
        """
        return checked_cell(overrides, self.composer)


def read_search(
    options: dict[str, Any], arguments: Sequence[str], objective: Any, composer: Composer, sweeps: Path
) -> Search:
    """Read a search from the sweeper's options and a command line, and check cells of its space.

    Raises:
        UsageError: an option or a space is wrong; nothing has been trained.
    """
    if isinstance(objective, list) or isinstance(options.get("direction"), list):
        raise UsageError(
            "hydra/sweeper=optuna searches by one objective; name one, as in objective=accuracy, and leave "
            f"{PLACE}.direction out."
        )
    chosen = checked(SearchOptions, options, PLACE)
    spaces = [f"{key}={swept(value)}" for key, value in chosen.params.items()]
    # As with every option of Hydra, the last one wins.
    overrides = {}
    for override in composer.parse([*spaces, *as_given(arguments)]):
        overrides[override_key(override)] = override
    axes, fixed = list[SearchAxis](), list[str]()
    for key, override in overrides.items():
        if key in NOT_SEARCHED:
            raise UsageError(
                f"{override.input_line} is not for hydra/sweeper=optuna: {NOT_SEARCHED[key]}; leave one of them out."
            )
        axis = axis_of(override)
        if key in ("objective", "dataset") and axis is not None:
            raise UsageError(f"{override.input_line}: a search compares values of one {key}; give it one value.")
        if axis is not None:
            axes.append(axis)
        # It changes no number of a cell, so a try and an ordinary cell of the same options are one.
        elif key != "objective":
            fixed.append(str(override.input_line))
    if not axes:
        raise UsageError(
            "hydra/sweeper=optuna searches nothing, because no option has a space; give one, as in "
            "'corruption.rate=interval(0.2,0.8)', or leave hydra/sweeper out."
        )
    cells = _checked_cells(axes, fixed, composer, sweeps)
    if objective == VALIDATION_ERROR:
        for cell in cells:
            if "finetune" not in cell.config.part("method").uses:
                raise UsageError(
                    f"method={cell.config.method['name']} has no validation error to search by; name a metric, as in "
                    "objective=accuracy."
                )
            if cell.config.watched_from == math.inf:
                raise UsageError(
                    f"{VALIDATION_ERROR} has no value with finetune.monitor={cell.config.finetune.monitor}, because no "
                    "row validates; set finetune.monitor=error, or name a metric, as in objective=accuracy."
                )
    return Search(chosen, axes, fixed, cells, objective, composer)


def _checked_cells(axes: Sequence[SearchAxis], fixed: Sequence[str], composer: Composer, sweeps: Path) -> list[Cell]:
    """The cells of all choices, with the numbers at their lower ends, between the ends, and at their upper ones."""
    cells = list[Cell]()
    for place in range(3):
        line = list(fixed)
        for axis in axes:
            values = axis.checked if axis.low is None else (axis.checked[place],)
            line.append(f"{axis.key}={','.join(values)}")
        checked_ends = expand(line, composer, sweeps, most=MOST_CHECKED)
        if checked_ends.left_out:
            raise UsageError(f"{' '.join(checked_ends.left_out)} A search needs choices that all go together.")
        cells += checked_ends.cells
    return cells
