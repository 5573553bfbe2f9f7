"""Run the cells that are not finished, and show all of them."""

import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.table import Table

from ..config.plugins import load_plugins
from ..console.reading import reading_report
from ..console.screen import doing, screen
from ..console.tables import (
    Row,
    cell_table,
    describe,
    full_table,
    shared_axes,
    shared_trials,
    summary_table,
    sweep_table,
)
from ..errors import UnfinishedError, UsageError
from ..results import check_folder, clear_dead, with_unsaid, write_whole
from ..results.steps import on_few_steps
from .cell import Cell, distinct, named
from .chunks import Chunk, make_chunks
from .cost import CostModel
from .expand import ExpandedSweep
from .launching import Launch
from .plan import largest, make_plan, sentences
from .progress import SweepProgress
from .survey import State, SurveyedCell, survey

LONGEST_TABLE = 200
"""Cells that are shown a line each; of more, a line for each setting, over the datasets."""
TABLES = "tables"
"""The folder, in that of the results, of the tables that runs end with."""
Conclude = Callable[[ExpandedSweep, Sequence[SurveyedCell]], Sequence[str]]
LOOK_EVERY = 1.0
"""Seconds between looks at cells that other processes train."""
TRIES = {State.WAITING: 3, State.FAILED: 1, State.RUNNING: 0, State.FINISHED: 0}
"""How often a cell is launched: more than once where another process had it and let go of it unfinished."""


def run(
    request: ExpandedSweep, launch: Launch, launcher: str = "basic", conclude: Conclude | None = None
) -> list[SurveyedCell]:
    """Train what is not finished, print what came out, and return how far each cell is.

    Args:
        request: the cells.
        launch: what starts jobs.
        launcher: its name.
        conclude: what several cells amount to, in sentences.

    Raises:
        UsageError: a part of a cell is wrong; nothing has been trained.
        UnfinishedError: cells failed, or a job did.
    """
    for reason in request.left_out:
        screen(stderr=True).print(f"Left out: {reason}", soft_wrap=True, markup=False)
    cells = named(distinct(request.cells))
    if len(cells) == 1:
        cells = [replace(cells[0], is_alone=True)]
    options = cells[0].config
    load_plugins(options.plugins)  # their metrics are shown
    for results in {cell.results for cell in cells}:
        check_folder(results, writable=options.force)
    if options.plan:
        _show_plan(surveyed := survey(cells), request)
        return surveyed
    if options.force:
        for sentence in _clear(cells):
            screen(stderr=True).print(sentence, soft_wrap=True, markup=False)
    before = survey(cells)
    waiting = [each for each in before if each.state is not State.FINISHED]
    problems: list[str] = []
    if waiting:
        n_done = len(cells) - len(waiting)
        with doing(f"{len(waiting)} of {len(cells)} cells to train, {n_done} finished; importing torch and Lightning"):
            _check_parts([each.cell for each in waiting])
        for results in {each.cell.results for each in waiting}:
            check_folder(results, writable=True)
        model = CostModel(before)
        deal = partial(make_chunks, settings=options.chunk, model=model, launcher=launcher)
        progress = SweepProgress(before, model, screen(stderr=True))
        with nullcontext() if cells[0].is_alone else progress.shown():
            problems = _train([each.cell for each in waiting], launch, deal)
    after = survey(cells) if waiting else before
    for each in after:
        if each.state is State.FINISHED and each.folder is not None:
            clear_dead(each.folder)  # of a process killed between its last record and letting go
    _show(after, request, conclude, n_skipped=len(cells) - len(waiting))
    unfinished = [each for each in after if each.state is not State.FINISHED]
    problems = [str(each.failure or f"{each.cell.label} did not finish.") for each in unfinished] + problems
    if problems:
        raise UnfinishedError("\n".join(problems))
    return after


def _train(cells: Sequence[Cell], launch: Launch, deal: Callable[[Sequence[SurveyedCell]], list[Chunk]]) -> list[str]:
    """Launch until every cell is finished or has failed; what went wrong beside that.

    A cell that another process trains is waited for, and launched here where that process dies.
    """
    tries, problems = Counter[str](), []
    while True:
        surveyed = survey(cells)
        cells = [each.cell for each in surveyed if each.state is not State.FINISHED]
        todo = [each for each in surveyed if tries[each.cell.key] < TRIES[each.state]]
        if todo:
            tries.update(each.cell.key for each in todo)
            try:
                launch(deal(todo))
            except Exception as error:  # a process was killed, or the launcher is not set up
                last = "".join(traceback.format_exception_only(error)).rstrip()
                problems.append(f"A job ended early; the same command goes on where it did. {last}")
                tries.update({each.cell.key: max(TRIES.values()) for each in todo})
        elif any(each.state is State.RUNNING for each in surveyed):
            time.sleep(LOOK_EVERY)
        else:
            return problems


def _clear(cells: Sequence[Cell]) -> list[str]:
    """Set aside what cells and their pre-trainings have; a sentence on each cell that had something."""
    reason, said, cleared = "force=true trains it again", [], set()
    for cell in cells:
        store, pretraining = cell.store(), cell.pretraining()
        if store is None or not store.folder.exists():
            continue
        with store.claim() as claim:
            if claim is None:
                said.append(f"{cell.label} is being trained by another process and is left alone.")
                continue
            if store.rows():
                said.append(store.clear(reason))
        if pretraining and pretraining.folder.exists() and pretraining.fingerprint not in cleared:
            cleared.add(pretraining.fingerprint)
            with pretraining.claim():
                pretraining.clear(reason)
    return said


def _check_parts(cells: Sequence[Cell]) -> None:
    """Construct what each cell names, and look at its data from outside, before the first one trains."""
    from ..config import build_parts

    problems = []
    for cell in cells:
        try:
            cell.source.check()
        except UsageError as error:
            problems.append(str(error))
    for cell in cells if not problems else ():  # torch is not imported to say that a file is missing
        try:
            build_parts(cell.config)
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(dict.fromkeys(problems)))


def _show_plan(surveyed: Sequence[SurveyedCell], request: ExpandedSweep) -> None:
    console, plan = screen(), make_plan(surveyed)
    if request.sweep is not None:
        paper = f" ({request.sweep.paper})" if request.sweep.paper else ""
        console.print(f"{request.sweep.title}{paper}")
    for sentence in sentences(plan):
        console.print(sentence, soft_wrap=True, markup=False)
    for source in {each.cell.source.key: each.cell.source for each in surveyed}.values():
        if source.is_found_out:
            for line in reading_report(source.load()):
                console.print(line, soft_wrap=isinstance(line, str))
    rows = largest(plan, n=10)
    if len(rows) > 1:
        table = Table("longest first", box=None)
        for heading in ("rows", "columns", "supervised core hours"):
            table.add_column(heading, justify="right")
        for name, n_rows, n_columns, hours in rows:
            table.add_row(name, f"{n_rows:,}", f"{n_columns:,}", f"{hours:.2f}")
        console.print(table)
    for each in surveyed:
        if each.failure is not None:
            console.print(f"Failed when last tried: {str(each.failure).splitlines()[0]}", soft_wrap=True, markup=False)


def _show(
    surveyed: Sequence[SurveyedCell], request: ExpandedSweep, conclude: Conclude | None, *, n_skipped: int
) -> None:
    console = screen()
    axes = with_unsaid([each.axes for each in surveyed])
    shown = [(columns, each.rows) for columns, each in zip(axes, surveyed, strict=True)]
    if len(shown) > 1:
        trials = shared_trials(shown)
        each_has = "" if trials is None else f"; {trials} {'trial' if trials == 1 else 'trials'} each"
        console.print(f"{len(shown)} cells of {describe(shared_axes(axes))}{each_has}")
        console.print(sweep_table(shown, console.width) if len(shown) <= LONGEST_TABLE else summary_table(shown))
        for sentence in conclude(request, surveyed) if conclude else ():
            console.print(sentence, soft_wrap=True)
        if n_skipped:
            console.print(f"{n_skipped} of {len(shown)} cells were finished already.")
        console.print(_keep_table(shown, surveyed[0].cell), soft_wrap=True)
    else:
        (each,) = surveyed
        store = each.cell.store()
        ending = " (finished already)" if n_skipped else f" ({store.fingerprint})" if store and each.rows else ""
        console.print(f"{describe(each.axes)}{ending}")
        if each.rows:
            console.print(cell_table(each.rows))
    for sentence in on_few_steps([each.rows for each in surveyed]):
        console.print(sentence, soft_wrap=True, markup=False)
    results = surveyed[0].cell.results
    if results.exists():
        console.print(f"Results are in {results.absolute()}", soft_wrap=True, markup=False)


def _keep_table(shown: Sequence[tuple[Row, Sequence[Row]]], cell: Cell) -> str:
    """Write the table with all its columns beside the results, and say where."""
    name = Path(cell.config.sweeps).stem if cell.config.sweeps else "last_run"
    file = cell.results.absolute() / TABLES / f"{name}.csv"
    try:
        write_whole(file, full_table(shown))
    except OSError as error:
        return f"The full table could not be written: {error}."
    return f"The full table, with every metric, is {file}"
