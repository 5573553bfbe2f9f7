"""What the end of a run says: the answer in a sentence, and what would settle what is open."""

from collections.abc import Sequence

from ..sweeping.expand import ExpandedSweep
from ..sweeping.survey import SurveyedCell
from .commands import by_sweep
from .comparisons import compare_all
from .options import Options
from .reading import ReportedCell, results_of
from .sentences import headline, what_would_settle


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
        ReportedCell(each.axes, each.cell.config.dataset.id, None, each.cell.config.trials, None, each.cell.overrides)
        for each in tried
    ]
    results = results_of(wanted, [each.rows for each in tried], usual=dict(request.usual))
    comparisons = compare_all(results, Options())
    if not comparisons:
        return []
    settling = what_would_settle(comparisons, by_sweep(request.arguments))
    return [headline(comparisons, results, Options()), *settling]
