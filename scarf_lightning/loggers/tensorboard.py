"""TensorBoard's event files: a folder for each cell."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pytorch_lightning.loggers import TensorBoardLogger

from .places import SUMMARY, as_file_name, remove_own
from .view import CellView, mean_curves

FOLDER = "tensorboard"


class EventLogger(TensorBoardLogger):
    """Lightning's logger with the description of a cell as texts.

    Scalars have single precision: TensorBoard's data server shows no others.
    """

    def __init__(self, folder: Path, view: CellView) -> None:
        super().__init__(folder, as_file_name(view.group), name_of(view))
        self._view = view

    def log_hyperparams(self, params: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Write the configuration as hyper-parameters, by dotted names, and as a text, and the tags and the failure."""
        from torch.utils.tensorboard.summary import hparams

        # The dashboard of hyper-parameters takes its numbers from the scalars of these names.
        summary_scalars = {f"{SUMMARY}/{metric}": 0.0 for metric in self._view.summary}
        for summary in hparams(dict(_flat(params)), summary_scalars):  # type: ignore[no-untyped-call]
            self.experiment.file_writer.add_summary(summary)
        texts = {
            "config": yaml.safe_dump(dict(params)),
            "tags": " ".join(self._view.tags),
            "failure": self._view.failure,
            "notes": self._view.notes,
        }
        for tag, text in texts.items():
            # Texts are Markdown, which would join the lines and swallow the indentation.
            if text is not None:
                self.experiment.add_text(tag, f"```\n{text}\n```")
        bands = bands_of(self._view)
        if bands:
            self.experiment.add_custom_scalars(bands)

    def save(self) -> None:
        """Write nothing more: Lightning's logger has hyper-parameters in a file of their own."""


def bands_of(view: CellView) -> dict[str, dict[str, list[Any]]]:
    """The charts of TensorBoard's dashboard of custom scalars: for each phase the curves with their bands."""
    charts: dict[str, dict[str, list[Any]]] = {}
    for phase, curves in mean_curves(view.curves, per_trial=False).items():
        names = [column.removesuffix("_mean") for column in map(str, curves) if column.endswith("_mean")]
        charts[phase] = {}
        for name in names:
            tags = [f"{phase}/{name}_{end}" for end in ("mean", "low", "high")]
            charts[phase][name.replace("_", " ")] = ["Margin", tags]
    return charts


@contextmanager
def opened(view: CellView, results: Path) -> Iterator[EventLogger]:
    """The event files of a cell in ``<results>/tensorboard/<group>/<name>_<id>``, in place of its earlier ones."""
    folder = results / FOLDER
    # A cell may have been in another sweep, or had another name, when it was written last.
    remove_own(folder.glob(f"*/*_{view.id}"), "events.out.tfevents.*")
    yield EventLogger(folder, view)


def name_of(view: CellView) -> str:
    """The name of a cell's folder, which its fingerprint ends."""
    return f"{as_file_name(view.name)}_{view.id}"


def _flat(config: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, bool | int | float | str]]:
    """Options by dotted names, as types that TensorBoard takes."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        elif isinstance(value, bool | int | float | str):
            yield f"{path}{key}", value
        elif value is not None:
            yield f"{path}{key}", str(value)
