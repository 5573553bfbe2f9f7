"""Runs for Hydra: our sweeper runs all cells, in rounds until the question is answered, and a job trains some."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from ..errors import UnfinishedError, UsageError, unknown_name
from ..importing import without_garbage_collection
from ..metrics import metrics
from ..options import Config, load_plugins, unused_options
from ..options.settings import TrainerSettings
from ..results import Rows
from ..screen import reported, reported_once
from ..sweeping.cell import Cell, State, SurveyedCell, distinct, named, survey
from ..sweeping.chunks import Launch, read_chunk
from ..sweeping.cost import labels_to_learn_from
from ..sweeping.expand import ExpandedSweep, one_cell
from ..sweeping.folders import SWEEPS, SweepFile, read_sweep
from ..sweeping.hydra import check_hydra, named_plugins, read_config
from ..sweeping.plan import about, make_plan
from ..sweeping.run import read_files, run, sizes_of
from ..sweeping.sizes import Size
from ..sweeping.slurm import Detached
from ..sweeping.workers import TrainCells
from .own_parts import check_own_parts
from .show import SoFar, Terminal
from .signals import OutOfTime, alarm, change_alarm, ended_by_signals, seconds_gone, slowdown

if TYPE_CHECKING:
    from ..data.table import Table

SURELY = 0.5
"""The share of a table's labelled rows that any split gives to training."""
SECONDS_TO_REPORT, MOST_TO_REPORT = 8.0, 0.5
"""Processor seconds of a report, and the largest share of a limit that is kept for it and the recommended model."""
N_NETWORKS = 3
"""Networks of a recommended model, which vote as those of a `ScarfClassifier`."""
SHORTEST = 0.1
"""The share of a limit that trains at least, however long the start took."""
VALIDATION_ERROR = "validation_error"
"""The objective that uses no test row."""


def run_all(request: ExpandedSweep, launch: Launch, terminal: Terminal, launcher: str = "basic") -> list[SurveyedCell]:
    """Like `scarf_lightning.sweeping.run.run`, in rounds if the sweep file has several. When the time is over, the
    finished cells are shown.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did; or the time is over, of a sweep without rounds, or before any trial
            was finished.
    """
    options, sweep = request.cells[0].config, request.sweep
    # A wrong reference is refused before hours of training, not by the report behind them.
    if options.reference is not None:
        # Imports pandas.
        from ..reporting.run_results import check_reference

        check_reference(request.cells)
    check_own_parts(request.cells, sweep)
    over = f"time_limit={options.time_limit} is over; the same command goes on."
    has_rounds = sweep is not None and len(sweep.rounds) > 1
    # With force=true each round would train again what the one before it has trained.
    trains_in_rounds = has_rounds and not options.plan and not options.force
    if has_rounds and options.plan:
        request = _trainable_request(request)
    is_over = False
    try:
        with alarm(seconds_to_train(request, ends_with_model=trains_in_rounds)):
            if sweep is None or not trains_in_rounds:
                return run(request, launch, terminal, launcher, OwnTraining())
            surveyed = _train_in_rounds(request, sweep, launch, terminal, launcher)
    # The user asked to leave the array in the queue, so nothing is wrong.
    except Detached as left:
        terminal.say(str(left))
        return survey(named(distinct(request.cells)))
    # The alarm interrupts whatever runs, so what is finished is looked up in the store.
    except OutOfTime:
        is_over = True
        cells = request.cells
        if trains_in_rounds:
            cells = as_far_as_trained(cells)
        surveyed = survey(named(distinct(cells)))
    terminal.results(surveyed, request, 0)
    if is_over and not any(len(each.rows) for each in surveyed):
        # The same command would end in the same way.
        raise UnfinishedError(f"time_limit={options.time_limit} was over before a trial was finished; raise it.")
    # Without rounds a script must see that cells are missing. Rounds answer with what there is.
    if is_over and not trains_in_rounds:
        raise UnfinishedError(over)
    if is_over:
        terminal.say(over)
    return surveyed


def _train_in_rounds(
    request: ExpandedSweep, sweep: SweepFile, launch: Launch, terminal: Terminal, launcher: str
) -> list[SurveyedCell]:
    """Train the cells with few trials, and those of open comparisons with more, round after round."""
    from ..reporting.run_results import compared_run

    def train(cells: Sequence[Cell]) -> list[SurveyedCell]:
        return run(replace(request, cells=list(cells)), launch, SoFar(), launcher, OwnTraining(), in_order=True)

    for name, other in sweep.replaced.items():
        terminal.say(f"The package {name} is not installed, so method={other} takes its place.")
    # A user who sets the number of trials gets that number, and one round.
    sets_trials = any(argument.startswith("trials=") for argument in request.arguments)
    few = request.cells[0].config.trials
    more_trials = []
    if not sets_trials:
        more_trials = [n for n in sweep.rounds if n > few]
    with reported_once():
        tables = _tables_to_train(request.cells)
        terminal.tables(tables)
        # The alarm was set by a typical table. This one may be larger, and so the model at the end.
        sizes = sizes_of(tables)
        change_alarm(seconds_to_train(request, ends_with_model=True, sizes=sizes))
        # The loop over cells, also that of a worker, shows what is not in this list.
        shown = {}
        for cell in request.cells:
            if cell.source.key in tables:
                shown[cell.source] = tables[cell.source.key].hash
        reported().extend(shown.items())
        # Cells with all labels are among the first.
        fitting = surely_fitting(request.cells, tables)
        first = training_order(fitting, tables, terminal)
        if first:
            train(first)
        # The results of cells with all labels tell exactly how many there are.
        cells, reasons = sufficiently_labelled(request.cells)
        for reason in reasons:
            terminal.say(reason)
        surveyed = train(training_order(cells, {}, terminal))
        for n in more_trials:
            undecided = compared_run(request, surveyed).undecided
            # Each comparison is settled, or more trials would hardly settle it.
            if not undecided:
                break
            more = []
            for each in cells:
                more.append(_with_trials(each, n) if each.key in undecided else each)
            cells = more
            surveyed = train(training_order(cells, {}, terminal))
    return surveyed


def _tables_to_train(cells: Sequence[Cell]) -> "dict[str, Table]":
    """The users' own tables by the key of their source; none, and no file is read, if nothing is left to train."""
    fitting, _ = sufficiently_labelled(cells)
    if all(each.state is State.FINISHED for each in survey(fitting)):
        return {}
    return read_files(cells)


def surely_fitting(cells: Sequence[Cell], tables: "Mapping[str, Table]") -> list[Cell]:
    """The cells that have enough labels, as far as that is known before any is trained."""
    fitting = []
    for cell in cells:
        table = tables.get(cell.source.key)
        if "labels" not in cell.config.regime:
            fitting.append(cell)
        elif table is not None:
            # Copies in one part make parts of other sizes, and so do other rules.
            is_usual = cell.config.split["name"] in ("random", "stratified")
            least = SURELY * table.n_labelled
            if is_usual and not table.n_copies:
                least = expected_labels(cell, table)
            if cell.config.regime["labels"] < least:
                fitting.append(cell)
    return fitting


def expected_labels(cell: Cell, table: "Table") -> int:
    """Labels of a table that a cell has to learn from, test rows aside."""
    return labels_to_learn_from(table.n_labelled, counts_validation=counts_validation(cell))


def training_order(cells: Sequence[Cell], tables: "Mapping[str, Table]", terminal: Terminal) -> list[Cell]:
    """The cells in the order in which they train: models without a network, the references, then pre-trained networks.

    So what is finished can be compared, whenever the time is over. If training with all labels is expected to take
    longer than there is time, few labels come first within each of the three.
    """
    limit = cells[0].config.seconds_limit if cells else None
    everything = [cell for cell in cells if "labels" not in cell.config.regime]
    is_long = False
    if limit is not None and tables:
        seconds = make_plan(survey(everything), sizes_of(tables)).seconds
        is_long = seconds > limit
        if is_long:
            terminal.say(
                f"Training with all labels is expected to take about {about(seconds)} on one core, longer than "
                f"time_limit={cells[0].config.time_limit}, so few labels come first. Allow more time, or give a file "
                "with fewer rows."
            )

    def worth(cell: Cell) -> tuple[bool, bool, float]:
        # False sorts before True.
        is_network = "network" not in unused_options(cell.config)
        is_pretrained = cell.pretraining_key is not None
        labels = float(cell.config.regime.get("labels", math.inf))
        return is_network, is_pretrained, labels if is_long else -labels

    return sorted(cells, key=worth)


def _trainable_request(request: ExpandedSweep) -> ExpandedSweep:
    """The request of a plan without the cells that have too few labels, as far as that is known."""
    tables = read_files(request.cells)
    fitting, numbers = [], list[str]()
    known_to_fit, _ = sufficiently_labelled(request.cells)
    for cell in known_to_fit:
        table = tables.get(cell.source.key)
        labels = cell.config.regime.get("labels", 0)
        if table is None or labels < expected_labels(cell, table):
            fitting.append(cell)
        else:
            numbers.append(f"{labels:g}")
    if not numbers:
        return replace(request, cells=fitting)
    n_labelled = ", ".join(f"{table.n_labelled:,}" for table in tables.values())
    reason = f"{', '.join(dict.fromkeys(numbers))} labels; the table has {n_labelled}, a fifth of them for testing."
    return replace(request, cells=fitting, left_out=(*request.left_out, reason))


def seconds_to_train(
    request: ExpandedSweep, *, ends_with_model: bool, sizes: Mapping[str, Size] | None = None
) -> float | None:
    """The seconds until training has to end, so that the command ends with its limit; None without a limit.

    The limit counts what has gone since the command was started, and what the report and the recommended model take:
    longer on a machine that is busy, as the start has shown. The ``sizes`` of tables that were read tell how long.
    """
    limit = request.cells[0].config.seconds_limit
    if limit is None:
        return None
    left = limit - seconds_gone()
    if not ends_with_model:
        return max(left, 0.0)
    # The recommended model may be the one that takes longest to train.
    everything = [cell for cell in request.cells if cell.config.regime["name"] == "full"]
    longest = 0.0
    for cell, seconds in expected_seconds(everything, sizes):
        longest = max(longest, seconds / cell.config.trials)
    ending = slowdown() * (SECONDS_TO_REPORT + N_NETWORKS * longest)
    # A short limit is shared out, since a page without results answers nothing.
    return max(left - min(ending, MOST_TO_REPORT * limit), SHORTEST * limit)


def expected_seconds(cells: Sequence[Cell], sizes: Mapping[str, Size] | None = None) -> list[tuple[Cell, float]]:
    """The seconds that each cell is expected to take from its beginning, without looking at any file."""
    # As if nothing of them were finished. What is known of their data stays.
    fresh = []
    for each in survey(cells):
        fresh.append(SurveyedCell(each.cell, State.WAITING, Rows.of([]), each.data))
    seconds = make_plan(fresh, sizes).cell_seconds()
    return [(each.cell, seconds[each.cell.key]) for each in fresh]


def goes_in_rounds(arguments: Sequence[str]) -> bool:
    """True if a command line trains in rounds, which end with a page."""
    name = None
    for argument in arguments:
        # The last one wins, as everywhere on the command line.
        if argument.startswith("sweeps="):
            name = argument.removeprefix("sweeps=")
    if name is None or "plan=true" in arguments:
        return False
    return len(read_sweep(name, SWEEPS).rounds) > 1


def as_far_as_trained(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that fit, each with as many trials as it has, at least those that were asked for."""
    fitting, _ = sufficiently_labelled(cells)
    trained = []
    for cell in fitting:
        store = cell.store()
        n_finished = 0 if store is None else len(store.rows())
        trained.append(_with_trials(cell, max(cell.config.trials, n_finished)))
    return trained


def sufficiently_labelled(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells that have enough labels, as finished cells on the same data tell; and a sentence on the others."""
    # Trials of one table may differ in their labels, as with a split by groups: the fewest must suffice.
    known: dict[tuple[str, bool], int] = {}
    everything = [cell for cell in cells if cell.config.regime["name"] == "full"]
    for each in survey(everything):
        if each.rows:
            validation_counts = counts_validation(each.cell)
            data_key = each.cell.source.key, validation_counts
            column = "n_labels" if validation_counts else "n_labelled"
            fewest = int(min(each.rows.column(column)))
            known[data_key] = min(fewest, known.get(data_key, fewest))
    fitting, too_many = [], dict[tuple[str, int], list[float]]()
    for cell in cells:
        wanted = cell.config.regime.get("labels", 0)
        most = known.get((cell.source.key, counts_validation(cell)))
        # As many labels as there are would be the cell with all labels once more.
        if most is not None and wanted >= most:
            too_many.setdefault((str(cell.axes()["dataset"]), most), []).append(wanted)
        else:
            fitting.append(cell)
    reasons = []
    for (name, most), numbers in too_many.items():
        listed = ", ".join(f"{n:g}" for n in dict.fromkeys(numbers))
        reasons.append(f"Left out: {listed} labels; {name} has {most} to learn from.")
    return fitting, reasons


def counts_validation(cell: Cell) -> bool:
    """True if the labels of a cell are those that train and those that validate, and not the former alone."""
    return bool(cell.config.regime.get("validation") == "inside")


def _with_trials(cell: Cell, trials: int) -> Cell:
    # The overrides, too: a job of a launcher composes with them, and labels show them.
    overrides = []
    for override in cell.overrides:
        if override.partition("=")[0] != "trials":
            overrides.append(override)
    return replace(cell, config=replace(cell.config, trials=trials), overrides=(*overrides, f"trials={trials}"))


def train_job(job: DictConfig) -> float | None:
    """Train a chunk of cells, and keep their results in the store.

    Our sweeper writes the chunk. Without one, as in Hydra's mode RUN and with other sweepers such as Optuna's, the
    configuration of the job is itself a cell. The job then returns the mean over trials of the metric ``objective``.
    """
    with ended_by_signals():
        if job.chunk.file is not None:
            OwnTraining().imported()(read_chunk(job.chunk.file))
            return None
        hydra = HydraConfig.get()
        check_hydra(hydra)
        # The job of another sweeper may be a process of its own.
        load_plugins(named_plugins(hydra.overrides.task))
        request = one_cell(hydra.overrides.task, read_config(job))
        (cell,) = request.cells
        # Refused before it trains: the sweeper would ask for it only at the end.
        check_objective(cell.config, is_asked_for=hydra.mode is RunMode.MULTIRUN)
        # In this process, since the other sweeper starts processes of its own. The only cell is
        # its only chunk.
        run(request, lambda _: OwnTraining().imported()([cell]), Terminal())
        return objective(cell, cell.config.objective)


class OwnTraining:
    """Training in this process, or in its forks. Torch is imported when it is first asked."""

    def gpus(self, settings: TrainerSettings) -> list[int]:
        """The numbers of the GPUs that processes with these settings may train on; none if the processor trains."""
        if settings.accelerator == "cpu":
            return []
        if settings.device is not None:
            return [settings.device]
        import torch

        # `torch.cuda.is_available` would begin CUDA, which then cannot go on in a fork.
        numbers = list(range(torch.cuda.device_count()))
        # One process is enough to say that there is no GPU.
        return numbers or ([0] if settings.accelerator == "cuda" else [])

    def has_begun_cuda(self) -> bool:
        """True if this process has computed on a GPU."""
        import torch

        return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]

    def is_exact(self, settings: TrainerSettings) -> bool:
        """True if a trial's numbers do not depend on the trials beside it."""
        if self.gpus(settings):
            return False
        from ..engine.hardware import Promise, choose_hardware, own_torch, torch_threads

        with own_torch(), torch_threads(settings.threads):
            return choose_hardware(settings).promise is Promise.EXACT

    def imported(self, stack: Callable[[], AbstractContextManager[None]] = nullcontext) -> TrainCells:
        """The function that trains cells one after the other, each stack in a context, and keeps the last table."""
        with without_garbage_collection():
            # Imports torch and Lightning.
            from ..training.cell_loop import CellLoop

        return CellLoop(stack=stack).train


def check_objective(config: Config, *, is_asked_for: bool) -> None:
    """Refuse an objective that no cell has, or of which this cell has no value though its sweeper asks for one.

    Raises:
        UsageError: it is so.
    """
    name = config.objective
    names = (VALIDATION_ERROR, *(metric.name for metric in metrics()))
    if name not in names:
        raise UsageError(unknown_name(f"objective={name} is unknown", name, names, "the objectives"))
    if is_asked_for and name == VALIDATION_ERROR and config.watched_from == math.inf:
        raise UsageError(
            f"objective={name} has no value with method={config.method['name']} and "
            f"finetune.monitor={config.finetune.monitor}, because no row validates; name a metric: objective=accuracy."
        )


def objective(cell: Cell, name: str) -> float:
    """The mean of a metric over a finished cell's trials that did not diverge."""
    from ..loggers import validation_errors
    from ..results import load_cell

    store = cell.store()
    assert store is not None
    stored = load_cell(store.fingerprint, cell.results)
    trials = stored.trials.assign(**{VALIDATION_ERROR: validation_errors(stored)})
    # An earlier run may have trained more trials than this one asks for.
    asked = trials["trial"] < cell.config.trials
    return float(trials[name][asked].mean())
