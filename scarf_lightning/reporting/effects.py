"""The pictures of the answer: differences with their intervals, and the learning curve."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import capitalised
from ..intervals import Interval
from ..metrics import Metric
from ..verdicts.answers import MARGIN, Answer
from ..verdicts.effects import Cell, Effect, level_over
from ..verdicts.trials import Basis
from .blocks import Picture
from .names import shortened
from .report_options import ReportOptions
from .style import COLOURS, GREY, PAGE, colour, marker, new_figure, styled

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
    "rows and fits": "of test rows and trials",
    "resampled t-test": "of the corrected resampled t-test, which is wider than one from predictions would be",
    "sign test": "of the sign test over datasets, for the median dataset",
    "none": "",
}
MOST_ROWS = 20


def effects_picture(effects: Sequence[Effect], options: ReportOptions) -> Picture:
    """The first effects with their intervals."""
    metric, effects = options.measure, effects[:MOST_ROWS]
    # Lines of one figure may have intervals of two kinds, if some predictions were not kept.
    known = [KINDS[effect.verdict.basis] for effect in effects if not math.isnan(effect.verdict.low)]
    kinds = list(filter(None, dict.fromkeys(known)))
    interval = f", with its 95 % interval {' or '.join(kinds)}" if kinds else ""
    return Picture(
        "effects",
        effects_figure(effects, metric, options.rope),
        caption=f"Improvement in {metric.label} over the reference{interval}. Grey band: up to "
        f"rope={options.rope:g}, of no consequence; hollow point: size open; grey: undecided.",
    )


@styled()
def effects_figure(effects: Sequence[Effect], metric: Metric, margin: float = MARGIN) -> Figure:
    """A line a comparison: improvement and interval, coloured by the answer, over the band without consequence.

    Names stand to the left of the lines, and answers to the right.
    """
    figure, (axes,) = new_figure(PAGE * 1.3, 0.6 + 0.21 * len(effects))
    scale = metric.difference_scale
    # The differences without practical consequence, around zero.
    axes.axvspan(-margin * scale, margin * scale, color=GREY, alpha=0.15, lw=0)
    axes.axvline(0, color="black", lw=0.6)
    axes.tick_params(axis="y", length=0)
    for y, effect in enumerate(effects):
        verdict, shade = effect.verdict, COLOUR_OF[effect.claimed]
        face = "white" if effect.claimed in HOLLOW else shade
        axes.plot([scale * verdict.low, scale * verdict.high], [y, y], color=shade, lw=1.8)
        axes.plot([scale * verdict.difference], [y], "o", color=shade, ms=5, mfc=face)
    # The limits run downwards: the first line is the uppermost one.
    axes.set_ylim(len(effects) - 0.5, -0.5)
    axes.set_xlabel(f"improvement in {metric.label}{f', {metric.unit}' if metric.unit else ''}")
    _name_beside(axes, effects)
    return figure


def _name_beside(axes: Axes, effects: Sequence[Effect]) -> None:
    """Write names to the left of the lines, and answers to the right of them."""
    names = shortened([effect.label for effect in effects], 60)
    places = range(len(effects))
    axes.set_yticks(places, [names[effect.label] for effect in effects])
    # Axes have labels on one side, so answers are those of a second pair.
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    right.set_yticks(places, [effect.shown for effect in effects])
    right.tick_params(axis="y", length=0)
    right.spines[:].set_visible(False)


Point = tuple[float, Interval]
"""A number of labelled rows, and the metric there."""


def label_curve(options: ReportOptions, effects: Sequence[Effect]) -> Picture:
    """The metric over the number of labels, a line a competitor, with 95 % intervals; references come first."""
    metric = options.measure
    references = dict.fromkeys(effect.reference for effect in effects)
    curves: dict[str, dict[float, dict[Any, Cell]]] = {name: {} for name in references}
    for effect in sorted(effects, key=lambda effect: effect.labels or 0.0):
        for cell in (*effect.others, *effect.ones):
            # By its key, since several competitors share a reference.
            curves.setdefault(cell.name, {}).setdefault(cell.labels or 0.0, {})[cell.key] = cell
    lines: dict[str, list[Point]] = {}
    for name, curve in curves.items():
        lines[name] = []
        for by_key in curve.values():
            cells = list(by_key.values())
            # Of several datasets the median number of labels, and the mean over them.
            lines[name].append((median(cell.n_labels for cell in cells), level_over(cells, metric)))
    return Picture(
        "label-curve",
        label_curve_figure(lines, metric, len(references)),
        caption=f"{capitalised(metric.heading)} over the number of labels, those that validate included: mean and its "
        "95 % interval. Competitors share splits, so two may differ although their intervals overlap.",
    )


@styled()
def label_curve_figure(lines: Mapping[str, Sequence[Point]], metric: Metric, n_references: int = 1) -> Figure:
    """A line a competitor: the metric by its number of labels. The references, which come first, are grey."""
    figure, (axes,) = new_figure(PAGE, 3.0)
    names = shortened(lines, 44)
    for place, (name, points) in enumerate(lines.items()):
        # A little apart, so that intervals at one number of labels do not hide each other.
        x = np.array([n_labels for n_labels, _ in points]) * 1.04 ** (place - len(lines) / 2)
        mean, low, high = metric.scale * np.array([level for _, level in points]).T
        # References come first and are grey, so the others begin with the first colour.
        look: dict[str, Any] = {"color": colour(place - n_references), "marker": "o"}
        if place < n_references:
            look = {"color": GREY, "marker": marker(place)}
        axes.errorbar(x, mean, [mean - low, high - mean], **look, ms=3.5, lw=1.3, elinewidth=0.8, label=names[name])
    ticks = sorted({n_labels for points in lines.values() for n_labels, _ in points})
    # Budgets of labels grow by factors, as 20, 50 and 100 do.
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{n_labels:g}" for n_labels in ticks])
    axes.minorticks_off()
    axes.set_xlabel("labels in all")
    axes.set_ylabel(metric.heading)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False)
    return figure
