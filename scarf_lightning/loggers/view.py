"""What a view shows of a cell, read from the store."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.naming import told_apart
from ..metrics import metrics
from ..results import StoredCell, load_cell, read_cell, read_environments

if TYPE_CHECKING:
    import pandas as pd

MEANS = ("pretrain_epochs", "finetune_epochs", "validation_error")
"""Of trials, besides the metrics'."""
SUMS = ("pretrain_seconds", "finetune_seconds")
LONGEST_TAG = 64
"""W&B refuses longer ones."""


@dataclass(frozen=True)
class CellView:
    """One cell, as its views show it.

    Attributes:
        id: the fingerprint: a cell that is given more trials is the same run.
        name: for people: the dataset, and what is asked of the cell and not of all cells beside it.
        group: the sweep, or what varies in the run and the day.
        tags: ``axis=option``, what the cell uses.
        config: the resolved configuration, and the cell's fingerprint, the command that trains it, and the commit of
            the package that did.
        curves: a row an epoch and trial.
        summary: of each metric the mean over trials, its 95 % interval ``<metric>_low`` and ``<metric>_high``, and
            the standard deviation ``<metric>_std``; epochs, and seconds in all; what is not defined is left out. The
            ``validation_error`` is that of the kept weights: what a search may choose by.
        trials: a row a trial.
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


def cell_view(
    fingerprint: str, results: str | Path, *, group: str, name: str | None = None, failure: str | None = None
) -> CellView:
    """The view of a cell that the store describes.

    Args:
        fingerprint: the cell's.
        results: the folder of all results.
        group: as in `CellView`.
        name: what the cell is called among others; by all that is asked of it, if not given.
        failure: why the cell failed, if it did.

    Raises:
        UsageError: the folder has no such cell.
    """
    cell = load_cell(fingerprint, results)
    described, overrides = cell.description, described_overrides(cell)
    environments = read_environments(read_cell(Path(results) / fingerprint), {})
    commits = dict.fromkeys(each.get("commit") for each in environments)
    made = {
        "fingerprint": fingerprint,
        "trials": len(cell.trials),
        "command": command_of(overrides),
        "commit": ", ".join(filter(None, commits)),
    }
    return CellView(
        id=fingerprint,
        name=run_name(described["dataset"], overrides, name),
        group=group,
        tags=_tags(described["dataset"], described["identity"]),
        config=cell.config | made,
        curves=cell.curves,
        summary=_summary(cell),
        trials=cell.trials,
        failure=failure,
    )


def unstored_view(
    key: str,
    dataset: str,
    overrides: Sequence[str],
    config: Mapping[str, Any],
    *,
    group: str,
    failure: str,
    name: str | None = None,
) -> CellView:
    """The view of a cell that failed before the store knew it, by the ``key`` that names what was asked for."""
    import pandas as pd

    return CellView(
        id=key,
        name=run_name(dataset, overrides, name),
        group=group,
        tags=[f"dataset={dataset}"[:LONGEST_TAG]],
        config=dict(config) | {"command": command_of(overrides)},
        curves=pd.DataFrame(columns=["phase", "trial", "epoch"]),
        summary={},
        trials=pd.DataFrame(),
        failure=failure,
    )


def run_name(dataset: str, overrides: Sequence[str], among: str | None = None) -> str:
    """What a run is called: its dataset, and what it is called among others, or else all that is asked of it."""
    asked = told_apart([overrides])[0] if among is None else among
    parts = [part for part in asked.split() if part.partition("=")[0].partition(".")[0] != "dataset"]
    return f"{dataset} {' '.join(parts) or 'defaults'}"


def described_overrides(cell: StoredCell) -> tuple[str, ...]:
    """What asked for a stored cell on the command line."""
    return tuple(cell.description["overrides"])


def command_of(overrides: Sequence[str]) -> str:
    """The command that trains a cell."""
    return shlex.join(["python", "train.py", *overrides])


def _tags(dataset: str, identity: Mapping[str, Any]) -> list[str]:
    axes = {axis: value.get("name", value.get("task")) for axis, value in identity.items() if isinstance(value, dict)}
    used = {"dataset": dataset} | {axis: option for axis, option in axes.items() if option is not None}
    return [f"{axis}={option}"[:LONGEST_TAG] for axis, option in used.items()]


def _summary(cell: StoredCell) -> dict[str, float]:
    import pandas as pd

    trials = cell.trials.assign(validation_error=validation_errors(cell)) if len(cell.trials) else cell.trials
    columns = [*(metric.name for metric in metrics()), *MEANS]
    values = {column: trials[column].mean() for column in columns if column in trials}
    for metric in metrics():
        known = trials[metric.name].dropna().tolist() if metric.name in trials else []
        if len(known) > 1:
            _, values[f"{metric.name}_low"], values[f"{metric.name}_high"] = metric.interval(known)
            values[f"{metric.name}_std"] = float(pd.Series(known).std())
    values |= {column: trials[column].sum() for column in SUMS if column in trials and trials[column].notna().any()}
    defined = {name: float(value) for name, value in values.items() if not pd.isna(value)}
    return defined | {"trials": len(trials)}


def validation_errors(cell: StoredCell) -> list[float]:
    """Each trial's error on its validation rows in the epoch whose weights it kept; NaN without a network."""
    if "validation_error" not in cell.curves:
        return [float("nan")] * len(cell.trials)
    finetune = cell.curves[cell.curves["phase"] == "finetune"].set_index(["trial", "epoch"])["validation_error"]
    kept = zip(cell.trials["trial"], cell.trials["finetune_best_epoch"], strict=True)
    return [finetune.get(key, float("nan")) for key in kept]
