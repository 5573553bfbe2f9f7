"""TensorBoard's event files: a folder for each cell, with scalars in the precision of the store."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..importing import require
from ..options.settings import LoggerSettings
from .view import CellView, mean_curves

FOLDER = "tensorboard"


def write(view: CellView, results: Path, settings: LoggerSettings) -> None:
    """Write a cell to ``<results>/tensorboard/<group>/<name>_<id>``, in place of its earlier view.

    Tags are ``<phase>/<curve>`` over epochs, ``trials/<metric>`` over trials, ``summary/<metric>``, and as texts
    ``config``, ``tags`` and, if the cell failed, ``failure``. The configuration is there as hyper-parameters too, by
    dotted names.

    Raises:
        UsageError: TensorBoard is not installed.
    """
    require("tensorboard", "logger=tensorboard")
    from torch.utils.tensorboard import SummaryWriter
    from torch.utils.tensorboard.summary import hparams

    sweep, name = (re.sub(r"[^\w.=+,-]+", "_", text)[:150] for text in (view.group, view.name))
    folder = results / FOLDER / sweep / f"{name}_{view.id}"
    for old in (results / FOLDER).glob(f"*/*_{view.id}"):
        shutil.rmtree(old)
    with SummaryWriter(folder) as writer:

        def scalar(tag: str, value: float, step: int) -> None:
            writer.add_scalar(tag, float(value), step, new_style=True, double_precision=True)

        frames = {
            phase: curves.reset_index(names="step")
            for phase, curves in mean_curves(view.curves, per_trial=settings.per_trial).items()
        }
        if len(view.trials):
            frames["trials"] = view.trials.select_dtypes("number").rename(columns={"trial": "step"})
        for group, frame in frames.items():
            for curve in frame.columns.drop("step"):
                for step, value in frame[["step", curve]].dropna().itertuples(index=False):
                    scalar(f"{group}/{curve}", value, int(step))
        for metric, value in view.summary.items():
            scalar(f"summary/{metric}", value, 0)
        results_by = dict.fromkeys((f"summary/{metric}" for metric in view.summary), 0.0)
        for summary in hparams(dict(_flat(view.config)), results_by):  # type: ignore[no-untyped-call]
            writer.file_writer.add_summary(summary)
        texts = {"config": yaml.safe_dump(view.config), "tags": " ".join(view.tags), "failure": view.failure}
        for tag, text in texts.items():
            if text is not None:
                writer.add_text(tag, f"```\n{text}\n```")


def _flat(config: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, bool | int | float | str]]:
    """Options by dotted names, as types that TensorBoard takes."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        elif value is not None:
            yield f"{path}{key}", value if isinstance(value, bool | int | float | str) else str(value)
