"""The report of a sweep or of a folder of results: load, make and write it."""

import importlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import NoSubjectError, UsageError
from ..importing import require_report
from ..notebook import heading, paragraph
from ..options import load_plugins
from ..options.checking import checked
from ..reporting.blocks import Section, Table, failure, fault_of_blocks, not_drawn
from ..reporting.cell_results import CellResults, ReportedCell, cells_of_folder, narrowed, read_results
from ..reporting.report_options import NAMES, ReportOptions
from ..reporting.run_results import ComparedRun, reported
from ..reporting.sentences import title_of
from ..results import columns, read_failure
from ..screen import command_line
from ..sweeping.cell import distinct
from ..sweeping.composer import Composer
from ..sweeping.expand import ExpandedSweep, expand
from ..sweeping.folders import SWEEPS, overrides_notation
from ..sweeping.hydra import hydra_started, master_of, named_plugins
from ..sweeping.overrides import overrides_of
from ..verdicts.answers import UNDECIDED
from .tables import differing_options

if TYPE_CHECKING:
    from ..reporting.drawings import Drawing
    from ..reporting.making import MakeSection, Report, RowOf

REFERENCE = "reference"
"""The answer of a competitor that others are compared with."""
IN_WANDB = ("effects", "summary", "worth")
"""The tables of a page that its run in W&B has."""
OPTIONS = ("results", "sweeps", "out", "sections", "plugins", *NAMES)
"""The options of a report; other arguments narrow it by columns of its results."""


@dataclass(frozen=True)
class Subject:
    """The subject of a report: a sweep, or a folder of results.

    Attributes:
        name: names the folder of the report.
        title: of its page; empty takes one made of the results.
        cells: that it covers.
        damaged: reasons by the folder of each cell that cannot be read.
        drawings: that its sweep names; none takes those that fit the results.
        paper: the figure or table of the paper.
        left_out: sentences on cells that are missing on purpose.
        leading: gives the metric that leads in the place of the usual one.
    """

    name: str
    title: str
    cells: list[ReportedCell]
    damaged: dict[Path, str] = field(default_factory=dict)
    drawings: "Sequence[Drawing]" = ()
    paper: str | None = None
    left_out: Sequence[str] = ()
    leading: Callable[[str], str] | None = None


@dataclass(frozen=True)
class Material:
    """The material of a report.

    Attributes:
        subject: of the report.
        results: of its cells.
        row_of: gives the axis columns of the cell that overrides ask for.
        overrides: that ask for the report.
    """

    subject: Subject
    results: CellResults
    row_of: "RowOf"
    overrides: Sequence[str]


@dataclass(frozen=True)
class WrittenReport:
    """A report on the disk.

    Attributes:
        index: its page.
        answer: in sentences.
        notes: sentences on what it covers and what is missing.
        summary: a row for each competitor, with the columns of the file ``tables/summary.csv``; empty if nothing is
            compared.
        effects: of a product of axes, a row for each effect of an axis and for each interaction, with the columns of
            the file ``tables/effects.csv``; else empty.
        worths: over numbers of labels, a row for the worth of each competitor at each of them, with the columns of the
            file ``tables/worth.csv``; else empty.
        metric: the one that competitors are compared by.
    """

    index: Path
    answer: list[str]
    notes: list[str]
    summary: pd.DataFrame
    effects: pd.DataFrame
    worths: pd.DataFrame
    metric: str
    _material: Material = field(repr=False)
    _made_by: dict[str, Any] = field(repr=False)
    _table: Table | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """A sentence with the path of the page."""
        return f"The report is {self.index.absolute()}"

    @property
    def is_open(self) -> bool:
        """True if there are comparisons and of none we can tell."""
        answers = [each for each in self.summary.get("answer", ()) if each != REFERENCE]
        # A page without comparisons asks nothing, so nothing is open.
        return bool(answers) and all(each == UNDECIDED for each in answers)

    def __str__(self) -> str:
        return "\n".join([*dict.fromkeys([*self.answer, *self.notes]), self.place])

    @property
    def table(self) -> Table | None:
        """The table of all competitors, as the page shows it; None if nothing is compared."""
        return self._table

    def _repr_html_(self) -> str:
        """The report in a notebook: the answer, the competitors, and where the page is."""
        first, *others = self.answer
        parts = [heading(first), *map(paragraph, others)]
        if self._table is not None:
            parts.append(self._table._repr_html_())
        parts.append(paragraph(self.place))
        return "".join(parts)


def report(
    asked: str | Sequence[str] = (),
    *overrides: str,
    results: str | Path | None = None,
    out: str | Path | None = None,
    sections: "Sequence[str | MakeSection]" = (),
    config_dir: str | Path | None = None,
    **options: Any,
) -> WrittenReport:
    """Write the page, figures and tables of a sweep or of a folder of results. Nothing is trained.

    ``report("quick")``, ``report("quick", "regime=full", metric="auroc")``, ``report(results="results")``. Print the
    returned object to see what ``report.py`` prints.

    Args:
        asked: a sweep by its name or path, or overrides that narrow the report.
        overrides: more overrides.
        results: a folder; the report covers all its cells instead of a sweep.
        out: the folder to write to, by default ``reports/NAME``.
        sections: more sections of the page, each a function (see `scarf_lightning.reporting.making.MakeSection`) or the
            name of a module whose function ``report_section`` is one.
        config_dir: a folder with files of options of yours, as ``--config-dir`` of ``train.py``.
        options: see `scarf_lightning.reporting.report_options.ReportOptions`.

    Raises:
        UsageError: an option is wrong, or nothing is finished yet.
    """
    asked = overrides_of(asked, overrides)
    return write(asked, results=results, out=out, sections=sections, config_dir=config_dir, **options)


def write(
    asked: Sequence[str],
    *,
    results: str | Path | None = None,
    out: str | Path | None = None,
    sections: "str | Sequence[str | MakeSection]" = (),
    config_dir: str | Path | None = None,
    **options: Any,
) -> WrittenReport:
    """Like `report`, from a list of overrides."""
    require_report("A report")
    from ..reporting.default_drawings import default_drawings
    from ..reporting.making import make_report, write_report

    makers = makers_of(sections)
    with gathered(asked, results, config_dir) as material:
        # Checked within the context, since a plugin may have registered the metric.
        chosen = checked(ReportOptions, options)
        metric = chosen.with_metric(material.results.metric).measure.name
        # Sections may compose cells, by `row_of`, as long as Hydra runs.
        more = []
        for make in makers:
            section = _section_of(make, material)
            if section is not None:
                more.append(section)
    subject, read = material.subject, material.results
    # The page shows the command that makes it again.
    given = {"results": results, **options, "out": out, "sections": sections or None}
    flags = [] if config_dir is None else ["--config-dir", str(config_dir)]
    command = command_of("report.py", [*flags, *asked], given)
    page = make_report(
        read,
        subject.drawings or default_drawings(read),
        chosen,
        title=subject.title or title_of(read, chosen.reference),
        paper=subject.paper,
        left_out=subject.left_out,
        command=command,
        sections=more,
    )
    index = write_report(page, Path(out or f"reports/{subject.name}"))
    page.answers.remember()
    made_by = {"command": command} | asdict(chosen)
    notes = [*page.about, *page.warnings]
    table = _summary(page)
    return WrittenReport(
        index=index,
        answer=page.answer,
        notes=notes,
        summary=_data_of(table),
        effects=_data_of(_table_named(page, "effects")),
        worths=_data_of(_table_named(page, "worth")),
        metric=metric,
        _material=material,
        _made_by=made_by,
        _table=table,
    )


def log_sweep(run: ComparedRun, request: ExpandedSweep) -> list[str]:
    """Show the answer of a run in W&B, in a run of its own: sentences, tables, figures and the page.

    Args:
        run: that has ended.
        request: of its cells.

    Returns:
        Sentences on what could not be written.
    """
    from ..loggers import wandb_runs
    from ..loggers.wandb_workspace import save_workspace
    from ..loggers.writing import reason
    from ..reporting.default_drawings import default_drawings
    from ..reporting.making import make_report, write_report

    first, answers, sentences = run.tried[0].cell, run.answers, run.in_words
    settings, results, group = first.config.logger.wandb, first.results, first.group
    fingerprints = [each.folder.name for each in run.tried if each.folder is not None]
    if not sentences:
        return []
    # Like every view, it shows what the store has: nothing is lost if it cannot be written, for whatever reason.
    try:
        require_report("The page of the answer in W&B")
        page = make_report(
            answers.results,
            default_drawings(answers.results),
            answers.options,
            title=title_of(answers.results, answers.options.reference),
            command=command_line("report.py", [f"results={results}"]),
        )
        folder = write_report(page, results / "tables" / "page").parent
        wandb_runs.write_sweep(
            settings,
            results,
            fingerprints,
            group,
            sentences,
            command=command_line("train.py", [*request.flags, *request.arguments]),
            tables={table.name: table.data for table in _tables(page) if table.name in IN_WANDB},
            page=folder,
        )
        if settings.mode == "online":
            axes = differing_options([each.cell.axes() for each in run.tried])
            save_workspace(group, axes, answers.options.measure, settings, results)
    except Exception as error:
        return [f"Not all of the answer of {group} is in W&B: {reason(error)}."]
    return []


def _data_of(table: Table | None) -> pd.DataFrame:
    """The data of a table; empty if the page has none."""
    return pd.DataFrame() if table is None else table.data


def _summary(page: "Report") -> Table | None:
    """The table of all competitors; None if nothing is compared."""
    return _table_named(page, "summary")


def _table_named(page: "Report", name: str) -> Table | None:
    """The table of this name; None if the page has none."""
    return next((table for table in _tables(page) if table.name == name), None)


def _tables(page: "Report") -> list[Table]:
    """The tables of a page."""
    return [block for section in page.sections for block in section.blocks if isinstance(block, Table)]


def logger_overrides(asked: Sequence[str]) -> list[str]:
    """The overrides that set options of loggers."""
    return [each for each in asked if each.lstrip("+").startswith("logger.")]


@contextmanager
def gathered(
    asked: Sequence[str], results: str | Path | None, config_dir: str | Path | None = None
) -> Iterator[Material]:
    """The results of a sweep, or of a folder; cells can be composed until the context ends."""
    plugins = named_plugins(asked)
    load_plugins(plugins)
    # A logger says nothing about which cells there are.
    logger_arguments = logger_overrides(asked)
    overrides = [override for override in asked if override not in logger_arguments]
    with hydra_started(plugins) as hydra:
        master = master_of(hydra, config_dir)
        compose = Composer(hydra.config_loader, master)

        def row_of(overrides: Sequence[str]) -> dict[str, Any]:
            return columns(compose(tuple(overrides)))

        if results is None:
            known = {str(section) for section in master}
            if config_dir is not None:
                # Such as +experiment=NAME, of the file experiment/NAME.yaml.
                known |= {group.name for group in Path(config_dir).iterdir()}
            subject = sweep_subject(overrides, compose, known)
        else:
            subject = folder_subject(Path(results), overrides, plugins)
        read = read_results(subject.cells, subject.damaged, row_of(()))
        # A metric that the user asks for leads before that of the sweep.
        is_free = all(cell.metric is None for cell in subject.cells)
        if subject.leading is not None and is_free:
            read = replace(read, metric=subject.leading(read.metric))
        yield Material(subject, read, row_of, overrides)


def makers_of(sections: "str | Sequence[str | MakeSection]") -> "list[MakeSection]":
    """The functions that add sections: those given, and ``report_section`` of the modules named."""
    # A command line has one text, sections=[mine,theirs].
    each = sections.strip("[]").split(",") if isinstance(sections, str) else sections
    makers = []
    for one in each:
        if isinstance(one, str):
            name = one.strip()
            load_plugins([name])
            maker = getattr(importlib.import_module(name), "report_section", None)
            if maker is None:
                raise UsageError(f"sections={name}: the module has no function report_section.")
            makers.append(maker)
        else:
            makers.append(one)
    return makers


def _section_of(make: "MakeSection", material: Material) -> Section | None:
    """The section that a user's function adds; one that it fails to make says why in its place."""
    name = f"{make.__module__}.{_name_or_text(make)}"
    try:
        section: Any = make(material.results, material.row_of)
    except UsageError:
        raise
    # The rest of the page must not go with a slip in a function of the user's.
    except Exception as error:
        return Section(name, name, not_drawn(f"{name} {failure(error)}."))
    fault = None
    if isinstance(section, Section):
        fault = fault_of_blocks(section.blocks, "")
    elif section is not None:
        fault = f"returns a {type(section).__name__}; it has to return a Section of scarf_lightning.reporting.blocks"
    return section if fault is None else Section(name, name, not_drawn(f"{name} {fault}."))


def command_of(program: str, asked: Sequence[str], given: dict[str, Any]) -> str:
    """The command line that asks for the same."""
    options = []
    for name, value in given.items():
        if value is not None:
            options.append(f"{name}={overrides_notation(value, _name_or_text)}")
    return command_line(program, [*asked, *options])


def _name_or_text(value: Any) -> str:
    """A value, or the name of a section that was given as a function."""
    return str(getattr(value, "__qualname__", value))


def sweep_subject(overrides: Sequence[str], compose: Composer, known: Collection[str]) -> Subject:
    """The cells of a sweep, narrowed by other overrides.

    Args:
        overrides: of the sweep.
        compose: makes the configurations of its cells.
        known: the sections and the groups of options that there are.
    """
    for override in overrides:
        key, sign, _ = override.partition("=")
        # Checked here, since Hydra's own message would not lead to the options of a report.
        section = key.lstrip("+~").replace("/", ".").partition(".")[0].partition("@")[0]
        if not sign or section not in known:
            raise UsageError(
                f"{override} is not an option; scarf report --help lists those of a report, train.py --help the axes."
            )
    request = expand(overrides, compose, SWEEPS)
    sweep, cells = request.sweep, distinct(request.cells)
    if sweep is None:
        raise NoSubjectError
    wanted = []
    for cell in cells:
        store, failure = cell.store(), read_failure(cell.results, cell.key)
        folder = None if store is None else store.folder
        error = None if failure is None else failure.error
        wanted.append(reported(cell, cell.axes(), folder, failure=error))
    from ..reporting.drawings import read_drawings

    drawings = read_drawings(sweep.report, str(sweep.file))
    return Subject(
        name=sweep.name,
        title=sweep.title,
        cells=wanted,
        drawings=drawings,
        paper=sweep.paper,
        left_out=request.left_out,
        leading=sweep.leading,
    )


def folder_subject(folder: Path, overrides: Sequence[str], plugins: Sequence[str]) -> Subject:
    """The cells of a folder that have these options.

    A module that only the cells name is not imported, since the folder may be a stranger's; a sentence names it.
    """
    cells, damaged, version_notes = cells_of_folder(folder)
    # Every other override is an option that the cells must have.
    conditions = [each for each in overrides if not each.startswith("plugins=")]
    wanted = narrowed(cells, conditions, OPTIONS)
    others = list[str]()
    for cell in wanted:
        for name in named_plugins(cell.overrides):
            if name not in plugins and name not in others:
                others.append(name)
    left_out = version_notes
    if others:
        are = "a plugin that is" if len(others) == 1 else "plugins that are"
        left_out = [
            *version_notes,
            f"The cells name {are} not imported: {', '.join(others)}. "
            "Metrics and labels of their parts are missing here; "
            f"plugins=[{','.join([*plugins, *others])}] adds them, from the folder that the modules are in.",
        ]
    # The folder may be given as "."; its own name becomes that of the page's folder.
    return Subject(folder.resolve().name, "", wanted, damaged, left_out=left_out)
