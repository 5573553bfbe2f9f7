"""Effects of results of any library, with the figure of a report."""

from functools import wraps
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import require
from ..verdicts import ComparedResults
from ..verdicts import compare as compare_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ShownResults(ComparedResults):
    """Compared results that can be drawn."""

    def figure(self) -> "Figure":
        """The differences with their intervals, best first."""
        require("matplotlib", "A figure")
        from .answer_sections import effects_figure

        return effects_figure(self.effects)


@wraps(compare_frame)
def compare(frame: pd.DataFrame, **options: Any) -> ShownResults:
    """As `scarf_lightning.verdicts.compare`, with a method ``figure``."""
    return ShownResults(**vars(compare_frame(frame, **options)))
