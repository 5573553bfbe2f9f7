"""From the cells of a report to a folder with a page, figures and tables."""

import importlib.metadata
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from ..errors import UsageError, counted
from ..metrics import Metric
from ..results import Row, read_cell, source_commit
from ..screen import escaped
from .advice import Commands, Price, in_one_line
from .answer import answer_section
from .blocks import FORMATS, Block, Command, Paragraph, Picture, Section, Table, named, table, to_csv
from .competitors import named_cells
from .drawings import Drawing, draw_all
from .loading import CellResults, environments
from .report_options import ReportOptions
from .schema import documented
from .style import as_inline, as_svg, save

RowOf = Callable[[Sequence[str]], Row]
"""The axis columns of the cell that overrides such as ``["pretrain=scarf"]`` ask for."""
MakeSection = Callable[[CellResults, RowOf], Section | None]
"""A function that adds a section to the page, or None if these results give it nothing to show."""
GENERATOR = "SCARF-Lightning report"
"""Marks a page as a report, which a later report may replace."""
LONG_TABLE = 12
"""Tables with more rows get a filter."""
MEANINGS = "meanings-of-columns"
"""The CSV file that says what each column of the others holds."""
LABELLED_BY = ("dataset", "regime", "pretrain", "method")


class NothingFinishedError(UsageError):
    """There is nothing to report yet."""

    status = 1


@dataclass(frozen=True)
class Report:
    """A report before it is written.

    Attributes:
        title: of the page.
        about: the lines under the answer.
        sections: of the page, the answer first.
        options: the columns of options that its tables may have.
    """

    title: str
    about: list[str]
    sections: list[Section]
    options: Sequence[str] = ()

    @property
    def answer(self) -> list[str]:
        """The sentences of the first section."""
        said = [block for block in self.sections[0].blocks if isinstance(block, Paragraph | Command)]
        return [in_one_line(b.purpose, b.command) if isinstance(b, Command) else b.text for b in said]

    @property
    def warnings(self) -> list[str]:
        """Sentences on what could not be shown."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [block.text for block in blocks if isinstance(block, Paragraph) and block.warns]


def make_report(
    results: CellResults,
    drawings: Sequence[Drawing],
    options: ReportOptions,
    *,
    title: str,
    command: str,
    more_trials: Commands,
    price: Price | None = None,
    paper: str | None = None,
    left_out: Sequence[str] = (),
    sections: Sequence[Section] = (),
) -> Report:
    """Draw and count everything. ``paper`` says where the paper shows the ``drawings`` of a sweep file, and
    ``left_out`` which cells the command line left out; ``price`` is what the commands ``more_trials`` take. More
    ``sections`` follow the drawings.

    Raises:
        NothingFinishedError: no trial is finished.
        UsageError: no trial has the metric.
    """
    trials, options = results.trials, options.of(results)
    if trials.empty:
        raise NothingFinishedError(
            f"Nothing is finished yet: none of {len(results.cells)} cells has a trial; train them by `train.py` first."
        )
    n_diverged = int(trials["diverged"].sum())
    if n_diverged == len(trials):
        raise UsageError(
            f"All {counted(n_diverged, 'trial')} diverged; train with other settings, such as a lower learning rate."
        )
    if trials[options.measure.name].isna().all():
        raise UsageError(f"No trial has the metric {options.measure.name}; these results were made before it existed.")
    damaged = [f"{path}: {reason}" for path, reason in results.damaged.items()]
    about = [
        f"The paper: {paper}" if paper else "",
        completeness(results),
        f"Win matrices count a difference by {options.in_words}.",
        of_another_kind(results, options.measure),
        on_copies(results),
        *left_out,
        f"{counted(len(damaged), 'damaged record')} left out: {named(damaged)}." if damaged else "",
    ]
    if n_diverged:
        about.append(f"{counted(n_diverged, 'trial')} diverged and {'is' if n_diverged == 1 else 'are'} in no mean.")
    made = [
        answer_section(results, options, more_trials, price),
        *draw_all(results, drawings, options),
        *sections,
        provenance_section(results, command),
    ]
    return Report(title, [line for line in about if line], made, results.axes)


def write_report(report: Report, folder: Path) -> Path:
    """Write ``index.html``, ``figures/`` and ``tables/``, replacing an earlier report.

    Raises:
        UsageError: the folder holds files that are not a report.
    """
    index = folder / "index.html"
    is_report = index.exists() and GENERATOR in index.read_text(encoding="utf-8")
    if folder.exists() and any(folder.iterdir()) and not is_report:
        raise UsageError(f"{folder} holds files that are not a report; name another folder with out=FOLDER.")
    for name in ("figures", "tables"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    frames: dict[str, pd.DataFrame] = {}
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Picture):
                save(block.figure, folder / "figures", block.name)
            elif isinstance(block, Table):
                frames[block.name] = block.data
                for ending, write in FORMATS.items():
                    (folder / "tables" / f"{block.name}.{ending}").write_text(write(block), encoding="utf-8")
    meanings = table(MEANINGS, "Columns of the CSV files", documented(frames, report.options))
    (folder / "tables" / f"{MEANINGS}.csv").write_text(to_csv(meanings), encoding="utf-8")
    index.write_text(page(report, folder), encoding="utf-8")
    return index


def page(report: Report, folder: Path) -> str:
    """One HTML page that needs no other file: it embeds the figures in the folder's ``figures/`` and links to
    ``tables/``."""
    template = Environment(autoescape=True).from_string(_shipped("page.html"))
    page = template.render(
        generator=GENERATOR,
        long_table=LONG_TABLE,
        report=report,
        meanings=MEANINGS,
        drawn=lambda name: as_inline((folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")),
        narrow=lambda figure: as_inline(as_svg(figure)),
        style=Markup(_shipped("page.css")),
        script=Markup(_shipped("page.js")),
    )
    return escaped(page)


def _shipped(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def completeness(results: CellResults) -> str:
    """How much of what was asked for is there, in a sentence."""
    cells, unfinished = results.cells, results.unfinished
    trials = f"{results.cells['finished'].sum()} of {counted(int(cells['wanted'].sum()), 'trial')}"
    if unfinished.empty:
        done = f"All {len(cells)} cells are" if len(cells) > 1 else "Its cell is"
        return f"{done} finished, {trials}."
    names = named_cells(results, unfinished)
    counts = zip(names, unfinished["finished"], unfinished["wanted"], strict=True)
    missing = [f"{name} ({finished} of {wanted} trials)" for name, finished, wanted in counts]
    finished = f"{len(cells) - len(unfinished)} of {counted(len(cells), 'cell')}"
    return f"{finished} are finished, {trials}; missing: {named(missing)}."


def of_another_kind(results: CellResults, metric: Metric) -> str:
    """Which datasets the metric does not measure, because they predict another kind of target; empty for none."""
    other = [label for label, target in results.targets.items() if not target.is_among(metric.targets)]
    if not other:
        return ""
    datasets = [str(each) for each in dict.fromkeys(results.cells.loc[other, "dataset"])]
    kinds = dict.fromkeys(results.targets[label].name for label in other)
    return (
        f"{metric.label} does not measure {named(datasets)}, whose target is of another kind: {named(list(kinds))}. "
        "Name another metric=, or report these datasets by themselves."
    )


def on_copies(results: CellResults) -> str:
    """A sentence on datasets that have rows which equal an earlier row in every column; empty if none has."""
    found = list[str]()
    for label, name in results.cells["dataset"].drop_duplicates().items():
        folder = results.folders.get(int(str(label)))
        description = (folder and read_cell(folder).description) or {}
        reading = description.get("reading", {})
        n_copies, n_rows = (reading.get(count) for count in ("n_copies", "n_labelled"))
        if isinstance(n_copies, int) and isinstance(n_rows, int) and n_copies > 0:
            found.append(f"{n_copies:,} of {n_rows:,} in {name}")
    if not found:
        return ""
    equal = f"Rows that equal an earlier row in every column: {named(found)}."
    return f"{equal} split.copies=together keeps equal rows in one part of a random split, apart does not."


def provenance_section(results: CellResults, command: str) -> Section:
    """What is missing or damaged, versions and hardware, fingerprints, and the command."""
    blocks: list[Block] = [Paragraph(completeness(results), warns=not results.unfinished.empty)]
    columns = _columns(results)
    if not results.unfinished.empty:
        failed = ["failure"] if results.unfinished["failure"].notna().any() else []
        missing = results.unfinished[[*columns, "finished", "wanted", *failed]]
        caption = "Cells that lack trials, and why they failed when last tried, where they did"
        blocks.append(table("missing", caption, missing, formats={"failure": _first_line}))
    if results.damaged:
        frame = pd.DataFrame({"record": map(str, results.damaged), "why": results.damaged.values()})
        blocks.append(table("damaged", "Records that cannot be used, and are left out", frame))
    blocks += _versions(results)
    finished = results.cells[results.cells["finished"] > 0]
    gone = results.trials.groupby("cell")["diverged"].sum().reindex(finished.index)
    counts = ["finished", *(["diverged"] if gone.any() else [])]
    listed = finished.assign(diverged=gone)[[*columns, "dataset_id", *counts, "fingerprint"]]
    heading = {"finished": "trials", "dataset_id": "OpenML id"}
    blocks.append(table("cells", "Cells behind this report, by fingerprint", listed, headings=heading))
    version = importlib.metadata.version("scarf-lightning")
    commit = f", commit {source_commit()}" if source_commit() else ""
    blocks.append(Paragraph(f"Made by SCARF-Lightning {version} on {date.today():%-d %B %Y}{commit}: {command}"))
    return Section("provenance", "Where this comes from", blocks)


def _versions(results: CellResults) -> list[Block]:
    """Versions and hardware; what differs between stacks is counted."""
    found = environments(results)
    if not found:
        return []
    rows = []
    for name in dict.fromkeys(name for environment in found for name in environment):
        values = Counter(environment.get(name, "not said") for environment in found)
        alone = len(values) == 1
        rows.append((name, ", ".join(v if alone else f"{v} ({counted(n, 'stack')})" for v, n in values.items())))
    caption = f"Versions and hardware that {counted(len(found), 'stack')} were trained with"
    return [table("versions", caption, pd.DataFrame(rows, columns=["what", "version"]))]


def _columns(results: CellResults) -> list[str]:
    """The axes that name a cell: the usual ones, and options in which cells differ."""
    return [column for column in results.axes if column in LABELLED_BY or column in results.different]


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines and lines[0].startswith("Traceback") else lines[0]
