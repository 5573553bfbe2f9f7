"""The report of a sweep or of a folder of results: load, make and write it."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import NoSubjectError, UsageError, require_report
from ..options import Config, load_plugins
from ..options.axes import AXES
from ..options.checking import checked, unknown_option
from ..options.settings import expanded
from ..reporting.answers import Answers, answer_in_words, reported
from ..reporting.cell_results import CellResults, cells_of_folder, narrowed, read_results
from ..reporting.report_options import NAMES, ReportOptions
from ..results import Row, columns, known_data, read_failure
from ..screen import command_line
from ..sweeping.cell import Cell
from ..sweeping.compose import Composer, hydra_text, named_plugins, overrides_of
from ..sweeping.expand import ExpandedSweep, expand
from ..verdicts.answers import UNDECIDED

if TYPE_CHECKING:
    from ..reporting.drawings import Drawing
    from ..reporting.making import MakeSection, RowOf

IN_WANDB = ("ablation", "effects", "means", "worth")
"""The tables of a page that its run in W&B has."""
OWN = ("results", "out", "sections", *NAMES)
"""The options of a report alone."""
OPTIONS = ("sweeps", "plugins", *OWN)
"""The options of a report; other arguments narrow it by columns of its results."""


@dataclass(frozen=True)
class Subject:
    """The subject of a report: a sweep, or a folder of results.

    Attributes:
        name: names the folder of the report.
        results: of its cells.
        row_of: gives the axis columns of the cell of some overrides, as long as Hydra runs.
        title: of its page; empty takes one made of the results.
        drawings: that its sweep names; none takes those that fit the results.
        paper: the figure or table of the paper.
        left_out: sentences on cells that are missing on purpose.
    """

    name: str
    results: CellResults
    row_of: "RowOf"
    title: str = ""
    drawings: "Sequence[Drawing]" = ()
    paper: str | None = None
    left_out: Sequence[str] = ()


@dataclass(frozen=True, repr=False)
class WrittenReport:
    """A report on the disk.

    Attributes:
        index: its page.
        answer: in sentences.
        notes: sentences on what it covers and what is missing.
        effects: the frame of effects, see `scarf_lightning.verdicts.frame_of`; empty if nothing is compared.
        tables: the frames of the page's tables, by the names of their files in its folder ``tables``: ``effects``, or
            ``ablation`` of a star, with the level of each side; ``means`` of a product; ``worth`` in labels.
    """

    index: Path
    answer: list[str]
    notes: list[str]
    effects: pd.DataFrame
    tables: dict[str, pd.DataFrame]

    @property
    def is_open(self) -> bool:
        """True if there are comparisons and of none we can tell."""
        # A page without comparisons poses no question, so none is open.
        return not self.effects.empty and bool((self.effects["answer"] == UNDECIDED).all())

    def __str__(self) -> str:
        return "\n".join([*dict.fromkeys([*self.answer, *self.notes]), f"The report is {self.index.absolute()}"])

    # A notebook shows it as a command prints it.
    __repr__ = __str__


def report(
    sweep: str | Sequence[str] = (),
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
        sweep: a sweep by its name or path, or overrides that narrow the report.
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
    require_report("A report")
    from ..reporting.making import default_drawings, make_report, title_of, write_report

    arguments = overrides_of(sweep, overrides)
    makers = [_maker(section) for section in sections]
    subject = gathered(arguments, results, config_dir)
    # Checked afterwards, since a plugin may have registered the metric.
    report_options = checked(ReportOptions, options)
    more = [section for make in makers if (section := make(subject.results, subject.row_of)) is not None]
    flags = [] if config_dir is None else ["--config-dir", str(config_dir)]
    section_names = [getattr(section, "__qualname__", section) for section in sections]
    all_options = {"results": results, **options, "out": out, "sections": section_names or None}
    page = make_report(
        subject.results,
        subject.drawings or default_drawings(subject.results),
        report_options,
        title=subject.title or title_of(subject.results, report_options.reference),
        paper=subject.paper,
        left_out=subject.left_out,
        command=command_of("report.py", [*flags, *arguments], all_options),
        sections=more,
    )
    index = write_report(page, expanded(out or f"reports/{subject.name}"))
    page.answers.remember()
    frames = {name: table.data for name, table in page.tables.items()}
    return WrittenReport(index, page.answer, [*page.about, *page.warnings], page.answers.frame, frames)


def log_sweep(answers: Answers, cells: Sequence[Cell], request: ExpandedSweep) -> list[str]:
    """Show the answer of a run in W&B, in a run of its own: sentences, tables, figures and the page.

    Args:
        answers: of the run, which has ended.
        cells: of it.
        request: of them.

    Returns:
        Sentences on what could not be written.
    """
    from ..loggers import wandb_runs
    from ..loggers.writing import reason
    from ..reporting.making import default_drawings, make_report, title_of, write_report

    first, in_words = cells[0], answer_in_words(answers)
    settings, results = first.config.logger.wandb, first.results
    if not in_words:
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
        wandb_runs.write_sweep(
            settings,
            results,
            [folder.name for folder in answers.results.folders.values()],
            first.group,
            in_words,
            command=command_line("train.py", request.arguments),
            tables={name: table.data for name, table in page.tables.items() if name in IN_WANDB},
            page=write_report(page, results / "tables" / "page").parent,
        )
        if settings.mode == "online":
            wandb_runs.save_workspace(
                first.group, answers.results.different, answers.options.measure, settings, results
            )
    except Exception as error:
        return [f"Not all of the answer of {first.group} is in W&B: {reason(error)}."]
    return []


def gathered(arguments: Sequence[str], results: str | Path | None, config_dir: str | Path | None = None) -> Subject:
    """A sweep, or a folder, with its results."""
    plugins = named_plugins(arguments)
    load_plugins(plugins)
    # Loggers do not decide which cells there are.
    overrides = [override for override in arguments if not override.lstrip("+").startswith("logger.")]
    compose = Composer(overrides, config_dir)

    def row_of(overrides: Sequence[str]) -> Row:
        return columns(compose(tuple(overrides)))

    if results is not None:
        return _folder_subject(expanded(results), overrides, plugins, row_of)
    names = [*(field.name for field in fields(Config)), *(axis.name for axis in AXES)]
    for override in overrides:
        # Cells would refuse it without naming the options of a report.
        key = override.partition("=")[0]
        if key.isidentifier() and key not in names:
            raise unknown_option((*OPTIONS, *names), key, "scarf report --help")
    return _sweep_subject(overrides, compose, row_of)


def _maker(section: "str | MakeSection") -> "MakeSection":
    """The function that adds a section: ``report_section`` of a module, if it is named."""
    if not isinstance(section, str):
        return section
    load_plugins([section])
    maker: MakeSection | None = getattr(importlib.import_module(section), "report_section", None)
    if maker is None:
        raise UsageError(f"sections={section}: the module has no function report_section.")
    return maker


def command_of(program: str, arguments: Sequence[str], settings: dict[str, Any]) -> str:
    """The command line that writes the same report."""
    options = [f"{name}={hydra_text(value)}" for name, value in settings.items() if value is not None]
    return command_line(program, [*arguments, *options])


def _sweep_subject(overrides: Sequence[str], compose: Composer, row_of: "RowOf") -> Subject:
    """The cells of a sweep, narrowed by other overrides."""
    from ..reporting.drawings import read_drawings

    request = expand(overrides, compose)
    sweep = request.sweep
    if sweep is None:
        raise NoSubjectError
    cells = []
    for cell in request.cells:
        cell.locate(known_data(cell.results, cell.source))
        failure = read_failure(cell.results, cell.key)
        cells.append(reported(cell, cell.folder, failure=None if failure is None else failure.error))
    results = read_results(cells, usual=row_of(()))
    # A metric that the user sets leads, and not that of the sweep.
    if all(cell.metric is None for cell in cells):
        results = replace(results, metric=sweep.leading(results.metric))
    drawings = read_drawings(sweep.report, str(sweep.file))
    left_out = [f"Left out: {reason}" for reason in request.left_out]
    return Subject(sweep.name, results, row_of, sweep.title, drawings, sweep.paper, left_out)


def _folder_subject(folder: Path, overrides: Sequence[str], plugins: Sequence[str], row_of: "RowOf") -> Subject:
    """The cells of a folder that have these options.

    A module that only the cells name is not imported, since the folder may be a stranger's; a sentence names it.
    """
    cells, damaged, left_out = cells_of_folder(folder)
    # Every other override is an option that the cells must have.
    subset = narrowed(cells, [each for each in overrides if not each.startswith("plugins=")], OPTIONS)
    other_plugins = dict.fromkeys(
        name for cell in subset for name in named_plugins(cell.overrides) if name not in plugins
    )
    if other_plugins:
        left_out = [
            *left_out,
            f"Not imported: {', '.join(other_plugins)}, so that their metrics are missing; "
            f"plugins=[{','.join([*plugins, *other_plugins])}] adds them, from the folder that the modules are in.",
        ]
    # The folder may be given as "."; its own name becomes that of the page's folder.
    return Subject(folder.resolve().name, read_results(subset, damaged, row_of(())), row_of, left_out=left_out)
