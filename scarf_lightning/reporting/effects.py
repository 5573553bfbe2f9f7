"""The pictures of the answer: differences with their intervals, over datasets and on each, and the learning curve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import capitalised
from ..intervals import Interval
from ..metrics import Metric
from ..verdicts.amounts import effect, effect_over, signed, unsigned, won
from ..verdicts.answers import MARGIN, Answer
from ..verdicts.verdict import Basis, Verdict
from ..verdicts.worth import Worth
from .blocks import Picture
from .cell_results import CellResults
from .comparisons import Comparison
from .levels import level_of
from .names import shortened
from .report_options import ReportOptions
from .sentences import references, shown_answer
from .style import COLOURS, COLUMN, GREY, PAGE, colour, marker, new_figure, styled, tip
from .worth_table import Valued, worth_in_words

COLOUR_OF: dict[Answer, str] = {
    "helps": COLOURS[0],
    "helps, size open": COLOURS[0],
    "no practical difference": COLOURS[2],
    "hurts, size open": COLOURS[1],
    "hurts": COLOURS[1],
    "undecided": GREY,
}
HOLLOW: tuple[Answer, ...] = ("helps, size open", "hurts, size open")
"""Answers whose point is hollow: they have the colour of the direction, and no size."""
KINDS: dict[Basis, str] = {
    "rows and fits": "from the test rows and from the spread of trials beyond them",
    "resampled t-test": "of the corrected resampled t-test, which is wider than one from predictions would be",
    "sign test": "of the sign test over datasets, for the median dataset",
    "none": "",
}
MOST_ROWS = 20
MOST_FORESTS = 4
"""Comparisons that are shown dataset by dataset: the best ones."""


@dataclass(frozen=True)
class Effect:
    """A line of the figure of differences.

    Attributes:
        label: of the competitor.
        verdict: on it.
        answer: claimed together with those of the other lines.
        words: shown where the pointer is.
        shown: the answer as it stands beside the line; the answer itself if not given.
    """

    label: str
    verdict: Verdict
    answer: Answer
    words: str = ""
    shown: str = ""


def effects_picture(comparisons: Sequence[Comparison], options: ReportOptions) -> Picture:
    """The best comparisons with their intervals, best first."""
    metric, comparisons = options.measure, comparisons[:MOST_ROWS]
    words, lines, kinds = [], [], []
    for each in comparisons:
        # One text for readers who cannot see the figure, and a longer one for the pointer.
        shown = shown_answer(each)
        words.append(f"{each.label}: {effect(each, metric)}, {shown}")
        size = effect_over(each, metric) if each.against else effect(each, metric)
        lines.append(
            Effect(each.label, each.verdict, each.claimed, f"{each.label}: {size}, {won(each)}; {shown}", shown)
        )
        kind = KINDS[each.verdict.basis]
        # Lines of one figure may have intervals of two kinds, if some predictions were not kept.
        if kind and kind not in kinds and not math.isnan(each.verdict.low):
            kinds.append(kind)
    interval = f", with its 95 % interval {' or '.join(kinds)}" if kinds else ""
    size = unsigned(options.rope, metric)
    return Picture(
        "effects",
        effects_figure(lines, metric, options.rope),
        narrow=effects_figure(lines, metric, options.rope, is_narrow=True),
        alt=f"Improvement in {metric.label} with 95 % intervals, best first. {'; '.join(words)}.",
        caption=f"Improvement in {metric.label} over {references(comparisons)}{interval}. The grey band holds "
        f"differences up to {size}, which are of no consequence. A hollow point: size open; grey: undecided.",
    )


@styled()
def effects_figure(
    lines: Sequence[Effect], metric: Metric, margin: float = MARGIN, *, is_narrow: bool = False
) -> Figure:
    """A line a comparison: improvement and interval, coloured by the answer, over the band without consequence.

    Names and answers stand beside the lines; in a narrow figure they stand above them.
    """
    # A line that has its name above it needs more height.
    width, height = PAGE * 1.3, 0.21
    if is_narrow:
        width, height = COLUMN * 1.1, 0.34
    figure, (axes,) = new_figure(width, 0.6 + height * len(lines))
    scale = metric.difference_scale
    _band(axes, metric, margin)
    for y, each in enumerate(lines):
        verdict, shade = each.verdict, COLOUR_OF[each.answer]
        face = "white" if each.answer in HOLLOW else shade
        ends = [scale * verdict.low, scale * verdict.high]
        middle = [scale * verdict.difference]
        (line,) = axes.plot(ends, [y, y], color=shade, lw=1.8)
        (point,) = axes.plot(middle, [y], "o", color=shade, ms=5, mfc=face)
        words = each.words or f"{each.label}: {each.answer}"
        tip(line, words)
        tip(point, words)
    # The limits run downwards: the first line is the uppermost one.
    axes.set_ylim(len(lines) - 0.5, -0.7 if is_narrow else -0.5)
    axes.set_xlabel(_improvement(metric))
    if is_narrow:
        _name_above(axes, lines)
    else:
        _name_beside(axes, lines)
    return figure


def _name_above(axes: Axes, lines: Sequence[Effect]) -> None:
    """Write each line's name and answer above it."""
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    names = shortened([each.label for each in lines], 44)
    # Across in shares of the axes' width, upwards in lines.
    position = axes.get_yaxis_transform()
    for y, each in enumerate(lines):
        words = f"{names[each.label]}: {each.shown or each.answer}"
        axes.text(0, y - 0.25, words, transform=position, fontsize=7, va="bottom")


def _name_beside(axes: Axes, lines: Sequence[Effect]) -> None:
    """Write names to the left of the lines, and answers to the right of them."""
    names = shortened([each.label for each in lines], 60)
    places = range(len(lines))
    axes.set_yticks(places, [names[each.label] for each in lines])
    # Axes have labels on one side, so answers are those of a second pair.
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    right.set_yticks(places, [each.shown or each.answer for each in lines])
    right.tick_params(axis="y", length=0)
    right.spines[:].set_visible(False)


def _band(axes: Axes, metric: Metric, margin: float) -> None:
    """The differences without practical consequence, around zero."""
    end = margin * metric.difference_scale
    axes.axvspan(-end, end, color=GREY, alpha=0.15, lw=0)
    axes.axvline(0, color="black", lw=0.6)
    axes.tick_params(axis="y", length=0)


def _improvement(metric: Metric) -> str:
    """The heading of an axis of differences."""
    unit = f", {metric.unit}" if metric.unit else ""
    return f"improvement in {metric.label}{unit}"


def forest_picture(comparisons: Sequence[Comparison], options: ReportOptions) -> Picture | None:
    """The effect on each dataset with its interval; None for one dataset or for many."""
    chosen = [each for each in comparisons if each.by_dataset][:MOST_FORESTS]
    if not chosen:
        return None
    metric = options.measure
    has_intervals = False
    words = []
    for each in chosen:
        for name, verdict in zip(each.datasets, each.by_dataset, strict=True):
            words.append(f"{each.label} on {name} {signed(verdict.difference, metric)}")
            has_intervals |= not math.isnan(verdict.low)
    intervals = ", with the 95 % interval of that dataset alone" if has_intervals else ""
    return Picture(
        "by-dataset",
        forest_figure(chosen, options),
        alt=f"Improvement in {metric.label} on each dataset. {'; '.join(words)}.",
        caption=f"Improvement in {metric.label} over {references(chosen)} on each dataset{intervals}. The grey band "
        f"holds differences up to {unsigned(options.rope, metric)}.",
    )


@styled()
def forest_figure(comparisons: Sequence[Comparison], options: ReportOptions) -> Figure:
    """A panel a comparison, a line a dataset: its effect and interval; below them the mean over datasets."""
    metric, scale = options.measure, options.measure.difference_scale
    are_several = len(comparisons) > 1
    most_lines = 1 + max(len(each.by_dataset) for each in comparisons)
    width = PAGE * 1.2 if are_several else PAGE * 0.62
    figure, panels = new_figure(width, 0.75 + 0.21 * most_lines, 1, len(comparisons), sharex=True)
    titles = shortened([each.label for each in comparisons], 30)
    for axes, each in zip(panels, comparisons, strict=True):
        _band(axes, metric, options.rope)
        for y, (name, verdict) in enumerate(zip(each.datasets, each.by_dataset, strict=True)):
            ends = [scale * verdict.low, scale * verdict.high]
            middle = [scale * verdict.difference]
            (line,) = axes.plot(ends, [y, y], color=COLOURS[0], lw=1.4)
            axes.plot(middle, [y], "o", color=COLOURS[0], ms=4)
            tip(line, f"{name}: {signed(verdict.difference, metric)}")
        # The mean is below the datasets, black and with a diamond, as in a meta-analysis.
        last = len(each.datasets)
        axes.plot([scale * each.verdict.average], [last], "D", color="black", ms=5)
        names = shortened(each.datasets, 24)
        labels = [names[name] for name in each.datasets]
        axes.set_yticks(range(last + 1), [*labels, "mean"])
        axes.set_ylim(last + 0.6, -0.6)
        # The caption names the only comparison already.
        axes.set_title(titles[each.label] if are_several else "")
    figure.supxlabel(_improvement(metric), fontsize=8)
    return figure


def label_curve(
    results: CellResults,
    options: ReportOptions,
    comparisons: Sequence[Comparison] = (),
    valued: Sequence[Valued] = (),
) -> Picture:
    """The metric over the number of labels, a line a competitor, with 95 % intervals; references come first.

    Arrows show the worth in labels of the first competitor that has one.
    """
    metric = options.measure
    lines: dict[str, list[Point]] = {}
    words = []
    points = curve_points(results, options, comparisons)
    for name, by_budget in points.items():
        lines[name] = list(by_budget.values())
        levels = []
        for n_labels, level in lines[name]:
            levels.append(f"{metric.shown(level.mean)} with {n_labels:g}")
        words.append(f"{name}: {', '.join(levels)}")
    # Arrows of more than one competitor would hide its points.
    marked = [(comparison, worth) for comparison, worth in valued if comparison.name == valued[0][0].name]
    worth_in_caption = ""
    arrows: list[tuple[Point, Worth]] = []
    for comparison, worth in marked:
        assert comparison.labels is not None
        arrows.append((points[comparison.name][comparison.labels], worth))
    if marked:
        words += worth_in_words(marked)
        worth_in_caption = f" Arrows lead to where {marked[0][0].reference} has the same metric: the worth in labels."
    verdicts = ""
    if comparisons:
        verdicts = (
            " Competitors share splits, so two may differ although their intervals overlap: the verdicts compare trial "
            "by trial."
        )
    n_references = len({each.reference for each in comparisons})
    return Picture(
        "label-curve",
        label_curve_figure(lines, metric, n_references, arrows),
        narrow=label_curve_figure(lines, metric, n_references, arrows, is_narrow=True),
        alt=f"{metric.heading} over the number of labels. {'; '.join(words).removesuffix('.')}.",
        caption=f"{capitalised(metric.heading)} over the number of labels, those that validate "
        f"included: mean and its 95 % interval.{verdicts}{worth_in_caption}",
    )


Point = tuple[float, Interval]
"""A number of labelled rows, and the metric there."""


def curve_points(
    results: CellResults, options: ReportOptions, comparisons: Sequence[Comparison] = ()
) -> dict[str, dict[float, Point]]:
    """For each competitor by each budget of labels, which may be infinity, its number of labels and the metric."""
    metric = options.measure
    competing = results.competition
    assert competing.budgets is not None
    measured = set(results.trials.dropna(subset=[metric.name])["cell"])
    # References come first, so that they are drawn in grey below the others.
    cells: dict[str, dict[float, list[int]]] = {each.reference: {} for each in comparisons}
    # Sorting is stable: competitors keep the order of the sweep.
    for label, budget in sorted(competing.budgets.items(), key=lambda each: each[1]):
        if label not in measured:
            continue
        by_budget = cells.setdefault(competing.names[label], {})
        by_budget.setdefault(budget, []).append(label)
    points: dict[str, dict[float, Point]] = {}
    for name, by_budget in cells.items():
        points[name] = {}
        for budget, labels in by_budget.items():
            points[name][budget] = _point(labels, results, metric)
    return points


@styled()
def label_curve_figure(
    lines: dict[str, list[Point]],
    metric: Metric,
    n_references: int = 1,
    arrows: Sequence[tuple[Point, Worth]] = (),
    *,
    is_narrow: bool = False,
) -> Figure:
    """A line a competitor: the metric by its number of labels. The references, which come first, are grey.

    An arrow leads from a point to where the reference's curve has the same metric, by the worth of the point.
    """
    figure, (axes,) = new_figure(COLUMN * 1.1 if is_narrow else PAGE, 3.0)
    names = shortened(lines, 44)
    # Lines are set a little apart, so that intervals at one number of labels do not hide each other. Arrows measure
    # labels, of which some competitors are worth a few percent.
    apart = 1.0 if arrows else 1.04
    for place, (name, points) in enumerate(lines.items()):
        shift = apart ** (place - len(lines) / 2)
        x = np.array([n_labels * shift for n_labels, _ in points])
        levels = np.array([level for _, level in points]).reshape(-1, 3)
        mean, low, high = metric.scale * levels.T
        # References come first and are grey, so the others begin with the first colour.
        look: dict[str, Any] = {"color": colour(place - n_references), "marker": "o"}
        if place < n_references:
            look = {"color": GREY, "marker": marker(place)}
        axes.errorbar(x, mean, [mean - low, high - mean], **look, ms=3.5, lw=1.3, elinewidth=0.8, label=names[name])
    for point, worth in arrows:
        _mark_worth(axes, point, worth, metric)
    ticks = sorted({n_labels for points in lines.values() for n_labels, _ in points})
    # Budgets of labels grow by factors, as 20, 50 and 100 do.
    axes.set_xscale("log")
    # The words at the first arrow are to the left of it.
    axes.margins(x=0.15 if arrows else 0.05)
    axes.set_xticks(ticks, [f"{n_labels:g}" for n_labels in ticks])
    axes.minorticks_off()
    axes.set_xlabel("labels in all")
    axes.set_ylabel(metric.heading)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1 if is_narrow else 3, frameon=False)
    return figure


def _mark_worth(axes: Axes, point: Point, worth: Worth, metric: Metric) -> None:
    """Draw an arrow from a competitor's labels to those that the reference needs, with how many times as many."""
    start, level = point[0], metric.scale * point[1].mean
    end = start * worth.factor
    look = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 5, "color": "black", "lw": 1.0}
    axes.annotate("", (end, level), (start, level), arrowprops=look, zorder=4)
    # An annotation does not widen the axes.
    axes.plot([end], [level], alpha=0)
    # A curve that rises leaves room above it on the left and below it on the right, and one that falls the other way.
    is_more = worth.factor >= 1
    is_above = is_more == metric.higher_is_better
    across, sideways = (-3, "right") if is_more else (3, "left")
    upwards, beside = (3, "bottom") if is_above else (-3, "top")
    # "more than 3.00" is "more than ×3.00".
    *bound, factor = worth.times.rsplit(" ", 1)
    axes.annotate(
        " ".join([*bound, f"×{factor}"]),
        (start, level),
        (across, upwards),
        textcoords="offset points",
        ha=sideways,
        va=beside,
        fontsize=7,
    )


def _point(cells: Sequence[int], results: CellResults, metric: Metric) -> Point:
    """The number of labels, and the metric of one cell, or of several as their mean over datasets."""
    is_of_these = results.trials["cell"].isin(cells)
    trials = results.trials[is_of_these].dropna(subset=[metric.name])
    # Rows of older versions lack the labels in all.
    n_labels = float(trials["n_labels"].fillna(trials["n_labelled"]).median())
    if len(cells) == 1:
        return n_labels, level_of(results, int(cells[0]), metric)
    # Over datasets each counts once, however many trials it has.
    means = trials.groupby("cell")[metric.name].mean()
    return n_labels, Interval(float(means.mean()), math.nan, math.nan)
