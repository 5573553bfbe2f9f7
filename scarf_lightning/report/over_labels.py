"""Over the number of labels: with how many each competitor gains or loses how much, in sentences."""

import itertools
import math
from collections.abc import Iterable, Sequence

from ..metrics import Metric
from .blocks import named
from .comparisons import Comparison
from .loading import CellResults
from .report_options import ReportOptions
from .sentences import headline, signed

OVER_LABELS = (
    "Each competitor's sentence holds as a whole: in at most 5 % of such pages one of its answers is false (Holm's "
    "correction over its numbers of labels). In the table below each comparison has its own 95 % interval and verdict; "
    "these may claim more."
)
OF_PRETRAINING = {
    "helps": "gains {size} {where}",
    "hurts": "loses {size} {where}",
    "no practical difference": "makes no practical difference {where}",
    "cannot tell yet": "is not told apart from it {where} ({interval})",
}
OF_RIVAL = OF_PRETRAINING | {"helps": "is ahead by {size} {where}", "hurts": "is behind by {size} {where}"}


def answer_in_words(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> list[str]:
    """The answer in a sentence, or over the number of labels, where cells differ in it, in one for each competitor."""
    if comparisons[0].labels is None:
        return [headline(comparisons, results, options)]
    return over_labels_in_words(comparisons, results, options)


def over_labels_in_words(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> list[str]:
    """A sentence on each competitor: with how many labels it gains or loses how much."""
    datasets = list(dict.fromkeys(results.cells["dataset"]))
    where = datasets[0] if len(datasets) == 1 else f"{len(datasets)} datasets"
    sentences = [f"On {where}, beside the network with {comparisons[0].reference}:"]
    for name, group in _by_competitor(comparisons).items():
        parts = []
        for answer, run in itertools.groupby(group, key=lambda each: each.claimed):
            same = list(run)
            is_pretrained = results.cells.loc[same[0].pairs[0][0], "pretrain"] != "none"
            said = (OF_PRETRAINING if is_pretrained else OF_RIVAL)[answer]
            words = {
                "interval": _interval(same, options.measure),
                "size": _size(same, options.measure),
                "where": _with(same, group[0], group[-1]),
            }
            parts.append(said.format(**words))
        sentences.append(f"{name[:1].upper()}{name[1:]} {'; '.join(parts)}.")
    return sentences


def _by_competitor(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    """Those of each competitor, by the number of labels; pre-trainings and rivals in the order of the cells."""
    found: dict[str, list[Comparison]] = {}
    for each in sorted(comparisons, key=lambda each: (each.pairs[0][0], each.labels or 0)):
        found.setdefault(each.name, []).append(each)
    return {name: sorted(group, key=lambda each: each.labels or 0) for name, group in found.items()}


def _interval(same: Sequence[Comparison], metric: Metric) -> str:
    """Where the effect lies: its interval, or of several comparisons the ends of all intervals."""
    lows, highs = ([getattr(each.verdict, end) for each in same] for end in ("low", "high"))
    if any(math.isnan(low) for low in lows):
        return "too few trials to say"
    return f"{signed(min(lows), metric)} to {signed(max(highs), metric)} {_unit(metric)}"


def _size(same: Sequence[Comparison], metric: Metric) -> str:
    """The size of the effect without its sign, with its interval, or the range of the sizes of several."""
    verdict = same[0].verdict
    ends = sorted(abs(each.verdict.difference) for each in same)
    if len(same) > 1:
        return f"{_unsigned(ends[0], metric)} to {_unsigned(ends[-1], metric)} {_unit(metric)}"
    low, high = sorted((verdict.low, verdict.high), key=abs)
    interval = f"{_unsigned(abs(low), metric)} to {_unsigned(abs(high), metric)}"
    return f"{_unsigned(ends[0], metric)} {_unit(metric)} ({interval})"


def _unsigned(size: float, metric: Metric) -> str:
    return f"{metric.difference_scale * size:{metric.difference_digits}}"


def _unit(metric: Metric) -> str:
    return {"points": f"points of {metric.label}", "%": f"% in {metric.label}", "": metric.label}[metric.unit]


def _with(same: Sequence[Comparison], first: Comparison, last: Comparison) -> str:
    """With how many labels: ``with 20 labels``, ``from 100 labels on``, ``throughout``."""
    if same[0] is first and same[-1] is last and len(same) > 1:
        return "throughout"
    if same[-1] is last and len(same) > 1:
        return f"from {same[0].context} on"
    if same[0] is first and len(same) > 1:
        return f"up to {same[-1].context}"
    return f"with {named([each.context for each in same])}"
