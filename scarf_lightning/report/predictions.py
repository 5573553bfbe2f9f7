"""What the cells of a report predicted on their test rows."""

from dataclasses import dataclass

import pandas as pd

from ..errors import UsageError
from ..results import Predictions, read_cell, read_predictions
from .competitors import distinguishing, labels
from .reading import CellResults


@dataclass(frozen=True)
class PredictedCell:
    """What the trials of a cell predicted, its name among the others, and the names of its classes."""

    name: str
    classes: list[str]
    trials: list[Predictions]


def predicted_cells(results: CellResults, cells: pd.DataFrame) -> list[PredictedCell]:
    """What wanted trials predicted, a cell each; cells that have kept nothing are left out.

    Args:
        results: what there is; damaged predictions are noted in it.
        cells: those to look at.

    Raises:
        UsageError: none has kept any.
    """
    names = labels(cells, ["dataset", *distinguishing(cells, results.axes)], results.usual)
    found = []
    for cell, name in names.items():
        wanted = results.trials.loc[results.trials["cell"] == cell, "trial"].tolist()
        if wanted and int(str(cell)) in results.folders:
            stored = read_cell(results.folders[int(str(cell))])
            predictions = read_predictions(stored, results.damaged)
            trials = [predictions[trial] for trial in wanted if trial in predictions]
            if trials and stored.description is not None:
                found.append(PredictedCell(name, list(stored.description["classes"]), trials))
    if not found:
        raise UsageError("These cells have kept no predictions; keep_predictions_mb=20 force=true trains them again.")
    return found
