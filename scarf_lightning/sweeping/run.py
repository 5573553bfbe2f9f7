"""Run cells: survey them, plan what is missing, launch its jobs, survey again, and show all of them."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from ..errors import UnfinishedError, UsageError, explained
from ..results import check_folder
from ..screen import screen
from .cell import Cell, Job, State, failures, make_ready, plan_jobs, planned, survey, unfinished
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

    def begin(self, request: ExpandedSweep) -> None:
        """Show what is left out, and what a user may have meant otherwise."""

    def plan(self, cells: Sequence[Cell], request: ExpandedSweep, tables: "dict[str, Table]") -> None:
        """Show what is left to train."""

    def watching(self, cells: Sequence[Cell], *, is_told: bool) -> AbstractContextManager[Tell]:
        """Show the progress while the block runs. Unless ``is_told``, it looks itself for cells that have ended."""

    def results(self, cells: Sequence[Cell], request: ExpandedSweep, n_skipped: int) -> None:
        """Show the results of cells, ``n_skipped`` of which were finished before the run."""


def run(request: ExpandedSweep, load: LoadTraining, show: Show, launch: Launch | None = None) -> Sequence[Cell]:
    """Train the cells that are not finished, show the results, and return the cells.

    Args:
        load: returns what trains cells in this process.
        launch: starts jobs instead of this process and its workers.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did.
    """
    show.begin(request)
    cells, options = request.cells, request.cells[0].config
    # A run that only shows finished cells works in a folder of another user, and makes none.
    for results in {cell.results for cell in cells}:
        check_folder(results, writable=False)
    if options.plan:
        show.plan(cells, request, planned(cells))
        return cells
    survey(cells)
    cells_to_train = cells if options.force else unfinished(cells)
    # Finished trials are trained again only with force=true, so the weights of their networks cannot be had.
    weightless = [cell.label for cell in cells if cell.lacks_weights]
    if weightless and not options.force:
        raise UsageError(f"{'; '.join(weightless)}: finished trials have no weights; force=true trains them again.")
    problems = list[str]()
    if cells_to_train:
        if launch is not None and options.workers is not None:
            raise UsageError(
                f"workers={options.workers} is of this machine's own workers, and another hydra/launcher starts "
                "processes itself; leave workers out."
            )
        make_ready(cells_to_train, len(cells))
        try:
            jobs = plan_jobs(cells_to_train)
            context = nullcontext(launch) if launch else Workers(crew(options, jobs), load())
            # The display has a thread, before which the workers are forked.
            with context as launcher, show.watching(cells_to_train, is_told=launch is None) as tell:
                if isinstance(launcher, Workers):
                    launcher.tell = tell
                _train(cells_to_train, jobs, launcher)
        # The user asked to leave the array in the queue, so nothing is wrong.
        except Detached as detached:
            screen(stderr=True).say(str(detached))
            return cells
        # For instance, a scheduler refuses the jobs because of options that the user must mend.
        except UsageError:
            raise
        # A launcher may raise any error if a process was killed or if it is not set up.
        except Exception as error:
            survey(cells)
            reason = explained(error) or f"{type(error).__name__}: {error}"
            problems = [f"A job ended early; the same command goes on where it did. {reason}"]
    # Results first: the cells that finished are shown although others failed.
    show.results(cells, request, len(cells) - len(cells_to_train))
    problems = failures(cells) + problems
    if problems:
        raise UnfinishedError("\n".join(problems))
    return cells


def _train(cells: list[Cell], jobs: list[Job], launch: Launch) -> None:
    """Launch jobs until each of their cells is finished or has failed.

    A cell that another process trains is waited for. It is launched here if that process dies.
    """
    tries = 0
    while True:
        # Their cells that another process trains are passed over.
        todo = [job for job in jobs if any(cell.state is State.WAITING for cell in job.cells)]
        n_missing = sum(len(cell.missing) for cell in cells)
        if todo and tries < TRIES:
            tries += 1
            launch(todo)
        elif any(cell.state is State.RUNNING for cell in cells):
            time.sleep(LOOK_EVERY)
        else:
            return
        cells = unfinished(survey(cells))
        jobs = plan_jobs(cells)
        if sum(len(cell.missing) for cell in cells) < n_missing:
            tries = 0
