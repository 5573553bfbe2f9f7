"""The answer on the page: its sentences, and effects, levels and worths as pictures and tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..errors import capitalised, counted
from ..intervals import Interval
from ..metrics import Metric, metrics
from ..verdicts.answers import UNDECIDED, Answer, Basis
from ..verdicts.effects import Effect
from ..verdicts.words import TOGETHER, ends_in_words, factor_of, level_in_words
from ..verdicts.worth import REACH
from .answers import Answers, Point
from .blocks import NOTHING, Block, Entry, Paragraph, Picture, Section, Table, table
from .cell_results import CellResults
from .names import labels_in_words, setting_name, shortened
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
OVER_ALL = "average"
"""The heading of means over the settings of an axis: a corruption is called mean."""
UNKNOWN = Interval(math.nan, math.nan, math.nan)
REFERENCE = "reference"
ENDS = ("difference", "low", "high")

Line = tuple[tuple[Entry, ...], dict[str, Any]]
"""The entries of a line of a table, and its data."""


def answer_sections(answers: Answers) -> list[Section]:
    """The first screen: the answer in sentences, one figure, one table, and the trials that would decide what is open;
    then further details."""
    results, effects, product = answers.results, answers.effects, answers.product
    if not effects:
        levels = _without_comparison(results, answers.options.measure)
        return [Section("summary", "The answer", [*levels, *map(Paragraph, answers.reservations)])]
    is_curve = effects[0].labels is not None and product is None
    blocks: list[Block] = [*map(Paragraph, [*answers.in_words, *answers.worth_in_words])]
    # A product shows its means, and not its effects.
    blocks += [
        label_curve(answers) if is_curve else effects_picture(effects),
        effects_table(answers) if product is None else means_table(answers),
    ]
    blocks += map(Paragraph, [*answers.advice, *answers.reservations])
    details: list[Block] = []
    # Where nothing is claimed, nobody needs to know how much is claimed at once.
    if len(effects) > 1 and any(effect.claimed != UNDECIDED for effect in effects):
        details.append(Paragraph(TOGETHER))
    if is_curve:
        details.append(effects_picture(effects))
    if product is not None:
        details.append(effects_table(answers))
    if answers.worths:
        details.append(worth_table(answers))
    # A report of one metric needs no table of metrics.
    if answers.by_metric:
        details.append(metrics_table(answers))
    sections = [Section("summary", "The answer", blocks)]
    return [*sections, Section("details", "More on the answer", details)] if details else sections


def _without_comparison(results: CellResults, metric: Metric) -> list[Block]:
    """The levels of cells that are compared with nothing."""
    finished = [cell for cell, row in results.rows.items() if row["finished"]]
    # Cells without pre-training need a rival, and pre-trained ones themselves without it.
    is_pretrained = any(row["pretrain"] != "none" for row in results.rows.values())
    other = "pretrain=none" if is_pretrained else "pretrain=scarf or method=logistic"
    texts = [f"There is nothing to compare with; train a reference on the same data, such as {other}."]
    if len(finished) == 1:
        (cell,) = finished
        name = f"{setting_name(results.rows[cell], ['pretrain', 'method'])} on {results.rows[cell]['dataset']}"
        level = level_in_words(results.level_of(cell, metric), metric)
        texts = [f"{name}: {level} in {counted(results.trials[metric.name].count(), 'trial')}.", *texts]
    return [*map(Paragraph, texts), levels_table(results, finished)]


def effects_picture(effects: Sequence[Effect]) -> Picture:
    """The first effects with their intervals."""
    first, effects = effects[0], effects[:MOST_ROWS]
    # Lines of one figure may have intervals of two kinds, if some predictions were not kept.
    kinds_of_effects = [KINDS[effect.verdict.basis] for effect in effects if not math.isnan(effect.verdict.low)]
    kinds = list(filter(None, dict.fromkeys(kinds_of_effects)))
    interval = f", with its 95 % interval {' or '.join(kinds)}" if kinds else ""
    return Picture(
        "effects",
        effects_figure(effects),
        caption=f"Improvement in {first.metric.label} over the reference{interval}. Grey band: up to "
        f"rope={first.verdict.margin:g}, of no consequence; hollow point: size open; grey: undecided.",
    )


@styled()
def effects_figure(effects: Sequence[Effect]) -> Figure:
    """A line a comparison: improvement and interval, coloured by the answer, over the band without consequence.

    Names stand to the left of the lines, and answers to the right.
    """
    metric, margin = effects[0].metric, effects[0].verdict.margin
    names = shortened([effect.label for effect in effects], 60)
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
    places = range(len(effects))
    axes.set_yticks(places, [names[effect.label] for effect in effects])
    # Axes have labels on one side, so answers are those of a second pair.
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    right.set_yticks(places, [effect.shown for effect in effects])
    right.tick_params(axis="y", length=0)
    right.spines[:].set_visible(False)
    return figure


def label_curve(answers: Answers) -> Picture:
    """The metric over the number of labels, a line a competitor, with 95 % intervals."""
    metric = answers.options.measure
    references = {effect.reference for effect in answers.effects if effect.kind == "competitor"}
    return Picture(
        "label-curve",
        label_curve_figure(answers.curves, metric, len(references)),
        caption=f"{capitalised(metric.heading)} over the number of labels, those that validate included: mean and its "
        "95 % interval. Competitors share splits, so two may differ although their intervals overlap.",
    )


@styled()
def label_curve_figure(lines: Mapping[str, Sequence[Point]], metric: Metric, n_references: int = 1) -> Figure:
    """A line a competitor: the metric by its number of labels. The references, which come first, are grey."""
    names = shortened(lines, 44)
    figure, (axes,) = new_figure(PAGE, 3.0)
    for place, (name, points) in enumerate(lines.items()):
        # A little apart, so that intervals at one number of labels do not hide each other.
        x = np.array([n_labels for n_labels, _ in points]) * 1.04 ** (place - len(lines) / 2)
        mean, low, high = metric.scale * np.array([level for _, level in points]).T
        # References come first and are grey, so the others begin with the first colour.
        style: dict[str, Any] = {"color": colour(place - n_references), "marker": "o"}
        if place < n_references:
            style = {"color": GREY, "marker": marker(place)}
        axes.errorbar(x, mean, [mean - low, high - mean], **style, ms=3.5, lw=1.3, elinewidth=0.8, label=names[name])
    ticks = sorted({n_labels for points in lines.values() for n_labels, _ in points})
    # Budgets of labels grow by factors, as 20, 50 and 100 do.
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{n_labels:g}" for n_labels in ticks])
    axes.minorticks_off()
    axes.set_xlabel("labels in all")
    axes.set_ylabel(metric.heading)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False)
    return figure


def levels_table(results: CellResults, cells: Sequence[int]) -> Table:
    """Every metric of every cell that has a trial."""
    lines, data = [], []
    for cell in cells:
        name = results.names[cell]
        for metric in metrics():
            n = results.trials_of(cell)[metric.name].count()
            if n:
                mean, low, high = results.level_of(cell, metric)
                row = {"cell": name, "metric": metric.name, "mean": mean, "mean_low": low, "mean_high": high}
                data.append(row | {"trials": n})
                lines.append((name, metric.heading, metric.shown(mean), _ends(low, high, metric), n))
    frame = pd.DataFrame(lines, columns=["cell", "metric", "mean", "95 % interval", "trials"])
    return table("levels", "Every metric, with its 95 % interval over trials", frame, data=pd.DataFrame(data))


def effects_table(answers: Answers) -> Table:
    """A line an effect with its level, its difference and its answer, below the references. Its data are the frame of
    effects with the levels. That of a star is called ``ablation``."""
    metric = answers.options.measure
    references: dict[str, Line] = {}
    lines: list[Line] = []
    for effect in answers.effects:
        row, is_sure = effect.row, effect.claimed != UNDECIDED
        level = UNKNOWN if effect.kind == "interaction" else effect.level
        size, answer = Entry(_size(effect), row["difference"], is_sure), effect.shown
        lines.append(_line(effect.label, level, (size, Entry(answer, answer, is_sure)), row, metric))
        # The mean over settings is no cell, so it has no line of its own.
        if effect.kind in ("change", "competitor"):
            counts = {name: row[name] for name in ("context", "n", "trials", "datasets")} | {"won": 0, "lost": 0}
            reference_row = {"what": effect.reference, "answer": REFERENCE} | counts
            entries = Entry(NOTHING, None), Entry(REFERENCE, REFERENCE)
            label = effect.reference_label
            references[label] = _line(label, effect.reference_level, entries, reference_row, metric)
    texts, data = zip(*references.values(), *lines, strict=True)
    return Table(
        "ablation" if answers.is_star else "effects",
        f"{capitalised(metric.heading)}, and differences, with 95 % intervals; sure answers in bold",
        ("change" if answers.is_star else "effect", metric.heading, f"difference{_unit(metric)}", "answer"),
        texts,
        # In the order of the columns of the frame, which a reference has in part.
        pd.DataFrame(data, columns=list(lines[0][1])),
        # The page shows the means of a product instead.
        on_page=answers.product is None,
    )


def metrics_table(answers: Answers) -> Table:
    """The differences by several metrics, side by side, the leading one first."""
    labels = [effect.label for effect in answers.effects]
    columns, data = {"effect": labels}, []
    for metric, effects in answers.by_metric.items():
        effects_by_label = {effect.label: effect for effect in effects if effect.label in labels}
        # A metric may be unknown for an effect of which others are known.
        sizes = [_size(effects_by_label[label]) if label in effects_by_label else NOTHING for label in labels]
        # The heading has the unit, once.
        unit = ", times" if metric.is_relative else _unit(metric)
        columns[metric.label + unit] = [size.replace(" times", "") for size in sizes]
        for label, effect in effects_by_label.items():
            data.append({"effect": label, "metric": metric.name} | {end: effect.row[end] for end in ENDS})
    caption = f"Differences by several metrics, with 95 % intervals; answers are by {answers.options.measure.label}"
    return table("metrics", caption, pd.DataFrame(columns), data=pd.DataFrame(data))


def means_table(answers: Answers) -> Table:
    """The metric of each setting of a product, with the last axis across and all others down."""
    assert answers.product is not None
    metric, axes, means = answers.options.measure, answers.product.axes, answers.means
    *down, across = axes
    # A context that all share says nothing.
    context_heading = ["with"] if len(set(means["context"])) > 1 else []
    rows = []
    for context, group in means.groupby("context", sort=False):
        first = [str(context)] if context_heading else []
        levels = [Interval(*level) for level in group[["mean", "mean_low", "mean_high"]].to_numpy()]
        settings = group[down].to_numpy()
        n = len(axes[across])
        for start in range(0, len(levels), n):
            row_levels = levels[start : start + n]
            rows.append(
                _row([*first, *settings[start]], row_levels, np.mean([level.mean for level in row_levels]), metric)
            )
        table_means = group["mean"].to_numpy().reshape(-1, n)
        edge = [Interval(mean, math.nan, math.nan) for mean in table_means.mean(axis=0)]
        rows.append(_row([*first, OVER_ALL, *[""] * (len(down) - 1)], edge, table_means.mean(), metric))
    caption = f"{capitalised(metric.heading)} of each setting, with 95 % intervals, {across} across"
    headings = (*context_heading, *down, *axes[across], OVER_ALL)
    return Table("means", caption, headings, tuple(rows), means)


def _row(names: Sequence[str], levels: Sequence[Interval], average: Any, metric: Metric) -> tuple[Entry, ...]:
    """A line of the means: its names, its levels, and their average."""
    all_levels = [*levels, Interval(float(average), math.nan, math.nan)]
    return *(Entry(name, name) for name in names), *(_level(level, metric) for level in all_levels)


def worth_table(answers: Answers) -> Table:
    """The worth of each competitor at each number of labels."""
    label, rows, data = answers.options.measure.label, [], []
    for comparison, worth in answers.worths:
        # The heading of the column has the word already.
        labels = labels_in_words(worth.labels).removesuffix(" labels")
        rows.append((comparison.what, labels, worth.in_words(worth.worth), worth.ends or None))
        data.append({"competitor": comparison.what, "reference": comparison.reference} | vars(worth))
    frame = pd.DataFrame(rows, columns=["competitor", "labels", "times the labels", "95 % interval"])
    caption = (
        f"Worth in labels: how many times the labels the reference needs for the same {label}, by its learning "
        "curve, straight in the logarithm of the labels. Beyond its ends the curve is continued to "
        f"{REACH:g} times the most labels and to one part in {REACH:g} of the fewest; curves flatten, so a gain there "
        "is worth rather more"
    )
    return table("worth", caption, frame, data=pd.DataFrame(data))


def _line(label: str, level: Interval, entries: tuple[Entry, Entry], data: dict[str, Any], metric: Metric) -> Line:
    level_columns = {metric.name: level.mean, f"{metric.name}_low": level.low, f"{metric.name}_high": level.high}
    return (Entry(label, label), _level(level, metric), *entries), data | level_columns


def _size(effect: Effect) -> str:
    """A difference with its interval, as far as they are known: ``+1.20 (+0.40 to +2.00)``; of a metric without a
    largest value ``1.35 times (at most 2.10 times)``."""
    verdict, metric = effect.verdict, effect.metric
    if math.isnan(verdict.difference):
        return NOTHING
    ends = "" if math.isnan(verdict.low) else f" ({ends_in_words(verdict.interval, metric)})"
    if metric.is_relative:
        return f"{factor_of(verdict.difference, metric):.2f} times{ends}"
    return f"{metric.signed(verdict.difference)}{ends}"


def _level(level: Interval, metric: Metric) -> Entry:
    """A level with its interval, as far as they are known; it sorts by its mean."""
    if math.isnan(level.mean):
        return Entry(NOTHING, None)
    ends = "" if math.isnan(level.low) else f" ({metric.shown(level.low)} to {metric.shown(level.high)})"
    return Entry(f"{metric.shown(level.mean)}{ends}", level.mean)


def _ends(low: float, high: float, metric: Metric) -> str | None:
    """Both ends of an interval; None if they are unknown."""
    return None if low != low else f"{metric.shown(low)} to {metric.shown(high)}"


def _unit(metric: Metric) -> str:
    return f", {metric.unit}" if metric.unit and not metric.is_relative else ""
