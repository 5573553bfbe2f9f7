"""The plan of a run: what is left to train, and how much processor time that takes.

The expected seconds of a trial are those of `scarf_lightning.sweeping.cost`. Where cells of the run are finished, they
are corrected by the processor time that these took.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import counted
from ..options import COLUMNS
from ..options.combinations import method_of
from ..results import (
    SCIENCE_VERSION,
    Row,
    Stored,
    columns,
    descriptions,
    read_cell,
    science_of,
    trained_by,
)
from .cell import Cell, State, SurveyedCell
from .cost import START_UP, TYPICAL_SIZE, Phases, seconds_of_trial
from .sizes import CC18, Size

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

OF_A_DATASET = ("source", "id", "task", "path", "target")
"""Options that say which table a cell is of."""

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

    def of_cells(self) -> dict[str, float]:
        """Expected seconds by the key of the cell. Cells that share a pre-training have equal parts of it."""
        return {
            each.cell.key: seconds + group.pretraining / len(group.cells)
            for group in self.groups
            for each, seconds in zip(group.cells, group.supervised, strict=True)
        }


def make_plan(surveyed: Sequence[SurveyedCell], sizes: Mapping[str, Size] | None = None) -> Plan:
    """Find out what is left to train, and how much processor time that takes.

    Args:
        surveyed: the cells as the store has them. It knows the sizes of tables that earlier runs loaded.
        sizes: of tables that are loaded, by the key of their source.
    """
    known = dict(sizes or {})
    for each in surveyed:
        size = size_of(each)
        if size is not None:
            known.setdefault(each.cell.source.key, size)
    expected = []
    for each in surveyed:
        size = known.get(each.cell.source.key, TYPICAL_SIZE)
        expected.append(seconds_of_trial(each.cell.config, size))
    pace = _pace(surveyed, expected)
    sharing: dict[object, list[tuple[SurveyedCell, Phases]]] = {}
    for place, (each, phases) in enumerate(zip(surveyed, expected, strict=True)):
        if each.state is State.FINISHED:
            continue
        paced = {}
        for phase, seconds in phases.items():
            paced[phase] = seconds * pace.get((phase, _kind(each.cell)), 1.0)
        is_shared = each.cell.pretraining_key is not None and each.cell.config.cache.max_gb > 0
        key = each.cell.pretraining_key if is_shared else place
        sharing.setdefault(key, []).append((each, paced))
    return Plan(surveyed, [_group(together) for together in sharing.values()], known)


def size_of(surveyed: SurveyedCell) -> Size | None:
    """The size of a cell's table, as far as it is known without loading it."""
    if surveyed.data is not None:
        return Size(surveyed.data.n_rows, surveyed.data.n_columns)
    source = surveyed.cell.source
    if source.known_size is not None:
        return Size(*source.known_size)
    dataset = surveyed.cell.config.dataset
    return CC18.get(dataset.id) if dataset.id is not None else None


def _group(together: Sequence[tuple[SurveyedCell, Phases]]) -> Group:
    cells = [each for each, _ in together]
    supervised = [each.n_missing * phases["finetune"] for each, phases in together]
    first, *_ = cells
    if first.cell.pretraining_key is None:
        return Group(cells, supervised)
    needed = set[int]()
    for each in cells:
        needed |= set(range(each.cell.config.trials)) - set(each.rows.column("trial"))
    store = None if first.data is None else first.cell.pretraining(first.data)
    missing = len(needed) if store is None else len(store.missing(sorted(needed)))
    seconds = missing * max(phases["pretrain"] for _, phases in together)
    return Group(cells, supervised, seconds, len(needed) - missing, missing)


def _kind(cell: Cell) -> str:
    """The kind of model that a cell trains: its network, or the other library's model that takes its place."""
    config = cell.config
    if "network" in method_of(config).uses:
        return config.network.name
    return str(config.method["name"])


def _pace(surveyed: Sequence[SurveyedCell], expected: Sequence[Phases]) -> Pace:
    """The processor time that the finished trials took over the expected one."""
    recorded, ruled = defaultdict[tuple[str, str], float](float), defaultdict[tuple[str, str], float](float)
    for each, phases in zip(surveyed, expected, strict=True):
        if each.state is not State.FINISHED:
            continue
        for phase, seconds in phases.items():
            took = []
            for spent in each.rows.column(f"{phase}_seconds"):
                if spent is not None:
                    took.append(spent)
            kind = (phase, _kind(each.cell))
            recorded[kind] += sum(took)
            ruled[kind] += len(took) * seconds
    pace = {}
    for kind, seconds in recorded.items():
        if seconds and ruled[kind]:
            pace[kind] = seconds / ruled[kind]
    return pace


def sentences(plan: Plan) -> list[str]:
    """The plan in words, a sentence a line."""
    states = Counter(each.state for each in plan.surveyed)
    counts = ", ".join(f"{states[state]:,} {state}" for state in State if states[state])
    n_trials = sum(each.n_missing for each in plan.unfinished)
    left = f"{counted(n_trials, 'trial')} to train" if n_trials else "nothing is left to train"
    lines = [f"{counted(len(plan.surveyed), 'cell')}: {counts}; {left}."]
    shared = [group for group in plan.groups if group.cells[0].cell.pretraining_key is not None]
    if shared:
        n_cells = sum(len(group.cells) for group in shared)
        kept, to_train = sum(group.n_kept for group in shared), sum(group.n_to_train for group in shared)
        serve = "serves" if len(shared) == 1 else "serve"
        lines.append(
            f"{counted(len(shared), 'pre-training')} {serve} {counted(n_cells, 'cell')}: {kept:,} of the trials "
            f"are in the cache, {to_train:,} to train."
        )
    if plan.groups:
        pretraining = sum(group.pretraining for group in plan.groups)
        of_it = f", {about(pretraining)} of it pre-training" if pretraining >= MINUTE else ""
        lines.append(f"Expected: about {about(plan.seconds_in_all)} on one core{of_it}.")
    unknown = {each.cell.source.key for each in plan.unfinished} - plan.sizes.keys()
    if unknown:
        lines.append(
            f"The size of {counted(len(unknown), 'dataset')} is not known before it is loaded; "
            f"{TYPICAL_SIZE.n_rows:,} rows are assumed."
        )
    return lines


def on_other_versions(surveyed: Sequence[SurveyedCell]) -> list[str]:
    """Sentences on cells without a trial that the store has as another science version trained them, or on the data
    that their files held before."""
    fresh = [each for each in surveyed if each.state is not State.FINISHED and not each.rows]
    of_science, of_data = list[Stored](), list[str]()
    for results in dict.fromkeys(each.cell.results for each in fresh):
        kept = defaultdict[str, list[tuple[Path, Row]]](list)
        for folder, described in descriptions(results):
            dataset = described["config"].get("dataset")
            if isinstance(dataset, dict):
                kept[_question(dataset, described["options"])].append((folder, described))
        for each in fresh:
            if each.cell.results != results:
                continue
            options = columns(each.cell.config)
            asked = kept.get(_question(asdict(each.cell.config.dataset), options), [])
            # A cell that failed is described too, and is no other version of itself.
            others = [pair for pair in asked if pair[0] != each.folder]
            found = [pair for pair in others if _agree(options, pair[1]["options"])]
            sciences = {science_of(described) for _, described in found}
            if sciences and SCIENCE_VERSION not in sciences:
                folder, _ = max(found, key=lambda pair: science_of(pair[1]))
                of_science.append(read_cell(folder))
            elif sciences and each.data is not None:  # without a look at the data nobody knows
                of_data.append(str(each.axes["dataset"]))
    sentences = []
    if of_science:
        were, them = _pronouns(len(of_science))
        sentences.append(
            f"{counted(len(of_science), 'cell')} {were} trained by {trained_by(of_science)}; this version trains "
            f"{them} anew; report and load still read {them}."
        )
    if of_data:
        were, _ = _pronouns(len(of_data))
        names = ", ".join(dict.fromkeys(of_data))
        sentences.append(
            f"{counted(len(of_data), 'cell')} {were} trained on an earlier version of {names} or of a plugin, and "
            f'not on this one; load(versions="all") reads both.'
        )
    return sentences


def _question(dataset: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The dataset and the choices on the axes, which are the same for a cell in all versions of the package."""
    of_dataset = {name: dataset.get(name) for name in OF_A_DATASET}
    choices = {name: str(options[name]) for name in COLUMNS if name in options}
    return json.dumps([of_dataset, choices], sort_keys=True, default=str)


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if options that both versions of the package have are the same."""
    return all(value == other[name] for name, value in one.items() if name in other)


def _pronouns(n: int) -> tuple[str, str]:
    return ("was", "it") if n == 1 else ("were", "them")


def about(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``5 min``, ``3 h``, ``12 days``."""
    if seconds < 1.5 * MINUTE:
        return f"{max(10, 10 * round(seconds / 10))} s"
    if seconds < 1.5 * HOUR:
        return f"{round(seconds / MINUTE)} min"
    return f"{round(seconds / HOUR)} h" if seconds < 2 * DAY else f"{round(seconds / DAY)} days"


def largest(plan: Plan, n: int) -> list[tuple[str, Size | None, float]]:
    """The datasets that take longest: name, size if it is known, and expected seconds."""
    seconds, sizes = defaultdict[str, float](float), dict[str, Size | None]()
    of_cells = plan.of_cells()
    for each in plan.unfinished:
        name = str(each.cell.config.dataset.name or each.cell.source.label)
        sizes[name] = plan.sizes.get(each.cell.source.key)
        seconds[name] += of_cells[each.cell.key]
    longest = sorted(seconds, key=lambda name: -seconds[name])[:n]
    return [(name, sizes[name], seconds[name]) for name in longest]
