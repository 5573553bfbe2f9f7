"""The first screen: the answer in a sentence, a picture and a table."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..errors import counted
from ..metrics import Metric, metrics
from .advice import Commands, what_would_settle
from .blocks import NOTHING, Block, Command, Entry, Paragraph, Section, Table, entry, table
from .comparisons import Comparison, compare_all
from .competitors import distinguishing, named_by
from .effects import effects_picture, forest_picture, label_curve, outlying_in_words
from .loading import CellResults
from .report_options import ReportOptions
from .sentences import OVER_LABELS, TOGETHER, answer_in_words, mean_and_typical, references, signed
from .verdicts import level_of

BLANK = Entry(NOTHING, None)
REFERENCE_IS_MISSING = "train a reference on the same data, such as pretrain=none"


def answer_section(results: CellResults, options: ReportOptions, commands: Commands) -> Section:
    """The answer, effects with intervals best first, every competitor's metric, and what would settle the open ones."""
    comparisons = compare_all(results, options)
    if not comparisons:
        return Section("summary", "The answer", [Paragraph(_without_comparison(results, options)), _cells(results)])
    blocks: list[Block] = [Paragraph(sentence) for sentence in answer_in_words(comparisons, results, options)]
    is_curve, are_several = comparisons[0].labels is not None, len(comparisons) > 1
    if is_curve:
        blocks.append(label_curve(comparisons, results, options))
    if are_several and all(each.verdict.datasets > 1 for each in comparisons):
        blocks.append(Paragraph(mean_and_typical(comparisons, options.measure)))
    answers = {answer for each in comparisons for answer in (each.claimed, each.verdict.answer)}
    if are_several and answers != {"cannot tell yet"}:
        blocks.append(Paragraph(OVER_LABELS if is_curve else TOGETHER.format(n=len(comparisons))))
    if outside := outlying_in_words(comparisons, options.measure):
        blocks.append(Paragraph(outside))
    if forest := forest_picture(comparisons, options):
        blocks.append(forest)
    blocks += [effects_picture(comparisons, options), _table(comparisons, results, options)]
    for sentence, command in what_would_settle(comparisons, commands, results):
        blocks.append(Command(command, sentence) if command else Paragraph(f"{sentence}."))
    return Section("summary", "The answer", blocks)


def _table(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> Table:
    """Every competitor's metric with its interval, best first, the references among them."""
    metric, many = options.measure, comparisons[0].verdict.datasets > 1
    lines: list[tuple[float, dict[str, Entry], dict[str, Any]]] = []
    told = set()
    for each in comparisons:
        reference = replace(each, name=each.reference).label
        if reference not in told:
            told.add(reference)
            lines.append(_line(reference, [cell for _, cell in each.pairs], None, results, metric))
        lines.append(_line(each.label, [cell for cell, _ in each.pairs], each, results, metric))
    lines.sort(key=lambda line: -metric.sign * line[0])
    unit = "datasets" if many else "trials"
    points = f", {metric.unit}" if metric.unit else ""
    headings = {
        "competitor": "competitor",
        "verdict": "verdict",
        "level": metric.heading,
        **({} if many else {"level ends": "95 % interval"}),
        "n": unit,
        **({"mean": f"mean improvement{points}", "mean ends": "95 % of the mean"} if many else {}),
        "effect": f"typical improvement{points}" if many else f"improvement{points}",
        "effect ends": "its 95 % interval",
        "won": f"{unit} won",
        "better": "P(better)",
        "welch": "Welch, won–lost" if many else "Welch",
    }
    caption = (
        f"{metric.heading[:1].upper()}{metric.heading[1:]}, best first{': means over datasets' if many else ''}; "
        f"improvement over {references(comparisons)}"
        f"{', the mean and that of the typical dataset' if many else ''}, its probability, and the paper's own "
        f"procedure: Welch's t-test at {options.alpha:g}"
    )
    rows = tuple(tuple(entries.get(key, BLANK) for key in headings) for _, entries, _ in lines)
    return Table("summary", caption, tuple(headings.values()), rows, pd.DataFrame([data for _, _, data in lines]))


def _line(
    label: str, cells: Sequence[int], comparison: Comparison | None, results: CellResults, metric: Metric
) -> tuple[float, dict[str, Entry], dict[str, Any]]:
    """A competitor's mean, by which lines are sorted, its entries and its data. A reference has no comparison."""
    trials = results.trials[results.trials["cell"].isin(cells)].dropna(subset=[metric.name])
    means = trials.groupby("cell")[metric.name].mean().tolist()
    if len(cells) == 1:
        (mean, low, high), n = level_of(results, int(cells[0]), metric), len(trials)
    else:
        (mean, low, high), n = (float(np.mean(means)), math.nan, math.nan), len(means)
    entries = {
        "competitor": Entry(label, label),
        "verdict": Entry("reference", "reference"),
        "level": Entry(metric.shown(mean), mean),
        "level ends": _ends(low, high, metric.shown),
        "n": Entry(str(n), float(n)),
        "welch": Entry(NOTHING, ""),
    }
    data: dict[str, Any] = {"competitor": label, metric.name: mean, "low": low, "high": high, "n": n}
    if comparison is None:
        return mean, entries, data
    verdict, average = comparison.verdict, comparison.verdict.average
    units = verdict.datasets if verdict.datasets > 1 else verdict.trials
    wins, losses, undecided = comparison.welch
    welch = f"{wins}–{losses}"
    if verdict.datasets == 1:
        welch = "win" if wins else "loss" if losses else "neither"
    of_metric = partial(signed, metric=metric)
    entries |= {
        "verdict": Entry(verdict.answer, verdict.answer),
        "mean": entry(average.mean, of_metric),
        "mean ends": _ends(average.low, average.high, of_metric),
        "effect": Entry(of_metric(verdict.difference), verdict.difference),
        "effect ends": _ends(verdict.low, verdict.high, of_metric),
        "won": Entry(f"{verdict.won} of {units}", verdict.won / units),
        "better": entry(verdict.better, ".2f"),
        "welch": Entry(welch, welch),
    }
    data |= {"context": comparison.context, "reference": comparison.reference} | vars(verdict)
    data |= {"average": average.mean, "average_low": average.low, "average_high": average.high}
    return mean, entries, data | {"welch_wins": wins, "welch_losses": losses, "welch_neither": undecided}


def _ends(low: float, high: float, shown: Callable[[float], str]) -> Entry:
    """Both ends of an interval; a dash if they are unknown."""
    return BLANK if math.isnan(low) else Entry(f"{shown(low)} to {shown(high)}", low)


def _without_comparison(results: CellResults, options: ReportOptions) -> str:
    """What is known if nothing can be compared."""
    finished = results.cells[results.cells["finished"] > 0]
    metric = options.measure
    n = results.trials[metric.name].count()
    if len(finished) > 1 or not n:
        return f"These cells have nothing to be compared with; {REFERENCE_IS_MISSING}."
    mean, low, high = level_of(results, int(finished.index[0]), metric)
    name = named_by(results, finished, ["pretrain", "method"]).iloc[0]
    unit = " %" if metric.scale == 100 else ""
    interval = "" if math.isnan(low) else f" ({metric.shown(low)} to {metric.shown(high)})"
    return (
        f"{name} on {finished['dataset'].iloc[0]}: {metric.label} {metric.shown(mean)}{unit}{interval} in "
        f"{counted(n, 'trial')}. There is nothing to compare it with; {REFERENCE_IS_MISSING}."
    )


def _cells(results: CellResults) -> Table:
    """Every metric of every cell that has a trial."""
    finished = results.cells[results.cells["finished"] > 0]
    names = named_by(results, finished, ["dataset", "pretrain", *distinguishing(finished, results.axes)])
    of_cells = results.trials.groupby("cell")
    lines, data = [], []
    for cell, name in zip(finished.index, names, strict=True):
        for metric in metrics():
            if n := of_cells.get_group(cell)[metric.name].count():
                mean, low, high = level_of(results, cell, metric)
                data.append({"cell": name, "metric": metric.heading, "mean": mean, "low": low, "high": high})
                ends = _ends(low, high, metric.shown).text
                lines.append((name, metric.heading, metric.shown(mean), ends, n))
    frame = pd.DataFrame(lines, columns=["cell", "metric", "mean", "95 % interval", "trials"])
    return table("summary", "Every metric, with its 95 % interval over trials", frame, data=pd.DataFrame(data))
