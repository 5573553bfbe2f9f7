"""The plan of a run: what is left to train, and how much processor time that takes.

The expected seconds of a trial are those of `scarf_lightning.sweeping.cost`. Where cells of the run are finished, they
are corrected by the processor time that these took.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import counted
from .cell import Cell, State, SurveyedCell
from .cost import START_UP, TYPICAL_SIZE, Phases, seconds_of_trial
from .sizes import CC18, Size

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

Pace = dict[tuple[str, str], float]
"""By phase and kind of model, the processor time that trials took over the expected one."""


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
            share = group.pretraining / len(group.cells)
            for each, seconds in zip(group.cells, group.supervised, strict=True):
                expected[each.cell.key] = seconds + share
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
        size = size_of(each)
        if size is not None:
            known.setdefault(each.cell.source.key, size)

    # Finished cells are priced too: records show how far the estimates are off.
    expected = []
    for each in surveyed:
        size = known.get(each.cell.source.key, TYPICAL_SIZE)
        expected.append(seconds_of_trial(each.cell.config, size))

    return Plan(surveyed, _groups(surveyed, expected), known)


def _groups(surveyed: Sequence[SurveyedCell], expected: Sequence[Phases]) -> list[Group]:
    """The unfinished cells in groups that start from one pre-training, in the order of the command line.

    Args:
        surveyed: all cells of the run. Their kept trials correct the expected seconds.
        expected: seconds of a trial of each.
    """
    pace = _pace(surveyed, expected)
    sharing: dict[object, list[tuple[SurveyedCell, Phases]]] = {}
    for place, (each, phases) in enumerate(zip(surveyed, expected, strict=True)):
        if each.state is State.FINISHED:
            continue
        kind = _kind(each.cell)
        paced = {}
        for phase, seconds in phases.items():
            paced[phase] = seconds * pace.get((phase, kind), 1.0)
        # A cell that shares nothing is a group of its own. Without a cache nothing is shared.
        key: object = place
        pretraining = each.cell.pretraining_key
        if pretraining is not None and each.cell.config.cache.max_gb > 0:
            key = pretraining
        sharing.setdefault(key, []).append((each, paced))
    # A dictionary keeps the order of its first keys.
    return [_group(together) for together in sharing.values()]


def size_of(surveyed: SurveyedCell) -> Size | None:
    """The size of a cell's table, as far as it is known without loading it."""
    # From what this user's runs have seen to what is known of a public dataset.
    if surveyed.data is not None:
        return Size(surveyed.data.n_rows, surveyed.data.n_columns)
    source = surveyed.cell.source
    if source.known_size is not None:
        return Size(*source.known_size)
    dataset = surveyed.cell.config.dataset
    if dataset.id is None:
        return None
    return CC18.get(dataset.id)


def _group(together: Sequence[tuple[SurveyedCell, Phases]]) -> Group:
    """The group of cells that start from one pre-training, with the seconds of a trial of each."""
    cells, supervised, longest = list[SurveyedCell](), list[float](), 0.0
    for each, phases in together:
        cells.append(each)
        supervised.append(each.n_missing * phases["finetune"])
        longest = max(longest, phases.get("pretrain", 0.0))
    first = cells[0]
    if first.cell.pretraining_key is None:
        return Group(cells, supervised)
    # A trial starts from the pre-training of its own number, so the group needs the trials that any cell lacks.
    needed = Group(cells, supervised).missing
    # The cache is found by the hash of the data. Before they are loaded, all is expected to be trained.
    store = None
    if first.data is not None:
        store = first.cell.pretraining(first.data)
    missing = len(needed)
    if store is not None:
        missing = len(store.missing(needed))
    return Group(
        cells=cells,
        supervised=supervised,
        pretraining=missing * longest,
        n_kept=len(needed) - missing,
        n_to_train=missing,
    )


def _kind(cell: Cell) -> str:
    """The kind of model that a cell trains: its network, or the other library's model that takes its place."""
    config = cell.config
    if "network" in config.part("method").uses:
        return config.network.name
    return str(config.method["name"])


def _pace(surveyed: Sequence[SurveyedCell], expected: Sequence[Phases]) -> Pace:
    """The processor time that the kept trials took over the expected one, of cells that go on, too."""
    recorded = defaultdict[tuple[str, str], float](float)
    ruled = defaultdict[tuple[str, str], float](float)
    # The ratio of sums weights long trials most, which decide how long a run takes.
    for each, phases in zip(surveyed, expected, strict=True):
        model = _kind(each.cell)
        for phase, seconds in phases.items():
            kind = (phase, model)
            for spent in each.rows.column(f"{phase}_seconds"):
                # A record has no seconds of a phase that its trial did without.
                if spent is not None:
                    recorded[kind] += spent
                    ruled[kind] += seconds
    pace = {}
    for kind, spent in recorded.items():
        # Records of 0 seconds tell nothing, and would make the rest of the run free.
        if spent and ruled[kind]:
            pace[kind] = spent / ruled[kind]
    return pace


def sentences(plan: Plan) -> list[str]:
    """The plan in words, a sentence a line."""
    states = Counter(each.state for each in plan.surveyed)
    counts = []
    # In the order in which the states are declared, whichever cell comes first.
    for state in State:
        if states[state]:
            counts.append(f"{states[state]:,} {state}")
    n_trials = sum(each.n_missing for each in plan.unfinished)
    left = "nothing is left to train"
    if n_trials:
        left = f"{counted(n_trials, 'trial')} to train"
    cells = counted(len(plan.surveyed), "cell")
    lines = [f"{cells}: {', '.join(counts)}; {left}."]
    lines += _pretrainings_note(plan)
    if plan.groups:
        pretraining = sum(group.pretraining for group in plan.groups)
        pretraining_words = ""
        # Less than a minute of it is no reason to choose another run.
        if pretraining >= MINUTE:
            pretraining_words = f", {about(pretraining)} of it pre-training"
        lines.append(f"Expected: about {about(plan.seconds_in_all)} on one core{pretraining_words}.")
    unknown = {each.cell.source.key for each in plan.unfinished} - plan.sizes.keys()
    if unknown:
        datasets = counted(len(unknown), "dataset")
        lines.append(
            f"The size of {datasets} is not known before it is loaded; {TYPICAL_SIZE.n_rows:,} rows are assumed."
        )
    return lines


def _pretrainings_note(plan: Plan) -> list[str]:
    """A sentence on the pre-trainings that are left; none without one."""
    shared = []
    for group in plan.groups:
        if group.cells[0].cell.pretraining_key is not None:
            shared.append(group)
    if not shared:
        return []
    n_cells = kept = to_train = 0
    for group in shared:
        n_cells += len(group.cells)
        kept += group.n_kept
        to_train += group.n_to_train
    serve = "serves" if len(shared) == 1 else "serve"
    pretrainings = counted(len(shared), "pre-training")
    return [
        f"{pretrainings} {serve} {counted(n_cells, 'cell')}: {kept:,} of the trials are in the cache, "
        f"{to_train:,} to train."
    ]


def about(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``5 min``, ``3 h``, ``12 days``."""
    # A unit begins where its number is at least two, and estimates are no finer than ten seconds.
    if seconds < 1.5 * MINUTE:
        return f"{max(10, 10 * round(seconds / 10))} s"
    if seconds < 1.5 * HOUR:
        return f"{round(seconds / MINUTE)} min"
    if seconds < 2 * DAY:
        return f"{round(seconds / HOUR)} h"
    return f"{round(seconds / DAY)} days"


def largest(plan: Plan, n: int) -> list[tuple[str, Size | None, float]]:
    """The datasets that take longest: name, size if it is known, and expected seconds."""
    seconds = defaultdict[str, float](float)
    sizes = dict[str, Size | None]()
    cell_seconds = plan.cell_seconds()
    for each in plan.unfinished:
        cell = each.cell
        name = cell.dataset_name
        sizes[name] = plan.sizes.get(cell.source.key)
        seconds[name] += cell_seconds[cell.key]
    longest = sorted(seconds, key=lambda name: -seconds[name])
    datasets = []
    for name in longest[:n]:
        datasets.append((name, sizes[name], seconds[name]))
    return datasets
