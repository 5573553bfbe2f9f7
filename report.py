"""Results as figures, tables and one HTML page: `python report.py sweeps=quick`, or `results=FOLDER`."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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
from scarf_lightning.report.beside_paper import published_competitors
from scarf_lightning.report.drawings import check_drawings
from scarf_lightning.report.drawings.defaults import default_drawings
from scarf_lightning.report.making import NothingFinishedError, make_report, write_report
from scarf_lightning.report.options import read_options
from scarf_lightning.report.reading import Asked, Material, cells_of_folder, read_material
from scarf_lightning.results import axis_columns, identity, read_failure
from scarf_lightning.sweeping.cell import Cell, distinct
from scarf_lightning.sweeping.composer import Composer
from scarf_lightning.sweeping.expand import expand
from scarf_lightning.sweeping.sweep_file import SweepFile

ROOT = Path(__file__).parent
OURS = ("results", "out", "upload", "test", "adjust", "alpha", "nemenyi")
UPLOADS = ("wandb", "tensorboard", "both")
USAGE = """\
python report.py sweeps=NAME [AXIS=OPTION ...]   a sweep's figures and tables; overrides narrow it, as in train.py
python report.py results=FOLDER                  everything in a folder

  out=FOLDER                    where to write (reports/NAME)
  test=welch|paired|corrected   how differences are tested (welch, as the paper)
  adjust=holm|none              correction over datasets (none)
  alpha=0.05                    a difference counts where p is below it
  nemenyi=true|false            bars of critical-difference diagrams: Nemenyi's, or Wilcoxon-Holm's (false)
  upload=wandb|tensorboard|both make views of all cells and of the report; logger.wandb.mode=online sends them
"""


class Wanted(NamedTuple):
    """What a report is of: a sweep file, its cells, records that cannot be read, and cells that are left out of it."""

    sweep: SweepFile
    asked: list[Asked]
    damaged: dict[Path, str]
    left_out: Sequence[str]


def main(arguments: Sequence[str]) -> int:
    """Make a report, say where it is and what is not in it, and return the exit status."""
    given = {key: value for key, sign, value in (a.partition("=") for a in arguments) if sign and key in OURS}
    shown_by = tuple(argument for argument in arguments if argument.startswith("logger."))
    overrides = [a for a in arguments if a.partition("=")[0] not in given and a not in shown_by]
    options = read_options({key: value for key, value in given.items() if key not in ("results", "out", "upload")})
    if given.get("upload", "both") not in UPLOADS:
        raise UsageError(f"upload={given['upload']} is unknown; the options are: {', '.join(UPLOADS)}.")
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        master = loader.load_configuration("train", overrides=[], run_mode=RunMode.MULTIRUN)
        if "results" in given:
            wanted = everything(Path(given["results"]), overrides)
        else:
            wanted = of_sweep(overrides, loader, master)
        material = read_material(wanted.asked, wanted.damaged)
        compose = Composer(loader, master)
        defaults = {
            (regime, pretrain, method): compose((f"regime={regime}", f"pretrain={pretrain}", f"method={method}"))
            for regime, pretrain, method in published_competitors(material)
        }
        logger = compose(shown_by).logger
    report = make_report(
        material,
        wanted.sweep.report or default_drawings(material),
        options,
        title=wanted.sweep.title,
        paper=wanted.sweep.paper,
        defaults={competitor: axis_columns(identity(config, "")) for competitor, config in defaults.items()},
        left_out=wanted.left_out,
        command=shlex.join(["python", "report.py", *arguments]),
    )
    index = write_report(report, Path(given.get("out", f"reports/{wanted.sweep.name}")))
    for sentence in dict.fromkeys([*report.about, *report.warnings]):
        print(escaped(sentence))  # noqa: T201 - what a script says
    print(escaped(f"The report is {index.absolute()}"))  # noqa: T201
    if "upload" not in given:
        return 0
    logger.name = given["upload"]
    problems = []
    for results, cells in by_results(material).items():
        problems += upload_sweep(results, cells, wanted.sweep.name, index.parent, logger)
    for problem in problems:
        sys.stderr.write(f"{escaped(problem)}\n")
    return 1 if problems else 0


def by_results(material: Material) -> dict[Path, list[str]]:
    """Fingerprints of the cells by the folder of results that they are in."""
    found: dict[Path, list[str]] = {}
    for folder in material.folders.values():
        found.setdefault(folder.parent, []).append(folder.name)
    return found


def of_sweep(overrides: Sequence[str], loader: ConfigLoader, master: DictConfig) -> Wanted:
    """The cells of a sweep, narrowed by what else is given."""
    for override in overrides:
        key, sign, _ = override.partition("=")
        if not sign or key.lstrip("+~").replace("/", ".").partition(".")[0].partition("@")[0] not in master:
            raise UsageError(f"{override} is not an option; --help names those of a report, train.py --help the axes.")
    request = expand(overrides, loader, master, ROOT / "sweeps")
    if request.sweep is None:
        raise UsageError("Name what the report is of: sweeps=NAME, or results=FOLDER.")
    check_drawings(request.sweep.report, f"sweeps/{request.sweep.name}.yaml")
    return Wanted(request.sweep, [asked_for(cell) for cell in distinct(request.cells)], {}, request.left_out)


def everything(folder: Path, overrides: Sequence[str]) -> Wanted:
    """All cells of a folder, and no file that says what to draw of them."""
    if overrides:
        raise UsageError(f"{overrides[0]} cannot narrow results=FOLDER, which takes all there is; use sweeps=NAME.")
    asked, damaged = cells_of_folder(folder)
    name = folder.resolve().name
    return Wanted(SweepFile(name=name, title=f"Everything in {name}", cells=[]), asked, damaged, ())


def asked_for(cell: Cell) -> Asked:
    """A cell of a sweep, as the report asks for it."""
    store = cell.store()
    failure = read_failure(cell.results, cell.key)
    return Asked(
        axes=cell.axes(),
        dataset_id=cell.config.dataset.id,
        folder=None if store is None else store.folder,
        trials=cell.config.trials,
        failure=None if failure is None else failure.error,
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
