"""Verdicts on results of any library, with the figure of a report."""

from functools import wraps
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..importing import require
from ..verdicts import ComparedResults
from ..verdicts.compare import compare as judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ShownResults(ComparedResults):
    """Compared results that can be drawn."""

    def figure(self) -> "Figure":
        """The differences with their intervals, best first."""
        require("matplotlib", "A figure")
        from .effects import Effect, effects_figure

        lines = [Effect(each.label, each.verdict, each.claimed) for each in self.comparisons]
        return effects_figure(lines, self.metric, self.margin)


@wraps(judged)
def compare(frame: pd.DataFrame, **options: Any) -> ShownResults:
    """As `scarf_lightning.verdicts.compare`, with a method ``figure``."""
    found = judged(frame, **options)
    return ShownResults(**vars(found))
