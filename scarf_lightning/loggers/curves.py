"""Curves of many trials as one: their mean and a band around it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

TRAINING = "trials_training"


def mean_curves(curves: "pd.DataFrame", *, per_trial: bool) -> dict[str, "pd.DataFrame"]:
    """Curves by phase, a row an epoch.

    A trial that has stopped keeps its last value, so a mean is always of the same trials.

    Args:
        curves: a row an epoch and trial, as `StoredCell` has them.
        per_trial: whether each trial has a curve of its own too, which ends where the trial did.

    Returns:
        For each phase a frame whose index is the epoch, from 1, and whose columns are, for each metric,
        ``<metric>_mean``, ``<metric>_low`` and ``<metric>_high`` (the mean, and one standard deviation over trials
        below and above it; 0 for a single trial), with ``per_trial`` ``<metric>_trial_<number>``; and
        ``trials_training``, how many had not stopped before that epoch.
    """
    return {str(phase): _of_phase(frame, per_trial) for phase, frame in curves.groupby("phase", sort=False)}


def _of_phase(curves: "pd.DataFrame", per_trial: bool) -> "pd.DataFrame":
    import pandas as pd

    columns: dict[str, pd.Series[Any]] = {}
    for metric in [column for column in curves.columns if column not in ("phase", "trial", "epoch")]:
        own = curves.set_index(["epoch", "trial"])[metric].unstack()  # noqa: PD010 - every pair occurs once
        if own.isna().all(axis=None):
            continue  # the other phase's
        carried = own.ffill()
        mean, deviation = carried.mean(axis=1), carried.std(axis=1).fillna(0.0)
        columns |= {f"{metric}_mean": mean, f"{metric}_low": mean - deviation, f"{metric}_high": mean + deviation}
        if per_trial:
            columns |= {f"{metric}_trial_{trial}": own[trial] for trial in own}
    return pd.DataFrame(columns | {TRAINING: curves.groupby("epoch")["trial"].count()})
