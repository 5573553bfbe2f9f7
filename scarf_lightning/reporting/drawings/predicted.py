"""Kept predictions of trials on their test rows, drawn by scikit-learn's displays, the rows of all trials together."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...data.targets import Classes, Number, Target
from ...errors import UsageError
from ..blocks import Block, Picture
from ..cell_results import CellResults
from ..names import shortened
from ..report_options import ReportOptions
from ..style import COLUMN, PAGE, new_figure, styled
from .drawing import Drawing, first_of, panels

MOST_PANELS, MOST_LINES = 4, 7
"""Cells that a figure shows: a panel each, or lines in as many colours as can be told from each other."""
MOST_WRITTEN = 12
"""Classes of which the shares are written; with more, colours alone are shown."""


@dataclass(frozen=True)
class PredictedCell:
    """Predictions of all trials of a cell.

    Attributes:
        name: of the cell.
        target: of its table.
        labels: of all test rows of all trials, ``(n,)``.
        values: probabilities of the classes ``(n, C)``, or predicted numbers ``(n,)``.
    """

    name: str
    target: Target
    labels: NDArray[np.float64]
    values: NDArray[np.float64]


def predicted_cells(results: CellResults, cells: pd.DataFrame, kind: type[Target]) -> list[PredictedCell]:
    """Predictions of wanted trials, by cell; cells that have kept none are left out.

    Args:
        results: what there is; damaged predictions are noted in it.
        cells: those to look at.
        kind: of the targets to look at.

    Raises:
        UsageError: none has kept any.
    """
    cells_with_predictions = []
    for cell in map(int, cells.index):
        trial_numbers, predictions = results.values_of(cell, "trial"), results.predictions_of(cell)
        trials = [predictions[trial] for trial in trial_numbers if trial in predictions]
        if trials and isinstance(trials[0].target, kind):
            labels = np.concatenate([each.labels for each in trials])
            values = np.concatenate([each.values for each in trials])
            cells_with_predictions.append(PredictedCell(results.names[cell], trials[0].target, labels, values))
    if not cells_with_predictions:
        raise UsageError(
            f"These cells of {kind.noun} have kept no predictions; keep_predictions_mb=80 force=true trains them again."
        )
    return cells_with_predictions


@dataclass(frozen=True, kw_only=True)
class PredictedDrawing(Drawing):
    """A drawing of kept predictions: a panel a cell, or a line a cell.

    Attributes:
        target: the kind of target that it shows.
        caption: of its figure.
        has_lines: True if all cells share a panel.
    """

    target: ClassVar[type[Target]] = Classes
    caption: ClassVar[str]
    has_lines: ClassVar[bool] = False

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = predicted_cells(results, self.cells(results), self.target)
        figure_cells = cells[: MOST_LINES if self.has_lines else MOST_PANELS]
        return [Picture(name, self.figure(figure_cells), self.caption + first_of(len(figure_cells), len(cells)))]

    @styled()
    def figure(self, cells: Sequence[PredictedCell]) -> Figure:
        """The figure of these cells."""
        names = shortened([each.name for each in cells], 48)
        if self.has_lines:
            figure, (place,) = new_figure(COLUMN * 1.4, COLUMN * 1.4)
            places = [place] * len(cells)
        else:
            figure, places = panels(list(names.values()), PAGE / 2, PAGE / 2)
        for axes, cell in zip(places, cells, strict=True):
            self.draw(axes, cell, names[cell.name])
        return figure

    # Displays are imported where they draw: this takes a second, and every check of a sweep file reads this module.
    @abstractmethod
    def draw(self, axes: Axes, cell: PredictedCell, name: str) -> None:
        """Draw a cell, in a panel of its own or as a line with its name."""


class RocCurves(PredictedDrawing):
    """The ROC curve of each cell; of more than two classes, that of each row's probabilities of all classes."""

    name = "roc_curves"
    caption = "Test rows of all trials together; of several classes each against the others."
    has_lines = True

    def draw(self, axes: Axes, cell: PredictedCell, name: str) -> None:
        from sklearn.metrics import RocCurveDisplay

        truth = np.equal.outer(cell.labels, np.arange(cell.values.shape[1]))
        # The second of two classes is the positive one.
        class_columns = slice(1, None) if truth.shape[1] == 2 else slice(None)
        is_positive, scores = truth[:, class_columns].ravel(), cell.values[:, class_columns].ravel()
        if is_positive.all() or not is_positive.any():
            raise UsageError(f"The test rows of {cell.name} are of one class.")
        RocCurveDisplay.from_predictions(is_positive, scores, name=name, ax=axes, pos_label=True)
        axes.set(xlabel="false-positive rate", ylabel="true-positive rate")


class CalibrationCurves(PredictedDrawing):
    """How often the predicted class of each cell is right, by its probability."""

    name = "calibration_curves"
    caption = "The share of test rows whose predicted class is right, by the probability of that class: all trials."
    has_lines = True

    def draw(self, axes: Axes, cell: PredictedCell, name: str) -> None:
        from sklearn.calibration import CalibrationDisplay

        is_right = cell.values.argmax(axis=1) == cell.labels
        confidence = cell.values.max(axis=1).clip(0, 1)
        CalibrationDisplay.from_predictions(
            is_right, confidence, n_bins=10, strategy="quantile", name=name, ax=axes, pos_label=True
        )
        axes.set(xlabel="probability of the predicted class", ylabel="share of rows that it is right in")


class ConfusionMatrix(PredictedDrawing):
    """Shares of each class's test rows that are given each class."""

    name = "confusion_matrix"
    caption = "The share of each class (row) that is given each class (column), test rows of all trials together."

    def draw(self, axes: Axes, cell: PredictedCell, name: str) -> None:
        from sklearn.metrics import ConfusionMatrixDisplay

        assert isinstance(cell.target, Classes)
        classes = cell.target.names
        ConfusionMatrixDisplay.from_predictions(
            cell.labels,
            cell.values.argmax(axis=1),
            labels=range(len(classes)),
            display_labels=shortened(classes, 14).values(),
            normalize="true",
            values_format=".0%",
            include_values=len(classes) <= MOST_WRITTEN,
            xticks_rotation="vertical",
            im_kw={"vmin": 0, "vmax": 1},
            cmap="Blues",
            colorbar=False,
            ax=axes,
        )


class PredictedAgainstTrue(PredictedDrawing):
    """A point for each test row of each trial, and the diagonal of perfect predictions."""

    name = "predicted_against_true"
    target = Number
    caption = "A point for each test row of each trial: its true and its predicted value, equal on the diagonal."

    def draw(self, axes: Axes, cell: PredictedCell, name: str) -> None:
        from sklearn.metrics import PredictionErrorDisplay

        PredictionErrorDisplay.from_predictions(
            cell.labels, cell.values, kind="actual_vs_predicted", subsample=4000, random_state=0, ax=axes
        )
