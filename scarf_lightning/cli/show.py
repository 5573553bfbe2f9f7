"""What a run shows on the terminal: its plan, its progress, and what came out."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from ..results import on_few_steps, write_whole
from ..screen import doing, screen
from ..sweeping.cell import Cell, State, SurveyedCell, chosen_metric
from ..sweeping.expand import ExpandedSweep
from ..sweeping.plan import Plan, about, largest, sentences
from .tables import (
    Row,
    cell_table,
    describe,
    full_table,
    label_table,
    shared_axes,
    shared_trials,
    summary_table,
    sweep_table,
    why_no_interval,
)
from .watch import SweepProgress

if TYPE_CHECKING:
    from ..data.table import Table as DataTable

LONGEST_TABLE = 200
"""A longer sweep is shown a line a setting, over the datasets, instead of a line a cell."""
TABLES = "tables"
"""The folder, in that of the results, of the tables that runs end with."""


class Terminal:
    """Shows a run: sentences and progress on stderr, results on stdout."""

    def say(self, sentence: str) -> None:
        screen(stderr=True).say(sentence)

    def doing(self, what: str) -> AbstractContextManager[object]:
        return doing(what)

    def watching(self, plan: Plan) -> AbstractContextManager[None]:
        """Show the progress of several cells while the block runs; a cell that trains alone shows its own."""
        if plan.surveyed[0].cell.is_alone:
            return nullcontext()
        return SweepProgress(plan, screen(stderr=True)).shown()

    def plan(self, plan: Plan, request: ExpandedSweep, tables: "Mapping[str, DataTable]") -> None:
        """Show how the user's tables are read, what is left to train, and how long that takes."""
        console = screen()
        if tables:
            from ..data.reading.shown import reading_report  # imports pandas

            for line in [line for table in tables.values() for line in reading_report(table)]:
                console.print(line, soft_wrap=isinstance(line, str))
        if request.sweep is not None:
            paper = f" ({request.sweep.paper})" if request.sweep.paper else ""
            console.print(f"{request.sweep.title}{paper}")
        for sentence in sentences(plan):
            console.say(sentence)
        datasets = largest(plan, n=10)
        if len(datasets) > 1:
            shown = Table("longest first", box=None)
            for heading in ("rows", "columns", "about"):
                shown.add_column(heading, justify="right")
            for name, size, seconds in datasets:
                n_rows, n_columns = (f"{size.n_rows:,}", f"{size.n_columns:,}") if size else ("?", "?")
                shown.add_row(name, n_rows, n_columns, about(seconds))
            console.print(shown)
        for each in plan.surveyed:
            if each.failure is not None:
                console.say(f"Failed when last tried: {str(each.failure).splitlines()[0]}")

    def results(self, surveyed: Sequence[SurveyedCell], request: ExpandedSweep, n_skipped: int) -> None:
        """Show the table of the cells, the conclusion in sentences, and where the results are."""
        console = screen()
        axes = [each.axes for each in surveyed]
        metric = chosen_metric(surveyed)
        shown = [(columns, each.rows) for columns, each in zip(axes, surveyed, strict=True)]
        recipes = {each.cell.config.recipe for each in surveyed}
        if len(shown) > 1:
            trials = shared_trials(shown)
            each_has = "" if trials is None else f"; {trials} {'trial' if trials == 1 else 'trials'} each"
            settings = dict.fromkeys(name for each in surveyed for name in each.cell.settings())
            console.say(f"{len(shown)} cells of {describe(shared_axes(axes), settings, recipes)}{each_has}")
            if request.sweep is not None and request.sweep.rounds:
                console.print(label_table(shown, metric))
            elif len(shown) > LONGEST_TABLE:
                console.print(summary_table(shown, metric))
            else:
                console.print(sweep_table(shown, console.width, metric))
            from ..report.ending import answer_of_run  # imports pandas

            for sentence in answer_of_run(request, surveyed):
                console.say(sentence)
            if n_skipped:
                console.print(f"{n_skipped} of {len(shown)} cells were finished already.")
            console.say(_keep_table(shown, surveyed[0].cell))
        else:
            (each,) = surveyed
            store = each.cell.store()
            ending = " (finished already)" if n_skipped else f" ({store.fingerprint})" if store and each.rows else ""
            console.say(f"{describe(each.axes, each.cell.settings(), recipes)}{ending}")
            if each.rows:
                console.print(cell_table(each.axes, each.rows, metric))
        for sentence in (*why_no_interval(axes), *on_few_steps([each.rows for each in surveyed])):
            console.say(sentence)
        results = surveyed[0].cell.results
        if results.exists() and all(each.state is State.FINISHED for each in surveyed):
            console.say(f"Results are in {results.absolute()}")


def _keep_table(shown: Sequence[tuple[Row, Sequence[Row]]], cell: Cell) -> str:
    """Write the table with all its columns beside the results, and say where."""
    name = Path(cell.config.sweeps).stem if cell.config.sweeps else "last_run"
    file = cell.results.absolute() / TABLES / f"{name}.csv"
    try:
        write_whole(file, full_table(shown))
    except OSError as error:
        return f"The full table could not be written: {error}."
    return f"The full table, with every metric, is {file}"
