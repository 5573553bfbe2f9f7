"""From the cells of a report to a folder with a page, figures and tables."""

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
from ..results import Row, source_commit
from ..results.claims import folder_time
from ..results.files import UNFINISHED, DamagedRecordError, read_bytes, remove_unfinished, temporary
from ..screen import escaped
from ..version import __version__
from .answer import answer_sections
from .blocks import FORMATS, Block, Paragraph, Picture, Section, Table, named, table, to_csv
from .cell_results import CellResults, environments
from .competitors import named_cells
from .drawings import Drawing, draw_all
from .questions import Answers, answers_of
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
FOLDERS = ("figures", "tables")
MOST_BYTES = 1_000_000_000
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
        answers: that it shows.
        options: the columns of options that its tables may have.
    """

    title: str
    about: list[str]
    sections: list[Section]
    answers: Answers
    options: Sequence[str] = ()

    @property
    def answer(self) -> list[str]:
        """The sentences of the first section."""
        return [block.text for block in self.sections[0].blocks if isinstance(block, Paragraph)]

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
    paper: str | None = None,
    left_out: Sequence[str] = (),
    sections: Sequence[Section] = (),
) -> Report:
    """Draw and count everything. ``paper`` says where the paper shows the ``drawings`` of a sweep file, and
    ``left_out`` which cells the command line left out. More ``sections`` follow the drawings.

    Raises:
        NothingFinishedError: no trial is finished.
        UsageError: no trial has the metric.
    """
    # The metric is settled once, so that every section of the page is about the same one.
    options = options.with_metric(results.metric)
    _check_results(results, options.measure)
    answers, covered = answers_of(results, options), completeness(results)
    made = [
        *answer_sections(answers),
        *draw_all(results, drawings, options),
        *sections,
        provenance_section(results, command, covered),
    ]
    about = []
    if paper:
        about.append(f"The paper: {paper}")
    about.append(covered)
    about.append(wins_note(made, options))
    about.append(answers.other_kind_note)
    about.append(copies_sentence(results))
    about += left_out
    if results.damaged:
        damaged = [f"{path}: {reason}" for path, reason in results.damaged.items()]
        about.append(f"{counted(len(damaged), 'damaged record')} left out: {named(damaged)}.")
    n_diverged = int(results.trials["diverged"].sum())
    if n_diverged:
        about.append(f"{counted(n_diverged, 'trial')} diverged and {'is' if n_diverged == 1 else 'are'} in no mean.")
    return Report(title, [line for line in about if line], made, answers, results.axes)


def _check_results(results: CellResults, metric: Metric) -> None:
    """Raise an error if there is nothing to report by this metric."""
    trials = results.trials
    if trials.empty:
        raise NothingFinishedError(
            f"Nothing is finished yet: none of {len(results.cells)} cells has a trial; train them by `train.py` first."
        )
    # Before the metric: trials that diverged have none, and the advice is another one.
    if trials["diverged"].all():
        raise UsageError(
            f"All {counted(len(trials), 'trial')} diverged; train with other settings, such as a lower learning rate."
        )
    if trials[metric.name].isna().all():
        raise UsageError(f"No trial has the metric {metric.name}; these results were made before it existed.")


def write_report(report: Report, folder: Path) -> Path:
    """Write ``index.html``, ``figures/`` and ``tables/``, also in the place of an earlier report. No file is removed.

    Raises:
        UsageError: the folder holds files that are not a report, or a link leads elsewhere.
    """
    index = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    # Another thread may write a report here. It puts its page first, so what is there now is known to the page by then.
    there = [each for each in folder.iterdir() if not each.name.startswith(UNFINISHED)]
    # A folder of the user's own files is left alone, whatever its name.
    if there and not _is_report(index):
        raise UsageError(f"{folder} holds files that are not a report; name another folder with out=FOLDER.")
    for name in FOLDERS:
        if (folder / name).is_symlink():
            raise UsageError(f"{folder / name} is a link, and is not written through; remove it.")
    remove_unfinished(folder, folder_time(folder))
    with temporary(index) as made:
        names = _write_files(report, made)
        (made / index.name).replace(index)
        for name in FOLDERS:
            (folder / name).mkdir(exist_ok=True)
        for name in names:
            (made / name).replace(folder / name)
    return index


def _is_report(index: Path) -> bool:
    """Tell whether a page is one of a report."""
    try:
        return GENERATOR.encode() in read_bytes(index, MOST_BYTES)
    except (FileNotFoundError, DamagedRecordError):
        return False


def _write_files(report: Report, folder: Path) -> set[str]:
    """Write a report into a new folder; the places of its figures and tables in it."""
    for name in FOLDERS:
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
    (folder / "index.html").write_text(page(report, folder), encoding="utf-8")
    return {f"{name}/{path.name}" for name in FOLDERS for path in (folder / name).iterdir()}


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
    """Sentence on the share of the requested trials that has finished."""
    cells, unfinished = results.cells, results.unfinished
    trials = f"{cells['finished'].sum()} of {counted(int(cells['wanted'].sum()), 'trial')}"
    if unfinished.empty:
        done = f"All {len(cells)} cells are" if len(cells) > 1 else "Its cell is"
        return f"{done} finished, {trials}."
    # By name, so that a reader can ask for the cells that are missing.
    names = named_cells(results, unfinished)
    missing = []
    for name, finished, wanted in zip(names, unfinished["finished"], unfinished["wanted"], strict=True):
        missing.append(f"{name} ({finished} of {wanted} trials)")
    n_whole = len(cells) - len(unfinished)
    return f"{n_whole} of {counted(len(cells), 'cell')} are finished, {trials}; missing: {named(missing)}."


def wins_note(sections: Sequence[Section], options: ReportOptions) -> str:
    """How pictures and tables count wins; empty if the page has none that do."""
    for section in sections:
        for block in section.blocks:
            if isinstance(block, (Picture, Table)) and options.in_words in block.caption:
                return f"Win matrices count a difference by {options.in_words}."
    return ""


def copies_sentence(results: CellResults) -> str:
    """A sentence on datasets that have rows which equal an earlier row in every column; empty if none has."""
    counts = list[str]()
    for label, name in results.cells["dataset"].drop_duplicates().items():
        stored = results.stored_of(int(str(label)))
        description = (stored and stored.description) or {}
        reading = description.get("reading", {})
        n_copies, n_rows = reading.get("n_copies"), reading.get("n_labelled")
        if isinstance(n_copies, int) and isinstance(n_rows, int) and n_copies > 0:
            counts.append(f"{n_copies:,} of {n_rows:,} in {name}")
    if not counts:
        return ""
    equal = f"Rows that equal an earlier row in every column: {named(counts)}."
    return f"{equal} split.copies=together keeps equal rows in one part of a random split, apart does not."


def provenance_section(results: CellResults, command: str, covered: str) -> Section:
    """Section of missing and damaged results, versions and hardware, fingerprints, and the command.

    ``covered`` says how many of the cells are finished.
    """
    unfinished = results.unfinished
    blocks: list[Block] = [Paragraph(covered, warns=not unfinished.empty)]
    columns = _columns(results)
    if not unfinished.empty:
        shown = [*columns, "finished", "wanted"]
        if unfinished["failure"].notna().any():
            shown.append("failure")
        caption = "Cells that lack trials, and why they failed when last tried, where they did"
        blocks.append(table("missing", caption, unfinished[shown], formats={"failure": _last_or_first_line}))
    if results.damaged:
        frame = pd.DataFrame({"record": map(str, results.damaged), "why": results.damaged.values()})
        blocks.append(table("damaged", "Records that cannot be used, and are left out", frame))
    blocks += _versions(results)

    finished = results.cells[results.cells["finished"] > 0]
    n_diverged = results.trials.groupby("cell")["diverged"].sum().reindex(finished.index)
    # Trials rarely diverge, so the column is there only if some did.
    counts = ["finished", "diverged"] if n_diverged.any() else ["finished"]
    listed = finished.assign(diverged=n_diverged)[[*columns, "dataset_id", *counts, "fingerprint"]]
    headings = {"finished": "trials", "dataset_id": "OpenML id"}
    blocks.append(table("cells", "Cells behind this report, by fingerprint", listed, headings=headings))
    commit = f", commit {source_commit()}" if source_commit() else ""
    blocks.append(Paragraph(f"Made by SCARF-Lightning {__version__} on {date.today():%-d %B %Y}{commit}: {command}"))
    return Section("provenance", "Where this comes from", blocks)


def _versions(results: CellResults) -> list[Block]:
    """Versions and hardware; what differs between stacks is counted."""
    stack_environments = environments(results)
    if not stack_environments:
        return []
    rows = []
    for name in dict.fromkeys(name for environment in stack_environments for name in environment):
        counts = Counter(environment.get(name, "not said") for environment in stack_environments)
        versions = list(counts)
        # Cells of one sweep may have been trained on several machines, and by several versions.
        if len(versions) > 1:
            versions = [f"{version} ({counted(n, 'stack')})" for version, n in counts.items()]
        rows.append((name, ", ".join(versions)))
    caption = f"Versions and hardware that {counted(len(stack_environments), 'stack')} were trained with"
    return [table("versions", caption, pd.DataFrame(rows, columns=["what", "version"]))]


def _last_or_first_line(text: str) -> str:
    """The line of a failure that says why: the last one of a traceback, the first one of a sentence."""
    lines = text.strip().splitlines()
    # Python puts the error last, below the lines of code that led to it.
    is_traceback = lines[0].startswith("Traceback")
    return lines[-1] if is_traceback else lines[0]


def _columns(results: CellResults) -> list[str]:
    """The axes that name a cell: the usual ones, and options in which cells differ."""
    return [column for column in results.axes if column in LABELLED_BY or column in results.different]
