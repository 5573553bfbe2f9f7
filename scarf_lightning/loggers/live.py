"""Curves in W&B while a cell trains."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options.run_settings import LoggerSettings

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger

Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Given a phase and the records of its latest epoch, one for each trial."""


@contextmanager
def live_curves(settings: LoggerSettings, results: Path, id: str, name: str, group: str) -> Iterator[Tell | None]:
    """Show the curves of a cell in W&B while it trains: for each epoch the mean over its trials, under ``live/``.

    Gives a function to call after each epoch; None if the runs are not online, where nobody could look. The run is the
    one that the view of the cell continues at the end. If the server goes away, training goes on: the store has every
    curve.

    Args:
        settings: which logger, and how.
        results: the folder of all results.
        id, name, group: of the run, as in `CellView`.
    """
    if "wandb" not in settings.views or settings.wandb.mode != "online":
        yield None
        return
    from . import wandb_runs

    opened = wandb_runs.open_run(settings.wandb, results, id, {"name": name, "group": group})
    try:
        logger = opened.__enter__()
    except Exception:
        # The view of the cell will meet the same problem and name it.
        yield None
        return
    try:
        yield partial(tell, logger)
    finally:
        with suppress(Exception):
            # The cell is trained; its view names what is wrong.
            opened.__exit__(None, None, None)


def tell(logger: "Logger", phase: str, records: Sequence[dict[str, Any]]) -> None:
    """Send the means over trials of an epoch. If the server does not take them, the store still has them."""
    point = {f"live/{phase}/trials_training": float(len(records))}
    for name in records[0]:
        if name not in ("trial", "epoch"):
            point[f"live/{phase}/{name}"] = sum(each[name] for each in records) / len(records)
    with suppress(Exception):
        logger.log_metrics(point, int(records[0]["epoch"]))
