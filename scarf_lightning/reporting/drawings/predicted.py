"""Predictions of trials on their test rows: ROC curves and confusion matrices, or predicted against true values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...data.targets import Classes, Number, Target
from ...errors import UsageError, counted
from ...metrics import metric_named
from ...results import Predictions, read_predictions
from ..blocks import Block, Paragraph, Picture, named
from ..cell_results import CellResults
from ..competitors import named_cells
from ..names import shortened
from ..report_options import ReportOptions
from ..style import COLOURS, COLUMN, GREY, PAGE, colour, new_figure, styled
from .drawing import Drawing, left_out, panels

Floats = NDArray[np.float64]

GRID = np.linspace(0, 1, 201)
"""False-positive rates at which curves are averaged."""


def roc_curve(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False- and true-positive rates of all thresholds, both from 0 to 1: ``(n_thresholds + 1,)`` each.

    Args:
        scores: of n rows, ``(n,)``; equal ones share a threshold.
        positive: whether each is of the class, ``(n,)``; some are, and some are not.

    Source: Fawcett, 2006, DOI 10.1016/j.patrec.2005.10.010, algorithm 1.
    """
    order = np.argsort(-scores, kind="stable")
    # Equal scores share a threshold, so a curve has a point for the last of them only.
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(positive[order])[last]
    misses = last + 1 - hits
    return np.append(0, misses / misses[-1]), np.append(0, hits / hits[-1])


def mean_roc(probabilities: Floats, labels: NDArray[np.int64]) -> Floats | None:
    """True-positive rates at `GRID`, the mean of each class against the others; None where fewer than two occur.

    Args:
        probabilities: of the classes, ``(n, C)``.
        labels: class numbers, ``(n,)``.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return None
    curves = []
    for label in present:
        scores = probabilities[:, label]
        false_positive, true_positive = roc_curve(scores, labels == label)
        # A mean of curves needs points at the same rates.
        curves.append(np.interp(GRID, false_positive, true_positive))
    rates: Floats = np.mean(curves, axis=0)
    return rates


@dataclass(frozen=True)
class PredictedCell:
    """Predictions of a cell's trials, and its name among the others."""

    name: str
    trials: list[Predictions]

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        target = self.trials[0].target
        assert isinstance(target, Classes)
        return target.names


def predicted_cells(results: CellResults, cells: pd.DataFrame, kind: type[Target]) -> list[PredictedCell]:
    """Predictions of wanted trials, by cell; cells that have kept none are left out.

    Args:
        results: what there is; damaged predictions are noted in it.
        cells: those to look at.
        kind: of the targets to look at.

    Raises:
        UsageError: none has kept any.
    """
    predicted = []
    for label, name in named_cells(results, cells).items():
        cell = int(str(label))
        wanted, stored = results.trials_of(cell)["trial"].tolist(), results.stored_of(cell)
        if not wanted or stored is None:
            continue
        predictions, damaged = read_predictions(stored)
        results.damaged.update(damaged)
        trials = [predictions[trial] for trial in wanted if trial in predictions]
        if trials and isinstance(trials[0].target, kind):
            predicted.append(PredictedCell(name, trials))
    if not predicted:
        raise UsageError(
            f"These cells of {kind.noun} have kept no predictions; keep_predictions_mb=80 force=true trains them again."
        )
    return predicted


MOST_LINES = len(COLOURS)


@dataclass(frozen=True, kw_only=True)
class RocCurves(Drawing):
    """The curve of each cell, the mean of its trials; of several classes the mean of each against the others."""

    name = "roc_curves"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = predicted_cells(results, self.cells(results), Classes)
        curves = []
        for cell in cells:
            rates = curves_of_trials(cell)
            if len(rates):
                curves.append((cell, rates))
        if not curves:
            raise UsageError("No trial of these cells has test rows of two classes.")
        # As many lines as there are colours that a reader can tell from each other.
        drawn = curves[:MOST_LINES]
        area_texts = []
        for cell, rates in drawn:
            area_texts.append(f"{cell.name} {100 * area(rates):.1f} %")
        areas = "; ".join(area_texts)
        blocks: list[Block] = [
            Picture(
                name,
                roc_figure(drawn),
                alt=f"ROC curves of {counted(len(drawn), 'cell')}. Areas under them: {areas}.",
                caption=f"Mean of trials with one standard deviation. Areas under the curves: {areas}.",
            )
        ]
        return blocks + left_out(len(drawn), len(curves))


def curves_of_trials(cell: PredictedCell) -> Floats:
    """True-positive rates at `GRID` of the trials whose test rows show two classes, ``(T, len(GRID))``."""
    curves = []
    for trial in cell.trials:
        rates = mean_roc(trial.values, trial.labels)
        if rates is not None:
            curves.append(rates)
    return np.array(curves)


def area(rates: Floats) -> float:
    """Under the mean curve of trials, by trapezoids."""
    return float(np.trapezoid(rates.mean(axis=0), GRID))


@styled()
def roc_figure(curves: Sequence[tuple[PredictedCell, Floats]]) -> Figure:
    """Mean and standard deviation of each cell's curves ``(T, len(GRID))``, and the diagonal of guessing."""
    figure, (axes,) = new_figure(COLUMN * 1.4, COLUMN * 1.35)
    names = shortened([cell.name for cell, _ in curves], 40)
    for place, (cell, rates) in enumerate(curves):
        mean, deviation = rates.mean(axis=0), rates.std(axis=0)
        axes.plot(GRID, mean, color=colour(place), label=names[cell.name])
        # A rate lies between 0 and 1, and one deviation from it may not.
        low = np.clip(mean - deviation, 0, 1)
        high = np.clip(mean + deviation, 0, 1)
        axes.fill_between(GRID, low, high, color=colour(place), alpha=0.15, lw=0)
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.6, ls=":")
    axes.set_aspect("equal")
    axes.set_xlabel("false-positive rate")
    axes.set_ylabel("true-positive rate")
    axes.legend(loc="lower right", frameon=False)
    return figure


MOST_PANELS = 4
MOST_WRITTEN = 12
"""Classes of which numbers can be read; with more, colours alone are shown."""
MOST_UPRIGHT = 24
"""Letters of all classes together that fit side by side under a matrix."""


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(Drawing):
    """Shares of each class's test rows that are given each class, all trials together; a panel a cell."""

    name = "confusion_matrix"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = predicted_cells(results, self.cells(results), Classes)
        drawn = cells[:MOST_PANELS]
        sentences = [mistakes(each) for each in drawn]
        blocks: list[Block] = [
            Picture(
                name,
                confusion_matrices(drawn),
                alt=f"Shares of classes by the class given, in {counted(len(drawn), 'cell')}. {' '.join(sentences)}",
                caption="Percent of the test rows of a class (row) that are given a class (column), of all trials "
                "together; rows sum to 100. Blue is right, red is wrong.",
            ),
            *map(Paragraph, sentences),
        ]
        return blocks + left_out(len(drawn), len(cells))


def confusion(cell: PredictedCell) -> NDArray[np.float64]:
    """Percent of each class's test rows that are given each class, ``(C, C)``; NaN for a class without a row."""
    counts = np.zeros((len(cell.classes), len(cell.classes)))
    for trial in cell.trials:
        predictions = trial.values.argmax(axis=1)
        # An index that occurs twice counts twice here, and once in `counts[...] += 1`.
        np.add.at(counts, (trial.labels, predictions), 1)
    rows = counts.sum(axis=1, keepdims=True)
    unknown = np.full_like(counts, np.nan)
    shares = np.divide(counts, rows, out=unknown, where=rows > 0)
    return np.asarray(100 * shares)


def mistakes(cell: PredictedCell) -> str:
    """The largest ones in a sentence."""
    shares = np.nan_to_num(confusion(cell))
    # What is right is no mistake, and most of the matrix.
    np.fill_diagonal(shares, 0)
    largest_first = np.argsort(-shares, axis=None, kind="stable")
    worst = []
    for place in largest_first[:3]:
        label, prediction = np.unravel_index(place, shares.shape)
        share = shares[label, prediction]
        if share > 0:
            worst.append(f"{share:.1f} % of {cell.classes[label]} for {cell.classes[prediction]}")
    if not worst:
        return f"{cell.name} takes no class for another."
    return f"{cell.name} takes {named(worst)}."


@styled()
def confusion_matrices(cells: Sequence[PredictedCell]) -> Figure:
    """A square a cell, classes from above and from the left in their order."""
    figure, places = _squares(cells, 0.95, "class given", "class")
    for axes, cell in places:
        classes = shortened(cell.classes, 14)
        _square(axes, confusion(cell), [classes[name] for name in cell.classes])
    return figure


def _squares(
    cells: Sequence[PredictedCell], ratio: float, x_title: str, y_title: str, **options: Any
) -> tuple[Figure, list[tuple[Axes, PredictedCell]]]:
    """A panel for each cell, whose height is ``ratio`` of its width; see `panels`."""
    width = COLUMN * 1.3 if len(cells) == 1 else PAGE
    height = width / min(2, len(cells)) * ratio
    titles = list(shortened([cell.name for cell in cells], 40).values())
    figure, axes = panels(titles, width, height, x_title, y_title, **options)
    return figure, list(zip(axes, cells, strict=True))


def _square(axes: Axes, shares: NDArray[np.float64], classes: Sequence[str]) -> None:
    """A confusion matrix in percent: blue on the diagonal, red beside it."""
    n = len(classes)
    # Three quarters of the scale, so that numbers can be read on the darkest square.
    shade = 0.75 * np.nan_to_num(shares) / 100
    is_right = np.eye(n, dtype=bool)[:, :, None]
    faces = np.where(is_right, colormaps["Blues"](shade), colormaps["Reds"](shade))
    axes.imshow(faces, aspect="equal")
    if n <= MOST_WRITTEN:
        _write_shares(axes, shares)
    # About twenty names fit beside a matrix; of more classes every so many is written.
    every = max(1, n // 20)
    names = classes[::every]
    places = range(0, n, every)
    axes.set_xticks(places, names)
    # Upright where there is room: a plus sign that is turned is another sign.
    if sum(map(len, names)) > MOST_UPRIGHT:
        for label in axes.get_xticklabels():
            label.set(rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(places, names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _write_shares(axes: Axes, shares: NDArray[np.float64]) -> None:
    """Write each share into its square; a class without a test row has none."""
    size = 6.5 if len(shares) > 6 else 8
    for label, given in np.argwhere(~np.isnan(shares)):
        share = shares[label, given]
        colour = "white" if share > 70 else "black"
        axes.text(given, label, f"{share:.0f}", ha="center", va="center", color=colour, fontsize=size)


MOST_POINTS = 4000
"""Points of a panel that are drawn; the figures are of all."""


@dataclass(frozen=True, kw_only=True)
class PredictedAgainstTrue(Drawing):
    """A point for each test row of each trial, and the diagonal of perfect predictions; a panel a cell."""

    name = "predicted_against_true"

    def blocks(self, results: CellResults, options: ReportOptions, name: str) -> list[Block]:
        cells = predicted_cells(results, self.cells(results), Number)
        drawn = cells[:MOST_PANELS]
        sentences = [errors_in_words(each) for each in drawn]
        blocks: list[Block] = [
            Picture(
                name,
                predicted_figure(drawn),
                alt=f"Predicted against true values of {counted(len(drawn), 'cell')}. {' '.join(sentences)}",
                caption="A point for each test row of each trial: its true and its predicted value, equal on the "
                "diagonal.",
            ),
            *map(Paragraph, sentences),
        ]
        return blocks + left_out(len(drawn), len(cells))


def errors_in_words(cell: PredictedCell) -> str:
    """The sizes of a cell's errors in a sentence."""
    errors = np.concatenate([each.values - each.labels for each in cell.trials])
    bias = errors.mean()
    # Quantiles, because a few rows that are far off would rule a mean.
    half, most = np.quantile(np.abs(errors), [0.5, 0.9])
    side = "above" if bias > 0 else "below"
    plain = metric_named("mae").plain
    near, far, distance = plain(half), plain(most), plain(abs(bias))
    return (
        f"{cell.name}: half of the predictions are at most {near} from the truth, nine tenths at most {far}; on "
        f"average they lie {distance} {side} it."
    )


@styled()
def predicted_figure(cells: Sequence[PredictedCell]) -> Figure:
    """A square a cell, all of one scale."""
    figure, places = _squares(cells, 1.0, "true value", "predicted value", sharex=True, sharey=True)
    points = []
    for cell in cells:
        truth = np.concatenate([each.labels for each in cell.trials])
        predicted = np.concatenate([each.values for each in cell.trials])
        points.append((truth, predicted))
    # One scale for all, so that the clouds of two cells can be compared by eye.
    every = np.concatenate([np.concatenate(pair) for pair in points])
    ends = [float(every.min()), float(every.max())]
    for (axes, _), (truth, predicted) in zip(places, points, strict=True):
        axes.plot(ends, ends, color=GREY, lw=0.6, ls=":", zorder=0)
        # Of more points than a panel can show, every so many.
        step = -(-len(truth) // MOST_POINTS)
        axes.scatter(truth[::step], predicted[::step], s=5, color=COLOURS[0], alpha=0.35, lw=0)
    return figure
