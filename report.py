"""Results as figures, tables and one HTML page: `python report.py sweeps=quick`, or `results=FOLDER`."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from scarf_lightning.config.typed import explain
from scarf_lightning.errors import UsageError
from scarf_lightning.escaping import escaped
from scarf_lightning.loggers import upload_sweep
from scarf_lightning.report import options as report_options
from scarf_lightning.report.agreement_note import rows_by_reading, write_note
from scarf_lightning.report.beside_paper import published_competitors
from scarf_lightning.report.commands import by_cells, by_sweep
from scarf_lightning.report.defaults import default_drawings
from scarf_lightning.report.drawings import Drawing, read_drawings
from scarf_lightning.report.making import NothingFinishedError, make_report, write_report
from scarf_lightning.report.reading import WantedCell, cells_of_folder, narrowed, read_results
from scarf_lightning.results import axis_columns, identity, read_failure
from scarf_lightning.sweeping.cell import Cell, distinct
from scarf_lightning.sweeping.composer import Composer
from scarf_lightning.sweeping.expand import expand

ROOT = Path(__file__).parent
OURS = ("results", "out", "note", "upload", *report_options.NAMES)
UPLOADS = ("wandb", "tensorboard", "both")
USAGE = """\
python report.py sweeps=NAME [AXIS=OPTION ...]      a sweep's answer, figures and tables; overrides narrow it
python report.py results=FOLDER [AXIS=OPTION ...]   everything in a folder, or what has these options: dataset=iris

  out=FOLDER                    where to write (reports/NAME)
  note=FILE.md                  also a note on agreement with the paper, by reading, and FILE.csv, a row a cell
  metric=NAME                   what everything is compared by (accuracy), such as auroc or log_loss
  rope=0.01                     a difference no larger is of no practical consequence: 0.01 is a point of accuracy
  test=welch|paired|corrected   how differences are tested in win matrices (welch, as the paper)
  adjust=holm|none              correction over datasets (none)
  alpha=0.05                    a difference counts where p is below it
  nemenyi=true|false            bars of critical-difference diagrams: Nemenyi's, or Wilcoxon-Holm's (false)
  upload=wandb|tensorboard|both make views of all cells and of the report; logger.wandb.mode=online sends them
"""


@dataclass(frozen=True)
class Subject:
    """What a report is of: a name, a title, the wanted cells, and what a sweep file says of it."""

    name: str
    title: str
    cells: list[WantedCell]
    damaged: dict[Path, str] = field(default_factory=dict)
    drawings: Sequence[Drawing] = ()
    paper: str | None = None
    left_out: Sequence[str] = ()


def main(arguments: Sequence[str]) -> int:
    """Make a report, say what it says, where it is and what is not in it, and return the exit status."""
    given = {key: value for key, sign, value in (a.partition("=") for a in arguments) if sign and key in OURS}
    shown_by = tuple(argument for argument in arguments if argument.startswith("logger."))
    overrides = [a for a in arguments if a.partition("=")[0] not in given and a not in shown_by]
    options = report_options.read_options({key: given[key] for key in report_options.NAMES if key in given})
    if given.get("upload", "both") not in UPLOADS:
        raise UsageError(f"upload={given['upload']} is unknown; the options are: {', '.join(UPLOADS)}.")
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        master = loader.load_configuration("train", overrides=[], run_mode=RunMode.MULTIRUN)
        folder = Path(given["results"]) if "results" in given else None
        subject = of_sweep(overrides, loader, master) if folder is None else of_folder(folder, overrides)
        compose = Composer(loader, master)
        usual = axis_columns(identity(compose(()), ""))
        results = read_results(subject.cells, subject.damaged, usual)
        defaults = {
            (regime, pretrain, method): compose((f"regime={regime}", f"pretrain={pretrain}", f"method={method}"))
            for regime, pretrain, method in published_competitors(results)
        }
        logger = compose(shown_by).logger
    rows_of_defaults = {competitor: axis_columns(identity(config, "")) for competitor, config in defaults.items()}
    command = shlex.join(["python", "report.py", *arguments])
    report = make_report(
        results,
        subject.drawings or default_drawings(results),
        options,
        title=subject.title,
        paper=subject.paper,
        defaults=rows_of_defaults,
        left_out=subject.left_out,
        command=command,
        more_trials=by_sweep(overrides) if folder is None else by_cells(results, folder),
    )
    index = write_report(report, Path(given.get("out", f"reports/{subject.name}")))
    for sentence in dict.fromkeys([*report.answer, *report.about, *report.warnings]):
        print(escaped(sentence))  # noqa: T201 - what a script says
    print(escaped(f"The report is {index.absolute()}"))  # noqa: T201
    if "note" in given:
        write_note(rows_by_reading(results, rows_of_defaults), Path(given["note"]), command)
    if "upload" not in given:
        return 0
    logger.name = given["upload"]
    problems = []
    for place in dict.fromkeys(cell.parent for cell in results.folders.values()):
        cells = [cell.name for cell in results.folders.values() if cell.parent == place]
        problems += upload_sweep(place, cells, subject.name, index.parent, logger)
    for problem in problems:
        sys.stderr.write(f"{escaped(problem)}\n")
    return 1 if problems else 0


def of_sweep(overrides: Sequence[str], loader: ConfigLoader, master: DictConfig) -> Subject:
    """The cells of a sweep, narrowed by what else is given."""
    for override in overrides:
        key, sign, _ = override.partition("=")
        if not sign or key.lstrip("+~").replace("/", ".").partition(".")[0].partition("@")[0] not in master:
            raise UsageError(f"{override} is not an option; --help names those of a report, train.py --help the axes.")
    request = expand(overrides, loader, master, ROOT / "sweeps")
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


def of_folder(folder: Path, overrides: Sequence[str]) -> Subject:
    """The cells of a folder that have these options, and no file that says what to draw of them."""
    cells, damaged = cells_of_folder(folder)
    name = folder.resolve().name
    return Subject(name, " ".join(["Everything in", name, *overrides]), narrowed(cells, overrides), damaged)


def wanted(cell: Cell) -> WantedCell:
    """A cell of a sweep."""
    store = cell.store()
    failure = read_failure(cell.results, cell.key)
    return WantedCell(
        axes=cell.axes(),
        dataset_id=cell.config.dataset.id,
        folder=None if store is None else store.folder,
        trials=cell.config.trials,
        failure=None if failure is None else failure.error,
        overrides=cell.overrides,
    )


def run(arguments: Sequence[str]) -> int:
    """Run `main`, and answer bad input in a sentence instead of a traceback."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(USAGE)
        return 0
    try:
        return main(arguments)
    except (UsageError, HydraException) as error:
        sys.stderr.write(f"{escaped(str(error) if isinstance(error, UsageError) else explain(error))}\n")
        return 1 if isinstance(error, NothingFinishedError) else 2


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
