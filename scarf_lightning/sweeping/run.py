"""Run cells: plan them, launch those that are not finished, and show all of them."""

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..data.targets import kind_named
from ..errors import UnfinishedError, UsageError, counted, explained
from ..importing import without_garbage_collection
from ..machine import usable_cores
from ..options.combinations import check_target
from ..options.logger_classes import check_loggers
from ..options.plugins import load_plugins
from ..results import PretrainingStore, check_folder, forget_failure, give_back
from .cell import Cell, Place, State, SurveyedCell, distinct, in_words, named, survey
from .expand import ExpandedSweep
from .jobs import Launch, TrainCells, Training
from .plan import Group, Plan, Size, make_plan
from .slurm import Detached
from .workers import Tell, Workers, crew

if TYPE_CHECKING:
    from ..data.table import Table

LOOK_EVERY = 1.0
"""Seconds between looks at cells that other processes train."""
TRIES = 3
"""The times that a cell is launched without getting on, where other processes let go of it unfinished."""


class Show(Protocol):
    """The view of a run that the user has: `scarf_lightning.cli.show.Terminal` prints it."""

    def say(self, sentence: str) -> None: ...
    def doing(self, what: str) -> AbstractContextManager[object]: ...
    def plan(self, plan: Plan, request: ExpandedSweep, tables: "Mapping[str, Table]") -> None: ...
    def watching(self, plan: Plan, *, is_told: bool) -> AbstractContextManager[Tell]: ...
    def prepare(self) -> None: ...
    def results(self, surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None: ...


def run(request: ExpandedSweep, training: Training, show: Show, launch: Launch | None = None) -> list[SurveyedCell]:
    """Train the cells that are not finished, show the results, and return how far each cell is.

    Args:
        training: of this process, or of workers if the run has work for several.
        launch: starts jobs in the place of both.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did.
    """
    for sentence in (*(f"Left out: {reason}" for reason in request.left_out), *request.notes):
        show.say(sentence)
    cells = named(distinct(request.cells))
    options = cells[0].config
    # A plugin's metrics are shown even if all cells are finished.
    load_plugins(options.plugins)
    # A run that only shows finished cells works in a folder of another user.
    for results in {cell.results for cell in cells}:
        check_folder(results, writable=options.force)
    if options.plan:
        tables = check_data(cells)
        plan = make_plan(survey(cells), sizes_of(tables))
        show.plan(plan, request, tables)
        return list(plan.surveyed)
    if options.force:
        # What is finished stays where it is if the run is refused.
        with without_garbage_collection():
            check_parts(cells)
        for sentence in _clear(cells):
            show.say(sentence)

    plan = make_plan(survey(cells))
    # Finished trials are never trained again unasked, so their networks cannot be had.
    lost = [each.cell.label for each in plan.surveyed if each.lacks_weights]
    if lost:
        sentence = "{} has finished trials without weights; force=true trains them again."
        raise UsageError("\n".join(map(sentence.format, lost)))
    after, problems = list(plan.surveyed), list[str]()
    n_skipped = len(cells) - len(plan.unfinished)
    if plan.unfinished:
        _check_before_training(plan.unfinished, len(cells), show)
        try:
            with _launching(plan, training, show, launch) as (launched, endings):
                after, problems = _train(plan, launched, endings)
        # The user asked to leave the array in the queue, so nothing is wrong.
        except Detached as left:
            show.say(str(left))
            return after
    for each in after:
        # A process may be killed after its last record, and before it gives its claim back.
        if each.state is State.FINISHED and each.folder is not None:
            give_back(each.folder)
    # Results first: the cells that finished are shown although others failed.
    show.results(after, request, n_skipped)
    if problems:
        raise UnfinishedError("\n".join(problems))
    return after


@contextmanager
def _launching(
    plan: Plan, training: Training, show: Show, launch: Launch | None
) -> Iterator[tuple[Launch, Mapping[str, str]]]:
    """What trains the groups of a plan, and how its workers ended that died while they had a cell, by its key."""
    config = plan.surveyed[0].cell.config
    if launch is not None:
        if config.workers is not None:
            raise UsageError(
                f"workers={config.workers} is of this machine's own workers, and another hydra/launcher starts "
                "processes itself; leave workers out."
            )
        with show.watching(plan, is_told=False):
            yield launch, {}
        return
    number, gpus = crew(config, plan, training)
    if number == 1:
        with show.watching(plan, is_told=True) as tell:
            yield partial(_train_here, training.imported(), tell), {}
        return
    shared = counted(len(gpus), "GPU") if gpus else counted(usable_cores(), "core")
    show.say(f"{number} workers train, on {shared}; workers=1 trains in one process.")
    # The display has a thread, before which the workers are forked.
    with (
        Workers(number, training, show.say, show.prepare, gpus) as workers,
        show.watching(plan, is_told=True) as workers.tell,
    ):
        yield workers, workers.endings


def _train_here(train: TrainCells, tell: Tell, groups: Sequence[Group]) -> None:
    """Train cells in this process, and tell each that has ended."""
    for group in groups:
        for each in group.cells:
            train([each.cell])
            tell(each.cell)


def _train(plan: Plan, launch: Launch, endings: Mapping[str, str]) -> tuple[list[SurveyedCell], list[str]]:
    """Launch until every cell is finished or has failed; return how far the cells are, and what went wrong.

    A cell that another process trains is waited for. It is launched here if that process dies.
    """
    tries, problems, unfinished = Counter[tuple[Place, int]](), list[str](), plan.unfinished
    latest = {each.cell.place: each for each in plan.surveyed}
    while True:
        todo = []
        for each in unfinished:
            # A cell that has got on is tried as often again, and one that fails only once.
            waits = each.state is State.WAITING and tries[each.cell.place, each.n_missing] < TRIES
            if waits or (each.state is State.FAILED and not tries):
                todo.append(each)
        if todo and not problems:
            tries.update((each.cell.place, each.n_missing) for each in todo)
            try:
                # Planned again, since trials that have ended meanwhile are not launched a second time.
                launch(make_plan(todo, plan.sizes).groups)
            # Such as a scheduler that refuses the jobs, whose options the user must mend.
            except UsageError:
                raise
            # A launcher raises anything where a process was killed or it is not set up. Another launch would end alike.
            except Exception as error:
                last = explained(error) if getattr(error, "errno", None) else None
                last = last or "".join(traceback.format_exception_only(error)).rstrip()
                problems.append(f"A job ended early; the same command goes on where it did. {last}")
        elif any(each.state is State.RUNNING for each in unfinished):
            time.sleep(LOOK_EVERY)
        else:
            after = list(latest.values())
            return after, _failures(after, endings) + problems
        surveyed = survey([each.cell for each in unfinished])
        latest |= {each.cell.place: each for each in surveyed}
        unfinished = [each for each in surveyed if each.state is not State.FINISHED]


def _failures(surveyed: Sequence[SurveyedCell], endings: Mapping[str, str]) -> list[str]:
    """Each reason why cells did not finish, once, with the cells that it holds for."""
    unfinished = dict[str, list[SurveyedCell]]()
    for each in surveyed:
        if each.state is not State.FINISHED:
            reason = each.failure.error if each.failure else _why_unfinished(each, endings)
            unfinished.setdefault(reason, []).append(each)
    sentences = []
    for reason, cells in unfinished.items():
        label, failure = cells[0].cell.label, cells[0].failure
        if len(cells) > 1:
            label = in_words([each.cell.overrides for each in cells], [each.cell.overrides for each in surveyed])
        sentences.append(str(replace(failure, cell=label)) if failure else f"{label} did not finish{reason}.")
    return sentences


def _why_unfinished(surveyed: SurveyedCell, endings: Mapping[str, str]) -> str:
    """The reason why a cell without a failure of its own is not finished; nothing if it is not known."""
    cell = surveyed.cell
    if cell.key in endings:
        return (
            f": its worker was ended each time ({endings[cell.key]}), as happens where memory runs out; fewer workers "
            "need less (workers=1)"
        )
    # Data are known from the time when a cell trains on them, unless their file has changed since.
    if surveyed.data is None and cell.source.is_found_out:
        return f": {cell.source.place} changed since it was trained; the same command trains on what is in it now"
    return ""


def _check_before_training(unfinished: Sequence[SurveyedCell], n_cells: int, show: Show) -> None:
    """Check the parts of the cells that are left to train, and make their folders of results."""
    what = f"{len(unfinished)} of {counted(n_cells, 'cell')} to train"
    # Imports make many objects and no garbage.
    with show.doing(f"{what}; importing torch and Lightning"), without_garbage_collection():
        check_parts([each.cell for each in unfinished])
    # A folder that is made here is not left behind by a run that the checks refuse.
    for results in {each.cell.results for each in unfinished}:
        check_folder(results, writable=True)
    for each in unfinished:
        # Only failures of this run are counted.
        if each.state is State.FAILED:
            forget_failure(each.cell.results, each.cell.key)


def check_parts(cells: Sequence[Cell]) -> None:
    """Look at the data from outside and construct every part of each cell, before the first one trains."""
    from ..options import build_parts

    # Torch is not imported to say that a file or a package is missing.
    outside: list[Callable[[], object]] = [cell.source.check for cell in cells]
    # The cells of a run have the same loggers.
    loggers = {repr(cell.config.logger): cell.config.logger for cell in cells}
    _refuse([*outside, *(partial(check_loggers, logger) for logger in loggers.values())])
    _refuse([partial(build_parts, cell.config) for cell in cells])
    check_data(cells)


def check_data(cells: Sequence[Cell]) -> "dict[str, Table]":
    """Refuse what cells ask of their data, and return the users' own tables, by the key of their source.

    Other tables are checked by the kind of their target, and by their rows where a column of theirs splits them.

    Raises:
        UsageError: a table cannot be read, or is not what a cell needs.
    """
    tables: dict[str, Table] = {}
    checks: list[Callable[[], object]] = []
    for cell in cells:
        source = cell.source
        kind = source.target_kind
        if source.is_found_out or (source.is_split_by_data and source.stamps()):
            from ..data.trials import check_request

            # Cells share tables, and a large one takes seconds to read.
            if source.key not in tables:
                tables[source.key] = source.read().table
            checks.append(partial(check_request, cell.config, tables[source.key]))
        elif kind is not None:
            checks.append(partial(check_target, cell.config, kind_named(kind)))
    _refuse(checks)
    return tables


def sizes_of(tables: "Mapping[str, Table]") -> dict[str, Size]:
    """Their sizes, as a plan takes them."""
    return {key: Size(table.n_rows, len(table.columns)) for key, table in tables.items()}


def _refuse(checks: Sequence[Callable[[], object]]) -> None:
    """Make all checks, and refuse whatever they refuse together."""
    problems = []
    for check in checks:
        try:
            check()
        except UsageError as error:
            problems.append(str(error))
    # Cells of one table have the same problem with it, which is shown once.
    if problems:
        raise UsageError("\n".join(dict.fromkeys(problems)))


def _clear(cells: Sequence[Cell]) -> list[str]:
    """Set aside the results and pre-trainings of cells; a sentence on each cell that had some."""
    reason, sentences = "force=true trains it again", []
    pretrainings = dict[Path, PretrainingStore]()
    for cell in cells:
        store, pretraining = cell.store(), cell.pretraining()
        if store is None or not store.folder.exists():
            continue
        # The claim keeps a process away that begins to train the cell at this moment.
        with store.claim() as claim:
            if claim is None:
                sentences.append(f"{cell.label} is being trained by another process and is left alone.")
                continue
            if store.rows():
                sentences.append(store.clear(reason))
        # Several cells start from one pre-training.
        if pretraining is not None and pretraining.folder.exists():
            pretrainings[pretraining.folder] = pretraining
    for pretraining in pretrainings.values():
        with pretraining.claim():
            pretraining.clear(reason)
    return sentences
