"""The report of a sweep or of a folder of results: read, made, written, and uploaded where that is asked."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from ..config import load_plugins, named_plugins
from ..config.hydra import hydra_started
from ..config.schema import LoggerSettings
from ..errors import UnfinishedError, UsageError
from ..escaping import escaped
from ..folders import SWEEPS
from ..report import options as report_options
from ..report.agreement_note import rows_by_reading, write_note
from ..report.beside_paper import published_competitors
from ..report.commands import by_cells, by_sweep
from ..report.defaults import default_drawings
from ..report.drawings import Drawing, read_drawings
from ..report.making import Report, make_report, write_report
from ..report.reading import CellResults, ReportedCell, cells_of_folder, narrowed, plugins_of, read_results
from ..results import axis_columns, identity, read_failure
from ..sweeping.cell import Cell, distinct
from ..sweeping.composer import Composer
from ..sweeping.expand import expand
from .in_process import master_of, overrides_of

UPLOADS = ("wandb", "tensorboard", "both")


@dataclass(frozen=True)
class Subject:
    """What a report is of: a name, a title, the wanted cells, and what a sweep file says of it."""

    name: str
    title: str
    cells: list[ReportedCell]
    damaged: dict[Path, str] = field(default_factory=dict)
    drawings: Sequence[Drawing] = ()
    paper: str | None = None
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class WrittenReport:
    """A report on the disk.

    Attributes:
        index: its page.
        answer: what it says, in sentences.
        notes: what it is of, and what is not in it, in sentences.
    """

    index: Path
    answer: list[str]
    notes: list[str]
    _name: str = field(repr=False)
    _results: CellResults = field(repr=False)
    _logger: LoggerSettings = field(repr=False)
    _made_by: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return "\n".join([*dict.fromkeys([*self.answer, *self.notes]), f"The report is {self.index.absolute()}"])

    def upload(self, to: str) -> None:
        """Make views of all cells and of the report, for ``wandb``, ``tensorboard`` or ``both``.

        Raises:
            UnfinishedError: not all could be written.
        """
        from ..loggers import upload_sweep

        self._logger.name = to
        problems: list[str] = []
        folders = self._results.folders.values()
        for place in dict.fromkeys(cell.parent for cell in folders):
            cells = [cell.name for cell in folders if cell.parent == place]
            problems += upload_sweep(place, cells, self._name, self.index.parent, self._logger, self._made_by, say)
        if problems:
            raise UnfinishedError("\n".join(problems))


def report(
    asked: str | Sequence[str] = (),
    *overrides: str,
    results: str | Path | None = None,
    out: str | Path | None = None,
    note: str | Path | None = None,
    upload: str | None = None,
    **options: Any,
) -> WrittenReport:
    """Write the figures, tables and page of a sweep, or of a folder of results; nothing is trained.

    ``report("quick")``, ``report("quick", "regime=full", metric="auroc")``, ``report(results="results")``. What comes
    back prints what ``report.py`` says.

    Args:
        asked: a sweep by its name or path, or overrides that narrow what the report is of.
        overrides: more of these.
        results: the folder of which everything is reported, instead of a sweep.
        out: where to write; ``reports/NAME`` if left out.
        note: a Markdown file to write on the agreement with the paper, by reading; a CSV of the same name has a row a
            cell.
        upload: ``wandb``, ``tensorboard`` or ``both``: make views of all cells and of the report.
        options: ``metric, rope, test, adjust, alpha, nemenyi``: see `scarf_lightning.report.options.Options`.

    Raises:
        UsageError: something is wrong with what is asked, or nothing is finished yet.
        UnfinishedError: not all views could be written.
    """
    check_upload(upload)
    written = write(overrides_of(asked, overrides), results=results, out=out, note=note, **options)
    if upload is not None:
        written.upload(upload)
    return written


def check_upload(to: str | None) -> None:
    """Refuse an unknown place to upload to.

    Raises:
        UsageError: it is one.
    """
    if to not in (None, *UPLOADS):
        raise UsageError(f"upload={to} is unknown; the options are: {', '.join(UPLOADS)}.")


def write(
    asked: Sequence[str],
    *,
    results: str | Path | None = None,
    out: str | Path | None = None,
    note: str | Path | None = None,
    **options: Any,
) -> WrittenReport:
    """As `report`, of a list of overrides, and without views."""
    folder = None if results is None else Path(results)
    kept, damaged = ([], {}) if folder is None else cells_of_folder(folder)
    names_plugins = any(override.startswith("plugins=") for override in asked)
    plugins = named_plugins(asked) if names_plugins or folder is None else plugins_of(kept)
    load_plugins(plugins)
    chosen = report_options.read_options(options)
    of_logger = tuple(override for override in asked if override.startswith("logger."))
    overrides = [override for override in asked if override not in of_logger]
    with hydra_started(plugins) as hydra:
        master = master_of(hydra)
        compose = Composer(hydra.config_loader, master)
        subject = (
            of_sweep(overrides, compose, master) if folder is None else of_folder(folder, kept, damaged, overrides)
        )
        found = read_results(subject.cells, subject.damaged, axis_columns(identity(compose(()), "")))
        defaults = {
            (regime, pretrain, method): compose((f"regime={regime}", f"pretrain={pretrain}", f"method={method}"))
            for regime, pretrain, method in published_competitors(found)
        }
        logger = compose(of_logger).logger
    given = {"results": results, **options, "out": out, "note": note}
    said = [*asked, *(f"{name}={_said(value)}" for name, value in given.items() if value is not None)]
    command = shlex.join(["python", "report.py", *said])
    rows_of_defaults = {competitor: axis_columns(identity(config, "")) for competitor, config in defaults.items()}
    made: Report = make_report(
        found,
        subject.drawings or default_drawings(found),
        chosen,
        title=subject.title,
        paper=subject.paper,
        defaults=rows_of_defaults,
        left_out=subject.left_out,
        command=command,
        more_trials=by_sweep(overrides) if folder is None else by_cells(found, folder),
    )
    index = write_report(made, Path(out or f"reports/{subject.name}"))
    if note is not None:
        write_note(rows_by_reading(found, rows_of_defaults), Path(note), command)
    made_by = {"command": command} | asdict(chosen)
    return WrittenReport(index, made.answer, [*made.about, *made.warnings], subject.name, found, logger, made_by)


def of_sweep(overrides: Sequence[str], compose: Composer, master: DictConfig) -> Subject:
    """The cells of a sweep, narrowed by what else is given."""
    for override in overrides:
        key, sign, _ = override.partition("=")
        if not sign or key.lstrip("+~").replace("/", ".").partition(".")[0].partition("@")[0] not in master:
            raise UsageError(f"{override} is not an option; --help names those of a report, train.py --help the axes.")
    request = expand(overrides, compose, SWEEPS)
    sweep = request.sweep
    if sweep is None:
        raise UsageError("Name what the report is of: sweeps=NAME, or results=FOLDER.")
    return Subject(
        sweep.name,
        sweep.title,
        [wanted(cell) for cell in distinct(request.cells)],
        drawings=read_drawings(sweep.report, f"sweeps/{sweep.name}.yaml"),
        paper=sweep.paper,
        left_out=request.left_out,
    )


def of_folder(folder: Path, cells: list[ReportedCell], damaged: dict[Path, str], overrides: Sequence[str]) -> Subject:
    """The cells of a folder that have these options, and no file that says what to draw of them."""
    name = folder.resolve().name
    conditions = [override for override in overrides if not override.startswith("plugins=")]
    return Subject(name, " ".join(["Everything in", name, *conditions]), narrowed(cells, conditions), damaged)


def wanted(cell: Cell) -> ReportedCell:
    """A cell of a sweep."""
    store = cell.store()
    failure = read_failure(cell.results, cell.key)
    return ReportedCell(
        axes=cell.axes(),
        dataset_id=cell.config.dataset.id,
        folder=None if store is None else store.folder,
        trials=cell.config.trials,
        failure=None if failure is None else failure.error,
        overrides=cell.overrides,
    )


def say(sentence: str) -> None:
    """How far the upload is; results stand on the other channel."""
    sys.stderr.write(f"{escaped(sentence)}\n")


def _said(value: Any) -> str:
    """A value as a command line says it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
