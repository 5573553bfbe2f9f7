"""The textbook ablation: one change at a time beside the base, as sentences and as a table."""

from collections.abc import Sequence

import pandas as pd

from ..intervals import Interval
from ..metrics import Metric
from ..verdicts.amounts import effect, signed
from ..verdicts.answers import UNDECIDED
from .blocks import NOTHING, Entry, Table
from .cell_results import CellResults
from .comparisons import Comparison
from .levels import level_over
from .pairing import BASE
from .schema import arrange_columns, evidence_columns

MOST_SENTENCES = 6
"""Changes that each have a sentence; the table has all."""


def is_ablation(comparisons: Sequence[Comparison]) -> bool:
    """True if each comparison is a change beside the base of a star."""
    return bool(comparisons) and all(each.against == BASE for each in comparisons)


def ablation_in_words(comparisons: Sequence[Comparison], results: CellResults, metric: Metric) -> list[str]:
    """A sentence on the base, and one on each change; of many changes on the sure ones first."""
    sentences = []
    for base in _by_context(comparisons).values():
        level = _level_in_words(_base_level(base, results, metric), metric)
        sentences.append(f"Base: {base[0].reference_label}, {level}.")
    sure_first = sorted(comparisons, key=lambda each: each.claimed == UNDECIDED)
    for each in sure_first[:MOST_SENTENCES]:
        sentences.append(f"{each.label}: {each.shown}, {effect(each, metric)}.")
    if n_others := len(sure_first[MOST_SENTENCES:]):
        sentences.append(f"The table has {n_others} more.")
    return sentences


def ablation_table(comparisons: Sequence[Comparison], results: CellResults, metric: Metric) -> Table:
    """A line a change, the best first: its metric, its difference with a 95 % interval, and its answer."""
    rows, data = [], []
    for each in comparisons:
        is_sure = each.claimed != UNDECIDED
        level = level_over(results, [cell for cell, _ in each.pairs], metric)
        verdict = each.verdict
        interval = verdict.interval
        rows.append(
            (
                Entry(each.label, each.label),
                Entry(metric.shown(level.mean), level.mean),
                Entry(_with_ends(interval, metric), interval.mean, best=is_sure),
                Entry(each.shown, each.claimed, best=is_sure),
            )
        )
        known = evidence_columns(each)
        data.append(
            {"change": each.name, "base": each.reference, "context": each.context, metric.name: level.mean}
            | {f"{metric.name}_low": level.low, f"{metric.name}_high": level.high, "trials": verdict.trials}
            | {name: known[name] for name in ("answer", "difference", "difference_low", "difference_high")}
            | {"p_direction": verdict.levels.direction, "datasets": verdict.datasets}
        )
    unit = f", {metric.unit}" if metric.unit else ""
    bases = []
    for base in _by_context(comparisons).values():
        bases.append(f"{base[0].reference_label} ({_level_in_words(_base_level(base, results, metric), metric)})")
    caption = f"One change at a time. Base: {'; '.join(bases)}. Intervals of 95 %; sure answers in bold"
    columns = ("change", metric.heading, f"difference{unit} (95 %)", "answer")
    return Table("ablation", caption, columns, tuple(rows), arrange_columns("ablation", pd.DataFrame(data)))


def _by_context(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """The changes by the context that they share with their base."""
    found: dict[str, list[Comparison]] = {}
    for each in comparisons:
        found.setdefault(each.context, []).append(each)
    return found


def _base_level(comparisons: Sequence[Comparison], results: CellResults, metric: Metric) -> Interval:
    """The metric of the base, over all tables on which a change was tried."""
    return level_over(results, list(dict.fromkeys(cell for each in comparisons for _, cell in each.pairs)), metric)


def _level_in_words(level: Interval, metric: Metric) -> str:
    unit = " %" if metric.scale == 100 else ""
    ends = "" if level.low != level.low else f" ({metric.shown(level.low)} to {metric.shown(level.high)})"
    return f"{metric.label} {metric.shown(level.mean)}{unit}{ends}"


def _with_ends(interval: Interval, metric: Metric) -> str:
    if interval.mean != interval.mean:
        return NOTHING
    if interval.low != interval.low:
        return signed(interval.mean, metric)
    ends = f"{signed(interval.low, metric)} to {signed(interval.high, metric)}"
    return f"{signed(interval.mean, metric)} ({ends})"
