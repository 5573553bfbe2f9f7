"""Views are written from the store: when a cell ends, or at any later time; W&B shows curves while it trains.

One writer serves all loggers. A view that cannot be written loses nothing, for the store has everything that it shows.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from inspect import signature
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..options.axes import TARGET
from ..options.plugins import logger_class
from ..options.settings import LoggerSettings
from ..screen import screen
from .view import CellView, mean_curves, plain_table

if TYPE_CHECKING:
    import pandas as pd
    from pytorch_lightning.loggers import Logger

OF_LIGHTNING = ("metrics.csv", "hparams.yaml", "events.out.tfevents.*")
"""Files that Lightning's loggers write for a run."""
Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Takes a phase and the records of its latest epoch, one for each trial."""


def write_views(view: CellView, results: str | Path, settings: LoggerSettings) -> list[str]:
    """Write the views of a cell that the settings name, by default each into a folder of its name in the results.

    Returns:
        A sentence on each view that could not be written, with the reason.
    """
    problems = []
    for name in settings.views:
        # A view shows what the store has, so that nothing is lost if it cannot be written, for whatever reason.
        try:
            with _every_process_writes():
                if name == "wandb":
                    # Imports Lightning.
                    from .wandb_runs import open_run

                    run = {"name": view.name, "group": view.group, "notes": view.failure}
                    with open_run(
                        settings.wandb,
                        Path(results),
                        view.id,
                        run,
                        n_trials=len(view.trials),
                        failed=view.failure is not None,
                    ) as logger:
                        write(view, logger, view.config)
                else:
                    description = {"name": view.name, "group": view.group, "failure": view.failure}
                    with _open_logger(view, Path(results), name, settings.others[name]) as other_logger:
                        write(view, other_logger, description | view.config)
        except Exception as error:
            problems.append(f"{view.name} ({view.id}) is not in {name}: {reason(error)}.")
    return problems


@contextmanager
def live_curves(settings: LoggerSettings, results: Path, id: str, name: str, group: str) -> Iterator[Tell | None]:
    """Show the curves of a cell in W&B while it trains: for each epoch the mean over its trials, under ``live/``.

    Yields a function to call after each epoch; None if the runs are not online, where nobody could look, or if W&B
    cannot be reached, after a sentence on it. The run is the one that the view of the cell continues at the end. If the
    server goes away, training goes on: the store has every curve.

    Args:
        settings: which logger, and how.
        results: the folder of all results.
        id, name, group: of the run, as in `CellView`.
    """
    if "wandb" not in settings.views or settings.wandb.mode != "online":
        yield None
        return
    from wandb.errors import Error

    from .wandb_runs import open_run

    # Nobody is logged in, W&B refuses the run, or the server or the disk is gone.
    failures = UsageError, Error, OSError
    context = open_run(settings.wandb, results, id, {"name": name, "group": group})
    try:
        logger = context.__enter__()
    except failures as error:
        screen(stderr=True).say(f"W&B shows no curves of {name} while it trains: {reason(error)}.")
        yield None
        return

    def tell(phase: str, records: Sequence[dict[str, Any]]) -> None:
        point: dict[str, float] = {f"live/{phase}/trials_training": len(records)}
        for column in records[0].keys() - {"trial", "epoch"}:
            point[f"live/{phase}/{column}"] = fmean(record[column] for record in records)
        with suppress(*failures):
            logger.log_metrics(point, records[0]["epoch"])

    try:
        yield tell
    finally:
        # The cell is trained; its view meets the same problem, and names it.
        with suppress(*failures):
            context.__exit__(None, None, None)


def write(view: CellView, logger: "Logger", config: Mapping[str, Any]) -> None:
    """Write a cell through a logger of Lightning's: its configuration, curves, trials and summary.

    Metrics are ``<phase>/<curve>`` over epochs, ``trials/<metric>`` over trials, and ``summary/<metric>``. A logger of
    tables gets the trials as one, ``trials_table``.

    Args:
        view: the cell.
        logger: a new one of this cell alone.
        config: its hyperparameters.
    """
    status = "failed"
    try:
        logger.log_hyperparams(dict(config))
        for phase, curves in mean_curves(view.curves).items():
            _log_rows(logger, phase, curves)
        if len(view.trials):
            if hasattr(logger, "log_table"):
                logger.log_table("trials_table", dataframe=plain_table(view.trials))
            else:
                _log_rows(logger, "trials", view.trials.set_index("trial").select_dtypes("number"))
        logger.log_metrics({f"summary/{name}": value for name, value in view.summary.items()}, 0)
        if view.failure is None:
            status = "success"
    finally:
        logger.finalize(status)


def reason(error: Exception) -> str:
    """The message of an error in one line, without a full stop."""
    words = " ".join(str(error).split())
    return words.removesuffix(".") or type(error).__name__


def _log_rows(logger: "Logger", place: str, frame: "pd.DataFrame") -> None:
    """Log the values of a frame, whose index is their step; missing ones are left out."""
    for step, values in frame.iterrows():
        metrics = {f"{place}/{name}": float(value) for name, value in values.dropna().items()}
        logger.log_metrics(metrics, int(step))  # type: ignore[call-overload]


@contextmanager
def _open_logger(view: CellView, results: Path, name: str, section: Mapping[str, Any]) -> Iterator["Logger"]:
    """The logger of a section for one cell, with the options of the section as they are.

    Where the class takes ``save_dir``, ``name``, ``version`` or ``run_name`` and the section leaves them out, they are
    ``<results>/<section>``, the name of the cell and its fingerprint. A folder of ``<save_dir>/*/<fingerprint>`` that
    holds files of Lightning's loggers and nothing else is replaced.
    """
    cls = logger_class(name, section)
    defaults = {
        "save_dir": str(results / name),
        # File systems refuse some characters, and long names.
        "name": re.sub(r"[^\w.=+,-]+", "_", view.name)[:150],
        "version": view.id,
        "run_name": view.name,
    }
    arguments = {option: value for option, value in defaults.items() if option in signature(cls).parameters}
    arguments |= {option: value for option, value in section.items() if option != TARGET}
    if "save_dir" in arguments and arguments.get("version") == view.id:
        # A cell may have had another name when it was written last.
        for folder in list(Path(arguments["save_dir"]).glob(f"*/{view.id}")):
            if _is_run_folder(folder):
                shutil.rmtree(folder)
    logger = cls(**arguments)
    try:
        yield logger
    finally:
        # Lightning leaves a run of W&B's kind open, and the next cell would go on in it.
        finish = getattr(logger.experiment, "finish", None)
        if callable(finish):
            finish()


def _is_run_folder(folder: Path) -> bool:
    """True if a folder holds files of Lightning's loggers and nothing else. A record of the store, or a copy of
    one, may have the same name."""
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return False
    logger_files = {path for pattern in OF_LIGHTNING for path in folder.glob(pattern) if path.is_file()}
    return bool(logger_files) and logger_files == set(folder.iterdir())


@contextmanager
def _every_process_writes() -> Iterator[None]:
    """Within this context Lightning's loggers write in every process. By themselves they write in the first one of a
    group that trains one network, and take jobs of a cluster, each of which trains cells of its own, for such a group.
    """
    from pytorch_lightning import utilities

    rank_zero_only: Any = utilities.rank_zero_only
    rank, rank_zero_only.rank = rank_zero_only.rank, 0
    try:
        yield
    finally:
        rank_zero_only.rank = rank
