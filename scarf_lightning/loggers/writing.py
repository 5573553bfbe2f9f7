"""Views are written when a cell ends. One that cannot be written loses nothing: the store has what it shows."""

from collections.abc import Callable
from pathlib import Path

from ..config.schema import LoggerSettings
from . import tensorboard, wandb_runs
from .view import CellView

Writer = Callable[[CellView, Path, LoggerSettings], None]

WRITERS: dict[str, tuple[tuple[str, Writer], ...]] = {
    "none": (),
    "wandb": (("W&B", wandb_runs.write),),
    "tensorboard": (("TensorBoard", tensorboard.write),),
    "both": (("W&B", wandb_runs.write), ("TensorBoard", tensorboard.write)),
}
"""What a logger is called, and how it writes; by the names in `conf/logger`."""


def write_views(view: CellView, results: str | Path, settings: LoggerSettings) -> list[str]:
    """Write a cell's views to ``<results>/wandb`` and ``<results>/tensorboard``.

    Args:
        view: what they show.
        results: the folder of all results.
        settings: which, and how.

    Returns:
        A sentence on each that could not be written: which, and why.
    """
    problems = []
    for called, write in WRITERS[settings.name]:
        try:
            write(view, Path(results), settings)
        except Exception as error:
            reason = " ".join(str(error).split()).removesuffix(".") or type(error).__name__
            problems.append(f"{view.name} ({view.id}) is not in {called}: {reason}.")
    return problems
