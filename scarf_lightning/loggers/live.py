"""Curves in W&B while a cell trains."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options.run_settings import LoggerSettings
from .places import LIVE

if TYPE_CHECKING:
    from pytorch_lightning.loggers import Logger

SECONDS_BETWEEN = 5.0
"""Between two messages of live curves to W&B's client, which itself sends every fifteen seconds."""

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

    try:
        opened = wandb_runs.open_run(settings.wandb, results, id, {"name": name, "group": group})
        curves = LiveCurves(opened.__enter__())
    except Exception:
        # The view of the cell will meet the same problem and name it.
        yield None
        return
    try:
        yield curves.tell
    finally:
        curves.send()
        with suppress(Exception):
            # The cell is trained; its view names what is wrong.
            opened.__exit__(None, None, None)


class LiveCurves:
    """Means over trials, sent to a run every few seconds."""

    def __init__(self, logger: "Logger") -> None:
        self._logger = logger
        self._unsent: list[tuple[int, dict[str, float]]] = []
        self._last = time.monotonic()

    def tell(self, phase: str, records: Sequence[dict[str, Any]]) -> None:
        """Take the records of an epoch."""
        place = f"{LIVE}/{phase}"
        point = {f"{place}/trials_training": float(len(records))}
        for name in records[0]:
            if name not in ("trial", "epoch"):
                point[f"{place}/{name}"] = sum(each[name] for each in records) / len(records)
        self._unsent.append((int(records[0]["epoch"]), point))
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self.send()

    def send(self) -> None:
        """Send all epochs that are not sent yet. If the server does not take them, the store still has them."""
        with suppress(Exception):
            for epoch, values in self._unsent:
                self._logger.log_metrics(values, epoch)
        self._unsent, self._last = [], time.monotonic()
