"""The screen of a run: its plan, its progress, and its results."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..errors import counted, system_error_sentence
from ..importing import without_garbage_collection
from ..reporting.levels import LevelledRows, levels_of, levels_of_cell
from ..results import Rows, Trained, few_steps_note, write_whole
from ..screen import NotebookLine, doing, screen
from ..sweeping.cell import Cell, State, SurveyedCell, chosen_metric, look_up, survey
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import Plan, about, largest, sentences
from ..sweeping.workers import Told, Untold
from .tables import (
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
        """Show the table of the cells, the conclusion in sentences, and where the results are."""
        console = screen()
        axes = [each.axes for each in surveyed]
        metric = chosen_metric(surveyed, request.sweep)
        # Predictions of very many cells take long to read; their table has no interval.
        rows = [each.rows for each in surveyed]
        if len(surveyed) <= LONGEST_TABLE:
            rows = [_with_levels(each) for each in surveyed]
        shown = list(zip(axes, rows, strict=True))
        recipes = {each.cell.config.recipe for each in surveyed}
        if len(shown) > 1:
            trials = shared_trials(shown)
            each_has = "" if trials is None else f"; {counted(trials, 'trial')} each"
            settings = dict[str, None]()
            for each in surveyed:
                settings |= dict.fromkeys(each.cell.settings())
            console.say(f"{len(shown)} cells of {describe(shared_axes(axes), settings, recipes)}{each_has}")
            if len(shown) > LONGEST_TABLE:
                console.print(summary_table(shown, metric))
            else:
                console.print(sweep_table(shown, metric))
            # Imports pandas and SciPy.
            with without_garbage_collection():
                from ..reporting.run_results import compared_run

            run = compared_run(request, surveyed)
            for sentence in run.in_words:
                console.say(sentence)
            answers = run.answers
            answers.remember()
            if answers.by_axis is not None:
                console.print(means_by_axis(answers.by_axis.product, answers.results, metric))
            if n_skipped:
                console.print(f"{n_skipped} of {len(shown)} cells were finished already.")
            if "wandb" in surveyed[0].cell.config.logger.views:
                # Imports Lightning and matplotlib.
                from .report_command import log_sweep

                for problem in log_sweep(run, request, is_new=n_skipped < len(shown)):
                    self.say(problem)
            console.say(_keep_table(shown, surveyed[0].cell))
        else:
            (each,) = surveyed
            store = each.cell.store()
            # The fingerprint is the name of the cell's folder, for whoever looks for its files.
            ending = ""
            if n_skipped:
                ending = " (finished already)"
            elif store and each.rows:
                ending = f" ({store.fingerprint})"
            console.say(f"{describe(each.axes, each.cell.settings(), recipes)}{ending}")
            if each.rows:
                console.print(cell_table(each.axes, rows[0], metric))
            if n_skipped and each.cell.config.logger.views:
                console.say(
                    "Its loggers are not written again, since it was finished already; "
                    "scarf_lightning.loggers.write_views shows it anew."
                )
        from ..reporting.learning import LEARNS_NOTHING, few_classes_note, not_learnt_notes, probability_note

        # The constant prediction is no sign that something went wrong.
        learning = []
        for each in surveyed:
            if each.rows and each.axes.get("method") != LEARNS_NOTHING:
                # The name of the only cell is all that was typed.
                name = each.cell.called if len(surveyed) > 1 else "this cell"
                learning.append((name, each.rows, each.target))
        signs = not_learnt_notes(learning)
        named_rows = [(name, its) for name, its, _ in learning]
        signs += [*few_classes_note(named_rows), *probability_note(named_rows)]
        unread = [columns for columns, its in shown if not levels_of(its)]
        # Reservations come last, below what they are about.
        for sentence in (
            *why_no_interval(unread),
            *wide_interval_note(shown),
            *few_steps_note([_trained(each) for each in surveyed]),
            *signs,
        ):
            console.say(sentence)
        results = surveyed[0].cell.results
        # After a failure the last line is the error.
        if results.exists() and all(each.state is State.FINISHED for each in surveyed):
            console.say(f"Results are in {results.absolute()}")


def _trained(surveyed: SurveyedCell) -> Trained:
    """A cell's rows, with what decides how long they train."""
    config = surveyed.cell.config
    return Trained(surveyed.rows, config.recipe, config.pretrain.max_epochs)


def _with_levels(surveyed: SurveyedCell) -> Rows:
    """A cell's rows with the intervals of its metrics from its predictions, if it has any."""
    if surveyed.folder is None:
        return surveyed.rows
    # Predictions may not have been kept, or be of too few trials.
    levels = levels_of_cell(surveyed.folder, surveyed.rows)
    return LevelledRows(surveyed.rows, levels) if levels else surveyed.rows


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
        self._live = Live(get_renderable=self._lines, console=console, transient=True, refresh_per_second=2)
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
        states = Counter(each.state for each in surveyed)
        finished = [each for each in surveyed if each.state is State.FINISHED]
        # A finished cell stays so, and is not looked at again.
        self._unfinished = [each for each in surveyed if each.state is not State.FINISHED]
        n_missing = sum(each.n_missing for each in surveyed)
        if n_missing < self._n_missing:
            self._n_missing = n_missing
            self._ends = self._expected_end(surveyed)
        failed = f", {states[State.FAILED]} failed" if states[State.FAILED] else ""
        done = f"{self._n_cells - len(self._unfinished)} of {self._n_cells} cells"
        # The workers that share one cell end its trials.
        if self._n_cells == 1 and surveyed:
            trials = surveyed[0].cell.config.trials
            done = f"{trials - n_missing} of {trials} trials"
        self._counts = f"{done} done{failed}"
        names = [each.cell.called for each in surveyed if each.state is State.RUNNING]
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        self._training = "; ".join(names[:MOST_NAMES]) + more
        if finished:
            last = finished[-1]
            self._last = f"{last.cell.called}: {result_in_words(last.rows, chosen_metric([last]))}"
        line, now = f"{self._counts}, {self._times()}", time.monotonic()
        is_due = now - self._last_line > SECONDS_BETWEEN_LINES
        if self._line is not None:
            self._line.write(line, last=not self._unfinished)
        # A terminal is drawn by `_live`. In a file every line stays, so there is one only if something has ended.
        elif not self._console.is_terminal and finished and is_due:
            self._last_line = now
            training = f"; training {self._training}" if self._training else ""
            self._console.print(f"{line}{training}; last {self._last}", soft_wrap=True)

    def _lines(self) -> Group:
        """The lines of a terminal: counts and times, then the cells that train and the last result, folded."""
        below = Table.grid(padding=(0, 1))
        below.add_column()
        below.add_column(overflow="fold")
        for heading, text in (("training", self._training), ("last", self._last)):
            if text:
                below.add_row(Text(heading), Text(text))
        return Group(Text(", ".join(filter(None, [self._counts, self._times()]))), below)

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
