"""Verdicts in words: the answer in a sentence, or one for each competitor over the number of labels."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from ..metrics import Metric
from .amounts import brief_effect, effect, effect_over, interval_of_all, signed, size_of_all, unsigned, won
from .blocks import named
from .comparisons import Comparison
from .loading import CellResults
from .names import DROPPED, NO_PRETRAINING, columns_in_words, value_in_words
from .pairing import label_budgets
from .report_options import ReportOptions
from .statistics import holm

VERBS = {
    "helps": ("helps", "help"),
    "hurts": ("hurts", "hurt"),
    "no practical difference": ("makes no practical difference", "make no practical difference"),
}
"""By answer, of one comparison and of several."""
TOGETHER = (
    "These answers hold together: in at most 5 % of such pages one of them is false (Holm's correction over {n} "
    "comparisons). In the figure and the table below each comparison has its own 95 % interval and verdict; these may "
    "claim more."
)
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
LOWER = {"helps": "is better by {size} {where}", "hurts": "is worse by {size} {where}"}
"""For pre-trainings and metrics whose lower values are better: an error is not gained."""
OF_RIVAL = OF_PRETRAINING | {"helps": "is ahead by {size} {where}", "hurts": "is behind by {size} {where}"}


def title_of(results: CellResults, reference: str | None = None) -> str:
    """A title that names the question and the data. ``reference`` is the one that the user names."""
    cells = results.cells
    names = list(dict.fromkeys(cells["dataset"]))
    where = f"on {named(names)}" if len(names) <= 3 else f"on {len(names)} datasets"
    if reference is not None:
        return f"Is anything better than {reference} {where}?"
    tried = [name for name in dict.fromkeys(cells["pretrain"]) if name != "none"]
    if tried and len(tried) < cells["pretrain"].nunique():
        labels = [value_in_words("pretrain", name, results.labels) for name in tried]
        return f"Does {named(labels) if len(labels) <= 3 else 'pre-training'} help {where}?"
    if results.compared == [DROPPED]:
        return f"Which columns matter {where}?"
    if results.compared:
        return f"Which {columns_in_words(results.compared)} is best {where}?"
    if label_budgets(results) is not None:
        return f"How many labels are enough {where}?"
    return f"Which {columns_in_words(results.contexts)} is best {where}?" if results.contexts else f"Results {where}"


def answer_in_words(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> list[str]:
    """The answer in a sentence; or in one for each competitor, if cells differ in the number of labels."""
    if comparisons[0].labels is not None:
        return _over_labels(comparisons, results, options.measure)
    datasets = dict.fromkeys(dataset for each in comparisons for dataset in each.datasets)
    where = f"on {next(iter(datasets))}" if len(datasets) == 1 else f"over {len(datasets)} datasets"
    return [_of_one(comparisons[0], where, options) if len(comparisons) == 1 else _of_all(comparisons, where, options)]


def _of_one(only: Comparison, where: str, options: ReportOptions) -> str:
    answer = f"It is open whether {only.name} helps {where}"
    if only.verdict.answer in VERBS:
        answer = f"{only.name} {VERBS[only.verdict.answer][0]} {where}"
    because = f" No verdict: {only.verdict.reason}." if only.verdict.reason else ""
    return f"{answer}: {effect_over(only, options.measure)}, {won(only)}.{because}"


def _of_all(comparisons: Sequence[Comparison], where: str, options: ReportOptions) -> str:
    """How many comparisons have which answer; all answers are claimed together at the level of one."""
    every = f"{len(comparisons)} comparisons with {references(comparisons)} {where}"
    best, n_open = comparisons[0], sum(each.claimed == "cannot tell yet" for each in comparisons)
    if n_open == len(comparisons):
        return (
            f"None of {every} has an answer yet; the best so far is {best.label}, "
            f"{effect(best, options.measure)}{_above_zero(comparisons, options)}."
        )
    parts = []
    for answer, (of_one, of_several) in VERBS.items():
        found = [each for each in comparisons if each.claimed == answer]
        if found:
            clearest_first = found[::-1] if answer == "hurts" else found
            examples = named([f"{each.label} {brief_effect(each, options.measure)}" for each in clearest_first], 3)
            parts.append(f"{len(found)} {of_one if len(found) == 1 else of_several} ({examples})")
    rest = f"; {n_open} {'is' if n_open == 1 else 'are'} open" if n_open else ""
    return f"Of {every}, {', '.join(parts)}{rest}."


def _above_zero(comparisons: Sequence[Comparison], options: ReportOptions) -> str:
    """How many open comparisons are better than zero after Holm's correction, though maybe by too little."""
    levels = holm(np.array([each.verdict.p_of_zero for each in comparisons]))
    above = sum(each.verdict.low > 0 and p <= 0.05 for each, p in zip(comparisons, levels, strict=True))
    if not above:
        return ""
    where = " on the typical dataset" if any(each.verdict.datasets > 1 for each in comparisons) else ""
    size = unsigned(options.rope, options.measure)
    return f"; {above} of them {'is' if above == 1 else 'are'} better{where}, but not surely by more than {size}"


def _over_labels(comparisons: Sequence[Comparison], results: CellResults, metric: Metric) -> list[str]:
    """A sentence on each competitor: with how many labels it gains or loses how much."""
    datasets = list(dict.fromkeys(results.cells["dataset"]))
    where = datasets[0] if len(datasets) == 1 else f"{len(datasets)} datasets"
    sentences = [f"On {where}, beside {_in_full(references(comparisons))}:"]
    for name, group in _by_competitor(comparisons).items():
        is_pretrained = results.rows[group[0].pairs[0][0]]["pretrain"] != "none"
        templates = _templates(metric, is_pretrained=is_pretrained)
        parts = []
        for answer, run in itertools.groupby(group, key=lambda each: each.claimed):
            same = list(run)
            size, interval = size_of_all(same, metric), interval_of_all(same, metric)
            parts.append(templates[answer].format(interval=interval, size=size, where=_with(same, group[0], group[-1])))
        sentences.append(f"{name[:1].upper()}{name[1:]} {'; '.join(parts)}.")
    return sentences


def _in_full(reference: str) -> str:
    """No pre-training is that of the network."""
    return f"the network with {reference}" if reference == NO_PRETRAINING else reference


def _templates(metric: Metric, *, is_pretrained: bool) -> dict[str, str]:
    """A part of a sentence by answer."""
    if not is_pretrained:
        return OF_RIVAL
    return OF_PRETRAINING if metric.higher_is_better else OF_PRETRAINING | LOWER


def _by_competitor(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    """The comparisons of each competitor by the number of labels; competitors in the order of the cells."""
    found: dict[str, list[Comparison]] = {}
    for each in sorted(comparisons, key=lambda each: (each.pairs[0][0], each.labels or 0)):
        found.setdefault(each.name, []).append(each)
    return {name: sorted(group, key=lambda each: each.labels or 0) for name, group in found.items()}


def _with(same: Sequence[Comparison], first: Comparison, last: Comparison) -> str:
    """With how many labels: ``with 20 labels``, ``from 100 labels on``, ``throughout``."""
    if len(same) > 1 and same[-1] is last:
        return "throughout" if same[0] is first else f"from {same[0].context} on"
    if len(same) > 1 and same[0] is first:
        return f"up to {same[-1].context}"
    return f"with {named([each.context for each in same])}"


def mean_and_typical(comparisons: Sequence[Comparison], metric: Metric) -> str:
    """Over datasets, the range of the mean gains and that of the typical gains of all comparisons."""
    by_mean = sorted(comparisons, key=lambda each: each.verdict.average.mean)
    typical = sorted(each.verdict.difference for each in comparisons)
    points = f" {metric.unit}" if metric.unit else ""
    return (
        f"On average over datasets the gains go from {signed(by_mean[0].verdict.average.mean, metric)} "
        f"({by_mean[0].label}) to {signed(by_mean[-1].verdict.average.mean, metric)}{points} ({by_mean[-1].label}); on "
        f"the typical dataset they go from {signed(typical[0], metric)} to {signed(typical[-1], metric)}{points}."
    )


def references(comparisons: Sequence[Comparison]) -> str:
    """The names of all references, in a sentence."""
    return " or ".join(dict.fromkeys(each.against for each in comparisons))
