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

    # A cell may have been in another sweep, or had another name, when it was written last.
    for earlier in (results / FOLDER).glob(f"*/*_{view.id}"):
        shutil.rmtree(earlier)
    folder = (
        results
        / FOLDER
        / _as_file_name(view.group)
        / f"{_as_file_name(view.name)}_{view.id}"
    )
    with SummaryWriter(folder) as writer:
        for tag, step, value in _scalars(view, settings):
            writer.add_scalar(
                tag, float(value), step, new_style=True, double_precision=True
            )
        # The dashboard of hyper-parameters takes its numbers from the scalars of these names.
        of_summary = dict.fromkeys(
            (f"summary/{metric}" for metric in view.summary), 0.0
        )
        options = dict(_flat(view.config))
        for summary in hparams(options, of_summary):  # type: ignore[no-untyped-call]
            writer.file_writer.add_summary(summary)
        texts = {
            "config": yaml.safe_dump(view.config),
            "tags": " ".join(view.tags),
            "failure": view.failure,
        }
        for tag, text in texts.items():
            # Texts are Markdown, which would join the lines and swallow the indentation.
            if text is not None:
                writer.add_text(tag, f"```\n{text}\n```")


def _as_file_name(text: str) -> str:
    """A text without the characters that file systems refuse, and short enough for them."""
    return re.sub(r"[^\w.=+,-]+", "_", text)[:150]


def _scalars(
    view: CellView, settings: LoggerSettings
) -> Iterator[tuple[str, int, float]]:
    """The tag, step and value of each point of a curve, and of the summary."""
    frames = {}
    for phase, curves in mean_curves(view.curves, per_trial=settings.per_trial).items():
        frames[phase] = curves.reset_index(names="step")
    if len(view.trials):
        frames["trials"] = view.trials.select_dtypes("number").rename(
            columns={"trial": "step"}
        )
    for group, frame in frames.items():
        for curve in frame.columns.drop("step"):
            for step, value in frame[["step", curve]].dropna().itertuples(index=False):
                yield f"{group}/{curve}", int(step), value
    for metric, value in view.summary.items():
        yield f"summary/{metric}", 0, value


def _flat(
    config: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, bool | int | float | str]]:
    """Options by dotted names, as types that TensorBoard takes."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        elif isinstance(value, bool | int | float | str):
            yield f"{path}{key}", value
        elif value is not None:
            yield f"{path}{key}", str(value)
