"""The plan of a run: what is left to train, and how much processor time that takes.

The expected seconds of a trial are those of `scarf_lightning.sweeping.cost`. Where cells of the run are finished, they
are corrected by the processor time that these took.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import counted
from .cell import Cell, State, SurveyedCell
from .cost import START_UP, TYPICAL_SIZE, Phases, seconds_of_trial
from .sizes import CC18, Size

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

Kind = tuple[str, str]
"""A phase, and a kind of model."""


@dataclass(frozen=True)
class Group:
    """Unfinished cells that start from the same pre-training, or one cell that shares none.

    Attributes:
        cells: in the order of the command line.
        supervised: expected seconds of each cell's supervised phase, for all trials that it lacks.
        pretraining: expected seconds of their pre-training.
        n_kept: trials of the pre-training that the cells need and the cache has.
        n_to_train: trials of it that must be trained.
    """

    cells: list[SurveyedCell]
    supervised: list[float]
    pretraining: float = 0.0
    n_kept: int = 0
    n_to_train: int = 0

    @property
    def seconds(self) -> float:
        return self.pretraining + sum(self.supervised)

    @property
    def missing(self) -> list[int]:
        """The trials that any of its cells lacks, in order."""
        return sorted(frozenset().union(*(each.missing for each in self.cells)))


@dataclass(frozen=True)
class Plan:
    """All cells of a run, the groups of those that are left to train, and the known sizes of data by source key."""

    surveyed: Sequence[SurveyedCell]
    groups: list[Group]
    sizes: Mapping[str, Size]

    @property
    def unfinished(self) -> list[SurveyedCell]:
        return [each for each in self.surveyed if each.state is not State.FINISHED]

    @property
    def seconds(self) -> float:
        """The processor seconds of training, without the start of the process."""
        return sum(group.seconds for group in self.groups)

    @property
    def seconds_in_all(self) -> float:
        """The processor seconds of a command that trains what is left; none if nothing is."""
        return self.seconds + START_UP if self.groups else 0.0

    def cell_seconds(self) -> dict[str, float]:
        """Expected seconds by the key of the cell. Cells that share a pre-training have equal parts of it."""
        expected = {}
        for group in self.groups:
            for each, seconds in zip(group.cells, group.supervised, strict=True):
                expected[each.cell.key] = seconds + group.pretraining / len(group.cells)
        return expected


def make_plan(surveyed: Sequence[SurveyedCell], sizes: Mapping[str, Size] | None = None) -> Plan:
    """Find out what is left to train, and how much processor time that takes.

    Args:
        surveyed: the cells as the store has them. It knows the sizes of tables that earlier runs loaded.
        sizes: of tables that are loaded, by the key of their source.
    """
    # A table that is loaded is surer than a note on it, so its size is kept.
    known = dict(sizes or {})
    for each in surveyed:
        size = _size(each)
        if size is not None:
            known.setdefault(each.cell.source.key, size)
    # Finished cells are priced too: records show how far the estimates are off.
    expected = []
    for each in surveyed:
        expected.append(seconds_of_trial(each.cell.config, known.get(each.cell.source.key, TYPICAL_SIZE)))
    pace = _pace(surveyed, expected)

    sharing: dict[object, list[tuple[SurveyedCell, Phases]]] = {}
    for place, (each, phases) in enumerate(zip(surveyed, expected, strict=True)):
        if each.state is State.FINISHED:
            continue
        paced = {phase: seconds * pace.get((phase, _model(each.cell)), 1.0) for phase, seconds in phases.items()}
        # A cell that shares nothing is a group of its own. Without a cache nothing is shared.
        shared = each.cell.pretraining_key if each.cell.config.cache.max_gb else None
        sharing.setdefault(shared or place, []).append((each, paced))
    # A dictionary keeps the order of the command line.
    return Plan(surveyed, [_group(together) for together in sharing.values()], known)


def _size(surveyed: SurveyedCell) -> Size | None:
    """The size of a cell's table, as far as it is known without loading it."""
    # From what this user's runs have seen to what is known of a public dataset.
    if surveyed.data is not None:
        return Size(surveyed.data.n_rows, surveyed.data.n_columns)
    known = surveyed.cell.source.known_size
    return Size(*known) if known else CC18.get(surveyed.cell.config.dataset.id or 0)


def _group(together: Sequence[tuple[SurveyedCell, Phases]]) -> Group:
    """The group of cells that start from one pre-training, with the seconds of a trial of each."""
    cells = [each for each, _ in together]
    group = Group(cells, [each.n_missing * phases["finetune"] for each, phases in together])
    first = cells[0]
    if first.cell.pretraining_key is None:
        return group
    # A trial starts from the pre-training of its own number, so the group needs the trials that any cell lacks.
    needed = to_train = group.missing
    # The cache is found by the hash of the data. Before they are loaded, all is expected to be trained.
    if first.data is not None and (store := first.cell.pretraining(first.data)) is not None:
        to_train = store.missing(needed)
    seconds = len(to_train) * max(phases["pretrain"] for _, phases in together)
    return replace(group, pretraining=seconds, n_kept=len(needed) - len(to_train), n_to_train=len(to_train))


def _model(cell: Cell) -> str:
    """The kind of model that a cell trains: its network, or the other library's model that takes its place."""
    config = cell.config
    return config.network.name if "network" in config.part("method").uses else str(config.method["name"])


def _pace(surveyed: Sequence[SurveyedCell], expected: Sequence[Phases]) -> dict[Kind, float]:
    """The processor time that the kept trials took over the expected one, of cells that go on, too."""
    recorded, ruled = defaultdict[Kind, float](float), defaultdict[Kind, float](float)
    # The ratio of sums weights long trials most, which decide how long a run takes.
    for each, phases in zip(surveyed, expected, strict=True):
        for phase, seconds in phases.items():
            # A record has no seconds of a phase that its trial did without.
            spent = [taken for taken in each.rows.column(f"{phase}_seconds") if taken is not None]
            kind = (phase, _model(each.cell))
            recorded[kind] += sum(spent)
            ruled[kind] += len(spent) * seconds
    # Records of 0 seconds tell nothing, and would make the rest of the run free.
    return {kind: spent / ruled[kind] for kind, spent in recorded.items() if spent and ruled[kind]}


def sentences(plan: Plan) -> list[str]:
    """The plan in words, a sentence a line."""
    states = Counter(each.state for each in plan.surveyed)
    # In the order in which the states are declared, whichever cell comes first.
    counts = ", ".join(f"{states[state]:,} {state}" for state in State if states[state])
    n_trials = sum(each.n_missing for each in plan.unfinished)
    left = f"{counted(n_trials, 'trial')} to train" if n_trials else "nothing is left to train"
    lines = [f"{counted(len(plan.surveyed), 'cell')}: {counts}; {left}."]
    shared = [group for group in plan.groups if group.cells[0].cell.pretraining_key is not None]
    if shared:
        lines.append(
            f"{counted(len(shared), 'pre-training')} {'serves' if len(shared) == 1 else 'serve'} "
            f"{counted(sum(len(group.cells) for group in shared), 'cell')}: "
            f"{sum(group.n_kept for group in shared):,} of the trials are in the cache, "
            f"{sum(group.n_to_train for group in shared):,} to train."
        )
    if plan.groups:
        pretraining = sum(group.pretraining for group in plan.groups)
        # Less than a minute of it is no reason to choose another run.
        part = f", {about(pretraining)} of it pre-training" if pretraining >= MINUTE else ""
        lines.append(f"Expected: about {about(plan.seconds_in_all)} on one core{part}.")
    unknown = {each.cell.source.key for each in plan.unfinished} - plan.sizes.keys()
    if unknown:
        lines.append(
            f"The size of {counted(len(unknown), 'dataset')} is not known before it is loaded; "
            f"{TYPICAL_SIZE.n_rows:,} rows are assumed."
        )
    return lines


def about(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``5 min``, ``3 h``, ``12 days``."""
    # A unit begins where its number is at least two, and estimates are no finer than ten seconds.
    if seconds < 1.5 * MINUTE:
        return f"{max(10, 10 * round(seconds / 10))} s"
    if seconds < 1.5 * HOUR:
        return f"{round(seconds / MINUTE)} min"
    return f"{round(seconds / HOUR)} h" if seconds < 2 * DAY else f"{round(seconds / DAY)} days"
