"""Curves in W&B while a cell trains: of each epoch the mean over the trials in it, under ``live/``."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.schema import LoggerSettings
from .wandb_runs import draw_over_epochs, open_run

if TYPE_CHECKING:
    import wandb

Tell = Callable[[str, Sequence[dict[str, Any]]], None]
"""Told of a phase and the records of its latest epoch, one a trial."""
SECONDS_BETWEEN = 5.0
"""Between two messages to W&B's client; what came in between is in the next one. It sends every fifteen."""


@contextmanager
def live_curves(settings: LoggerSettings, results: Path, id: str, name: str, group: str) -> Iterator[Tell | None]:
    """Something to tell of each epoch while the block runs; None where nobody looks, as at offline runs.

    The run is the one that shows the cell when it has ended. Its server may go away: then training goes on, and the
    curves are complete when the cell is shown.

    Args:
        settings: which logger, and how.
        results: the folder of all results.
        id, name, group: the run's, as in `CellView`.
    """
    if settings.name not in ("wandb", "both") or settings.wandb.mode != "online":
        yield None
        return
    try:
        opened = open_run(settings.wandb, results, id, {"name": name, "group": group})
        run = opened.__enter__()
    except Exception:  # what shows the cell at its end meets the same, and says it
        yield None
        return
    curves = LiveCurves(run)
    try:
        yield curves.tell
    finally:
        curves.send()
        with suppress(Exception):  # the cell is trained; what shows it says what is wrong
            opened.__exit__(None, None, None)


class LiveCurves:
    """Means over trials, sent every few seconds.

    Args:
        run: where to.
    """

    def __init__(self, run: "wandb.Run") -> None:
        self._run, self._unsent, self._last = run, list[dict[str, float]](), time.monotonic()

    def tell(self, phase: str, records: Sequence[dict[str, Any]]) -> None:
        names = [name for name in records[0] if name not in ("trial", "epoch")]
        means = {f"live/{phase}/{name}": sum(each[name] for each in records) / len(records) for name in names}
        step = {f"live/{phase}/epoch": float(records[0]["epoch"]), f"live/{phase}/trials_training": float(len(records))}
        self._unsent.append(step | means)
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self.send()

    def send(self) -> None:
        """Send what has not been sent; what the server does not take is in the store."""
        try:
            for values in self._unsent:
                phase = next(iter(values)).split("/")[1]
                draw_over_epochs(self._run, f"live/{phase}")
                self._run.log(values)
        except Exception:  # training goes on without whoever looks
            pass
        self._unsent, self._last = [], time.monotonic()
