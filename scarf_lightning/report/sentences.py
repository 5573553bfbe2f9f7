"""Verdicts in words: the answer in a sentence, and what would settle what is open."""

import math
from collections import Counter
from collections.abc import Sequence

from ..metrics import Metric
from .blocks import counted, named
from .commands import Commands
from .comparisons import Comparison
from .options import Options
from .reading import CellResults
from .statistics.verdict import ANSWERS, FEWEST_DATASETS, FEWEST_FOR_SAME, FEWEST_TO_PREDICT, SIZES, Verdict
from .tables import number

PAPERS_DATASETS, N_PAPERS_DATASETS = "dataset=glob(cc18-*)", 69
EVEN = 0.5
"""Predicted chance of an answer below which more of the same is not advised."""


def headline(comparisons: Sequence[Comparison], results: CellResults, options: Options) -> str:
    """The answer in one sentence, or two."""
    where = _where(comparisons, results)
    with_ = f"with {references(comparisons)} {where}"
    if len(comparisons) == 1:
        (only,) = comparisons
        verb = {
            "helps": f"{only.name} helps {where}",
            "hurts": f"{only.name} hurts {where}",
            "no practical difference": f"{only.name} makes no practical difference {where}",
            "cannot tell yet": f"It cannot be told yet whether {only.name} helps {where}",
        }[only.verdict.answer]
        return f"{verb}: {effect(only, options.measure)} over {only.reference}, {won(only)}."
    counts = Counter(each.verdict.answer for each in comparisons)
    parts = []
    for answer in ANSWERS[:3]:
        those = [each for each in comparisons if each.verdict.answer == answer]
        those = those[::-1] if answer == "hurts" else those
        if those:
            examples = named([f"{each.label} {effect(each, options.measure, brief=True)}" for each in those], 3)
            plural = len(those) > 1 and answer in ("helps", "hurts")
            parts.append(f"{len(those)} {answer[:-1] if plural else _verb(answer, len(those))} ({examples})")
    open_ = counts["cannot tell yet"]
    if open_ == len(comparisons):
        best = comparisons[0]
        return (
            f"None of {len(comparisons)} comparisons {with_} has an answer yet; the best so far is {best.label}, "
            f"{effect(best, options.measure)}{_above_zero(comparisons, options)}."
        )
    rest = f"; {open_} cannot be told yet" if open_ else ""
    return f"Of {len(comparisons)} comparisons {with_}, {', '.join(parts)}{rest}."


def _above_zero(comparisons: Sequence[Comparison], options: Options) -> str:
    """What is known of open comparisons whose intervals are free of zero: that they are better, not that it matters."""
    above = sum(each.verdict.low > 0 for each in comparisons)
    if not above:
        return ""
    size = unsigned(options.rope, options.measure)
    return f"; {above} of them {'is' if above == 1 else 'are'} better, but not surely by more than {size}"


def what_would_settle(comparisons: Sequence[Comparison], commands: Commands) -> list[str]:
    """How many trials or datasets would bring an answer where there is none, and the command."""
    open_ = [each for each in comparisons if each.verdict.answer == "cannot tell yet"]
    found = []
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for each in open_:
        groups.setdefault(_advice(each), []).append(each)
    for (change, advice), those in sorted(groups.items(), key=lambda item: -len(item[1])):
        who = named([each.label for each in those], 3)
        command = f": {commands(those[0], change)}" if change else "."
        found.append(f"{who}: {advice}{command}")
    return found


def _advice(comparison: Comparison) -> tuple[str, str]:
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
        said = f"more {what} may settle it, up to {more} with a chance of {_percent(verdict)}"
    elif over_datasets:
        return "", f"{n} datasets do not tell, and more would hardly"
    else:
        return "", "more trials would hardly settle it, for splits of one dataset overlap; other datasets would"
    if over_datasets:
        return PAPERS_DATASETS if more <= N_PAPERS_DATASETS else "", said
    return f"trials={more}", said


def _percent(verdict: Verdict) -> str:
    return f"about {10 * round(10 * verdict.chance)} %"


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
    interval = "" if math.isnan(verdict.low) else f" ({interval_of(comparison, metric)})"
    if brief:
        return f"{shown} points" if metric.scale == 100 else shown
    unit = "points of " if metric.scale == 100 else "better "
    return f"{shown} {unit}{metric.label}{interval}"


def interval_of(comparison: Comparison, metric: Metric) -> str:
    """Both ends of the 95 % interval, in points where the metric is a fraction."""
    return f"{signed(comparison.verdict.low, metric)} to {signed(comparison.verdict.high, metric)}"


def won(comparison: Comparison) -> str:
    """In how many trials, or on how many datasets, it is better."""
    verdict = comparison.verdict
    if verdict.datasets > 1:
        return f"better on {verdict.won} of {counted(verdict.datasets, 'dataset')}"
    return f"better in {verdict.won} of {counted(verdict.trials, 'trial')}"


def signed(value: float, metric: Metric) -> str:
    """A difference as it is shown."""
    return number(metric.scale * value, f"+{metric.digits}")


def references(comparisons: Sequence[Comparison]) -> str:
    """What all of them are compared with."""
    return " or ".join(dict.fromkeys(each.reference for each in comparisons))


def unsigned(value: float, metric: Metric) -> str:
    """A size of differences as it is shown."""
    return counted(metric.scale * value, "point") if metric.scale == 100 else f"{value:g}"
