"""Run cells: survey them, plan what is missing, launch its jobs, survey again, and show all of them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ..data.targets import KINDS
from ..errors import UnfinishedError, UsageError, counted, explained
from ..importing import without_garbage_collection
from ..options.combinations import check_target
from ..options.plugins import check_loggers
from ..results import check_folder, forget_failure, known_data
from ..screen import doing, screen
from .cell import Cell, State, distinct, named, plan_jobs, stores_of, survey, unfinished
from .expand import ExpandedSweep
from .launchers import Detached
from .workers import Launch, LoadTraining, Tell, Workers, crew

if TYPE_CHECKING:
    from ..data.table import Table

LOOK_EVERY = 1.0
"""Seconds between looks at cells that other processes train."""
TRIES = 3
"""Launches after which no trial has ended, where jobs let go of their cells unfinished."""


class Show(Protocol):
    """A display of a run."""

    def plan(self, cells: Sequence[Cell], request: ExpandedSweep, tables: "dict[str, Table]") -> None:
        """Show what is left to train."""

    def watching(self, cells: Sequence[Cell], *, is_told: bool) -> AbstractContextManager[Tell]:
        """Show the progress while the block runs; unless it ``is_told`` of each cell that ends, it looks for itself."""

    def results(self, cells: Sequence[Cell], request: ExpandedSweep, n_skipped: int) -> None:
        """Show the results of cells, ``n_skipped`` of which were finished before the run."""


def run(request: ExpandedSweep, load: LoadTraining, show: Show, launch: Launch | None = None) -> Sequence[Cell]:
    """Train the cells that are not finished, show the results, and return the cells.

    Args:
        load: returns what trains cells in this process.
        launch: starts jobs in the place of this process and its workers.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did.
    """
    for sentence in (*(f"Left out: {reason}" for reason in request.left_out), *request.notes):
        screen(stderr=True).say(sentence)
    cells = named(distinct(request.cells))
    options = cells[0].config
    # A run that only shows finished cells works in a folder of another user, and makes none.
    for results in {cell.results for cell in cells}:
        check_folder(results, writable=False)
    if options.plan:
        survey(cells)
        tables = check_data(cells)
        plan_jobs(cells)
        show.plan(cells, request, tables)
        return cells
    if options.force:
        # What is finished stays where it is if the run is refused.
        check_parts(cells)
        _clear(cells)

    left = unfinished(survey(cells))
    # Finished trials are never trained again unasked, so their networks cannot be had.
    lost = [cell.label for cell in cells if cell.lacks_weights]
    if lost:
        raise UsageError(f"{'; '.join(lost)}: finished trials have no weights; force=true trains them again.")
    problems = list[str]()
    if left:
        _check_before_training(left, len(cells))
        try:
            with _launching(left, load, show, launch) as chosen:
                _train(left, chosen)
        # The user asked to leave the array in the queue, so nothing is wrong.
        except Detached as detached:
            screen(stderr=True).say(str(detached))
            return cells
        # Such as a scheduler that refuses the jobs, whose options the user must mend.
        except UsageError:
            raise
        # A launcher raises anything where a process was killed or it is not set up.
        except Exception as error:
            survey(cells)
            reason = explained(error) or f"{type(error).__name__}: {error}"
            problems = [f"A job ended early; the same command goes on where it did. {reason}"]
    # Results first: the cells that finished are shown although others failed.
    show.results(cells, request, len(cells) - len(left))
    problems = _failures(cells) + problems
    if problems:
        raise UnfinishedError("\n".join(problems))
    return cells


@contextmanager
def _launching(cells: list[Cell], load: LoadTraining, show: Show, launch: Launch | None) -> Iterator[Launch]:
    """The launcher, or workers of this machine, while the progress of cells is shown."""
    config = cells[0].config
    if launch is None:
        gpus = crew(config, plan_jobs(cells))
        # The display has a thread, before which the workers are forked.
        with Workers(gpus, load()) as workers, show.watching(cells, is_told=True) as workers.tell:
            yield workers
        return
    if config.workers is not None:
        raise UsageError(
            f"workers={config.workers} is of this machine's own workers, and another hydra/launcher starts processes "
            "itself; leave workers out."
        )
    with show.watching(cells, is_told=False):
        yield launch


def _train(left: list[Cell], launch: Launch) -> None:
    """Launch until every cell is finished or has failed.

    A cell that another process trains is waited for. It is launched here if that process dies.
    """
    tries = 0
    while True:
        todo = [cell for cell in left if cell.state is State.WAITING]
        n_missing = sum(len(cell.missing) for cell in left)
        if todo and tries < TRIES:
            tries += 1
            launch(plan_jobs(todo))
        elif any(cell.state is State.RUNNING for cell in left):
            time.sleep(LOOK_EVERY)
        else:
            return
        left = unfinished(survey(left))
        if sum(len(cell.missing) for cell in left) < n_missing:
            tries = 0


def _failures(cells: Sequence[Cell]) -> list[str]:
    """Each reason why cells did not finish, once, with the cells that it holds for."""
    alike = dict[str, list[Cell]]()
    for cell in cells:
        if cell.state is not State.FINISHED:
            alike.setdefault(cell.failure.error if cell.failure else "", []).append(cell)
    sentences = []
    for first, *others in alike.values():
        label = first.label + (f" (and {len(others):,} more of {len(cells):,} cells)" if others else "")
        failure = first.failure and replace(first.failure, cell=label)
        sentences.append(str(failure or f"{label} did not finish."))
    return sentences


def _check_before_training(cells: Sequence[Cell], number: int) -> None:
    """Check the parts of cells, which are left to train of so many, and make their folders of results."""
    what = f"{len(cells)} of {counted(number, 'cell')} to train"
    # Imports make many objects and no garbage.
    with doing(f"{what}; importing torch and Lightning"), without_garbage_collection():
        check_parts(cells)
    # A folder that is made here is not left behind by a run that the checks refuse.
    for results in {cell.results for cell in cells}:
        check_folder(results, writable=True)
    for cell in cells:
        # Only failures of this run are counted, and what has failed earlier is tried once more.
        if cell.state is State.FAILED:
            forget_failure(cell.results, cell.key)
            cell.state = State.WAITING


def check_parts(cells: Sequence[Cell]) -> None:
    """Look at the data from outside and construct every part of each cell, before the first one trains."""
    from ..options import build_parts

    _refuse([cell.source.check for cell in cells])
    # The cells of a run have the same loggers.
    check_loggers(cells[0].config.logger)
    _refuse([partial(build_parts, cell.config) for cell in cells])
    check_data(cells)


def check_data(cells: Sequence[Cell]) -> "dict[str, Table]":
    """Refuse what cells ask of their data, and return the users' own tables, by the key of their source, which the
    cells then know.

    Other tables are checked by the kind of their target, and by their rows where a column of theirs splits them.

    Raises:
        UsageError: a table cannot be read, or is not what a cell needs.
    """
    tables: dict[str, Table] = {}
    checks: list[Callable[[], object]] = []
    for cell in cells:
        source = cell.source
        if source.is_found_out:
            from ..data.trials import check_request

            # Cells share tables, and a large one takes seconds to read.
            if source.key not in tables:
                tables[source.key] = source.read().table
            cell.learn(tables[source.key])
            checks.append(partial(check_request, cell.config, tables[source.key]))
        elif source.target_kind is not None:
            checks.append(partial(check_target, cell.config, KINDS[source.target_kind]))
    _refuse(checks)
    return tables


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


def _clear(cells: Sequence[Cell]) -> None:
    """Set aside the results and pre-trainings of cells, and say so."""
    say = screen(stderr=True).say
    for cell in cells:
        cell.locate(known_data(cell.results, cell.source))
    for store in stores_of(cells):
        if store.folder.exists():
            # The claim keeps a process away that begins to train the cell at this moment.
            with store.claim() as claim:
                if claim is None:
                    say(f"{store.folder} is being trained by another process and is left alone.")
                elif sentence := store.clear("force=true trains it again"):
                    say(sentence)
