"""The first screen: the answer in a sentence, a picture and a table."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from ..errors import counted
from ..metrics import Metric, metrics
from .advice import Commands
from .blocks import NOTHING, Block, Command, Entry, Paragraph, Section, Table, entry, table
from .comparisons import Comparison, compare_all
from .effects import effects_picture, forest_picture, outlying_in_words
from .label_curve import label_curve
from .loading import CellResults
from .naming import distinguishing, named_by
from .over_labels import OVER_LABELS, answer_in_words
from .report_options import ReportOptions
from .sentences import TOGETHER, mean_and_typical, references, signed, what_would_settle
from .verdicts import level_of

BLANK = Entry(NOTHING, None)
REFERENCE_IS_MISSING = "train a reference on the same data, such as pretrain=none"


def answer_section(results: CellResults, options: ReportOptions, commands: Commands) -> Section:
    """Headline, effects with intervals best first, every competitor's metric, and what would settle the open ones."""
    comparisons = compare_all(results, options)
    if not comparisons:
        return Section("summary", "The answer", [Paragraph(_without_comparison(results, options)), _cells(results)])
    blocks: list[Block] = [Paragraph(sentence) for sentence in answer_in_words(comparisons, results, options)]
    if comparisons[0].labels is not None:
        blocks.append(label_curve(comparisons, results, options))
    if len(comparisons) > 1 and all(each.verdict.datasets > 1 for each in comparisons):
        blocks.append(Paragraph(mean_and_typical(comparisons, options.measure)))
    claims = [(each.claimed, each.verdict.answer) for each in comparisons]
    if len(comparisons) > 1 and any(each != ("cannot tell yet", "cannot tell yet") for each in claims):
        together = TOGETHER.format(n=len(comparisons)) if comparisons[0].labels is None else OVER_LABELS
        blocks.append(Paragraph(together))
    if outside := outlying_in_words(comparisons, results, options):
        blocks.append(Paragraph(outside))
    forest = forest_picture(comparisons, results, options)
    blocks += [forest] if forest is not None else []
    blocks.append(effects_picture(comparisons, options))
    blocks.append(_table(comparisons, results, options))
    for sentence, command in what_would_settle(comparisons, commands, results):
        blocks.append(Command(command, sentence) if command else Paragraph(f"{sentence}."))
    return Section("summary", "The answer", blocks)


def _table(comparisons: Sequence[Comparison], results: CellResults, options: ReportOptions) -> Table:
    """Every competitor's metric with its interval, best first, the references among them."""
    metric = options.measure
    lines: list[tuple[float, dict[str, Entry], dict[str, object]]] = []
    seen: set[tuple[str, str]] = set()
    for each in comparisons:
        if (each.context, each.reference) not in seen:
            seen.add((each.context, each.reference))
            cells = [reference for _, reference in each.pairs]
            label = f"{each.reference} ({each.context})" if each.context else each.reference
            lines.append(_line(label, cells, None, results, metric))
        lines.append(_line(each.label, [cell for cell, _ in each.pairs], each, results, metric))
    lines.sort(key=lambda line: -metric.sign * line[0])
    many = comparisons[0].verdict.datasets > 1
    unit = "datasets" if many else "trials"
    points = f", {metric.unit}" if metric.unit else ""
    headings = {"competitor": "competitor", "verdict": "verdict", "level": metric.heading}
    headings |= {} if many else {"level ends": "95 % interval"}
    headings |= {"n": unit}
    headings |= {"mean": f"mean improvement{points}", "mean ends": "95 % of the mean"} if many else {}
    headings |= {
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
) -> tuple[float, dict[str, Entry], dict[str, object]]:
    trials = results.trials[results.trials["cell"].isin(cells)].dropna(subset=[metric.name])
    of_cells = trials.groupby("cell")[metric.name].mean()
    values = trials[metric.name].tolist() if len(cells) == 1 else of_cells.tolist()
    mean, low, high = float(np.mean(values)), math.nan, math.nan
    if len(cells) == 1:
        mean, low, high = level_of(results, int(cells[0]), values, metric)
    entries = {
        "competitor": Entry(label, label),
        "verdict": Entry("reference", "reference"),
        "level": Entry(metric.shown(mean), mean),
        "level ends": _ends(low, high, metric.shown),
        "n": Entry(str(len(values)), float(len(values))),
    }
    data: dict[str, object] = {"competitor": label, metric.name: mean, "low": low, "high": high, "n": len(values)}
    if comparison is None:
        return mean, entries | {"welch": Entry(NOTHING, "")}, data
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
    data |= {"welch_wins": wins, "welch_losses": losses, "welch_neither": undecided}
    return mean, entries, data


def _ends(low: float, high: float, shown: Callable[[float], str]) -> Entry:
    """Both ends of an interval; what is missing is a dash."""
    return BLANK if math.isnan(low) else Entry(f"{shown(low)} to {shown(high)}", low)


def _without_comparison(results: CellResults, options: ReportOptions) -> str:
    """What is known where nothing can be compared."""
    finished = results.cells[results.cells["finished"] > 0]
    metric = options.measure
    label = int(finished.index[0])
    values = results.trials.loc[results.trials["cell"] == label, metric.name].dropna().tolist()
    if len(finished) > 1 or not values:
        return f"These cells have nothing to be compared with; {REFERENCE_IS_MISSING}."
    mean, low, high = level_of(results, label, values, metric)
    name = str(named_by(finished, ["pretrain", "method"], results.words)[label])
    unit = " %" if metric.scale == 100 else ""
    interval = "" if math.isnan(low) else f" ({metric.shown(low)} to {metric.shown(high)})"
    return (
        f"{name} on {finished['dataset'].iloc[0]}: {metric.label} {metric.shown(mean)}{unit}{interval} in "
        f"{counted(len(values), 'trial')}. There is nothing to compare it with; {REFERENCE_IS_MISSING}."
    )


def _cells(results: CellResults) -> Table:
    """Every metric of every cell that has a trial."""
    finished = results.cells[results.cells["finished"] > 0]
    names = named_by(finished, ["dataset", "pretrain", *distinguishing(finished, results.axes)], results.words)
    lines, data = [], []
    for label, name in names.items():
        of_cell = results.trials[results.trials["cell"] == label]
        for metric in metrics():
            values = of_cell[metric.name].dropna().tolist() if metric.name in of_cell else []
            if values:
                mean, low, high = level_of(results, int(str(label)), values, metric)
                data.append({"cell": name, "metric": metric.heading, "mean": mean, "low": low, "high": high})
                ends = _ends(low, high, metric.shown).text
                lines.append((name, metric.heading, metric.shown(mean), ends, len(values)))
    frame = pd.DataFrame(lines, columns=["cell", "metric", "mean", "95 % interval", "trials"])
    return table("summary", "Every metric, with its 95 % interval over trials", frame, data=pd.DataFrame(data))
