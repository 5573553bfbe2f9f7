"""The command lines: what is wrong is said in a sentence instead of a traceback, and decides the exit status."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import hydra
from hydra.errors import HydraException

from ..config import named_plugins, offer
from ..config.typed import explain
from ..errors import UnfinishedError, UsageError
from ..escaping import escaped
from ..folders import CONF
from .job import train_job
from .signals import ended_by_sigterm

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
  plugins=[MODULE]              modules of parts and metrics; of a folder those that its cells were trained with
  upload=wandb|tensorboard|both make views of all cells and of the report; logger.wandb.mode=online sends them
"""


def train() -> int:
    """`train.py`: Hydra composes the command line, our sweeper expands and checks it, and `train_job` trains."""
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        from ..console.axis_help import axis_page
        from ..console.help import help_page
        from ..console.screen import screen

        axes = [axis for axis in arguments if (CONF / axis).is_dir()]
        screen().print(*([axis_page(CONF, axis) for axis in axes] or [help_page(CONF)]))
        return 0

    def through_hydra() -> None:
        gc.freeze()  # what is imported stays: looking through it for garbage takes a tenth of a finished cell's time
        offer(named_plugins(arguments))
        hydra.main(config_path=str(CONF), config_name="train", version_base="1.3")(train_job)()

    with ended_by_sigterm(), without_record_of_hydras():
        return answered(through_hydra)


@contextmanager
def without_record_of_hydras() -> Iterator[None]:
    """Sweepers that are not ours leave ``multirun.yaml`` in ``hydra.sweep.dir``; from the working folder, where that is
    unless the user says otherwise, it is taken away."""
    record = Path("multirun.yaml").absolute()
    was_there = record.exists()
    try:
        yield
    finally:
        if not was_there:
            record.unlink(missing_ok=True)


def report() -> int:
    """`report.py`: read the results, say what they say, and write the page."""
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(USAGE)
        return 0
    return answered(lambda: _report(arguments))


def _report(arguments: Sequence[str]) -> None:
    from ..report.options import NAMES
    from .reporting import check_upload, write

    pairs = [(key, value) for key, sign, value in (each.partition("=") for each in arguments) if sign]
    given = {key: value for key, value in pairs if key in ("results", "out", "note", "upload", *NAMES)}
    overrides = [argument for argument in arguments if argument.partition("=")[0] not in given]
    upload = given.pop("upload", None)
    check_upload(upload)
    written = write(overrides, **given)
    sys.stdout.write(f"{escaped(str(written))}\n")
    if upload is not None:
        written.upload(upload)


def answered(command: Callable[[], None]) -> int:
    """The exit status of a command; bad input and what did not finish are said on stderr."""
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra's own handler would swallow the exception and print its frames
    try:
        command()
    except (UsageError, UnfinishedError, HydraException) as error:
        if wants_traceback:
            raise
        if isinstance(error, HydraException):
            error = UsageError(explain(error))
        sys.stderr.write(f"{escaped(str(error))}\n")
        return error.status
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; the same command goes on where it ended.\n")
        return 128 + signal.SIGINT
    return 0
