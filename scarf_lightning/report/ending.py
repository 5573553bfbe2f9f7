"""What the end of a run says: the answer in a sentence, and what would settle what is open."""

from collections.abc import Sequence

from ..options import labels
from ..sweeping.cell import SurveyedCell
from ..sweeping.expand import ExpandedSweep
from .advice import by_sweep
from .comparisons import compare_all
from .loading import ReportedCell, results_of
from .report_options import ReportOptions
from .sentences import headline, in_one_line, what_would_settle


def answer_of_run(request: ExpandedSweep, surveyed: Sequence[SurveyedCell]) -> list[str]:
    """Sentences on what the cells of a run compare; none where they compare nothing.

    Args:
        request: what was asked for.
        surveyed: its cells, at the end.
    """
    tried = [each for each in surveyed if each.rows]
    if len(tried) < 2:
        return []
    wanted = [
        ReportedCell(
            each.axes,
            each.cell.config.dataset.id,
            None,
            each.cell.config.trials,
            None,
            each.cell.overrides,
            labels(each.cell.config),
            each.cell.config.metric,
        )
        for each in tried
    ]
    results = results_of(
        wanted, [each.rows for each in tried], [each.target for each in tried], usual=dict(request.usual)
    )
    options = ReportOptions().of(results)
    comparisons = compare_all(results, options)
    if not comparisons:
        return []
    settling = what_would_settle(comparisons, by_sweep(request.arguments), results)
    return [headline(comparisons, results, options), *map(in_one_line, settling)]
