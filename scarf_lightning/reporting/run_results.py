"""The answers of a run, and its cells as those of a report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..sweeping.cell import Cell
from ..sweeping.expand import ExpandedSweep
from .advice import trials_sentence
from .cell_results import ReportedCell, read_results
from .questions import Answers, answers_of, judged_effects
from .report_options import ReportOptions


def reported(cell: Cell, folder: Path | None, **known: Any) -> ReportedCell:
    """A cell of a sweep; ``folder`` is its place in the store, if it is known, as are more fields of `ReportedCell`."""
    config = cell.config
    return ReportedCell(cell.axes, config.dataset.id, folder, config.trials, cell.overrides, config.metric, **known)


def answers_of_run(request: ExpandedSweep, cells: Sequence[Cell]) -> Answers:
    """The answers of the cells of a run so far; none if fewer than two of them have a trial."""
    wanted = []
    for cell in cells:
        # A cell without a trial has nothing in the store.
        wanted.append(reported(cell, cell.folder if cell.stored.rows else None, stored=cell.stored))
    results = read_results(wanted, usual=dict(request.usual))
    # What the command line asks for counts more than what a sweep file leads with.
    if request.sweep is not None and request.cells[0].config.metric is None:
        results = replace(results, metric=request.sweep.leading(results.metric))
    # A run has no option for the margin, so its answer is by the default of a report.
    options = ReportOptions(reference=request.cells[0].config.reference).with_metric(results.metric)
    if sum(bool(cell.stored.rows) for cell in cells) < 2:
        return Answers(results, options, [])
    return answers_of(results, options)


def answer_in_words(answers: Answers) -> list[str]:
    """The answer of a run in sentences; none if nothing is compared."""
    if not answers.effects:
        return []
    kind, trials = answers.other_kind_note, trials_sentence(answers.asked)
    return [*answers.in_words, *([kind] if kind else []), *trials]


def check_reference(cells: Sequence[Cell]) -> None:
    """Refuse a reference that is none of the competitors of a run, before it trains, by a `UsageError`."""
    reference = cells[0].config.reference
    if reference is not None:
        wanted = [reported(cell, None) for cell in cells]
        judged_effects(read_results(wanted), ReportOptions(reference=reference))
