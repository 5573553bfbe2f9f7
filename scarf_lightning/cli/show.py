"""The screen of a run: its plan, one bar of progress, one table, and one answer."""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import counted
from ..importing import without_garbage_collection
from ..metrics import Metric
from ..reporting.levels import LevelledRows, levels_of, levels_of_cell
from ..results import Rows, few_steps_note
from ..screen import command_line, doing, screen
from ..sweeping.cell import Cell, State, SurveyedCell, chosen_metric, look_up, survey
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import Plan, sentences
from ..sweeping.workers import Tell
from .tables import Row, ShownCells, cell_table, describe, shared_axes, shared_trials, sweep_table, why_no_interval

if TYPE_CHECKING:
    from ..data.table import Table as DataTable

LONGEST_TABLE = 200
"""Cells above which a run has no table on the screen; its report has one."""
BUSY_AT_MOST = 0.02
"""The share of a core that watching a sweep may take."""
SECONDS_BETWEEN_LINES = 60.0
"""Seconds between lines of text, if the output is no terminal."""


class Terminal:
    """Shows a run: sentences and progress on stderr, results on stdout."""

    def say(self, sentence: str) -> None:
        screen(stderr=True).say(sentence)

    def doing(self, what: str) -> AbstractContextManager[object]:
        return doing(what)

    def watching(self, plan: Plan, *, is_told: bool) -> AbstractContextManager[Tell]:
        """Show the progress of several cells while the block runs; a cell that trains alone shows its own.

        Args:
            is_told: whether it is told how far cells are. Otherwise it looks for itself.
        """
        if plan.surveyed[0].cell.is_alone:
            return nullcontext(lambda _: None)
        return SweepProgress(plan, screen(stderr=True)).shown(is_told=is_told)

    def plan(self, plan: Plan, request: ExpandedSweep, tables: "Mapping[str, DataTable]") -> None:
        """Show how the user's tables are read, what is left to train, and how long that takes."""
        console = screen()
        for table in tables.values():
            # Imports pandas, which a run without tables of the user's does without.
            from ..data.reading.shown import reading_report

            for line in reading_report(table):
                # Rich would break sentences at the width of a pipe; tables fit themselves.
                console.print(line, soft_wrap=isinstance(line, str))
        if request.sweep is not None:
            paper = f" ({request.sweep.paper})" if request.sweep.paper else ""
            console.print(f"{request.sweep.title}{paper}")
        for sentence in sentences(plan):
            console.say(sentence)
        for each in plan.surveyed:
            # The first line names the cell and the error; the traceback is in the folder of results.
            if each.failure is not None:
                console.say(f"Failed when last tried: {str(each.failure).splitlines()[0]}")

    def prepare(self) -> None:
        """Import what the results are shown with: pandas and SciPy, which take half a second."""
        with without_garbage_collection():
            from ..reporting import run_results  # noqa: F401

    def results(self, surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
        """Show what was trained, its table, the answer, reservations, and where the results are."""
        metric = chosen_metric(surveyed, request.sweep)
        cells = _with_levels(surveyed, metric)
        _show_title(surveyed, cells, n_skipped)
        _show_table(cells, metric, surveyed[0].cell)
        if len(surveyed) > 1:
            _show_answer(surveyed, request, n_skipped)
        _show_reservations(surveyed, cells)
        _show_places(surveyed, n_skipped)


def _with_levels(surveyed: Sequence[SurveyedCell], metric: Metric) -> ShownCells:
    """The columns and rows of cells, with the intervals of their metrics from predictions, where they are kept."""
    cells: list[tuple[Row, Rows]] = []
    for each in surveyed:
        rows = each.rows
        # Predictions of very many cells take long to read, and no table shows them.
        if each.folder is not None and len(surveyed) <= LONGEST_TABLE:
            levels = levels_of_cell(each.folder, rows, metric)
            rows = LevelledRows(rows, levels) if levels else rows
        cells.append((each.axes, rows))
    return cells


def _show_title(surveyed: Sequence[SurveyedCell], cells: ShownCells, n_skipped: int) -> None:
    """Say which cells are shown: the options that they share."""
    settings = dict.fromkeys(name for each in surveyed for name in each.cell.settings())
    title = describe(shared_axes([axes for axes, _ in cells]), settings)
    recipes = {each.cell.config.recipe for each in surveyed}
    # A recipe stands for the options that it sets.
    if len(recipes) == 1:
        title += f", recipe={recipes.pop()}"
    if len(surveyed) > 1:
        trials = shared_trials(cells)
        each_has = "" if trials is None else f"; {counted(trials, 'trial')} each"
        title = f"{len(cells)} cells of {title}{each_has}"
    elif n_skipped:
        title += " (finished already)"
    # The fingerprint is the name of the cell's folder, for whoever looks for its files.
    elif surveyed[0].folder is not None and surveyed[0].rows:
        title += f" ({surveyed[0].folder.name})"
    screen().say(title)


def _show_table(cells: ShownCells, metric: Metric, first: Cell) -> None:
    """Print the one table of a run."""
    if len(cells) > LONGEST_TABLE:
        subject = f"sweeps={first.config.sweeps}" if first.config.sweeps else f"results={first.results}"
        screen().say(f"{len(cells):,} cells are too many for a table: {command_line('report.py', [subject])}")
    elif len(cells) > 1:
        screen().print(sweep_table(cells, metric))
    elif cells[0][1]:
        screen().print(cell_table(*cells[0], metric))


def _show_answer(surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
    """Say the answer of several cells, remember the look, and show both in W&B if it is asked for."""
    # Imports pandas and SciPy.
    with without_garbage_collection():
        from ..reporting.run_results import compared_run

    run = compared_run(request, surveyed)
    for sentence in run.in_words:
        screen().say(sentence)
    run.answers.remember()
    is_new = n_skipped < len(surveyed)
    if is_new and "wandb" in surveyed[0].cell.config.logger.views:
        # Imports Lightning and matplotlib.
        from .report_command import log_sweep

        for problem in log_sweep(run, request):
            screen(stderr=True).say(problem)


def _show_reservations(surveyed: Sequence[SurveyedCell], cells: ShownCells) -> None:
    """Say what is to be kept in mind: missing intervals, few steps, networks that have learnt nothing."""
    from ..reporting.learning import LEARNS_NOTHING, not_learnt_notes, probability_note

    # The practical recipe has its own bounds, which a race found to be long enough (study/recipe.md).
    trained = [each.rows for each in surveyed if each.cell.config.recipe != "practical"]
    learning = []
    for each in surveyed:
        # The constant prediction is no sign that something went wrong.
        if each.rows and each.axes.get("method") != LEARNS_NOTHING:
            # The name of the only cell is all that was typed.
            name = each.cell.called if len(surveyed) > 1 else "this cell"
            learning.append((name, each.rows, each.target))
    named_rows = [(name, rows) for name, rows, _ in learning]
    for sentence in (
        *why_no_interval([axes for axes, rows in cells if not levels_of(rows)]),
        *few_steps_note(trained),
        *not_learnt_notes(learning),
        *probability_note(named_rows),
    ):
        screen().say(sentence)


def _show_places(surveyed: Sequence[SurveyedCell], n_skipped: int) -> None:
    """Say what was there already, and where the results are."""
    console, first = screen(), surveyed[0].cell
    if len(surveyed) > 1 and n_skipped:
        console.print(f"{n_skipped} of {len(surveyed)} cells were finished already.")
    elif n_skipped and first.config.logger.views:
        console.say("Its loggers are not written again; scarf_lightning.loggers.write_views shows it anew.")
    # After a failure the last line is the error.
    if first.results.exists() and all(each.state is State.FINISHED for each in surveyed):
        console.say(f"Results are in {first.results.absolute()}")


class SweepProgress:
    """Shows how many cells are done or failed, and the time gone and left: in a bar on a terminal, or else in a line
    a minute."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._plan = plan
        self._cells = {each.cell.place: each for each in plan.unfinished}
        # A cell with all trials may lack a whole record.
        self._n_to_train = {place: max(1, each.n_missing) for place, each in self._cells.items()}
        self._cost = plan.cell_seconds()
        self._total = sum(self._cost[each.cell.key] for each in plan.unfinished)
        self._stopped = threading.Event()
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, speed_estimate_period=math.inf)
        self._bar.add_task("", total=self._total)
        (self._task,) = self._bar.tasks
        # Rich reckons the pace from the second number that it is given.
        self._bar.update(self._task.id, completed=math.ulp(0))
        self._last_line = time.monotonic()
        self._show(())

    @contextmanager
    def shown(self, *, is_told: bool) -> Iterator[Tell]:
        """Show progress while the block runs; watch the store unless it ``is_told`` of every cell."""
        # Jobs of a launcher say nothing, and this thread waits for them.
        watching = threading.Thread(target=self._watch, daemon=True)
        with self._bar if self._console.is_terminal else nullcontext():
            if not is_told:
                watching.start()
            try:
                yield self.ended
            finally:
                self._stopped.set()
                if not is_told:
                    watching.join()

    def ended(self, cell: Cell) -> None:
        """Show a cell, or a share of it, as the store has it."""
        # A file server may be away for a moment. What lasts stops the run, which says it.
        with suppress(OSError):
            self._show([look_up(self._cells[cell.place].cell)])

    def look(self) -> None:
        """Look at the cells that were not finished, and show what has changed."""
        self._show(survey([each.cell for each in self._cells.values() if each.state is not State.FINISHED]))

    def _show(self, looked: Sequence[SurveyedCell]) -> None:
        self._cells |= {each.cell.place: each for each in looked}
        states = Counter(each.state for each in self._cells.values())
        n_cells = len(self._plan.surveyed)
        text = f"{n_cells - len(self._cells) + states[State.FINISHED]} of {n_cells} cells done"
        # The workers that share one cell end its trials.
        if n_cells == 1:
            (cell,) = self._cells.values()
            trials = cell.cell.config.trials
            text = f"{trials - cell.n_missing} of {trials} trials done"
        if states[State.FAILED]:
            text += f", {states[State.FAILED]} failed"
        left = 0.0
        for place, each in self._cells.items():
            # A cell that failed is not tried again by this run.
            if each.state is not State.FAILED:
                left += self._cost[each.cell.key] * each.n_missing / self._n_to_train[place]
        done = self._total - left
        has_ended = done > self._task.completed
        self._bar.update(self._task.id, description=text, completed=max(done, self._task.completed))
        now = time.monotonic()
        # In a file every line stays, so there is one only if something has ended.
        if not self._console.is_terminal and has_ended and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._console.print(self._text(), soft_wrap=True)

    def _text(self) -> str:
        """The bar in words."""
        left = self._task.time_remaining
        left_in_words = "time left unknown" if left is None else f"{timedelta(seconds=int(left))} left"
        return f"{self._task.description}, {timedelta(seconds=int(self._task.elapsed or 0))} gone, {left_in_words}"

    def _watch(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            # A file server may be away for a moment. What lasts stops the run, which says it.
            with suppress(OSError):
                self.look()
            # A look at thousands of cells takes long, so the next one waits in proportion.
            self._stopped.wait(max(1.0, (time.monotonic() - started) / BUSY_AT_MOST))
