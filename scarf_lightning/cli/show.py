"""The screen of a run: its plan, its progress, and its results."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..errors import counted, system_error_sentence
from ..importing import without_garbage_collection
from ..metrics import Metric
from ..reporting.levels import LevelledRows, levels_of, levels_of_cell
from ..results import Rows, Trained, few_steps_note, write_whole
from ..screen import NotebookLine, doing, screen
from ..sweeping.cell import Cell, State, SurveyedCell, chosen_metric, look_up, survey
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import Plan, about, largest, sentences
from ..sweeping.workers import Told, Untold
from .tables import (
    Row,
    ShownCells,
    cell_table,
    describe,
    full_table,
    means_by_axis,
    result_in_words,
    shared_axes,
    shared_trials,
    summary_table,
    sweep_table,
    why_no_interval,
    wide_interval_note,
)

if TYPE_CHECKING:
    from ..data.table import Table as DataTable

LONGEST_TABLE = 200
"""Cells above which a sweep is shown a line a setting, over the datasets, instead of a line a cell."""
TABLES = "tables"
"""The folder of the full tables, in the folder of the results."""
BUSY_AT_MOST = 0.02
"""The share of a core that watching a sweep may take."""
SECONDS_BETWEEN_LINES = 60.0
"""Seconds between lines of text, if the output is no terminal."""
MOST_NAMES = 3
"""Cells in training that are named."""


class Terminal:
    """Shows a run: sentences and progress on stderr, results on stdout."""

    def say(self, sentence: str) -> None:
        screen(stderr=True).say(sentence)

    def doing(self, what: str) -> AbstractContextManager[object]:
        return doing(what)

    def watching(self, plan: Plan, *, is_told: bool) -> AbstractContextManager[Told]:
        """Show the progress of several cells while the block runs; a cell that trains alone shows its own.

        Args:
            is_told: whether it is told how far cells are. Otherwise it looks for itself.
        """
        if plan.surveyed[0].cell.is_alone:
            return nullcontext(Untold())
        return SweepProgress(plan, screen(stderr=True)).shown(is_told=is_told)

    def tables(self, tables: "Mapping[str, DataTable]", *, stderr: bool = True) -> None:
        """Show how the user's tables are read."""
        console = screen(stderr=stderr)
        for table in tables.values():
            # Imports pandas, which a run without tables of the user's does without.
            from ..data.reading.shown import reading_report

            for line in reading_report(table):
                # Rich would break sentences at the width of a pipe; tables fit themselves.
                console.print(line, soft_wrap=isinstance(line, str))

    def plan(self, plan: Plan, request: ExpandedSweep, tables: "Mapping[str, DataTable]") -> None:
        """Show how the user's tables are read, what is left to train, and how long that takes."""
        console = screen()
        self.tables(tables, stderr=False)
        if request.sweep is not None:
            paper = f" ({request.sweep.paper})" if request.sweep.paper else ""
            console.print(f"{request.sweep.title}{paper}")
        for sentence in sentences(plan):
            console.say(sentence)
        datasets = largest(plan, n=10)
        # Of one dataset the sentences have said everything.
        if len(datasets) > 1:
            shown = Table("longest first", box=None)
            for heading in ("rows", "columns", "about"):
                shown.add_column(heading, justify="right")
            for name, size, seconds in datasets:
                n_rows = n_columns = "?"
                if size:
                    n_rows, n_columns = f"{size.n_rows:,}", f"{size.n_columns:,}"
                shown.add_row(name, n_rows, n_columns, about(seconds))
            console.print(shown)
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
        _show_table(cells, metric)
        if len(surveyed) > 1:
            _show_answer(surveyed, request, n_skipped)
        _show_reservations(surveyed, cells)
        _show_places(surveyed, cells, n_skipped)


def _with_levels(surveyed: Sequence[SurveyedCell], metric: Metric) -> ShownCells:
    """The columns and rows of cells, with the intervals of their metrics from predictions, where they are kept."""
    cells: list[tuple[Row, Rows]] = []
    for each in surveyed:
        levels = {}
        # Predictions of very many cells take long to read; their table has no interval.
        if each.folder is not None and len(surveyed) <= LONGEST_TABLE:
            levels = levels_of_cell(each.folder, each.rows, metric)
        cells.append((each.axes, LevelledRows(each.rows, levels) if levels else each.rows))
    return cells


def _show_title(surveyed: Sequence[SurveyedCell], cells: ShownCells, n_skipped: int) -> None:
    """Say which cells are shown: the options that they share."""
    settings = dict.fromkeys(name for each in surveyed for name in each.cell.settings())
    recipes = {each.cell.config.recipe for each in surveyed}
    title = describe(shared_axes([axes for axes, _ in cells]), settings, recipes)
    if len(surveyed) > 1:
        trials = shared_trials(cells)
        each_has = "" if trials is None else f"; {counted(trials, 'trial')} each"
        screen().say(f"{len(cells)} cells of {title}{each_has}")
        return
    store = surveyed[0].cell.store()
    if n_skipped:
        title += " (finished already)"
    # The fingerprint is the name of the cell's folder, for whoever looks for its files.
    elif store and surveyed[0].rows:
        title += f" ({store.fingerprint})"
    screen().say(title)


def _show_table(cells: ShownCells, metric: Metric) -> None:
    """Print the one table of a run."""
    if len(cells) > LONGEST_TABLE:
        screen().print(summary_table(cells, metric))
    elif len(cells) > 1:
        screen().print(sweep_table(cells, metric))
    elif cells[0][1]:
        screen().print(cell_table(*cells[0], metric))


def _show_answer(surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
    """Say the answer of several cells, remember the look, and show both in W&B if it is asked for."""
    # Imports pandas and SciPy.
    with without_garbage_collection():
        from ..reporting.run_results import compared_run

    console = screen()
    run = compared_run(request, surveyed)
    for sentence in run.in_words:
        console.say(sentence)
    run.answers.remember()
    if run.answers.by_axis is not None:
        console.print(means_by_axis(run.answers.by_axis.product, run.answers.results, run.answers.options.measure))
    is_new = n_skipped < len(surveyed)
    if is_new and "wandb" in surveyed[0].cell.config.logger.views:
        # Imports Lightning and matplotlib.
        from .report_command import log_sweep

        for problem in log_sweep(run, request):
            screen(stderr=True).say(problem)


def _show_reservations(surveyed: Sequence[SurveyedCell], cells: ShownCells) -> None:
    """Say what is to be kept in mind: missing intervals, few steps, networks that have learnt nothing."""
    from ..reporting.learning import LEARNS_NOTHING, few_classes_note, not_learnt_notes, probability_note

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
        *wide_interval_note(cells),
        *few_steps_note([_trained(each) for each in surveyed]),
        *not_learnt_notes(learning),
        *few_classes_note(named_rows),
        *probability_note(named_rows),
    ):
        screen().say(sentence)


def _show_places(surveyed: Sequence[SurveyedCell], cells: ShownCells, n_skipped: int) -> None:
    """Say what was there already, and where table and results are."""
    console, first = screen(), surveyed[0].cell
    if len(surveyed) > 1:
        if n_skipped:
            console.print(f"{n_skipped} of {len(surveyed)} cells were finished already.")
        console.say(_keep_table(cells, first))
    elif n_skipped and first.config.logger.views:
        console.say(
            "Its loggers are not written again, since it was finished already; "
            "scarf_lightning.loggers.write_views shows it anew."
        )
    # After a failure the last line is the error.
    if first.results.exists() and all(each.state is State.FINISHED for each in surveyed):
        console.say(f"Results are in {first.results.absolute()}")


def _trained(surveyed: SurveyedCell) -> Trained:
    """A cell's rows, with what decides how long they train."""
    config = surveyed.cell.config
    return Trained(surveyed.rows, config.recipe, config.pretrain.max_epochs)


def _keep_table(shown: ShownCells, cell: Cell) -> str:
    """Write the table with all its columns beside the results, and say where."""
    # A run without a name replaces the table of the one before it, so that tables do not pile up.
    name = Path(cell.config.sweeps).stem if cell.config.sweeps else "last_run"
    file = cell.results.absolute() / TABLES / f"{name}.csv"
    try:
        write_whole(file, full_table(shown))
    # Hours of training must not end in a traceback because a disk is full.
    except OSError as error:
        return f"The full table could not be written: {system_error_sentence(error)}"
    return f"The full table, with every metric, is {file}"


class SweepProgress:
    """Shows how many cells are done or failed, the time gone and left, which cells train, and the last result: in a
    line that changes on a terminal or in a notebook, or else in a line a minute."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._unfinished, self._n_cells = plan.unfinished, len(plan.surveyed)
        self._cost = plan.cell_seconds()
        # A cell with all trials may lack a whole record.
        self._n_to_train = {each.cell.key: max(1, each.n_missing) for each in plan.unfinished}
        self._n_missing = sum(self._n_to_train.values())
        self._started = self._last_line = time.monotonic()
        self._stopped = threading.Event()
        self._counts, self._training, self._last = "", "", ""
        # Unknown until a cell ends: comparisons with NaN are false.
        self._ends = math.nan
        self._live = Live(get_renderable=self._text, console=console, transient=True, refresh_per_second=2)
        self._line = NotebookLine() if console.is_jupyter else None

    @contextmanager
    def shown(self, *, is_told: bool) -> Iterator[Self]:
        """Show progress while the block runs; watch the store unless it ``is_told`` of every cell."""
        # Jobs of a launcher say nothing, and this thread waits for them.
        watching = threading.Thread(target=self._watch, daemon=True)
        with self._live if self._console.is_terminal else nullcontext():
            if is_told:
                self._show(self._unfinished)
            else:
                watching.start()
            try:
                yield self
            finally:
                self._stopped.set()
                if not is_told:
                    watching.join()
                    # A notebook keeps its line, which must show the end.
                    if self._line is not None:
                        self.look()

    def began(self, cell: Cell) -> None:
        """Show a cell as one that trains."""
        self._tell(cell, lambda each: replace(each, state=State.RUNNING))

    def ended(self, cell: Cell) -> None:
        """Show a cell, or a share of it, as the store has it."""
        # A file server may be away for a moment. What lasts stops the run, which says it.
        with suppress(OSError):
            self._tell(cell, lambda each: look_up(each.cell))

    def _tell(self, cell: Cell, looked: Callable[[SurveyedCell], SurveyedCell]) -> None:
        self._show([looked(each) if each.cell.place == cell.place else each for each in self._unfinished])

    def look(self) -> None:
        """Look at the cells that were not finished, and show what has changed."""
        self._show(survey([each.cell for each in self._unfinished]))

    def _show(self, surveyed: Sequence[SurveyedCell]) -> None:
        finished = [each for each in surveyed if each.state is State.FINISHED]
        # A finished cell stays so, and is not looked at again.
        self._unfinished = [each for each in surveyed if each.state is not State.FINISHED]
        n_missing = sum(each.n_missing for each in surveyed)
        if n_missing < self._n_missing:
            self._n_missing = n_missing
            self._ends = self._expected_end(surveyed)
        self._counts = f"{self._n_cells - len(self._unfinished)} of {self._n_cells} cells done"
        # The workers that share one cell end its trials.
        if self._n_cells == 1 and surveyed:
            trials = surveyed[0].cell.config.trials
            self._counts = f"{trials - n_missing} of {trials} trials done"
        if n_failed := sum(each.state is State.FAILED for each in surveyed):
            self._counts += f", {n_failed} failed"
        training = [each.cell.called for each in surveyed if each.state is State.RUNNING]
        more = f" and {len(training) - MOST_NAMES} more" if len(training) > MOST_NAMES else ""
        self._training = f"; training {'; '.join(training[:MOST_NAMES])}{more}" if training else ""
        if finished:
            last = finished[-1]
            self._last = f"; last {last.cell.called}: {result_in_words(last.rows, chosen_metric([last]))}"
        now = time.monotonic()
        if self._line is not None:
            self._line.write(f"{self._counts}, {self._times()}", last=not self._unfinished)
        # A terminal is drawn by `_live`. In a file every line stays, so there is one only if something has ended.
        elif not self._console.is_terminal and finished and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._console.print(self._text(), soft_wrap=True)

    def _text(self) -> Text:
        """Counts and times, the cells that train, and the last result."""
        return Text(f"{self._counts}, {self._times()}{self._training}{self._last}" if self._counts else "")

    def _times(self) -> str:
        """The time gone and left; what is left runs down until a cell ends, and is unknown if that takes longer."""
        now = time.monotonic()
        left = "time left unknown"
        if self._ends >= now:
            left = f"{timedelta(seconds=int(self._ends - now))} left"
        return f"{timedelta(seconds=int(now - self._started))} gone, {left}"

    def _watch(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            # A file server may be away for a moment. What lasts stops the run, which says it.
            with suppress(OSError):
                self.look()
            # A look at thousands of cells takes long, so the next one waits in proportion.
            self._stopped.wait(max(1.0, (time.monotonic() - started) / BUSY_AT_MOST))

    def _expected_end(self, surveyed: Sequence[SurveyedCell]) -> float:
        """When the other trials are done at the pace so far, whatever the number of jobs."""
        left = undone = 0.0
        for each in surveyed:
            key = each.cell.key
            cost = self._cost[key] * each.n_missing / self._n_to_train[key]
            # A cell that failed is neither done nor left.
            if each.state in (State.RUNNING, State.WAITING):
                left += cost
            if each.state is not State.FINISHED:
                undone += cost
        done = sum(self._cost.values()) - undone
        now = time.monotonic()
        if not done:
            return math.nan
        return now + left * (now - self._started) / done
