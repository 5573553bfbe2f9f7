"""View of a cell for every logger, read from the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev
from typing import TYPE_CHECKING, Any

from ..intervals import SIZES, Interval, level_interval, median_sizes
from ..metrics import PROBES, metrics
from ..options import AXES
from ..options.axes import distinguishing_names
from ..reporting.levels import FROM_PREDICTIONS, FROM_TRIALS, levels_of_cell
from ..results import StoredCell, load_cell, read_cell, read_environments
from ..screen import command_line

if TYPE_CHECKING:
    import pandas as pd

MEANS = ("pretrain_epochs", "finetune_epochs", "validation_error", *PROBES)
SUMS = ("pretrain_seconds", "finetune_seconds")
LONGEST_TAG = 64
"""Characters; W&B refuses longer tags."""


@dataclass(frozen=True)
class CellView:
    """One cell, as its views show it.

    Attributes:
        id: the fingerprint. A cell that gets more trials stays the same run.
        name: for people: the dataset, and what tells the cell from the cells beside it.
        group: the sweep, or what varies in the run and the day.
        tags: ``axis=option`` for each axis that the cell uses.
        config: the resolved configuration, with the fingerprint, the command that trains the cell, the commits of the
            package that did, and the ``basis`` of its intervals: ``rows and fits`` if predictions were kept, else
            ``resampled t-test``.
        curves: a row for each epoch and trial.
        summary: for each metric the mean over trials, its 95 % interval ``<metric>_low`` and ``<metric>_high``, and the
            standard deviation ``<metric>_std``; mean epochs, and seconds in all. Undefined values are left out. The
            ``validation_error`` is that of the kept weights, for a search to choose by.
        trials: a row for each trial.
        failure: why the cell failed, if it did.
    """

    id: str
    name: str
    group: str
    tags: list[str]
    config: dict[str, Any]
    curves: "pd.DataFrame"
    summary: dict[str, float]
    trials: "pd.DataFrame"
    failure: str | None = None

    @property
    def described(self) -> dict[str, Any]:
        """What a logger has beside the configuration: name, group and tags, and why the cell failed."""
        described = {"name": self.name, "group": self.group, "tags": self.tags}
        return described if self.failure is None else described | {"failure": self.failure}


def cell_view(
    fingerprint: str, results: str | Path, *, group: str, name: str | None = None, failure: str | None = None
) -> CellView:
    """The view of a cell that the store describes; ``name`` is as of `run_name`, the others as in `CellView`.

    Raises:
        UsageError: the folder has no such cell.
    """
    cell = load_cell(fingerprint, results)
    folder = Path(results) / fingerprint
    description = cell.description
    overrides, options = description["overrides"], description["options"]
    environments, _ = read_environments(read_cell(folder))
    commits = dict.fromkeys(each.get("commit") for each in environments)
    rows: list[Any] = cell.trials.to_dict("records")
    levels = levels_of_cell(folder, rows)
    origin = {
        "fingerprint": fingerprint,
        "trials": len(cell.trials),
        "commit": ", ".join(filter(None, commits)),
        "basis": FROM_PREDICTIONS if levels else FROM_TRIALS,
    }
    return CellView(
        id=fingerprint,
        name=run_name(description["dataset"], overrides, name),
        group=group,
        tags=_tags({"dataset": description["dataset"]} | options),
        config=_shown(cell.config, overrides) | origin,
        curves=cell.curves,
        summary=_summary(cell, levels),
        trials=cell.trials,
        failure=failure,
    )


def unstored_view(
    key: str,
    dataset: str,
    overrides: Sequence[str],
    config: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    group: str,
    failure: str,
    name: str | None = None,
) -> CellView:
    """The view of a cell that failed before the store described it; ``key`` identifies what was wanted."""
    import pandas as pd

    return CellView(
        id=key,
        name=run_name(dataset, overrides, name),
        group=group,
        tags=_tags({"dataset": dataset} | dict(options)),
        config=_shown(config, overrides),
        curves=pd.DataFrame(columns=["phase", "trial", "epoch"]),
        summary={},
        trials=pd.DataFrame(),
        failure=failure,
    )


def run_name(dataset: str, overrides: Sequence[str], among: str | None = None) -> str:
    """The name of a run: its dataset, and those of its overrides that tell it from the cells ``among`` which it was
    trained, separated by blanks, or else all."""
    distinguishing = distinguishing_names([overrides])[0] if among is None else among
    # The name of the dataset comes first anyway.
    used = [each for each in distinguishing.split() if not each.startswith(("dataset=", "dataset."))]
    return f"{dataset} {' '.join(used) or 'defaults'}"


def _shown(config: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The configuration of a cell with its command, and without folders, which may name the user."""
    sections = {name: values for name, values in config.items() if name != "paths"}
    return sections | {"command": command_line("train.py", overrides)}


def _tags(options: Mapping[str, Any]) -> list[str]:
    """A tag for each axis that a cell uses."""
    tags = []
    for axis in AXES:
        if axis.column is not None and axis.column in options:
            tags.append(f"{axis.name}={options[axis.column]}"[:LONGEST_TAG])
    return tags


def _summary(cell: StoredCell, levels: Mapping[str, Interval]) -> dict[str, float]:
    """The numbers of a run: means over trials, and intervals by ``levels`` or else from the trials alone."""
    import pandas as pd

    trials = cell.trials
    split = cell.description["options"].get("split")
    values: dict[str, Any] = {}
    if len(trials):
        trials = trials.assign(validation_error=validation_errors(cell))
        sizes = median_sizes({name: trials[name].astype("float64").tolist() for name in SIZES if name in trials})
    for metric in metrics():
        # A cell on numbers has no accuracy, and a trial that diverged no metric.
        known = trials[metric.name].dropna().tolist() if metric.name in trials else []
        # One trial shows no spread.
        if len(known) > 1:
            interval = levels.get(metric.name) or level_interval(known, sizes, split, metric.bounds)
            for name, value in zip(("", "_low", "_high", "_std"), (*interval, stdev(known)), strict=True):
                values[f"{metric.name}{name}"] = value
        elif known:
            values[metric.name] = known[0]
    for column in MEANS:
        if column in trials:
            values[column] = trials[column].mean()
    for column in SUMS:
        if column in trials:
            values[column] = trials[column].sum(min_count=1)
    known_values = {name: float(value) for name, value in values.items() if not pd.isna(value)}
    return known_values | {"trials": float(len(trials))}


def validation_errors(cell: StoredCell) -> list[float]:
    """The error of each trial on its validation rows in the epoch whose weights it kept; NaN without a network."""
    if "validation_error" not in cell.curves:
        return [float("nan")] * len(cell.trials)
    finetune = cell.curves[cell.curves["phase"] == "finetune"]
    errors = finetune.set_index(["trial", "epoch"])["validation_error"]
    # The epoch whose weights a trial kept is the best one, not the last.
    kept = zip(cell.trials["trial"], cell.trials["finetune_best_epoch"], strict=True)
    return [errors.get(trial_and_epoch, float("nan")) for trial_and_epoch in kept]


def mean_curves(curves: "pd.DataFrame", *, per_trial: bool) -> dict[str, "pd.DataFrame"]:
    """The curves of many trials as one: their mean and a band around it.

    A trial that has stopped keeps its last value, so that every mean is over the same trials.

    Args:
        curves: a row for each epoch and trial, as in `StoredCell`.
        per_trial: whether each trial has a curve of its own too, which ends where the trial did.

    Returns:
        For each phase a frame by epoch, from 1. Its columns are, for each metric, ``<metric>_mean``, ``<metric>_low``
        and ``<metric>_high`` (one standard deviation over trials below and above the mean, that of an error not
        below zero; 0 for a single trial), with
        ``per_trial`` also ``<metric>_trial_<number>``; and ``trials_training``, the number of trials that had not
        stopped before that epoch.
    """
    return {str(phase): _phase_curves(frame, per_trial) for phase, frame in curves.groupby("phase", sort=False)}


def _phase_curves(curves: "pd.DataFrame", per_trial: bool) -> "pd.DataFrame":
    """The frame of one phase, see `mean_curves`."""
    import pandas as pd

    columns: dict[str, pd.Series[Any]] = {}
    for metric in curves.columns.drop(["phase", "trial", "epoch"], errors="ignore"):
        own = curves.set_index(["epoch", "trial"])[metric].unstack()  # noqa: PD010 - every pair occurs once
        # A metric of the other phase has no values here.
        if own.isna().all(axis=None):
            continue
        # A mean over the trials that are left would jump when one stops.
        carried = own.ffill()
        mean = carried.mean(axis=1)
        deviation = carried.std(axis=1).fillna(0.0)
        low = mean - deviation
        # No error is below zero; losses may be.
        if metric.endswith("error"):
            low = low.clip(lower=0.0)
        columns[f"{metric}_mean"] = mean
        columns[f"{metric}_low"] = low
        columns[f"{metric}_high"] = mean + deviation
        if per_trial:
            for trial in own:
                columns[f"{metric}_trial_{trial}"] = own[trial]
    columns["trials_training"] = curves.groupby("epoch")["trial"].count()
    return pd.DataFrame(columns)


def plain_table(frame: "pd.DataFrame") -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of a frame as plain values, None for a missing one. W&B takes pandas' missing number for a
    type of its own."""
    values = frame.astype(object).where(frame.notna(), None)
    return list(frame.columns), values.to_numpy().tolist()
