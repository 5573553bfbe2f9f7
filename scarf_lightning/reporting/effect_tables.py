"""Tables of effects: the textbook ablation, competitors with their levels, all effects, and several metrics."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import capitalised
from ..intervals import Interval
from ..metrics import Metric, metric_named
from ..verdicts.answers import UNDECIDED
from ..verdicts.effects import COMPETITOR, REFERENCE, Cell, Effect, common_fault, frame_of
from ..verdicts.words import ends_in_words, ends_of, factor_of, level_in_words, references, shown_answer, signed
from .blocks import NOTHING, Entry, Table, table
from .questions import Answers, judged_effects
from .schema import evidence_columns, whole_counts

OF_CLASSES, OF_NUMBERS = ("accuracy", "log_loss", "auroc"), ("rmse", "mae")
"""Metrics that stand side by side, by the kind of target. Log-loss often tells where accuracy cannot."""


def ablation_table(answers: Answers) -> Table:
    """A line a change of a star, the best first: its metric, its difference with a 95 % interval, and its answer."""
    effects, metric = answers.effects, answers.options.measure
    rows, levels = [], []
    bases: dict[str, str] = {}
    for effect in effects:
        level, base = effect.levels(metric)
        levels.append(_level_columns(level, metric))
        name = Entry(effect.label, effect.label)
        rows.append((name, _entry(level, metric), *_difference_and_answer(effect, metric)))
        bases.setdefault(effect.context, f"{effect.reference_label} ({level_in_words(base, metric)})")
    caption = f"One change at a time. Base: {'; '.join(bases.values())}. Intervals of 95 %; sure answers in bold"
    columns = ("change", metric.heading, _difference_heading(metric), "answer")
    data = pd.concat([frame_of(effects), pd.DataFrame(levels)], axis=1)
    return Table("ablation", caption, columns, tuple(rows), data)


def effects_table(answers: Answers) -> Table:
    """A line an effect; its data are the frame of effects."""
    metric = answers.options.measure
    rows = []
    for effect in answers.effects:
        over = effect.over or NOTHING
        names = [Entry(text, text) for text in (effect.label, effect.reference, over)]
        rows.append((*names, *_difference_and_answer(effect, metric), Entry(str(effect.row["n"]), effect.row["n"])))
    columns = ("effect", "beside", "over", _difference_heading(metric), "answer", "n")
    data = answers.frame
    caption = "Effects, with intervals of 95 %; sure answers in bold"
    return Table("effects", caption, columns, tuple(rows), data, on_page=False)


def summary_table(answers: Answers) -> Table:
    """Every competitor's metric and its improvement with their intervals, best first, the references among them."""
    metric = answers.options.measure
    effects = [effect for effect in answers.effects if effect.kind == "competitor"]
    lines: dict[str, tuple[float, list[Entry], dict[str, Any]]] = {}
    for effect in effects:
        verdict, (level, base) = effect.verdict, effect.levels(metric)
        ones = [placed[COMPETITOR] for placed in effect.cells.values()]
        known = evidence_columns(effect) | {
            "context": effect.context, "reference": effect.reference, "not_learnt": common_fault(ones) or effect.spoilt,
            "mean_difference": verdict.average, "won": verdict.won, "lost": verdict.lost,
        }  # fmt: skip
        lines[effect.label] = _line(effect.label, level, ones, _difference_and_answer(effect, metric), known, metric)
        # Competitors of one context share a reference, which has one line.
        others = [placed[REFERENCE] for placed in effect.cells.values()]
        entries = Entry(NOTHING, None), Entry("reference", "reference")
        known = {"context": effect.context, "answer": "reference"}
        lines.setdefault(effect.reference_label, _line(effect.reference_label, base, others, entries, known, metric))
    # A loss is best if it is lowest.
    ordered = sorted(lines.values(), key=lambda line: -metric.sign * line[0])
    rows = [tuple(entries) for _, entries, _ in ordered]
    name, best, *rest = rows[0]
    rows[0] = (name, best._replace(best=True), *rest)
    median = "; over datasets that of the median one" if any(len(effect.cells) > 1 for effect in effects) else ""
    caption = (
        f"{capitalised(metric.heading)} and the improvement over {references(effects)}{median}, with 95 % intervals. "
        "Best in bold."
    )
    columns = ("competitor", metric.heading, f"improvement{_unit(metric)}", "answer")
    data = whole_counts(pd.DataFrame([columns for *_, columns in ordered]))
    found = Table("summary", caption, columns, tuple(rows), data)
    # In a paper it is as wide as a column.
    return replace(found, narrow=found)


def _line(
    label: str,
    level: Interval,
    cells: Sequence[Cell],
    entries: tuple[Entry, Entry],
    known: dict[str, Any],
    metric: Metric,
) -> tuple[float, list[Entry], dict[str, Any]]:
    """The mean of a competitor, its entries, and its data."""
    trials = min(len(cell.trials.values) for cell in cells)
    data = {"competitor": label, "trials": trials, "datasets": len(cells)} | _level_columns(level, metric)
    plain = [entry._replace(best=False) for entry in entries]
    return level.mean, [Entry(label, label), _entry(level, metric), *plain], data | known


def metrics_table(answers: Answers) -> Table | None:
    """The differences by the leading metric and by others, side by side; None if no other metric is known."""
    results, options = answers.results, answers.options
    leading = options.measure
    wanted = OF_NUMBERS if "number" in leading.targets else OF_CLASSES
    others = [name for name in wanted if name != leading.name and results.trials[name].notna().any()]
    by_metric = {leading.name: {effect.label: effect for effect in answers.comparisons}}
    for name in others:
        by_metric[name] = {effect.label: effect for effect in judged_effects(results, replace(options, metric=name))[0]}
    # A report of one metric needs no table of metrics.
    if not others:
        return None
    rows, data = [], []
    for effect in answers.comparisons:
        row = {"competitor": effect.label}
        for name, by_label in by_metric.items():
            # A metric may be unknown for a competitor of which others are known.
            if other := by_label.get(effect.label):
                row[name] = _size(other, metric_named(name))
                columns = {"difference": "difference", "difference_low": "low", "difference_high": "high"}
                data.append(
                    {"competitor": effect.label, "metric": name}
                    | {column: other.row[known] for column, known in columns.items()}
                )
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["competitor", *by_metric]).fillna(NOTHING)
    headings = {name: metric_named(name).label + _unit(metric_named(name)) for name in by_metric}
    caption = f"Improvements by several metrics, with intervals of 95 %; answers are by {leading.label}"
    return table("metrics", caption, frame, headings=headings, data=pd.DataFrame(data))


def _level_columns(level: Interval, metric: Metric) -> dict[str, float]:
    return {metric.name: level.mean, f"{metric.name}_low": level.low, f"{metric.name}_high": level.high}


def _difference_and_answer(effect: Effect, metric: Metric) -> tuple[Entry, Entry]:
    """The entries of a difference with its interval, and of its answer; bold if it is sure."""
    is_sure = effect.claimed != UNDECIDED
    difference = effect.verdict.difference
    return (
        Entry(_size(effect, metric), difference, best=is_sure),
        Entry(shown_answer(effect), effect.claimed, best=is_sure),
    )


def _size(effect: Effect, metric: Metric) -> str:
    """A difference with its interval, as far as they are known: ``+1.20 (+0.40 to +2.00)``; of a metric without a
    largest value ``1.35 times (at most 2.10 times)``, but of an interaction a part of the mean."""
    verdict = effect.verdict
    if math.isnan(verdict.difference):
        return NOTHING
    if metric.is_relative and effect.kind != "interaction":
        ends = "" if math.isnan(verdict.low) else f" ({ends_in_words(verdict.interval, metric)})"
        return f"{factor_of(verdict.difference, metric):.2f} times{ends}"
    unit = " %" if metric.is_relative else ""
    ends = ends_of(verdict, metric)
    return f"{signed(verdict.difference, metric)}{unit}" + (f" ({ends})" if ends else "")


def _entry(level: Interval, metric: Metric) -> Entry:
    """A level with its interval, sorted by its mean."""
    ends = "" if level.low != level.low else f" ({metric.shown(level.low)} to {metric.shown(level.high)})"
    return Entry(f"{metric.shown(level.mean)}{ends}", level.mean)


def _difference_heading(metric: Metric) -> str:
    return f"difference{_unit(metric)} (95 %)"


def _unit(metric: Metric) -> str:
    return f", {metric.unit}" if metric.unit and not metric.is_relative else ""
