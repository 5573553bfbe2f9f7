"""What a view shows of a cell, read from the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..metrics import metrics
from ..results import StoredCell, load_cell

if TYPE_CHECKING:
    import pandas as pd

MEANS = ("pretrain_epochs", "finetune_epochs", "validation_error")
"""Of trials, besides the metrics'."""
SUMS = ("pretrain_seconds", "finetune_seconds")
NOT_IN_A_NAME = (
    "sweeps", "plan", "force", "keep_weights", "trials", "dataset", "trainer", "logger", "paths", "cache", "chunk",
    "hydra", "hydra/launcher",
)  # fmt: skip
LONGEST_TAG = 64
"""W&B refuses longer ones."""


@dataclass(frozen=True)
class CellView:
    """One cell, as its views show it.

    Attributes:
        id: the fingerprint and the number of finished trials, so that a cell which grows is another run.
        name: for people: the dataset, and the overrides that ask for the cell.
        group: the sweep.
        tags: ``axis=option``, what the cell uses.
        config: the resolved configuration, the cell's fingerprint in it.
        curves: a row an epoch and trial.
        summary: means over trials, ``accuracy_std``, and seconds in all; what is not defined is left out. The
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


def cell_view(fingerprint: str, results: str | Path, *, group: str, failure: str | None = None) -> CellView:
    """The view of a cell that the store describes.

    Args:
        fingerprint: the cell's.
        results: the folder of all results.
        group: the sweep's name.
        failure: why the cell failed, if it did.

    Raises:
        UsageError: the folder has no such cell.
    """
    cell = load_cell(fingerprint, results)
    described, n_trials = cell.description, len(cell.trials)
    return CellView(
        id=f"{fingerprint}-{n_trials}",
        name=run_name(described["dataset"], described["overrides"]),
        group=group,
        tags=_tags(described["dataset"], described["identity"]),
        config=cell.config | {"fingerprint": fingerprint, "trials": n_trials},
        curves=cell.curves,
        summary=_summary(cell),
        trials=cell.trials,
        failure=failure,
    )


def unstored_view(
    key: str, dataset: str, overrides: Sequence[str], config: Mapping[str, Any], *, group: str, failure: str
) -> CellView:
    """The view of a cell that failed before the store knew it, by the ``key`` that names what was asked for."""
    import pandas as pd

    return CellView(
        id=f"{key}-0",
        name=run_name(dataset, overrides),
        group=group,
        tags=[f"dataset={dataset}"[:LONGEST_TAG]],
        config=dict(config),
        curves=pd.DataFrame(columns=["phase", "trial", "epoch"]),
        summary={},
        trials=pd.DataFrame(),
        failure=failure,
    )


def run_name(dataset: str, overrides: Sequence[str]) -> str:
    """What a run is called: its dataset, and what was asked of it beside how and where to train."""
    asked = [override for override in overrides if override.partition("=")[0].partition(".")[0] not in NOT_IN_A_NAME]
    return f"{dataset} {' '.join(asked) or 'defaults'}"


def _tags(dataset: str, identity: Mapping[str, Any]) -> list[str]:
    axes = {axis: value.get("name", value.get("task")) for axis, value in identity.items() if isinstance(value, dict)}
    used = {"dataset": dataset} | {axis: option for axis, option in axes.items() if option is not None}
    return [f"{axis}={option}"[:LONGEST_TAG] for axis, option in used.items()]


def _summary(cell: StoredCell) -> dict[str, float]:
    import pandas as pd

    trials = cell.trials.assign(validation_error=validation_errors(cell)) if len(cell.trials) else cell.trials
    columns = [*(metric.name for metric in metrics()), *MEANS]
    values = {column: trials[column].mean() for column in columns if column in trials}
    values |= {column: trials[column].sum() for column in SUMS if column in trials and trials[column].notna().any()}
    if len(trials) > 1:
        values["accuracy_std"] = trials["accuracy"].std()
    defined = {name: float(value) for name, value in values.items() if not pd.isna(value)}
    return defined | {"trials": len(trials)}


def validation_errors(cell: StoredCell) -> list[float]:
    """Each trial's error on its validation rows in the epoch whose weights it kept; NaN without a network."""
    if "validation_error" not in cell.curves:
        return [float("nan")] * len(cell.trials)
    finetune = cell.curves[cell.curves["phase"] == "finetune"].set_index(["trial", "epoch"])["validation_error"]
    kept = zip(cell.trials["trial"], cell.trials["finetune_best_epoch"], strict=True)
    return [finetune.get(key, float("nan")) for key in kept]
