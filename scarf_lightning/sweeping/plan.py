"""The plan of a sweep: what there is to do, and what it is expected to cost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .cell import Cell
from .cost import CostModel
from .phases import pretraining, size, supervised
from .survey import State, SurveyedCell

HOUR = 3600.0


@dataclass(frozen=True)
class Pretrainings:
    """The pre-trainings of a sweep: how many there are, how many cells start from them, and trials by what is known."""

    n: int
    n_cells: int
    n_trials_kept: int
    n_trials_to_train: int
    seconds_to_train: float


@dataclass(frozen=True)
class Plan:
    """What there is to do."""

    surveyed: Sequence[SurveyedCell]
    states: Counter[State]
    n_trials_to_train: int
    pretrainings: Pretrainings
    supervised_seconds: float
    model: CostModel

    @property
    def hours(self) -> float:
        """Expected core hours."""
        return (self.pretrainings.seconds_to_train + self.supervised_seconds) / HOUR


def make_plan(surveyed: Sequence[SurveyedCell]) -> Plan:
    """Count what there is to do, and estimate it from what has been recorded; nothing is trained."""
    model = CostModel(surveyed)
    to_train = [each for each in surveyed if each.state is not State.FINISHED]
    return Plan(
        surveyed,
        Counter(each.state for each in surveyed),
        sum(each.n_missing for each in to_train),
        _pretrainings(surveyed, model),
        sum(each.n_missing * model.seconds(supervised(each.cell)) for each in to_train),
        model,
    )


def core_hours(surveyed: Sequence[SurveyedCell]) -> list[float]:
    """What each cell is expected to take; a pre-training that several start from counts in the first of them."""
    model = CostModel(surveyed)
    seconds = [
        0.0 if each.state is State.FINISHED else each.n_missing * model.seconds(supervised(each.cell))
        for each in surveyed
    ]
    places = {id(each): place for place, each in enumerate(surveyed)}
    for cells in _sharing(surveyed):
        seconds[places[id(cells[0])]] += _to_train(cells)[1] * _seconds_of_pretraining(cells, model)
    return [each / HOUR for each in seconds]


def _pretrainings(surveyed: Sequence[SurveyedCell], model: CostModel) -> Pretrainings:
    sharing = _sharing(surveyed)
    kept, to_train, seconds = 0, 0, 0.0
    for cells in sharing:
        needed, missing = _to_train(cells)
        kept += needed - missing
        to_train += missing
        seconds += missing * _seconds_of_pretraining(cells, model)
    return Pretrainings(len(sharing), sum(len(cells) for cells in sharing), kept, to_train, seconds)


def _sharing(surveyed: Sequence[SurveyedCell]) -> list[list[SurveyedCell]]:
    """The cells that are pre-trained, those that start from the same pre-training together; without a cache, alone."""
    sharing: dict[tuple[str, int | None], list[SurveyedCell]] = {}
    for place, each in enumerate(surveyed):
        if key := each.cell.pretraining_key:
            is_kept = each.cell.config.cache.max_gb > 0
            sharing.setdefault((key, None if is_kept else place), []).append(each)
    return list(sharing.values())


def _to_train(cells: Sequence[SurveyedCell]) -> tuple[int, int]:
    """Of a pre-training: the trials that these cells still need, and how many of them are not in the cache."""
    needed = {trial for each in cells if each.state is not State.FINISHED for trial in _missing(each)}
    return len(needed), _not_cached(cells[0].cell, sorted(needed))


def _seconds_of_pretraining(cells: Sequence[SurveyedCell], model: CostModel) -> float:
    """Of one trial."""
    phase = pretraining(cells[0].cell)
    assert phase is not None
    return model.seconds(phase)


def _missing(each: SurveyedCell) -> set[int]:
    return set(range(each.cell.config.trials)) - {row["trial"] for row in each.rows}


def _not_cached(cell: Cell, trials: Sequence[int]) -> int:
    store = cell.pretraining() if trials else None
    return len(trials) if store is None else len(store.missing(trials))


def sentences(plan: Plan) -> list[str]:
    """The plan in words, a sentence a line."""
    states, pre = plan.states, plan.pretrainings
    counts = ", ".join(f"{states[state]:,} {state}" for state in (State.FINISHED, State.RUNNING, State.FAILED))
    lines = [
        f"{len(plan.surveyed):,} cells: {counts}, {states[State.WAITING]:,} waiting; "
        f"{plan.n_trials_to_train:,} trials are to be trained."
    ]
    if pre.n:
        lines.append(
            f"{pre.n:,} pre-training{'s serve' if pre.n > 1 else ' serves'} {pre.n_cells:,} "
            f"cell{'s' if pre.n_cells > 1 else ''}; of the trials still needed {pre.n_trials_kept:,} "
            f"are in the cache and {pre.n_trials_to_train:,} are to be trained."
        )
    unit, seconds = ("hours", HOUR) if plan.hours >= 0.1 else ("minutes", HOUR / 60)
    expected, of_pretraining = plan.hours * HOUR / seconds, pre.seconds_to_train / seconds
    lines.append(f"Expected: {expected:.2f} core {unit}, {of_pretraining:.2f} of them pre-training.{_basis(plan)}")
    return lines


def _basis(plan: Plan) -> str:
    if not len(plan.model.errors):
        return " No cell is finished, so this is a rule of thumb."
    median, most, worst = map(plan.model.error_factor, (0.5, 0.9, 1.0))
    n = plan.states[State.FINISHED]
    on = "finished cell" if n == 1 else f"{n:,} finished cells"
    errors = f"{median:.2f} (median), {most:.2f} (90 %), {worst:.2f} (worst)"
    return f" On the {on} the estimate is off by a factor of {errors}."


def largest(plan: Plan, n: int) -> list[tuple[str, int, int, float]]:
    """The datasets that are expected to take longest: name, rows, columns, core hours of the supervised phases."""
    hours: dict[str, float] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for each in plan.surveyed:
        if each.state is not State.FINISHED:
            name = str(each.cell.config.dataset.name or each.cell.source.label)
            sizes[name] = size(each.cell)[:2]
            seconds = each.n_missing * plan.model.seconds(supervised(each.cell))
            hours[name] = hours.get(name, 0.0) + seconds / HOUR
    first = sorted(hours, key=lambda name: -hours[name])[:n]
    return [(name, *sizes[name], hours[name]) for name in first]
