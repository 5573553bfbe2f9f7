"""Effects in pictures: differences with their intervals, over datasets and on each."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..metrics import Metric
from .blocks import Picture, named
from .comparisons import Comparison
from .loading import CellResults
from .report_options import ReportOptions
from .sentences import effect, references, signed, unsigned, won
from .statistics import outlying
from .statistics.verdict import ANSWERS
from .style import COLOURS, COLUMN, GREY, PAGE, new_figure, short, styled, tip

COLOUR_OF = dict(zip(ANSWERS, (COLOURS[0], COLOURS[1], COLOURS[2], GREY), strict=True))
MOST_ROWS = 20
MOST_FORESTS = 4
"""Comparisons that are shown dataset by dataset: the best ones."""


def effects_picture(comparisons: Sequence[Comparison], options: ReportOptions) -> Picture:
    """The best comparisons with their intervals, best first."""
    metric, comparisons = options.measure, comparisons[:MOST_ROWS]
    words = "; ".join(f"{each.label}: {effect(each, metric)}, {each.verdict.answer}" for each in comparisons)
    verdict = comparisons[0].verdict
    if verdict.datasets > 1:
        kind = "of the signed-rank test over datasets, for the typical dataset"
    elif verdict.shares_rows:
        kind = "from the test rows that all trials share and from the trials' seeds"
    else:
        kind = "of the corrected resampled t-test"
    drawn = any(not math.isnan(each.verdict.low) for each in comparisons)
    return Picture(
        "effects",
        effects_figure(comparisons, metric, options.rope),
        narrow=effects_figure(comparisons, metric, options.rope, is_narrow=True),
        alt=f"Improvement in {metric.label} with 95 % intervals, best first. {words}.",
        caption=f"Improvement in {metric.label} over {references(comparisons)}"
        + (f", with its 95 % interval {kind}" if drawn else "")
        + f". The grey band holds differences without practical consequence, up to {unsigned(options.rope, metric)}. A "
        "comparison helps or hurts if its interval is free of zero and it lies beyond the band with a probability of "
        "95 %. It makes no practical difference if its interval lies within the band.",
    )


@styled()
def effects_figure(
    comparisons: Sequence[Comparison], metric: Metric, rope: float, *, is_narrow: bool = False
) -> Figure:
    """A line a comparison: improvement and interval, coloured by the answer, over the band of no consequence.

    Names and answers stand beside the lines, or, where it is narrow, above them.
    """
    scale = metric.difference_scale
    width, height = (COLUMN * 1.1, 0.34) if is_narrow else (PAGE * 1.3, 0.21)
    figure, (axes,) = new_figure(width, 0.6 + height * len(comparisons))
    axes.axvspan(-rope * scale, rope * scale, color=GREY, alpha=0.15, lw=0)
    axes.axvline(0, color="black", lw=0.6)
    for y, each in enumerate(comparisons):
        verdict = each.verdict
        colour = COLOUR_OF[verdict.answer]
        (line,) = axes.plot([scale * verdict.low, scale * verdict.high], [y, y], color=colour, lw=1.8)
        (point,) = axes.plot([scale * verdict.difference], [y], "o", color=colour, ms=5)
        words = f"{each.label}: {effect(each, metric)} over {each.reference}, {won(each)}; {verdict.answer}"
        tip(line, words)
        tip(point, words)
    axes.set_ylim(len(comparisons) - 0.5, -0.7 if is_narrow else -0.5)
    axes.set_xlabel(f"improvement in {metric.label}{f', {metric.unit}' if metric.unit else ''}")
    axes.tick_params(axis="y", length=0)
    if is_narrow:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        for y, each in enumerate(comparisons):
            said = f"{short(each.label, 44)}: {each.verdict.answer}"
            axes.text(0, y - 0.25, said, transform=axes.get_yaxis_transform(), fontsize=7, va="bottom")
    else:
        axes.set_yticks(range(len(comparisons)), [short(each.label, 60) for each in comparisons])
        right = axes.twinx()
        right.set_ylim(axes.get_ylim())
        right.set_yticks(range(len(comparisons)), [each.verdict.answer for each in comparisons])
        right.tick_params(axis="y", length=0)
        right.spines[:].set_visible(False)
    return figure


def forest_picture(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> Picture | None:
    """The effect on each dataset with its interval, if the datasets are few; None if they are many or one."""
    chosen = [each for each in comparisons if each.by_dataset][:MOST_FORESTS]
    if not chosen:
        return None
    metric = options.measure
    drawn = any(not math.isnan(verdict.low) for each in chosen for verdict in each.by_dataset)
    words = "; ".join(
        f"{each.label} on {results.cells.loc[cell, 'dataset']!s} {signed(verdict.difference, metric)}"
        for each in chosen
        for (cell, _), verdict in zip(each.pairs, each.by_dataset, strict=True)
    )
    return Picture(
        "by-dataset",
        forest_figure(chosen, results, metric, options.rope),
        alt=f"Improvement in {metric.label} on each dataset. {words}.",
        caption=f"Improvement in {metric.label} over {references(chosen)} on each dataset"
        + (", with the 95 % interval of that dataset alone" if drawn else "")
        + f". The grey band holds differences up to {unsigned(options.rope, metric)}.",
    )


@styled()
def forest_figure(comparisons: Sequence[Comparison], results: CellResults, metric: Metric, rope: float) -> Figure:
    """A panel a comparison, a line a dataset: its effect and interval; below them the mean over datasets."""
    scale = metric.difference_scale
    most = max(len(each.by_dataset) for each in comparisons)
    width = PAGE * 0.62 if len(comparisons) == 1 else PAGE * 1.2
    figure, panels = new_figure(width, 0.75 + 0.21 * (most + 1), 1, len(comparisons), sharex=True)
    for axes, each in zip(panels, comparisons, strict=True):
        names = [str(results.cells.loc[cell, "dataset"]) for cell, _ in each.pairs]
        axes.axvspan(-rope * scale, rope * scale, color=GREY, alpha=0.15, lw=0)
        axes.axvline(0, color="black", lw=0.6)
        for y, (name, verdict) in enumerate(zip(names, each.by_dataset, strict=True)):
            (line,) = axes.plot([scale * verdict.low, scale * verdict.high], [y, y], color=COLOURS[0], lw=1.4)
            axes.plot([scale * verdict.difference], [y], "o", color=COLOURS[0], ms=4)
            tip(line, f"{name}: {signed(verdict.difference, metric)}")
        mean, low, high = (scale * value for value in each.verdict.average)
        axes.plot([low, high], [len(names)] * 2, color="black", lw=1.8)
        axes.plot([mean], [len(names)], "D", color="black", ms=5)
        axes.set_yticks(range(len(names) + 1), [*(short(name, 24) for name in names), "mean"])
        axes.set_ylim(len(names) + 0.6, -0.6)
        axes.set_title(short(each.label, 30) if len(comparisons) > 1 else "")
        axes.tick_params(axis="y", length=0)
    figure.supxlabel(f"improvement in {metric.label}{f', {metric.unit}' if metric.unit else ''}", fontsize=8)
    return figure


def outlying_in_words(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> str:
    """The datasets on which a comparison lies outside what it does on the others; empty if there are none."""
    said = []
    for each in comparisons[:MOST_FORESTS]:
        means = np.array(each.means)
        known = np.flatnonzero(np.isfinite(means))
        outside = known[outlying(means[known])]
        order = outside[np.argsort(-np.abs(means[outside]), kind="stable")]
        names = [f"{results.cells.loc[each.pairs[i][0], 'dataset']} {signed(means[i], options.measure)}" for i in order]
        if names:
            said.append(f"{each.label}: {named(names, 5)}")
    return f"Datasets that lie outside the others (Tukey's fences). {'. '.join(said)}." if said else ""
