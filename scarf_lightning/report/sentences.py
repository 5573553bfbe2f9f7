"""Verdicts in words: the answer in a sentence, and what would settle what is open."""

import math
from collections.abc import Sequence

import numpy as np

from ..errors import counted
from ..metrics import Metric
from ..sweeping.plan import about
from .advice import Commands
from .blocks import named, number
from .comparisons import Comparison
from .loading import SECONDS, CellResults
from .naming import columns_in_words, distinguishing, value_in_words
from .report_options import ReportOptions
from .statistics import holm
from .statistics.verdict import ANSWERS, FEWEST_DATASETS, FEWEST_FOR_SAME, FEWEST_TO_PREDICT, SIZES

PAPERS_DATASETS = "dataset=glob(cc18-*)"
N_PAPERS_DATASETS = 69
SMALL_DATASETS = (
    "cc18-balance-scale", "cc18-credit-approval", "cc18-tic-tac-toe", "cc18-eucalyptus", "cc18-cylinder-bands",
    "cc18-analcatdata_dmft", "cc18-pc1", "cc18-car",
)  # fmt: skip
"""Datasets of at most 1,728 rows, which train within minutes: what advice names first."""
EVEN = 0.5
"""Predicted chance of an answer below which more of the same is not advised."""


def title_of(results: CellResults) -> str:
    """A title that names the question and the data."""
    cells = results.cells
    names = list(dict.fromkeys(cells["dataset"]))
    where = f"on {named(names, 3)}" if len(names) <= 3 else f"on {len(names)} datasets"
    tried = [name for name in dict.fromkeys(cells["pretrain"]) if name != "none"]
    if tried and len(tried) < cells["pretrain"].nunique():
        labels = [value_in_words("pretrain", name, results.labels) for name in tried]
        return f"Does {named(labels, 3)} help {where}?" if len(tried) <= 3 else f"Does pre-training help {where}?"
    different = distinguishing(cells, results.axes)
    return f"Which {columns_in_words(different)} is best {where}?" if different else f"Results {where}"


def headline(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> str:
    """The answer in one sentence, or a few; several answers are claimed together at the level of one."""
    where = _where(comparisons, results)
    with_ = f"with {references(comparisons)} {where}"
    if len(comparisons) == 1:
        (only,) = comparisons
        verb = {
            "helps": f"{only.name} helps {where}",
            "hurts": f"{only.name} hurts {where}",
            "no practical difference": f"{only.name} makes no practical difference {where}",
            "cannot tell yet": f"It is open whether {only.name} helps {where}",
        }[only.verdict.answer]
        because = f" No verdict: {only.verdict.reason}." if only.verdict.reason else ""
        return f"{verb}: {effect(only, options.measure)} over {only.reference}, {won(only)}.{because}"
    parts = []
    for answer in ANSWERS[:3]:
        those = [each for each in comparisons if each.claimed == answer]
        those = those[::-1] if answer == "hurts" else those
        if those:
            examples = named([f"{each.label} {effect(each, options.measure, brief=True)}" for each in those], 3)
            plural = len(those) > 1 and answer in ("helps", "hurts")
            parts.append(f"{len(those)} {answer[:-1] if plural else _verb(answer, len(those))} ({examples})")
    open_ = sum(each.claimed == "cannot tell yet" for each in comparisons)
    if open_ == len(comparisons):
        best = comparisons[0]
        return (
            f"None of {len(comparisons)} comparisons {with_} has an answer yet; the best so far is {best.label}, "
            f"{effect(best, options.measure)}{_above_zero(comparisons, options)}."
        )
    rest = f"; {open_} {'is' if open_ == 1 else 'are'} open" if open_ else ""
    return f"Of {len(comparisons)} comparisons {with_}, {', '.join(parts)}{rest}."


TOGETHER = (
    "These answers hold together: in at most 5 % of such pages one of them is false (Holm's correction over {n} "
    "comparisons). In the figure and the table below each comparison has its own 95 % interval and verdict; these may "
    "claim more."
)


def mean_and_typical(comparisons: Sequence[Comparison], metric: Metric) -> str:
    """Over datasets, what is true of all comparisons: from which gain to which, the mean one and the typical one."""
    by_mean = sorted(comparisons, key=lambda each: each.verdict.average.mean)
    typical = sorted(each.verdict.difference for each in comparisons)
    points = f" {metric.unit}" if metric.unit else ""
    return (
        f"On average over datasets the gains go from {signed(by_mean[0].verdict.average.mean, metric)} "
        f"({by_mean[0].label}) to {signed(by_mean[-1].verdict.average.mean, metric)}{points} ({by_mean[-1].label}); on "
        f"the typical dataset they go from {signed(typical[0], metric)} to {signed(typical[-1], metric)}{points}."
    )


def _above_zero(comparisons: Sequence[Comparison], options: ReportOptions) -> str:
    """How many open comparisons differ from zero for the better, corrected over all: better, but maybe too little."""
    levels = holm(np.array([each.verdict.p_of_zero for each in comparisons]))
    above = sum(each.verdict.low > 0 and p <= 0.05 for each, p in zip(comparisons, levels, strict=True))
    if not above:
        return ""
    size, where = unsigned(options.rope, options.measure), ""
    if any(each.verdict.datasets > 1 for each in comparisons):
        where = " on the typical dataset"
    return f"; {above} of them {'is' if above == 1 else 'are'} better{where}, but not surely by more than {size}"


def what_would_settle(
    comparisons: Sequence[Comparison], commands: Commands, results: CellResults
) -> list[tuple[str, str]]:
    """What would bring an answer where there is none: a sentence and the command, which may be empty."""
    open_ = [each for each in comparisons if each.verdict.answer == "cannot tell yet" and not each.verdict.reason]
    known = {str(name) for name in results.cells["dataset"]}
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for each in open_:
        groups.setdefault(_advice(each, known), []).append(each)
    return [
        (
            f"{named([each.label for each in those], 3)}: {advice}{_cost(those[0], change, results)}",
            commands(those[0], change) if change else "",
        )
        for (change, advice), those in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def _cost(comparison: Comparison, change: str, results: CellResults) -> str:
    """What the command for a comparison takes, from its finished trials; empty if these do not say how long they took.

    More trials take as long as those before, and more datasets as long as these.
    """
    of_pairs = results.trials[results.trials["cell"].isin({cell for pair in comparison.pairs for cell in pair})]
    seconds = of_pairs[list(SECONDS)].sum(axis=1)
    key, _, value = change.partition("=")
    if not change or not seconds.sum() > 0:
        return ""
    if key == "trials":
        each = seconds.groupby(of_pairs["cell"]).agg(["mean", "count"])
        return f" (about {about(float((each['mean'] * (int(value) - each['count']).clip(lower=0)).sum()))} on one core)"
    n = N_PAPERS_DATASETS if change == PAPERS_DATASETS else 1 + value.count(",")
    took = float(seconds.sum()) / len(comparison.pairs)
    return f" (about {about(n * took)} on one core, if they take as long as these)"


def in_one_line(advice: tuple[str, str]) -> str:
    """Advice with its command, for a terminal."""
    sentence, command = advice
    return f"{sentence}: {command}" if command else f"{sentence}."


def _advice(comparison: Comparison, known: set[str]) -> tuple[str, str]:
    """What to ask for, empty for nothing, and what to say before the command."""
    verdict = comparison.verdict
    over_datasets = verdict.datasets > 1
    what, n = ("datasets", verdict.datasets) if over_datasets else ("trials", verdict.trials)
    fewest = FEWEST_FOR_SAME if over_datasets else FEWEST_TO_PREDICT
    if verdict.more is not None:
        more, said = verdict.more, f"{verdict.more} {what} would very likely settle it"
    elif n < fewest:
        more = FEWEST_DATASETS if n < FEWEST_DATASETS and over_datasets else FEWEST_FOR_SAME
        said = f"an answer needs {more} datasets or more"
        if not over_datasets:
            said = f"too few to say; go on to {more} trials"
    elif verdict.chance >= EVEN:
        more = SIZES[-1]
        said = f"more {what} may settle it, up to {more} with a chance of about {10 * round(10 * verdict.chance)} %"
    elif over_datasets:
        return "", f"{n} datasets do not tell, and more will hardly"
    else:
        return "", "more trials will not settle this, because splits of one dataset overlap; try more datasets"
    if over_datasets:
        others = [name for name in SMALL_DATASETS if name.removeprefix("cc18-") not in known]
        is_few = more - n <= len(others)
        return (f"dataset={','.join(others[: more - n])}" if is_few else PAPERS_DATASETS), said
    return f"trials={more}", said


def _where(comparisons: Sequence[Comparison], results: CellResults) -> str:
    datasets = dict.fromkeys(results.cells.loc[cell, "dataset"] for each in comparisons for cell, _ in each.pairs)
    return f"on {next(iter(datasets))}" if len(datasets) == 1 else f"over {len(datasets)} datasets"


def _verb(answer: str, n: int) -> str:
    if answer == "no practical difference":
        return "makes no practical difference" if n == 1 else "make no practical difference"
    return answer


def effect(comparison: Comparison, metric: Metric, *, brief: bool = False) -> str:
    """The difference with its interval: ``+1.20 points of accuracy (0.40 to 2.00)``."""
    verdict = comparison.verdict
    shown = signed(verdict.difference, metric)
    interval = _in_brackets(verdict.low, verdict.high, metric)
    if brief:
        if verdict.datasets > 1:
            average = f"{signed(verdict.average.mean, metric)} {metric.unit}".rstrip()
            return f"{average} on average, {shown} on the typical dataset"
        return f"{shown} {metric.unit}".rstrip()
    unit = {"points": "points of ", "%": "% improvement in ", "": "better "}[metric.unit]
    if verdict.datasets > 1 and not math.isnan(verdict.average.mean):
        around = _in_brackets(verdict.average.low, verdict.average.high, metric)
        mean = f"{signed(verdict.average.mean, metric)} {unit}{metric.label}{around} on average"
        return f"{mean}, {shown}{interval} on the typical dataset"
    return f"{shown} {unit}{metric.label}{interval}"


def _in_brackets(low: float, high: float, metric: Metric) -> str:
    """Both ends of an interval of differences; empty where there is none."""
    return "" if math.isnan(low) else f" ({signed(low, metric)} to {signed(high, metric)})"


def won(comparison: Comparison) -> str:
    """In how many trials, or on how many datasets, it is better."""
    verdict = comparison.verdict
    if verdict.datasets > 1:
        return f"better on {verdict.won} of {counted(verdict.datasets, 'dataset')}"
    return f"better in {verdict.won} of {counted(verdict.trials, 'trial')}"


def signed(value: float, metric: Metric) -> str:
    """A difference as it is shown."""
    return number(metric.difference_scale * value, f"+{metric.difference_digits}")


def references(comparisons: Sequence[Comparison]) -> str:
    """What all of them are compared with."""
    return " or ".join(dict.fromkeys(each.reference for each in comparisons))


def unsigned(value: float, metric: Metric) -> str:
    """A size of differences as it is shown."""
    if metric.is_relative:
        return f"{100 * value:g} % of the reference"
    return counted(metric.scale * value, "point") if metric.scale == 100 else f"{value:g}"
