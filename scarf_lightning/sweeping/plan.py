"""The plan of a run: what is left to train, and how much processor time that takes.

A fit of a network takes so many optimiser steps, each of which costs a little by itself and a little for each row::

    fit = FIT + steps * STEP + rows * epochs * seconds of a row

Methods tell how many fits they make (``typical_fits``), networks what a row costs beside the MLP (``typical_cost``),
and models of other libraries what a fit takes (``typical_seconds``). Where cells of the run have finished trials, the
time that these took corrects what is expected. `tools.benchmarks.planned_time` compares plans with what is spent.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import counted
from ..options import Config
from ..options.settings import FitSettings
from .cell import State, SurveyedCell

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
# Measured on one core of the machine in docs/speed.md; finished trials correct them on another one.
START_UP = 3.2
"""Seconds until torch and Lightning are imported and the result is shown."""
FIT, ALONE = 0.02, 0.03
"""Seconds of a fit, however small it is, and those more of a method that trains the trials of a stack one by one."""
STEP = 0.001
"""Seconds of an optimiser step of one trial, however few rows it has."""
ROW = {"pretrain": 4e-5, "finetune": 1.6e-5}
"""Seconds of a training row and an epoch in each phase, of the default network on `USUAL_COLUMNS`."""
USUAL_COLUMNS, OTHER_COLUMNS = 30, 1300
"""Columns that a row's time is for, and as many as the rest of the MLP costs."""
EPOCHS = {"pretrain": 24.0, "finetune": 11.0}
"""The mean number of epochs with a patience of 3. It grows in proportion to the patience."""
TYPICAL_PATIENCE = 3
TIES = 1.5
"""How many times as long a phase trains whose patience begins anew at an equally good epoch."""
TRAINED_SHARE, VALIDATED_SHARE = 0.7, 0.1
"""Of the rows with a label, in random splits; the others are tested."""


class Size(NamedTuple):
    """The size of a table: its rows and its columns that are features."""

    n_rows: int
    n_columns: int


TYPICAL_SIZE = Size(1000, 20)
"""Assumed of data whose size nobody knows before they are loaded."""
Phases = dict[str, float]
"""Processor seconds by phase, ``pretrain`` and ``finetune``."""


@dataclass(frozen=True)
class Group:
    """Unfinished cells that start from the same pre-training, or one cell that shares none.

    Attributes:
        cells: in the order of the command line.
        supervised: expected seconds of each cell's supervised phase, for all trials that it lacks.
        pretraining: expected seconds of their pre-training.
        n_to_train: trials of it that must be trained; the others that are missing are in the cache.
    """

    cells: list[SurveyedCell]
    supervised: list[float]
    pretraining: float = 0.0
    n_to_train: int = 0

    @property
    def seconds(self) -> float:
        return self.pretraining + sum(self.supervised)

    @property
    def missing(self) -> list[int]:
        """The trials that any of its cells lacks, in order."""
        return sorted(frozenset().union(*(each.missing for each in self.cells)))

    @property
    def dataset(self) -> str:
        return self.cells[0].cell.source.key

    @property
    def is_pretrained(self) -> bool:
        return self.cells[0].cell.pretraining_key is not None


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
        """The processor seconds of a command that trains what is left; none if nothing is."""
        return START_UP + sum(group.seconds for group in self.groups) if self.groups else 0.0

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
        # From what this user's runs have seen to what is known of a public dataset.
        seen = (each.data.n_rows, each.data.n_columns) if each.data else each.cell.source.known_size
        if size := seen or each.cell.config.dataset.size:
            known.setdefault(each.cell.source.key, Size(*size))
    # Finished cells are priced too: their records show how far the estimates are off.
    expected = [seconds_of_trial(each.cell.config, known.get(each.cell.source.key, TYPICAL_SIZE)) for each in surveyed]
    pace = _pace(surveyed, expected)
    sharing: dict[object, list[tuple[SurveyedCell, Phases]]] = {}
    for place, (each, phases) in enumerate(zip(surveyed, expected, strict=True)):
        if each.state is not State.FINISHED:
            paced = {phase: seconds * pace for phase, seconds in phases.items()}
            # A cell that shares nothing is a group of its own. Without a cache nothing is shared.
            shared = each.cell.pretraining_key if each.cell.config.cache.max_gb else None
            sharing.setdefault(shared or place, []).append((each, paced))
    return Plan(surveyed, [_group(together) for together in sharing.values()], known)


def _group(together: Sequence[tuple[SurveyedCell, Phases]]) -> Group:
    """The group of cells that start from one pre-training, with the seconds of a trial of each."""
    group = Group([each for each, _ in together], [each.n_missing * phases["finetune"] for each, phases in together])
    first = group.cells[0]
    if not group.is_pretrained:
        return group
    # The cache is found by the hash of the data. Before they are loaded, all is expected to be trained.
    store = first.cell.pretraining(first.data) if first.data else None
    n = len(store.missing(group.missing) if store else group.missing)
    seconds = n * max(phases["pretrain"] for _, phases in together)
    return Group(group.cells, group.supervised, seconds, n)


def _pace(surveyed: Sequence[SurveyedCell], expected: Sequence[Phases]) -> float:
    """The processor time that the finished trials took over the expected one."""
    recorded = planned = 0.0
    # The ratio of sums weights long trials most, which decide how long a run takes.
    for each, phases in zip(surveyed, expected, strict=True):
        for phase, seconds in phases.items():
            # A record has no seconds of a phase that its trial did without.
            spent = [taken for taken in each.rows.column(f"{phase}_seconds") if taken is not None]
            recorded += sum(spent)
            planned += len(spent) * seconds
    # Records of 0 seconds tell nothing, and would make the rest of the run free.
    return recorded / planned if recorded and planned else 1.0


def seconds_of_trial(config: Config, size: Size) -> Phases:
    """The processor seconds that one trial of a cell is expected to take on a table of this size."""
    trained, method = TRAINED_SHARE * size.n_rows, config.part("method")
    # `semi25` has the option `labelled`, a share; `few` has `labels`, a number or a share.
    asked = float(config.regime.get("labelled") or config.regime.get("labels") or 1.0)
    # A table may have fewer rows than `few` asks for; it is refused only once it is loaded.
    labelled = min(asked * trained if asked <= 1 else asked, trained)
    phases = {}
    if config.is_pretrained:
        # Pre-training needs no labels, so it learns from every training row that it may see.
        rows = min(trained, config.pretrain.rows or math.inf)
        phases["pretrain"] = _fit(config, config.pretrain, "pretrain", rows, size.n_columns)
    # A method that uses no options of fine-tuning trains another library's model.
    if "finetune" not in method.uses:
        fit, thousand_rows = method.typical_seconds
        phases["finetune"] = fit + thousand_rows * size.n_columns / USUAL_COLUMNS * labelled / 1000
        return phases
    if method.needs_unlabelled_rows:
        # Rows get labels from fit to fit, until most have one.
        labelled = (labelled + trained) / 2
    fit = _fit(config, config.finetune.fit_to_rows(round(labelled)), "finetune", labelled, size.n_columns)
    phases["finetune"] = method.typical_fits * (fit + ALONE * method.trains_each_alone)
    return phases


def _fit(config: Config, settings: FitSettings, phase: str, n_rows: float, n_columns: int) -> float:
    """The seconds of one fit of the network on so many rows."""
    network = config.part("network")
    # Rows behind the last full batch count by `ROW` alone; fewer rows than a batch are one step.
    steps = max(1, math.floor(n_rows / settings.batch_size))
    # An MLP's first layer alone grows with the columns; a network with a token a column does all of its work for each.
    others = 0 if network.costs_by_column else OTHER_COLUMNS
    width = (n_columns + others) / (USUAL_COLUMNS + others)
    rows_seconds = n_rows * ROW[phase] * network.typical_cost * width
    return float(FIT + epochs_of(settings, phase, steps) * (steps * STEP + rows_seconds))


def epochs_of(settings: FitSettings, phase: str, steps: int) -> float:
    """The epochs that a phase is expected to train, of so many optimiser steps each.

    >>> epochs_of(FitSettings(min_steps=100), "finetune", 4)
    25.0
    """
    first, last = settings.epochs(steps)
    if math.isinf(settings.stops_after):
        return float(last)
    # `EPOCHS` was measured with the typical patience and a validation after every epoch.
    waits = settings.stops_after / (TYPICAL_PATIENCE + 1) * settings.validate_every
    if settings.ties == "last":
        waits *= TIES
    return max(float(first), min(EPOCHS[phase] * waits, float(last)))


def labels_to_learn_from(n_labelled: int, *, counts_validation: bool) -> int:
    """Of the labels of a table those that a random split leaves to training, and to validation if they count."""
    n_test = round((1 - TRAINED_SHARE - VALIDATED_SHARE) * n_labelled)
    n_validation = 0 if counts_validation else round(VALIDATED_SHARE * n_labelled)
    return n_labelled - n_test - n_validation


def sentences(plan: Plan) -> list[str]:
    """The plan in words, a sentence a line."""
    states = Counter(each.state for each in plan.surveyed)
    # In the order in which the states are declared, whichever cell comes first.
    counts = ", ".join(f"{states[state]:,} {state}" for state in State if states[state])
    n_trials = sum(each.n_missing for each in plan.unfinished)
    left = f"{counted(n_trials, 'trial')} to train" if n_trials else "nothing is left to train"
    lines = [f"{counted(len(plan.surveyed), 'cell')}: {counts}; {left}."]
    shared = [group for group in plan.groups if group.is_pretrained]
    if shared:
        n_to_train = sum(group.n_to_train for group in shared)
        n_kept = sum(len(group.missing) for group in shared) - n_to_train
        lines.append(
            f"{counted(len(shared), 'pre-training')} {'serves' if len(shared) == 1 else 'serve'} "
            f"{counted(sum(len(group.cells) for group in shared), 'cell')}: "
            f"{n_kept:,} of the trials are in the cache, {n_to_train:,} to train."
        )
    if plan.groups:
        pretraining = sum(group.pretraining for group in plan.groups)
        # Less than a minute of it is no reason to choose another run.
        part = f", {about(pretraining)} of it pre-training" if pretraining >= MINUTE else ""
        lines.append(f"Expected: about {about(plan.seconds)} on one core{part}.")
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
