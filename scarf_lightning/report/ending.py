"""What the end of a run says: the answer in a sentence, and what would settle what is open."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..options import labels
from ..sweeping.cell import Cell, SurveyedCell
from ..sweeping.expand import ExpandedSweep
from .advice import by_sweep
from .comparisons import Comparison, compare_all
from .loading import CellResults, ReportedCell, Row, results_of
from .over_labels import answer_in_words
from .report_options import ReportOptions
from .sentences import EVEN, in_one_line, what_would_settle
from .statistics.verdict import FEWEST_FOR_SAME


@dataclass(frozen=True)
class ComparedRun:
    """What the cells of a run compare.

    Attributes:
        tried: the cells that have a finished trial.
        results: theirs.
    """

    tried: Sequence[SurveyedCell]
    results: CellResults

    @cached_property
    def options(self) -> ReportOptions:
        """The metric of the run."""
        return ReportOptions().of(self.results)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All of them, best first."""
        return compare_all(self.results, self.options) if len(self.tried) > 1 else []

    @property
    def in_words(self) -> list[str]:
        """The answer in sentences; none where nothing is compared."""
        return answer_in_words(self.comparisons, self.results, self.options) if self.comparisons else []

    @property
    def undecided(self) -> set[str]:
        """The keys of the cells of which more trials are as likely as not to bring an answer that may be claimed."""
        found = set[str]()
        for each in self.comparisons:
            verdict = each.verdict
            is_told = verdict.answer != "cannot tell yet"  # alone, but not yet together with the others
            may_settle = verdict.more is not None or verdict.chance >= EVEN or verdict.trials < FEWEST_FOR_SAME
            if each.claimed == "cannot tell yet" and not verdict.reason and (is_told or may_settle):
                found |= {self.tried[label].cell.key for pair in each.pairs for label in pair}
        return found


def reported(cell: Cell, axes: Row, folder: Path | None, failure: str | None = None) -> ReportedCell:
    """A cell of a sweep; ``folder`` is its place in the store, if it is known."""
    config = cell.config
    return ReportedCell(
        axes, config.dataset.id, folder, config.trials, failure, cell.overrides, labels(config), config.metric
    )


def compared(request: ExpandedSweep, surveyed: Sequence[SurveyedCell]) -> ComparedRun:
    """What the cells of a run compare at its end."""
    tried = [each for each in surveyed if each.rows]
    wanted = [reported(each.cell, each.axes, each.folder) for each in tried]
    targets = [each.target for each in tried]
    return ComparedRun(tried, results_of(wanted, [each.rows for each in tried], targets, usual=dict(request.usual)))


def answer_of_run(request: ExpandedSweep, surveyed: Sequence[SurveyedCell]) -> list[str]:
    """Sentences on what the cells of a run compare; none where they compare nothing."""
    run = compared(request, surveyed)
    if not run.comparisons:
        return []
    settling = what_would_settle(run.comparisons, by_sweep(request.arguments), run.results)
    return [*run.in_words, *map(in_one_line, settling)]
