"""From the cells of a report to a folder with a page, figures and tables; its title, and what it draws by default."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from ..errors import UsageError, capitalised, counted, enumeration
from ..metrics import Metric
from ..results import Row, source_commit
from ..results.records import (
    PREDICTIONS,
    UNFINISHED,
    DamagedRecordError,
    read_bytes,
    refuse_links,
    write_whole,
)
from ..screen import escaped
from ..version import __version__
from .answer_sections import answer_sections
from .answers import Answers, answers_of
from .blocks import FORMATS, Block, Paragraph, Picture, Section, Table, table
from .cell_results import CellResults, environments
from .drawings import Drawing, draw_all, read_drawings
from .names import named
from .report_options import ReportOptions
from .style import ENDINGS, drawn

RowOf = Callable[[Sequence[str]], Row]
"""The axis columns of the cell that overrides such as ``["pretrain=scarf"]`` ask for."""
MakeSection = Callable[[CellResults, RowOf], Section | None]
"""A function that adds a section to the page, or None if these results give it nothing to show."""
GENERATOR = "SCARF-Lightning report"
"""Marks a page as a report, which a later report may replace."""
LONG_TABLE = 12
"""Tables with more rows get a filter."""
FOLDERS = ("figures", "tables")
MOST_NAMES = 3
"""Datasets, pre-trainings or columns that a title names."""
MOST_BYTES = 1_000_000_000


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
    """

    title: str
    about: list[str]
    sections: list[Section]
    answers: Answers

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all sections."""
        return [block for section in self.sections for block in section.blocks]

    @property
    def tables(self) -> dict[str, Table]:
        """The tables, by name."""
        return {block.name: block for block in self.blocks if isinstance(block, Table)}

    @property
    def answer(self) -> list[str]:
        """The sentences of the first section."""
        return [block.text for block in self.sections[0].blocks if isinstance(block, Paragraph)]

    @property
    def warnings(self) -> list[str]:
        """Sentences on what could not be shown."""
        return [block.text for block in self.blocks if isinstance(block, Paragraph) and block.warns]


def title_of(results: CellResults, reference: str | None = None) -> str:
    """A title that names the question and the data. ``reference`` is the one that the user names."""
    cells = results.cells
    datasets = list(dict.fromkeys(cells["dataset"]))
    # A heading has room for three names.
    where = f"on {named(datasets) if len(datasets) <= MOST_NAMES else f'{len(datasets)} datasets'}"
    if reference is not None:
        return f"Is anything better than {reference} {where}?"
    # A question about pre-training needs cells without one to compare with.
    pretrains = list(dict.fromkeys(cells["pretrain"]))
    tasks = [name for name in pretrains if name != "none"]
    if 0 < len(tasks) < len(pretrains):
        subject = f"pretrain={','.join(tasks)}" if len(tasks) <= MOST_NAMES else "pre-training"
        return f"Does {subject} help {where}?"
    columns = results.compared or results.contexts
    if not columns:
        return f"Results {where}"
    if len(columns) > MOST_NAMES:
        return f"Which setting is best {where}?"
    questions = enumeration([f"which {column}" for column in columns])
    return f"{capitalised(questions)} {'is' if len(columns) == 1 else 'are'} best {where}?"


def default_drawings(results: CellResults) -> list[Drawing]:
    """Of several tables the win matrix and the metric of each; of the first one losses and predictions."""
    finished = results.cells[results.cells["finished"] > 0]
    if finished.empty:
        return []
    entries: list[dict[str, Any]] = []
    first, *others = finished["dataset"].unique()
    if others:
        columns = results.different or ["pretrain", "method"]
        # Competitors are compared within a context, such as a number of labels, and never across contexts.
        if not results.contexts and results.compared:
            entries.append({"draw": "win_matrix", "title": "All against each other", "compare": columns})
        entries.append({"draw": "metric_table", "title": "Every dataset", "columns": columns})
    where = {"dataset": first}
    cells = finished[finished["dataset"] == first]
    if cells["pretrain"].ne("none").any():
        entries.append({"draw": "loss_curves", "title": f"Losses while pre-training on {first}", "where": where})
    stored = [results.stored[cell] for cell in cells.index if cell in results.stored]
    if any(any(each.kept(PREDICTIONS)) for each in stored):
        # All cells of a dataset predict the same target.
        target = next(results.targets[cell] for cell in cells.index if cell in results.targets)
        for drawing, subject in target.drawings.items():
            entries.append({"draw": drawing, "title": f"{subject} on {first}", "where": where})
    return read_drawings(entries, "defaults")


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
    answers = answers_of(results, options)
    page_sections = [
        *answer_sections(answers),
        *draw_all(results, drawings, options),
        *sections,
        provenance_section(results, command),
    ]
    about = [f"The paper: {paper}"] if paper else []
    about += [completeness(results), answers.other_kind_note, *left_out]
    if results.damaged:
        faults = [f"{path}: {reason}" for path, reason in results.damaged.items()]
        about.append(f"{counted(len(faults), 'damaged record')} left out: {named(faults)}.")
    n_diverged = int(results.trials["diverged"].sum())
    if n_diverged:
        about.append(f"{counted(n_diverged, 'trial')} diverged and {'is' if n_diverged == 1 else 'are'} in no mean.")
    return Report(title, [line for line in about if line], page_sections, answers)


def _check_results(results: CellResults, metric: Metric) -> None:
    """Raise an error if there is nothing to report by this metric."""
    trials = results.trials
    if trials.empty:
        raise NothingFinishedError(
            f"Nothing is finished yet: none of {counted(len(results.cells), 'cell')} has a trial; train them by "
            "`train.py` first."
        )
    # Before the metric: trials that diverged have none, and the advice is another one.
    if trials["diverged"].all():
        raise UsageError(
            f"All {counted(len(trials), 'trial')} diverged; train with other settings, such as a lower learning rate."
        )
    if trials[metric.name].isna().all():
        raise UsageError(f"No trial has the metric {metric.name}; these results were made before it existed.")


def write_report(report: Report, folder: Path) -> Path:
    """Write ``index.html``, ``figures/`` and ``tables/``, also in the place of an earlier report. No file is removed,
    and none is written through a link. The page, which embeds its figures, comes first.

    Raises:
        UsageError: the folder holds files that are not a report, or a link leads elsewhere.
    """
    index = folder / "index.html"
    refuse_links(folder, *(folder / name for name in FOLDERS))
    paths = [each for each in folder.glob("*") if not each.name.startswith(UNFINISHED)]
    # A folder of the user's own files is left alone, whatever its name.
    if paths and not _is_report(index):
        raise UsageError(f"{folder} holds files that are not a report; name another folder with out=FOLDER.")
    for name, content in files_of(report).items():
        write_whole(folder / name, content, is_synced=False)
    return index


def _is_report(index: Path) -> bool:
    """Tell whether a page is one of a report."""
    try:
        return GENERATOR.encode() in read_bytes(index, MOST_BYTES)
    except (FileNotFoundError, DamagedRecordError):
        return False


def files_of(report: Report) -> dict[str, str | bytes]:
    """The contents of a report's files by their names. The page needs no other file."""
    others: dict[str, str | bytes] = {}
    for block in report.blocks:
        if isinstance(block, Picture):
            others |= {f"figures/{block.name}.{ending}": content for ending, content in drawn(block.figure).items()}
        elif isinstance(block, Table):
            others |= {f"tables/{block.name}.{ending}": write(block) for ending, write in FORMATS.items()}

    def page_file(name: str) -> str:
        return files(__package__).joinpath("page", name).read_text(encoding="utf-8")

    page = Environment(autoescape=True).from_string(page_file("page.html"))
    html = page.render(
        generator=GENERATOR,
        long_table=LONG_TABLE,
        report=report,
        formats=list(FORMATS),
        images=ENDINGS,
        drawn=lambda name: f"data:image/svg+xml;base64,{b64encode(others[f'figures/{name}.svg']).decode()}",  # type: ignore[arg-type]
        style=Markup(page_file("page.css")),
        script=Markup(page_file("page.js")),
    )
    return {"index.html": escaped(html), **others}


def completeness(results: CellResults) -> str:
    """Sentence on the share of the requested trials that has finished."""
    cells, unfinished = results.cells, results.unfinished
    trials = f"{cells['finished'].sum()} of {counted(int(cells['wanted'].sum()), 'trial')}"
    if unfinished.empty:
        subject = f"All {len(cells)} cells are" if len(cells) > 1 else "Its cell is"
        return f"{subject} finished, {trials}."
    # By name, so that a reader can ask for the cells that are missing.
    missing = []
    for cell, n_finished, n_wanted, failure in unfinished[["finished", "wanted", "failure"]].itertuples():
        # Python puts the error last, below the lines of code that led to it.
        why = f": {failure.strip().splitlines()[-1]}" if failure else ""
        missing.append(f"{results.names[cell]} ({n_finished} of {n_wanted} trials{why})")
    n_whole = len(cells) - len(unfinished)
    return f"{n_whole} of {counted(len(cells), 'cell')} are finished, {trials}; missing: {named(missing)}."


def provenance_section(results: CellResults, command: str) -> Section:
    """Section of versions and hardware, the cells with their fingerprints, and the command."""
    finished = results.cells[results.cells["finished"] > 0]
    cells = finished[["finished", "fingerprint"]].rename(columns={"finished": "trials"})
    cells.insert(0, "cell", finished.index.map(results.names))
    cells["diverged"] = results.trials.groupby("cell")["diverged"].sum()
    blocks: list[Block] = [replace(table("cells", "", cells), on_page=False)]
    # Cells of one sweep may have been trained on several machines, and by several versions.
    versions: dict[str, dict[str, None]] = {}
    for environment in environments(results):
        for name, version in environment.items():
            versions.setdefault(name, {})[version] = None
    if versions:
        software = ", ".join(f"{name} {' and '.join(values)}" for name, values in versions.items())
        blocks.append(Paragraph(f"Trained with {software}."))
    commit = f", commit {source_commit()}" if source_commit() else ""
    origin = f"Made by SCARF-Lightning {__version__} on {date.today():%-d %B %Y}{commit}: {command}"
    return Section("provenance", "Where this comes from", [*blocks, Paragraph(origin)])
