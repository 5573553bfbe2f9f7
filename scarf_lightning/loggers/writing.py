"""Views are written from the store: when a cell ends, or at any later time. One writer serves all loggers.

A view that cannot be written loses nothing, for the store has everything that it shows.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options.run_settings import LoggerSettings
from .places import SUMMARY, TRIALS
from .view import CellView, mean_curves, plain_table

if TYPE_CHECKING:
    import pandas as pd
    from pytorch_lightning.loggers import Logger

LABELS = {"wandb": "W&B", "tensorboard": "TensorBoard", "mlflow": "MLflow"}
"""The names of loggers in sentences, where they are not those of their sections."""


def write_views(view: CellView, results: str | Path, settings: LoggerSettings) -> list[str]:
    """Write the views of a cell that the settings ask for, by default each into a folder of its name in the results.

    Returns:
        A sentence on each view that could not be written, with the reason.
    """
    problems = []
    for name in settings.views:
        # A view shows what the store has, so that nothing is lost if it cannot be written, for whatever reason.
        try:
            opened = _opened(name, view, Path(results), settings)
            with _every_process_writes(), opened as logger:
                write(view, logger, per_trial=settings.per_trial)
        except Exception as error:
            problems.append(f"{view.name} ({view.id}) is not in {LABELS.get(name, name)}: {_reason(error)}.")
    return problems


def write(view: CellView, logger: "Logger", *, per_trial: bool) -> None:
    """Write a cell through a logger of Lightning's: its configuration, curves, trials and summary.

    Metrics are ``<phase>/<curve>`` over epochs, ``trials/<metric>`` over trials, and ``summary/<metric>``. The answer
    is part of the configuration. A logger that has tables gets the trials as one, ``trials_table``, and those of a
    sweep; one that keeps files gets its page.

    Args:
        view: the cell.
        logger: a new one of this cell alone.
        per_trial: as of `mean_curves`.
    """
    status = "failed"
    try:
        logger.log_hyperparams({**view.config, **view.answer})
        for phase, curves in mean_curves(view.curves, per_trial=per_trial).items():
            _log_rows(logger, phase, curves)
        log_table = getattr(logger, "log_table", None)
        for name, frame in view.tables.items():
            if log_table is not None:
                log_table(name, *plain_table(frame))
        log_page = getattr(logger, "log_page", None)
        if log_page is not None and view.page is not None:
            log_page(view.page)
        if len(view.trials):
            if log_table is not None:
                log_table("trials_table", *plain_table(view.trials))
            else:
                numbers = view.trials.set_index("trial").select_dtypes("number")
                _log_rows(logger, TRIALS, numbers)
        if view.summary:
            summary = {f"{SUMMARY}/{name}": value for name, value in view.summary.items()}
            logger.log_metrics(summary, 0)
        if view.failure is None:
            status = "success"
    finally:
        logger.finalize(status)


def _log_rows(logger: "Logger", place: str, frame: "pd.DataFrame") -> None:
    """Log the values of a frame, whose index is their step; missing ones are left out."""
    for step, values in frame.iterrows():
        known = values.dropna()
        metrics = {f"{place}/{name}": float(value) for name, value in known.items()}
        logger.log_metrics(metrics, int(step))  # type: ignore[call-overload]


def _opened(name: str, view: CellView, results: Path, settings: LoggerSettings) -> AbstractContextManager["Logger"]:
    """The logger of this name for one cell, in place of what it wrote of the cell before."""
    # Each imports Lightning.
    if name == "wandb":
        from . import wandb_runs

        return wandb_runs.opened(view, results, settings.wandb)
    if name == "tensorboard":
        from . import tensorboard

        return tensorboard.opened(view, results)
    if name == "mlflow":
        from . import mlflow_runs

        return mlflow_runs.opened(view, results, settings.mlflow)
    from . import custom

    return custom.opened(view, results, name, settings.others[name])


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


def _reason(error: Exception) -> str:
    """The message of an error in one line, without a full stop."""
    words = " ".join(str(error).split())
    return words.removesuffix(".") or type(error).__name__
