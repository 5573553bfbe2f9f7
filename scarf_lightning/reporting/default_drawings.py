"""The drawings of results that no sweep file describes, chosen from the axes in which their cells differ."""

from typing import Any

from ..results.records import PREDICTIONS
from .cell_results import CellResults
from .drawings import Drawing, read_drawings


def default_drawings(results: CellResults) -> list[Drawing]:
    """Of several tables the win matrix and the metric of each; of the first one losses and predictions."""
    finished = results.cells[results.cells["finished"] > 0]
    if finished.empty:
        return []
    entries: list[dict[str, Any]] = []
    first, *others = finished["dataset"].unique()
    if others:
        columns = results.different or ["pretrain", "method"]
        # Competitors are compared within a context, such as a number of labels, and never across contexts.
        if not results.contexts and results.compared:
            entries.append({"draw": "win_matrix", "title": "All against each other", "compare": columns})
        entries.append({"draw": "metric_table", "title": "Every dataset", "columns": columns})
    where = {"dataset": first}
    cells = finished[finished["dataset"] == first]
    if cells["pretrain"].ne("none").any():
        entries.append({"draw": "loss_curves", "title": f"Losses while pre-training on {first}", "where": where})
    stored = [results.stored_of(cell) for cell in cells.index]
    if any(any(each.kept(PREDICTIONS)) for each in stored if each is not None):
        # All cells of a dataset predict the same target.
        target = next(results.targets[cell] for cell in cells.index if cell in results.targets)
        for drawing, subject in target.drawings.items():
            entries.append({"draw": drawing, "title": f"{subject} on {first}", "where": where})
    return read_drawings(entries, "defaults")
