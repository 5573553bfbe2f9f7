"""The page on the columns of a table, and the figure and table of one way, which other pages show too."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..metrics import Metric
from ..report.amounts import signed, unsigned
from ..report.blocks import Block, Paragraph, Picture, Section, Table, number, table
from ..report.making import Report, write_report
from .advising import advice, on_untried, on_use
from .asking import Asked
from .competing import Competitor
from .judging import MOST_LINES, Importance, Way

MEANINGS: dict[Way, str] = {
    "permuted": "In the test rows of trained competitors the column is permuted, so that it tells nothing. A column "
    "that another one can stand in for matters here if networks use it.",
    "beyond the labels": "Permuted, too: by how much more the pre-trained network needs the column than the one that "
    "saw the labels alone.",
    "left out": "The column is left out of all of training. A column that another one can stand in for does not "
    "matter here.",
    "left out of pre-training": "The column is missing while the network is pre-trained; the second phase sees it.",
    "left out of corruption": "The column keeps its values in the views that pre-training corrupts.",
}
TITLES: dict[Way, str] = {
    "permuted": "What trained competitors use",
    "beyond the labels": "What pre-training uses that the labels alone do not",
    "left out": "What training needs",
    "left out of pre-training": "What pre-training needs",
    "left out of corruption": "What pre-training needs to corrupt",
}


def columns_report(asked: Asked, competitors: Sequence[Competitor]) -> Report:
    """The page: advice, then each way with its figure and its table, and what was compared."""
    importance = asked.importance
    constant = share_of_the_commonest(competitors[0])
    first: list[Block] = [Paragraph(sentence) for sentence in advice(asked)]
    if not first:
        first.append(Paragraph(_without_advice(importance, constant)))
    # What each of them uses is what most readers look for first.
    for competitor in importance.competitors:
        first.append(Paragraph(on_use(importance, competitor)))
    for sentence in on_untried(asked):
        first.append(Paragraph(sentence))
    first.append(Paragraph(together(importance)))
    sections = [Section("summary", "The answer", first)]
    for way in importance.ways:
        name = way.replace(" ", "-")
        sections.append(Section(name, TITLES[way], [Paragraph(MEANINGS[way]), *way_blocks(importance, way, name)]))
    # The names of groups are long, so that their columns are listed once.
    if asked.groups:
        groups = "; ".join(" + ".join(group) for group in asked.groups)
        text = f"Columns that say nearly the same, or that the command groups, were also tried together: {groups}."
        sections.append(Section("groups", "Groups of columns", [Paragraph(text)]))
    name = competitors[0].table.name
    n_trials = len(competitors[0].trials)
    about = [
        f"{name}: {len(asked.names)} columns, {competitors[0].table.n_labelled} rows with labels.",
        f"{importance.metric.label} on the test rows of {n_trials} trials, the same rows with every column.",
        _levels(importance, constant),
    ]
    return Report(f"Which columns matter on {name}?", about, sections)


def share_of_the_commonest(competitor: Competitor) -> float | None:
    """The accuracy of always answering the commonest class; None where the metric is another one."""
    if competitor.metric.name != "accuracy":
        return None
    labels = competitor.table.labels[competitor.table.is_labelled]
    return float(np.bincount(labels.astype(np.int64)).max() / len(labels))


def _scores(found: Importance) -> dict[str, float]:
    """The metric of each competitor with all columns."""
    scores = {}
    for competitor in found.competitors:
        (first, _), *_ = found.of("permuted", competitor)
        scores[competitor] = first.score
    return scores


def _levels(found: Importance, constant: float | None) -> str:
    """A sentence on the competitors as they are, beside a constant answer if its level is known."""
    shown = found.metric.shown
    levels = ", ".join(f"{competitor} {shown(score)}" for competitor, score in _scores(found).items())
    beside = "" if constant is None else f"; always the commonest class {shown(constant)}"
    return f"With all columns, {found.metric.label}: {levels}{beside}."


def _without_advice(found: Importance, constant: float | None) -> str:
    """The first sentence of a page that cannot advise."""
    if constant is not None and max(_scores(found).values()) <= constant + found.margin:
        return "No competitor is better than always the commonest class, so that no column can be found to matter."
    return "We cannot tell enough about any column to give advice."


def write_columns(asked: Asked, competitors: Sequence[Competitor], folder: Path) -> Path:
    """Write the page, its figures and its tables into a folder; see `write_report`."""
    return write_report(columns_report(asked, competitors), folder)


def together(found: Importance) -> str:
    """A sentence on what holds together, and what it is about."""
    n = len(found.verdicts) + found.n_untried
    untried = ", those that were not tried among them" if found.n_untried else ""
    return (
        "These answers hold together: in at most 5 % of such pages is any direction false, and in at most 5 % any size "
        f"(Holm's correction over {n} comparisons{untried}). The claim is about {found.claim}: training sets drawn "
        "from its rows, tested on new rows like these. Differences up to "
        f"{unsigned(found.margin, found.metric)} are of no practical consequence."
    )


def way_blocks(found: Importance, way: Way, name: str) -> list[Block]:
    """The figure and the table of a way; their files have this name."""
    # The figure in words, for readers who cannot see it.
    words = []
    for each, answer in found.of(way)[:MOST_LINES]:
        words.append(f"{each.name}, {each.competitor}: {signed(each.verdict.difference, found.metric)}, {answer}")
    picture = Picture(
        f"columns-{name}",
        found.figure(way),
        narrow=found.figure(way, is_narrow=True),
        alt=f"Improvement in {found.metric.label} with a column over without it. {'; '.join(words)}.",
        caption=f"Improvement in {found.metric.label} with a column over without it, {way}, with 95 % intervals. "
        "The grey band holds differences without practical consequence. Answers hold together: of a grey line we "
        "cannot tell, even if its own interval is free of zero.",
    )
    return [picture, _table(found, way, name, found.metric)]


def _table(found: Importance, way: Way, name: str, metric: Metric) -> Table:
    """Every verdict of a way."""
    data = found.frame[found.frame["way"] == way].sort_values("difference", ascending=False)
    data = data.rename(columns={"low": "difference_low", "high": "difference_high", "p": "p_direction"})
    shown = data[["columns", "competitor", "answer", "difference"]].copy()
    # For reading; the data below have the numbers.
    intervals = []
    for low, high in zip(data["difference_low"], data["difference_high"], strict=True):
        intervals.append(f"{signed(low, metric)} to {signed(high, metric)}")
    shown["95 % interval"] = intervals
    shown["as it is"] = data["score"].map(metric.shown)
    shown["without"] = data["without"].map(metric.shown)
    unit = f", {metric.unit}" if metric.unit else ""

    def format(value: float) -> str:
        return number(metric.difference_scale * value, f"+{metric.difference_digits}")

    return table(
        f"{name}-importance",
        f"Columns {way}, most important first",
        shown,
        formats={"difference": format},
        headings={"difference": f"improvement{unit}"},
        data=data.drop(columns="way"),
    )
