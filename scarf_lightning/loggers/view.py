"""View of a cell for every logger, read from the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..metrics import PROBES, metrics
from ..options.axes import distinguishing_names
from ..results import StoredCell, load_cell, read_cell, read_environments
from ..screen import command_line

if TYPE_CHECKING:
    import pandas as pd

MEANS = ("pretrain_epochs", "finetune_epochs", "pretrain_seconds", "finetune_seconds", "validation_error", *PROBES)
"""Columns of trials that are no metric of the test rows."""


@dataclass(frozen=True)
class CellView:
    """One cell, as its views show it.

    Attributes:
        id: the fingerprint. A cell that gets more trials stays the same run.
        name: for people: the dataset, and the options that distinguish the cell from those beside it.
        group: the sweep, or what varies in the run and the day.
        config: the resolved configuration, with the fingerprint, the number of trials, the command that trains the
            cell and the commits of the package that did.
        curves: a row for each epoch and trial.
        summary: for each metric the mean over trials and the standard deviation ``<metric>_std``; mean epochs
            and seconds. Undefined values are left out. The ``validation_error`` is that of the kept weights, for a
            search to choose by.
        trials: a row for each trial.
        failure: why the cell failed, if it did.
    """

    id: str
    name: str
    group: str
    config: dict[str, Any]
    curves: "pd.DataFrame"
    summary: dict[str, float]
    trials: "pd.DataFrame"
    failure: str | None = None


def cell_view(
    fingerprint: str, results: str | Path, *, group: str, name: str | None = None, failure: str | None = None
) -> CellView:
    """The view of a cell that the store describes; ``name`` is as of `run_name`, the others as in `CellView`.

    Raises:
        UsageError: the folder has no such cell.
    """
    cell = load_cell(fingerprint, results)
    overrides = cell.description["overrides"]
    environments = read_environments(read_cell(Path(results) / fingerprint))
    commits = dict.fromkeys(environment.get("commit") for environment in environments)
    # Folders may name the user.
    sections = {name: values for name, values in cell.config.items() if name != "paths"}
    origin = {
        "fingerprint": fingerprint,
        "trials": len(cell.trials),
        "command": command_line("train.py", overrides),
        "commit": ", ".join(filter(None, commits)),
    }
    return CellView(
        id=fingerprint,
        name=run_name(cell.description["dataset"], overrides, name),
        group=group,
        config=sections | origin,
        curves=cell.curves,
        summary=_summary(cell),
        trials=cell.trials,
        failure=failure,
    )


def run_name(dataset: str, overrides: Sequence[str], among: str | None = None) -> str:
    """The name of a run: its dataset and its overrides, separated by blanks. ``among``, if any, holds instead those
    that distinguish it from the cells with which it was trained."""
    distinguishing = distinguishing_names([overrides])[0] if among is None else among
    # The name of the dataset comes first anyway.
    words = [word for word in distinguishing.split() if not word.startswith(("dataset=", "dataset."))]
    return f"{dataset} {' '.join(words) or 'defaults'}"


def _summary(cell: StoredCell) -> dict[str, float]:
    """The numbers of a run: means and standard deviations over trials."""
    import pandas as pd

    trials = cell.trials.assign(validation_error=validation_errors(cell))
    names = [metric.name for metric in metrics()]
    # A cell on numbers has no accuracy, and a trial that diverged no metric.
    values = trials.reindex(columns=[*names, *MEANS]).astype("float64")
    statistics = pd.concat([values.mean(), values[names].std().add_suffix("_std")]).dropna()
    return {str(name): float(value) for name, value in statistics.items()} | {"trials": float(len(trials))}


def validation_errors(cell: StoredCell) -> list[float]:
    """The error of each trial on its validation rows in the epoch whose weights it kept; NaN without a network."""
    curves = cell.curves.reindex(columns=["phase", "trial", "epoch", "validation_error"])
    errors = curves[curves["phase"] == "finetune"].set_index(["trial", "epoch"])["validation_error"]
    # The epoch whose weights a trial kept is the best one, not the last.
    best_epochs = cell.trials.reindex(columns=["trial", "finetune_best_epoch"])
    return [errors.get(epoch, float("nan")) for epoch in best_epochs.itertuples(index=False, name=None)]


def mean_curves(curves: "pd.DataFrame") -> dict[str, "pd.DataFrame"]:
    """The curves of many trials as one: their mean and a band around it.

    A trial that has stopped keeps its last value, so that every mean is over the same trials.

    Args:
        curves: a row for each epoch and trial, as in `StoredCell`.

    Returns:
        For each phase a frame by epoch, from 1. Its columns are, for each metric, ``<metric>_mean``, ``<metric>_low``
        and ``<metric>_high`` (one standard deviation over trials below and above the mean; 0 for a single trial), and
        ``trials_training``, the number of trials that had not stopped before that epoch.
    """
    frames = {}
    for phase, rows in curves.groupby("phase", sort=False):
        # A metric of the other phase has no values here.
        phase_rows = rows.dropna(axis="columns", how="all").drop(columns="phase")
        by_epoch = phase_rows.set_index(["epoch", "trial"]).unstack()  # noqa: PD010 - every pair occurs once
        # A mean over the trials that are left would jump when one stops.
        metrics = by_epoch.ffill().T.groupby(level=0, sort=False)
        mean, deviation = metrics.mean().T, metrics.std().T.fillna(0.0)
        low, high = (mean - deviation).add_suffix("_low"), (mean + deviation).add_suffix("_high")
        n_training = phase_rows.groupby("epoch")["trial"].count()
        frames[str(phase)] = mean.add_suffix("_mean").join([low, high]).assign(trials_training=n_training)
    return frames


def plain_table(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A frame of plain values, None for a missing one. W&B takes pandas' missing number for a type of its own."""
    return frame.astype(object).where(frame.notna(), None)
