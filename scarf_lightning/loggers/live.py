"""Curves in W&B while a cell trains."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import UsageError
from ..options.settings import LoggerSettings
from ..screen import screen
from .writing import reason

Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Given a phase and the records of its latest epoch, one for each trial."""


@contextmanager
def live_curves(settings: LoggerSettings, results: Path, id: str, name: str, group: str) -> Iterator[Tell | None]:
    """Show the curves of a cell in W&B while it trains: for each epoch the mean over its trials, under ``live/``.

    Gives a function to call after each epoch; None if the runs are not online, where nobody could look, or if W&B
    cannot be reached, which is said. The run is the one that the view of the cell continues at the end. If the server
    goes away, training goes on: the store has every curve.

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
    opened = open_run(settings.wandb, results, id, {"name": name, "group": group})
    try:
        logger = opened.__enter__()
    except failures as error:
        screen(stderr=True).say(f"W&B shows no curves of {name} while it trains: {reason(error)}.")
        yield None
        return

    def tell(phase: str, records: Sequence[dict[str, Any]]) -> None:
        point: dict[str, float] = {f"live/{phase}/trials_training": len(records)}
        for column in records[0].keys() - {"trial", "epoch"}:
            point[f"live/{phase}/{column}"] = fmean(each[column] for each in records)
        with suppress(*failures):
            logger.log_metrics(point, records[0]["epoch"])

    try:
        yield tell
    finally:
        # The cell is trained; its view meets the same problem, and names it.
        with suppress(*failures):
            opened.__exit__(None, None, None)
