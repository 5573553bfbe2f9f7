"""The learning curve: a metric over the number of labels, a line a competitor."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..intervals import Interval
from .blocks import Picture
from .comparisons import Comparison
from .loading import CellResults
from .report_options import ReportOptions
from .statistics import datasets_interval
from .style import COLUMN, GREY, PAGE, colour, new_figure, styled
from .verdicts import level_of


def label_curve(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> Picture:
    """The metric over the number of labels, a line a competitor, with 95 % intervals."""
    metric = options.measure
    cells: dict[str, dict[float, list[int]]] = {comparisons[0].reference: {}}
    for each in sorted(comparisons, key=lambda each: (each.labels or 0, each.pairs[0][0])):
        assert each.labels is not None
        cells[each.reference][each.labels] = [reference for _, reference in each.pairs]
        cells.setdefault(each.name, {})[each.labels] = [cell for cell, _ in each.pairs]
    lines = {name: [_point(its, results, options) for its in by_labels.values()] for name, by_labels in cells.items()}
    words = "; ".join(
        f"{name}: " + ", ".join(f"{metric.shown(level.mean)} with {n:g}" for n, level in points)
        for name, points in lines.items()
    )
    return Picture(
        "label-curve",
        label_curve_figure(lines, metric.heading, metric.scale),
        narrow=label_curve_figure(lines, metric.heading, metric.scale, is_narrow=True),
        alt=f"{metric.heading} over the number of labels. {words}.",
        caption=f"{metric.heading[:1].upper()}{metric.heading[1:]} over the number of labelled training rows: mean "
        "and its 95 % interval. Competitors share splits, so two may differ although their intervals overlap: the "
        "verdicts compare trial by trial.",
    )


@styled()
def label_curve_figure(
    lines: dict[str, list[tuple[float, Interval]]], heading: str, scale: float, *, is_narrow: bool = False
) -> Figure:
    """A line a competitor: the metric by its number of labels. The first one, the reference, is grey."""
    figure, (axes,) = new_figure(COLUMN * 1.1 if is_narrow else PAGE, 3.0)
    for place, (name, points) in enumerate(lines.items()):
        shade = 1.04 ** (place - len(lines) / 2)  # a little apart, so that intervals do not hide each other
        x = np.array([n * shade for n, _ in points])
        mean, low, high = (scale * np.array([level[part] for _, level in points]) for part in range(3))
        colour_of = GREY if place == 0 else colour(place - 1)
        axes.errorbar(x, mean, [mean - low, high - mean], color=colour_of, marker="o", ms=3.5, lw=1.3, elinewidth=0.8,
                      label=name)  # fmt: skip
    ticks = sorted({n for points in lines.values() for n, _ in points})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{n:g}" for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("labelled training rows")
    axes.set_ylabel(heading)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1 if is_narrow else 3, frameon=False)
    return figure


def _point(cells: Sequence[int], results: CellResults, options: ReportOptions) -> tuple[float, Interval]:
    """The number of labels, and the metric of one cell, or of several as their mean over datasets."""
    metric = options.measure
    trials = results.trials[results.trials["cell"].isin(cells)].dropna(subset=[metric.name])
    n_labelled = float(trials["n_labelled"].median())
    if len(cells) == 1:
        return n_labelled, level_of(results, int(cells[0]), trials[metric.name].tolist(), metric)
    return n_labelled, datasets_interval(trials.groupby("cell")[metric.name].mean().to_numpy())
