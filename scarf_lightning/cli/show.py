"""The screen of a run: its plan, one bar of progress, one table, and one answer."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import counted
from ..importing import without_garbage_collection
from ..metrics import Metric
from ..reporting.learning import LEARNS_NOTHING, not_learnt_notes, probability_note
from ..reporting.levels import levelled, levels_of
from ..reporting.names import asked_for
from ..results import few_steps_note
from ..screen import command_line, doing, screen
from ..sweeping.cell import Cell, State, SurveyedCell, chosen_metric, look_up, survey
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import Plan, sentences
from ..sweeping.workers import Tell
from .tables import ShownCells, cell_table, shared_trials, sweep_table, title, why_no_interval

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
        surveyed = _with_levels(surveyed, metric)
        cells = [(each.axes, each.rows) for each in surveyed]
        screen().say(_title(surveyed, cells, n_skipped))
        _show_table(cells, metric, surveyed[0].cell)
        if len(surveyed) > 1:
            _show_answer(surveyed, request, is_new=n_skipped < len(surveyed))
        _say_all(_reservations(surveyed, cells))
        _say_all(_places(surveyed, n_skipped))


def _say_all(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        screen().say(sentence)


def _with_levels(surveyed: Sequence[SurveyedCell], metric: Metric) -> Sequence[SurveyedCell]:
    """Cells with the intervals of their metrics from predictions, where they are kept."""
    # Predictions of very many cells take long to read, and no table shows them.
    if len(surveyed) > LONGEST_TABLE:
        return surveyed
    found = []
    for each in surveyed:
        rows = each.rows if each.folder is None else levelled(each.folder, each.rows, metric)
        found.append(replace(each, rows=rows))
    return found


def _title(surveyed: Sequence[SurveyedCell], cells: ShownCells, n_skipped: int) -> str:
    """The title of the table: the options that the user has set and all cells share."""
    asked = [name for each in surveyed for name in (*asked_for(each.cell.overrides), *each.cell.settings(), "recipe")]
    shared = title([each.axes | {"recipe": each.cell.config.recipe} for each in surveyed], asked)
    if len(surveyed) > 1:
        trials = shared_trials(cells)
        return f"{len(cells)} cells of {shared}" + (f"; {counted(trials, 'trial')} each" if trials else "")
    # The fingerprint is the name of the cell's folder, for whoever looks for its files.
    folder = surveyed[0].folder
    named = f" ({folder.name})" if folder is not None and surveyed[0].rows else ""
    return shared + (" (finished already)" if n_skipped else named)


def _show_table(cells: ShownCells, metric: Metric, first: Cell) -> None:
    """Print the one table of a run."""
    if len(cells) > LONGEST_TABLE:
        subject = f"sweeps={first.config.sweeps}" if first.config.sweeps else f"results={first.results}"
        screen().say(f"{len(cells):,} cells are too many for a table: {command_line('report.py', [subject])}")
    elif len(cells) > 1:
        screen().print(sweep_table(cells, metric))
    elif cells[0][1]:
        screen().print(cell_table(*cells[0], metric))


def _show_answer(surveyed: Sequence[SurveyedCell], request: ExpandedSweep, *, is_new: bool) -> None:
    """Say the answer of several cells, remember the look, and show both in W&B if it is asked for."""
    # Imports pandas and SciPy.
    with without_garbage_collection():
        from ..reporting.run_results import compared_run

    run = compared_run(request, surveyed)
    _say_all(run.in_words)
    run.answers.remember()
    if is_new and "wandb" in surveyed[0].cell.config.logger.views:
        # Imports Lightning and matplotlib.
        from .report_command import log_sweep

        for problem in log_sweep(run, request):
            screen(stderr=True).say(problem)


def _reservations(surveyed: Sequence[SurveyedCell], cells: ShownCells) -> list[str]:
    """Sentences on missing intervals, few steps, and networks that have learnt nothing."""
    # The practical recipe has its own bounds, which a race found to be long enough (study/recipe.md).
    trained = [each.rows for each in surveyed if each.cell.config.recipe != "practical"]
    # The constant prediction is no sign that something went wrong.
    learning = [each for each in surveyed if each.rows and each.axes.get("method") != LEARNS_NOTHING]
    # The name of the only cell is all that was typed.
    names = [each.cell.called if len(surveyed) > 1 else "this cell" for each in learning]
    return [
        *why_no_interval([axes for axes, rows in cells if not levels_of(rows)]),
        *few_steps_note(trained),
        *not_learnt_notes([(name, each.rows, each.target) for name, each in zip(names, learning, strict=True)]),
        *probability_note([(name, each.rows) for name, each in zip(names, learning, strict=True)]),
    ]


def _places(surveyed: Sequence[SurveyedCell], n_skipped: int) -> list[str]:
    """Sentences on the finished cells that were skipped, and on the folder of the results."""
    first, sentences = surveyed[0].cell, []
    if len(surveyed) > 1 and n_skipped:
        sentences.append(f"{n_skipped} of {len(surveyed)} cells were finished already.")
    # After a failure the last line is the error.
    if first.results.exists() and all(each.state is State.FINISHED for each in surveyed):
        sentences.append(f"Results are in {first.results.absolute()}")
    return sentences


class SweepProgress:
    """Shows how many trials are done and how many cells failed: in a bar on a terminal, or else in a line a minute."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._console = console
        self._cells = {each.cell.place: each for each in plan.unfinished}
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, speed_estimate_period=math.inf)
        self._task = self._bar.add_task("", total=sum(each.n_missing for each in plan.unfinished))
        self._ended = threading.Event()
        self._last_line = time.monotonic()
        self._show(tuple)

    @contextmanager
    def shown(self, *, is_told: bool) -> Iterator[Tell]:
        """Show progress while the block runs; watch the store unless it ``is_told`` of every cell."""
        # Jobs of a launcher say nothing, and this thread waits for them.
        watching = threading.Thread(target=self._watch, daemon=True)
        with self._bar if self._console.is_terminal else nullcontext():
            if not is_told:
                watching.start()
            try:
                yield lambda cell: self._show(lambda: [look_up(self._cells[cell.place].cell)])
            finally:
                self._ended.set()
                if not is_told:
                    watching.join()

    def look(self) -> None:
        """Look at the cells that were not finished, and show what has changed."""
        self._show(lambda: survey([each.cell for each in self._cells.values() if each.state is not State.FINISHED]))

    def _show(self, look: Callable[[], Sequence[SurveyedCell]]) -> None:
        # A file server may be away for a moment. What lasts stops the run, which says it.
        with suppress(OSError):
            self._cells |= {each.cell.place: each for each in look()}
        (task,) = self._bar.tasks
        n_done = int(task.total or 0) - sum(each.n_missing for each in self._cells.values())
        n_failed = sum(each.state is State.FAILED for each in self._cells.values())
        has_ended = n_done > task.completed
        text = f"{n_done} of {task.total:,} trials done" + (f", {counted(n_failed, 'cell')} failed" if n_failed else "")
        self._bar.update(self._task, description=text, completed=n_done)
        now = time.monotonic()
        # In a file every line stays, so there is one only if something has ended.
        if not self._console.is_terminal and has_ended and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._console.print(f"{text}, {timedelta(seconds=int(task.elapsed or 0))} gone", soft_wrap=True)

    def _watch(self) -> None:
        while not self._ended.is_set():
            started = time.monotonic()
            self.look()
            # A look at thousands of cells takes long, so the next one waits in proportion.
            self._ended.wait(max(1.0, (time.monotonic() - started) / BUSY_AT_MOST))
