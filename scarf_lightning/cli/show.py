"""The screen of a run: its plan, one bar of progress, one table, and one answer."""

import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..errors import counted
from ..machine import without_garbage_collection
from ..metrics import Metric, metrics
from ..reporting.names import options_in, override, setting_name, text_of
from ..results import few_steps_note
from ..screen import command_line, screen
from ..sweeping.cell import Cell, State, sentences, survey
from ..sweeping.expand import ExpandedSweep
from ..sweeping.workers import Tell

if TYPE_CHECKING:
    from ..data.table import Table as DataTable
    from ..reporting.answers import Answers
    from ..reporting.cell_results import CellResults

LONGEST_TABLE = 200
"""Cells above which a run has no table on the screen; its report has one."""
BUSY_AT_MOST = 0.02
"""The share of a core that watching a sweep may take."""
SECONDS_BETWEEN_LINES = 60.0
"""Seconds between lines of text, if the output is no terminal."""
LEADING = ("dataset", "pretrain", "method")
"""The axes that every title names."""
MOST_OPTIONS = 5
"""Options that have a column each; more share one column."""
INTERVAL = "95 % interval"
UNKNOWN = "–"
NARROW = 100
"""Characters below which a terminal is narrow."""


class Terminal:
    """Shows a run: progress on stderr, results on stdout."""

    def begin(self, request: ExpandedSweep) -> None:
        """Show what is left out, and what a user may have meant otherwise."""
        _say([*(f"Left out: {reason}" for reason in request.left_out), *request.notes], stderr=True)

    def watching(self, cells: Sequence[Cell], *, is_told: bool) -> AbstractContextManager[Tell]:
        """Show the progress of cells while the block runs; a cell that trains alone shows its own.

        Args:
            is_told: whether the run reports each cell that has ended. Otherwise the display looks at the store.
        """
        if cells[0].is_alone:
            return nullcontext(lambda _: None)
        return SweepProgress(cells, screen(stderr=True)).shown(is_told=is_told)

    def plan(self, cells: Sequence[Cell], request: ExpandedSweep, tables: "Mapping[str, DataTable]") -> None:
        """Show how the user's tables are read, what is left to train, and how long that takes."""
        console = screen()
        for table in tables.values():
            # Imports pandas, which a run without tables of the user's does without.
            from ..data.table import reading_report

            for line in reading_report(table):
                # Rich would break sentences at the width of a pipe; tables fit themselves.
                console.print(line, soft_wrap=isinstance(line, str))
        if request.sweep is not None:
            paper = f" ({request.sweep.paper})" if request.sweep.paper else ""
            console.print(f"{request.sweep.title}{paper}")
        for sentence in sentences(cells):
            console.say(sentence)
        for cell in cells:
            # The first line names the cell and the error; the traceback is in the folder of results.
            if cell.failure is not None:
                console.say(f"Failed when last tried: {str(cell.failure).splitlines()[0]}")

    def results(self, cells: Sequence[Cell], request: ExpandedSweep, n_skipped: int) -> None:
        """Show what was trained, its table, the answer, reservations, and where the results are."""
        with without_garbage_collection():
            from ..reporting.answers import answer_in_words, answers_of_run

        answers = answers_of_run(request, cells)
        _say([_title(answers, cells, n_skipped)])
        _show_table(answers, cells[0])
        _say(answer_in_words(answers))
        # A run that compares nothing has no look to remember.
        if answers.effects:
            answers.remember()
        if n_skipped < len(cells) and "wandb" in cells[0].config.logger.views:
            # Imports Lightning and matplotlib.
            from .report_command import log_sweep

            _say(log_sweep(answers, cells, request), stderr=True)
        # The practical recipe has its own bounds, which a race found to be long enough (study/recipe.md).
        stacks = [cell.stored.in_order for cell in cells if cell.config.recipe != "practical"]
        _say([*few_steps_note(stacks), *answers.reservations])
        if len(cells) > 1 and n_skipped:
            _say([f"{n_skipped} of {len(cells)} cells were finished already."])
        results = cells[0].results
        # After a failure the last line is the error.
        if results.exists() and all(cell.state is State.FINISHED for cell in cells):
            _say([f"Results are in {results.absolute()}"])


def _say(sentences: Sequence[str], *, stderr: bool = False) -> None:
    for sentence in sentences:
        screen(stderr=stderr).say(sentence)


def _title(answers: "Answers", cells: Sequence[Cell], n_skipped: int) -> str:
    """The title of the table: the options that the user has set and all cells share."""
    set_options = [name for cell in cells for name in options_in(cell.overrides)]
    shared = title(answers.results, set_options)
    recipes = {cell.config.recipe for cell in cells}
    if len(recipes) == 1:
        shared += f", recipe={recipes.pop()}"
    if len(cells) > 1:
        trials = shared_trials(answers.results)
        return f"{len(cells)} cells of {shared}" + (f"; {counted(trials, 'trial')} each" if trials else "")
    # The fingerprint is the name of the cell's folder, by which its files are found.
    folder = cells[0].folder
    suffix = f" ({folder.name})" if folder is not None and cells[0].stored.rows else ""
    return shared + (" (finished already)" if n_skipped else suffix)


def _show_table(answers: "Answers", first: Cell) -> None:
    """Print the one table of a run."""
    results, metric = answers.results, answers.options.measure
    if len(results.cells) > LONGEST_TABLE:
        subject = f"sweeps={first.config.sweeps}" if first.config.sweeps else f"results={first.results}"
        _say([f"{len(results.cells):,} cells are too many for a table: {command_line('report.py', [subject])}"])
    elif len(results.cells) > 1:
        screen().print(sweep_table(results, metric))
    elif len(results.trials):
        screen().print(cell_table(results, metric))


class SweepProgress:
    """Shows how many trials are done and how many cells failed: in a bar on a terminal, or else in a line a minute."""

    def __init__(self, cells: Sequence[Cell], console: Console) -> None:
        self._console = console
        self._cells = cells
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, speed_estimate_period=math.inf)
        self._task = self._bar.add_task("", total=sum(len(cell.missing) for cell in self._cells))
        self._ended = threading.Event()
        self._last_line = time.monotonic()
        self.look([])

    @contextmanager
    def shown(self, *, is_told: bool) -> Iterator[Tell]:
        """Show progress while the block runs. Watch the store, unless ``is_told``."""
        # Jobs of a launcher send no messages, and this thread waits for them.
        watching = threading.Thread(target=self._watch, daemon=True)
        with self._bar if self._console.is_terminal else nullcontext():
            if not is_told:
                watching.start()
            try:
                yield lambda cell: self.look([cell])
            finally:
                self._ended.set()
                if not is_told:
                    watching.join()

    def look(self, cells: Sequence[Cell]) -> None:
        """Look at these cells, and show how far all are."""
        # A file server may be away for a moment. A lasting error stops the run, which reports it.
        with suppress(OSError):
            survey(cells)
        (task,) = self._bar.tasks
        n_done = int(task.total or 0) - sum(len(cell.missing) for cell in self._cells)
        n_failed = sum(cell.state is State.FAILED for cell in self._cells)
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
            start = time.monotonic()
            self.look([cell for cell in self._cells if cell.state is not State.FINISHED])
            # A look at thousands of cells takes long, so the next one waits in proportion.
            self._ended.wait(max(1.0, (time.monotonic() - start) / BUSY_AT_MOST))


def title(results: "CellResults", names: Iterable[str]) -> str:
    """The values that all cells share, of the axes in every title and of the options that the user has set."""
    shared = []
    for name in dict.fromkeys((*LEADING, *names)):
        # A cell that does not use an option shares it with those that do.
        values = [row[name] for row in results.rows.values() if row.get(name) is not None]
        if len(set(map(text_of, values))) == 1:
            shared.append(override(name, values[0]))
    return ", ".join(shared)


def cell_table(results: "CellResults", leading_metric: Metric) -> Table:
    """Each metric of the only cell over its trials, the leading one first, then epochs and seconds."""
    from ..reporting.cell_results import PHASES

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", INTERVAL, "trials"):
        table.add_column(heading, justify="right" if heading else "left")
    (cell,) = results.rows
    trials = results.trials
    # The sort is stable: behind the leading metric, the others keep their usual order.
    for metric in sorted(metrics(), key=lambda metric: metric != leading_metric):
        if n := trials[metric.name].count():
            table.add_row(metric.label, *_in_words(results, cell, metric), str(n))
    # Means are those of the other trials, so a reader must see how many are missing from them.
    if trials["diverged"].any():
        table.add_row("diverged, without metrics", "", "", str(trials["diverged"].sum()))
    table.add_section()
    for phase in PHASES:
        epochs, seconds = trials[f"{phase}_epochs"], trials[f"{phase}_seconds"]
        if n := epochs.count():
            table.add_row(f"{phase} epochs (median)", f"{epochs.median():g}", "", str(n))
            table.add_row(f"{phase} seconds (all trials)", f"{seconds.sum():.1f}", "", str(n))
    return table


def sweep_table(results: "CellResults", leading_metric: Metric) -> Table:
    """A line for each cell: the options in which the cells differ, then what came out.

    `title` and `shared_trials` give what all cells have in common. Columns without a value are left out, as the epochs
    of other libraries' models.
    """
    columns = list(results.different)
    if results.cells["dataset"].nunique() > 1:
        columns = ["dataset", *columns]
    options, outcomes = [], []
    for cell, row in results.rows.items():
        # With a column for each option, columns would be a letter wide.
        if len(columns) > MOST_OPTIONS:
            options.append({"options": setting_name(row, columns)})
        else:
            options.append({name: "" if row.get(name) is None else text_of(row[name]) for name in columns})
        outcomes.append(_outcome(results, cell, leading_metric))
    # The sentence above the table says how many trials each cell has.
    if shared_trials(results) is not None:
        for outcome in outcomes:
            del outcome["trials"]
    headings = [name for name in outcomes[0] if {outcome[name] for outcome in outcomes} - {"", UNKNOWN}]
    # Two blanks between columns in place of three, so that the table of an ablation fits 80 characters.
    padding = 0, 1, 0, 0 if screen().width < NARROW else 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    for name in options[0]:
        table.add_column(name, overflow="fold")
    for name in headings:
        table.add_column(name, justify="right", overflow="fold", no_wrap=name == INTERVAL)
    for option, outcome in zip(options, outcomes, strict=True):
        table.add_row(*option.values(), *(outcome[name] for name in headings))
    return table


def _outcome(results: "CellResults", cell: int, leading_metric: Metric) -> dict[str, str]:
    """What came out of a cell, by the headings of its columns."""
    from ..reporting.cell_results import PHASES, SECONDS

    trials = results.trials_of(cell)
    mean, interval = _in_words(results, cell, leading_metric)
    n_diverged = trials["diverged"].sum()
    outcome = {
        "trials": f"{len(trials)}, {n_diverged} diverged" if n_diverged else str(len(trials)),
        leading_metric.label: mean if len(trials) else "not finished",
        INTERVAL: interval,
    }
    for phase in PHASES:
        epochs = trials[f"{phase}_epochs"]
        outcome[f"{phase} epochs"] = f"{epochs.median():g}" if epochs.count() else ""
    return outcome | {"seconds": f"{trials[list(SECONDS)].sum().sum():.1f}" if len(trials) else ""}


def shared_trials(results: "CellResults") -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = set(results.cells["finished"])
    # If no cell has a trial, the table shows it for each cell.
    if len(numbers) > 1 or numbers == {0} or results.trials["diverged"].any():
        return None
    return int(numbers.pop())


def _in_words(results: "CellResults", cell: int, metric: Metric) -> tuple[str, str]:
    """The mean of a cell's metric, and its interval, as far as they are known."""
    mean, low, high = results.level_of(cell, metric)
    # All trials may have diverged; too few, or a fixed split without predictions, give a mean alone.
    interval = UNKNOWN if math.isnan(low) else f"{metric.plain(low)} to {metric.plain(high)}"
    return ("", "") if math.isnan(mean) else (metric.plain(mean), interval)
