"""Tables of a page's answer: the means of a product, the effects beside their references, and several metrics."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import capitalised
from ..intervals import Interval
from ..metrics import Metric, metric_named
from ..verdicts.answers import UNDECIDED
from ..verdicts.effects import Effect, Product, level_over
from ..verdicts.words import ends_in_words, factor_of
from .blocks import NOTHING, Entry, Table, table
from .questions import Answers, judged_effects

OF_CLASSES, OF_NUMBERS = ("accuracy", "log_loss", "auroc"), ("rmse", "mae")
"""Metrics that stand side by side, by the kind of target. Log-loss often tells where accuracy cannot."""
OVER_ALL = "average"
"""The heading of means over the settings of an axis: a corruption is called mean."""
UNKNOWN = Interval(math.nan, math.nan, math.nan)
REFERENCE = "reference"
ENDS = ("difference", "low", "high")

Line = tuple[tuple[Entry, ...], dict[str, Any]]
"""The entries of a line of a table, and its data."""


def effects_table(answers: Answers) -> Table:
    """A line an effect with its level, its difference and its answer, below the references. Its data are the frame of
    effects with the levels. That of a star is called ``ablation``."""
    metric = answers.options.measure
    references: dict[str, Line] = {}
    lines: list[Line] = []
    for effect in answers.effects:
        row, is_sure = effect.row, effect.claimed != UNDECIDED
        level = UNKNOWN if effect.kind == "interaction" else level_over(effect.ones, metric)
        size, answer = Entry(_size(effect, metric), row["difference"], is_sure), effect.shown
        lines.append(_line(effect.label, level, (size, Entry(answer, answer, is_sure)), row, metric))
        # The mean over settings is no cell that others lie beside.
        if effect.kind in ("change", "competitor"):
            own = {name: row[name] for name in ("context", "n", "trials", "datasets")} | {"won": 0, "lost": 0}
            known = {"what": effect.reference, "answer": REFERENCE} | own
            entries = Entry(NOTHING, None), Entry(REFERENCE, REFERENCE)
            base = level_over(effect.others, metric)
            references[effect.reference_label] = _line(effect.reference_label, base, entries, known, metric)
    texts, data = zip(*references.values(), *lines, strict=True)
    return Table(
        "ablation" if answers.is_star else "effects",
        f"{capitalised(metric.heading)}, and differences, with 95 % intervals; sure answers in bold",
        ("change" if answers.is_star else "effect", metric.heading, f"difference{_unit(metric)}", "answer"),
        texts,
        # In the order of the columns of the frame, which a reference has in part.
        pd.DataFrame(data, columns=list(lines[0][1])),
        # The means of a product stand in its place.
        on_page=answers.product is None,
    )


def _line(label: str, level: Interval, entries: tuple[Entry, Entry], data: dict[str, Any], metric: Metric) -> Line:
    known = {metric.name: level.mean, f"{metric.name}_low": level.low, f"{metric.name}_high": level.high}
    return (Entry(label, label), _level(level, metric), *entries), data | known


def metrics_table(answers: Answers) -> Table | None:
    """The differences by the leading metric and by others, side by side; None if no other metric is known."""
    results, leading = answers.results, answers.options.measure
    wanted = OF_NUMBERS if "number" in leading.targets else OF_CLASSES
    others = [name for name in wanted if name != leading.name and results.trials[name].notna().any()]
    # A report of one metric needs no table of metrics.
    if not others:
        return None
    labels = [effect.label for effect in answers.effects]
    shown, data = {"effect": labels}, []
    for name in (leading.name, *others):
        metric, (effects, _) = metric_named(name), judged_effects(results, replace(answers.options, metric=name))
        known = {effect.label: effect for effect in effects if effect.label in labels}
        # A metric may be unknown for an effect of which others are known.
        sizes = [_size(known[label], metric) if label in known else NOTHING for label in labels]
        # The heading has the unit, once.
        unit = ", times" if metric.is_relative else _unit(metric)
        shown[metric.label + unit] = [size.replace(" times", "") for size in sizes]
        for label, effect in known.items():
            data.append({"effect": label, "metric": name} | {end: effect.row[end] for end in ENDS})
    caption = f"Differences by several metrics, with 95 % intervals; answers are by {leading.label}"
    return table("metrics", caption, pd.DataFrame(shown), data=pd.DataFrame(data))


def means_table(product: Product, metric: Metric) -> Table:
    """The metric of each setting, with the last axis across and all others down; its data have a row a setting."""
    *down, across = product.axes
    # A context that all share says nothing.
    contexts = dict.fromkeys(cell.context for cell in product.cells)
    context_heading = ["with"] if len(contexts) > 1 else []
    rows, data = [], []
    for context in contexts:
        known = [cell for cell in product.cells if cell.context == context]
        first = [context] if context_heading else []
        means = []
        for setting in itertools.product(*(product.axes[axis] for axis in down)):
            levels = []
            for value in product.axes[across]:
                cells = [cell for cell in known if cell.name == product.names[*setting, value]]
                mean, low, high = level = level_over(cells, metric)
                levels.append(level)
                named = {"context": context, **dict(zip(product.axes, (*setting, value), strict=True))}
                data.append(named | {"mean": mean, "mean_low": low, "mean_high": high, "datasets": len(cells)})
            means.append([level.mean for level in levels])
            rows.append(_row([*first, *setting], levels, np.mean(means[-1]), metric))
        edge = [Interval(mean, math.nan, math.nan) for mean in np.mean(means, axis=0)]
        rows.append(_row([*first, OVER_ALL, *[""] * (len(down) - 1)], edge, np.mean(means), metric))
    caption = f"{capitalised(metric.heading)} of each setting, with 95 % intervals, {across} across"
    headings = (*context_heading, *down, *product.axes[across], OVER_ALL)
    return Table("means", caption, headings, tuple(rows), pd.DataFrame(data))


def _row(names: Sequence[str], levels: Sequence[Interval], average: Any, metric: Metric) -> tuple[Entry, ...]:
    """A line of the means: its names, its levels, and their average."""
    known = [*levels, Interval(float(average), math.nan, math.nan)]
    return *(Entry(name, name) for name in names), *(_level(level, metric) for level in known)


def _size(effect: Effect, metric: Metric) -> str:
    """A difference with its interval, as far as they are known: ``+1.20 (+0.40 to +2.00)``; of a metric without a
    largest value ``1.35 times (at most 2.10 times)``."""
    verdict = effect.verdict
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


def _unit(metric: Metric) -> str:
    return f", {metric.unit}" if metric.unit and not metric.is_relative else ""
