"""The results of a run, with their answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..results import Row
from ..sweeping.cell import Cell, SurveyedCell
from ..sweeping.expand import ExpandedSweep
from .advice import trials_sentence
from .cell_results import ReportedCell, read_results
from .questions import Answers, answers_of, judged_effects
from .report_options import ReportOptions


@dataclass(frozen=True)
class ComparedRun:
    """The cells of a run that have a trial, with their answers.

    Attributes:
        tried: the cells.
        answers: that they give; those of a single cell are none.
    """

    tried: Sequence[SurveyedCell]
    answers: Answers

    @property
    def in_words(self) -> list[str]:
        """The answer in sentences; none if nothing is compared."""
        answers = self.answers
        sentences = list(answers.in_words)
        if answers.effects:
            sentences.append(answers.other_kind_note)
            sentences += trials_sentence(answers.asked, answers.options.rope)
        return list(filter(None, sentences))


def reported(cell: Cell, axes: Row, folder: Path | None, **known: Any) -> ReportedCell:
    """A cell of a sweep; ``folder`` is its place in the store, if it is known, as are more fields of `ReportedCell`."""
    config = cell.config
    return ReportedCell(axes, config.dataset.id, folder, config.trials, cell.overrides, config.metric, **known)


def compared_run(request: ExpandedSweep, surveyed: Sequence[SurveyedCell]) -> ComparedRun:
    """Compare the cells of a run so far."""
    tried = [each for each in surveyed if each.rows]
    wanted = []
    for each in tried:
        rows, target = each.rows, each.target
        cell = reported(each.cell, each.axes, each.folder, rows=rows, target=target)
        wanted.append(cell)
    results = read_results(wanted, usual=dict(request.usual))
    # What the command line asks for counts more than what a sweep file leads with.
    if request.sweep is not None and request.cells[0].config.metric is None:
        results = replace(results, metric=request.sweep.leading(results.metric))
    # A run has no option for the margin, so its answer is by the default of a report.
    options = ReportOptions(reference=request.cells[0].config.reference).with_metric(results.metric)
    if len(tried) < 2:
        return ComparedRun(tried, Answers(results, options, []))
    return ComparedRun(tried, answers_of(results, options))


def check_reference(cells: Sequence[Cell]) -> None:
    """Refuse a reference that is none of the competitors of a run, before it trains, by a `UsageError`."""
    reference = cells[0].config.reference
    if reference is not None:
        wanted = [reported(cell, cell.axes(), None) for cell in cells]
        judged_effects(read_results(wanted), ReportOptions(reference=reference))
