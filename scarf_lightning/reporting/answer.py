"""The first screen: the answer in a sentence, a picture and a table."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from ..errors import capitalised, counted
from ..metrics import Metric, metric_named, metrics
from ..verdicts import Verdict
from ..verdicts.amounts import ends_of, signed
from ..verdicts.answers import UNDECIDED
from .ablation import ablation_table, is_ablation
from .advice import trials_sentence
from .axis_page import axis_blocks, axis_details
from .blocks import NOTHING, Block, Entry, Paragraph, Section, Table, entry, table
from .cell_results import CellResults
from .comparisons import Comparison, comparisons_alone
from .competitors import named_by, named_cells
from .effects import effects_picture, forest_picture, label_curve
from .learning import probability_note
from .levels import level_of, level_over
from .questions import Answers
from .report_options import ReportOptions
from .schema import arrange_columns, evidence_columns
from .sentences import OVER_LABELS, TOGETHER, references, shown_answer
from .worth_table import worth_in_words, worth_table

BLANK = Entry(NOTHING, None)
BY_METRIC = ("difference", "difference_low", "difference_high")
"""The columns that the file of several metrics has for each comparison."""
OF_CLASSES, OF_NUMBERS = ("accuracy", "log_loss", "auroc"), ("rmse", "mae")
"""Metrics that are answered side by side, by the kind of target. Log-loss often tells where accuracy cannot."""


def answer_sections(answers: Answers) -> list[Section]:
    """The first screen: the answer in sentences, one figure, one table, and the trials that would decide what is open;
    then the rest of what is known of it."""
    if not answers.comparisons:
        levels = _without_comparison(answers.results, answers.options)
        return [Section("summary", "The answer", [*levels, *_reservations(answers.results)])]
    details = _details(answers)
    if answers.by_axis is not None:
        first = axis_blocks(answers.by_axis, answers.results, answers.options)
        details = [*axis_details(answers.by_axis), _summary(answers), *details]
    else:
        first = _cell_by_cell(answers)
    blocks: list[Block] = [Paragraph(sentence) for sentence in answers.in_words]
    blocks += first
    blocks += map(Paragraph, trials_sentence(answers.asked, answers.options.rope))
    blocks += _reservations(answers.results)
    sections = [Section("summary", "The answer", blocks)]
    if details:
        sections.append(Section("details", "More on the answer", details))
    return sections


def _reservations(results: CellResults) -> list[Block]:
    """The sentence on the cells whose probabilities are worth nothing, if there are any."""
    # Most pages have none, and names of thousands of cells take a while.
    if not (results.trials["worse_than_frequencies"] == 1).any():
        return []
    names = named_cells(results, results.cells)
    evidence = [(name, results.evidence_of(int(str(cell)))) for cell, name in names.items()]
    return [*map(Paragraph, probability_note(evidence))]


def _cell_by_cell(answers: Answers) -> list[Block]:
    """The worth in labels, the figure and the table of each competitor beside its reference."""
    # Over numbers of labels the curve is the answer.
    if answers.comparisons[0].labels is not None:
        figure = label_curve(answers.results, answers.options, answers.comparisons, answers.worths)
    else:
        figure = effects_picture(answers.comparisons, answers.options)
    table = _summary(answers)
    if is_ablation(answers.comparisons):
        table = ablation_table(answers.comparisons, answers.results, answers.options.measure)
    return [*map(Paragraph, worth_in_words(answers.worths)), figure, table]


def _details(answers: Answers) -> list[Block]:
    """What stands behind the comparisons of cells: how they hold together, each dataset, and other metrics."""
    comparisons, options = answers.comparisons, answers.options
    blocks: list[Block] = []
    is_curve, are_several = comparisons[0].labels is not None, len(comparisons) > 1
    # Where nothing is claimed, nobody needs to know how much is claimed at once.
    if are_several and any(each.claimed != UNDECIDED for each in comparisons):
        blocks.append(Paragraph(OVER_LABELS if is_curve else TOGETHER.format(n=len(comparisons))))
    if forest := forest_picture(comparisons, options):
        blocks.append(forest)
    if is_curve:
        blocks.append(effects_picture(comparisons, options))
    if answers.worths:
        blocks.append(worth_table(answers.worths, options.measure))
    if others := metrics_table(answers):
        blocks.append(others)
    return blocks


def metrics_table(answers: Answers) -> Table | None:
    """The differences by the leading metric and by others, side by side; None if no other metric is known."""
    comparisons, results, options = answers.comparisons, answers.results, answers.options
    leading = options.measure
    by_metric: dict[str, dict[str, Comparison]] = {}
    for name in (leading.name, *beside(results, leading)):
        metric_comparisons = comparisons_alone(results, replace(options, metric=name))
        by_metric[name] = {each.label: each for each in metric_comparisons}
    # A report of one metric needs no table of metrics.
    if len(by_metric) < 2:
        return None
    rows, data = [], []
    for each in comparisons:
        row = {"competitor": each.label}
        for name, by_label in by_metric.items():
            # A metric may be unknown for a competitor of which others are known.
            other = by_label.get(each.label)
            if other is None:
                continue
            ends = ends_of(other.verdict, metric_named(name))
            row[name] = signed(other.verdict.difference, metric_named(name)) + (f" ({ends})" if ends else "")
            known = evidence_columns(other)
            data.append({"competitor": each.label, "metric": name} | {column: known[column] for column in BY_METRIC})
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["competitor", *by_metric]).fillna(NOTHING)
    headings = {}
    for name in by_metric:
        metric = metric_named(name)
        headings[name] = f"{metric.label}, {metric.unit}" if metric.unit else metric.label
    caption = f"Improvements by several metrics, with intervals of 95 %. Answers are by {leading.label} alone"
    return table("metrics", caption, frame, headings=headings, data=pd.DataFrame(data))


def beside(results: CellResults, leading: Metric) -> list[str]:
    """Metrics that are answered beside the leading one, of those that trials have."""
    wanted = OF_NUMBERS if "number" in leading.targets else OF_CLASSES
    return [name for name in wanted if name != leading.name and results.trials[name].notna().any()]


@dataclass(frozen=True)
class Line:
    """A line of the summary: a competitor's mean, by which lines are sorted, its entries by column, and its data."""

    mean: float
    entries: dict[str, Entry]
    data: dict[str, Any]


def _summary(answers: Answers) -> Table:
    """Every competitor's metric with its interval, best first, the references among them."""
    comparisons, results, metric = answers.every, answers.results, answers.options.measure
    many = comparisons[0].verdict.datasets > 1
    lines: list[Line] = []
    listed_references = set()
    for each in comparisons:
        # Competitors of one context share a reference, which has one line.
        if each.reference_label not in listed_references:
            listed_references.add(each.reference_label)
            cells = [reference for _, reference in each.pairs]
            lines.append(_reference_line(each, cells, results, metric, many=many))
        lines.append(_line(each, results, metric, many=many))
    # A loss is best if it is lowest.
    lines.sort(key=lambda line: -metric.sign * line.mean)
    headings = _headings(metric, many=many)
    means = ": means over datasets" if many else ""
    median = ", the mean and that of the median dataset" if many else ""
    caption = f"{capitalised(metric.heading)}, best first{means}; improvement over {references(comparisons)}{median}"
    rows = []
    for line in lines:
        rows.append(tuple(line.entries.get(column, BLANK) for column in headings))
    data = arrange_columns("summary", pd.DataFrame([line.data for line in lines]))
    narrow = _paper_column(lines, comparisons, metric)
    return Table("summary", caption, tuple(headings.values()), tuple(rows), data, narrow)


def _paper_column(lines: Sequence[Line], comparisons: Sequence[Comparison], metric: Metric) -> Table:
    """The summary for a column of a paper: each competitor's metric and difference, both with intervals, and answer.

    The competitors are best first, so the first one's metric is the best.
    """
    unit = f", {metric.unit}" if metric.unit else ""
    rows = []
    for place, line in enumerate(lines):
        level = _with_ends(line.entries["level"], line.entries["level ends"])._replace(best=place == 0)
        effect = _with_ends(line.entries.get("effect", BLANK), line.entries.get("effect ends", BLANK))
        rows.append((line.entries["competitor"], level, effect, line.entries["verdict"]))
    over = references(comparisons)
    caption = f"{capitalised(metric.heading)} and the improvement over {over}, with 95 % intervals. Best in bold."
    columns = ("competitor", metric.heading, f"improvement{unit}", "answer")
    return Table("summary", caption, columns, tuple(rows), pd.DataFrame())


def _with_ends(value: Entry, ends: Entry) -> Entry:
    """A value with its interval, if that is known."""
    if ends.sort is None:
        return value
    return Entry(f"{value.text} ({ends.text})", value.sort)


def _headings(metric: Metric, *, many: bool) -> dict[str, str]:
    """The headings of the summary by column, over ``many`` datasets or on one."""
    points = f", {metric.unit}" if metric.unit else ""
    first = {"competitor": "competitor", "verdict": "verdict", "level": metric.heading}
    # Over one dataset the mean gain is the only one, so there is one column for both.
    if many:
        middle = {
            "n": "datasets",
            "mean": f"mean improvement{points}",
            "effect": f"median improvement{points}",
        }
    else:
        middle = {"level ends": "95 % interval", "n": "trials", "effect": f"improvement{points}"}
    last = {"effect ends": "95 %", "won": "datasets won" if many else "trials won"}
    return first | middle | last


def _reference_line(
    comparison: Comparison, cells: Sequence[int], results: CellResults, metric: Metric, *, many: bool
) -> Line:
    """The line of a reference, which is compared with nothing."""
    level = _level(comparison.reference_label, cells, results, metric, many=many)
    entries = level.entries | {"verdict": Entry("reference", "reference")}
    return Line(level.mean, entries, level.data | {"context": comparison.context, "answer": "reference"})


def _line(comparison: Comparison, results: CellResults, metric: Metric, *, many: bool) -> Line:
    """The line of a competitor with its comparison."""
    level = _level(comparison.label, [cell for cell, _ in comparison.pairs], results, metric, many=many)
    verdict = comparison.verdict
    units = verdict.datasets if many else verdict.trials
    shown_difference = partial(signed, metric=metric)
    entries = {
        "verdict": Entry(shown_answer(comparison), comparison.claimed),
        "mean": entry(verdict.average, shown_difference),
        "effect": Entry(shown_difference(verdict.difference), verdict.difference),
        "effect ends": _ends_of(verdict, metric),
        "won": Entry(f"{verdict.won} of {units}", verdict.won / units),
    }
    data = evidence_columns(comparison) | {
        "context": comparison.context,
        "reference": comparison.reference,
        "not_learnt": comparison.not_learnt or comparison.spoilt,
        "mean_difference": verdict.average,
        "won": verdict.won,
        "lost": verdict.lost,
    }
    return Line(level.mean, level.entries | entries, level.data | data)


def _level(label: str, cells: Sequence[int], results: CellResults, metric: Metric, *, many: bool) -> Line:
    """A competitor's own metric, on one dataset with its interval."""
    trials = results.trials[results.trials["cell"].isin(cells)].dropna(subset=[metric.name])
    by_cell = trials.groupby("cell")[metric.name]
    mean, low, high = level_over(results, [int(str(cell)) for cell in by_cell.groups], metric)
    n = by_cell.ngroups if many else len(trials)
    entries = {
        "competitor": Entry(label, label),
        "level": Entry(metric.shown(mean), mean),
        "level ends": _ends(low, high, metric.shown),
        "n": Entry(str(n), float(n)),
    }
    data = {"competitor": label, metric.name: mean, f"{metric.name}_low": low, f"{metric.name}_high": high}
    counts = {"trials": int(by_cell.count().min()), "datasets": by_cell.ngroups}
    return Line(mean, entries, data | counts)


def _ends(low: float, high: float, shown: Callable[[float], str]) -> Entry:
    """Both ends of an interval; a dash if they are unknown."""
    if math.isnan(low):
        return BLANK
    return Entry(f"{shown(low)} to {shown(high)}", low)


def _ends_of(verdict: Verdict, metric: Metric) -> Entry:
    """Both ends of the interval of a difference."""
    ends = ends_of(verdict, metric)
    return Entry(ends, verdict.low) if ends else BLANK


def _without_comparison(results: CellResults, options: ReportOptions) -> list[Block]:
    """The levels of cells that are compared with nothing; over numbers of labels, as a learning curve."""
    metric = options.measure
    finished = results.cells[results.cells["finished"] > 0]
    is_measured = results.trials[metric.name].count() > 0
    blocks: list[Block] = []
    if is_measured and len(finished) == 1:
        blocks.append(Paragraph(_only_cell(results, int(finished.index[0]), metric)))
    else:
        blocks.append(Paragraph(f"These cells have nothing to be compared with; {_reference_advice(results)}."))
    blocks.append(_levels(results))
    return blocks


def _reference_advice(results: CellResults) -> str:
    """Advice for cells that have no reference."""
    # Cells without pre-training need a rival, and pre-trained ones themselves without it.
    are_all_without = results.cells["pretrain"].eq("none").all()
    other = "pretrain=scarf or method=logistic" if are_all_without else "pretrain=none"
    return f"train a reference on the same data, such as {other}"


def _only_cell(results: CellResults, cell: int, metric: Metric) -> str:
    """The metric of the only cell that has a trial."""
    name = named_by(results, results.cells, ["pretrain", "method"])[cell]
    dataset = results.rows[cell]["dataset"]
    level = _level_in_words(level_of(results, cell, metric), metric)
    trials = counted(results.trials[metric.name].count(), "trial")
    return (
        f"{name} on {dataset}: {level} in {trials}. There is nothing to compare it with; {_reference_advice(results)}."
    )


def _level_in_words(level: Sequence[float], metric: Metric) -> str:
    """A metric with its interval."""
    mean, low, high = level
    unit = " %" if metric.scale == 100 else ""
    interval = "" if math.isnan(low) else f" ({metric.shown(low)} to {metric.shown(high)})"
    return f"{metric.label} {metric.shown(mean)}{unit}{interval}"


def _levels(results: CellResults) -> Table:
    """Every metric of every cell that has a trial."""
    finished = results.cells[results.cells["finished"] > 0]
    names = named_cells(results, finished)
    cell_trials = results.trials.groupby("cell")
    lines, data = [], []
    for cell, name in names.items():
        for metric in metrics():
            n = cell_trials.get_group(cell)[metric.name].count()
            if not n:
                continue
            mean, low, high = level_of(results, int(str(cell)), metric)
            row = {"cell": name, "metric": metric.name, "mean": mean, "mean_low": low, "mean_high": high, "trials": n}
            data.append(row)
            lines.append((name, metric.heading, metric.shown(mean), _ends(low, high, metric.shown).text, n))
    frame = pd.DataFrame(lines, columns=["cell", "metric", "mean", "95 % interval", "trials"])
    return table("levels", "Every metric, with its 95 % interval over trials", frame, data=pd.DataFrame(data))
