"""Readings of the paper: what its pre-training adds to control, beside what ours adds, in points of accuracy.

A reading is a setting of what the paper leaves open. Trials of an arm and of its control share splits and labels, so a
gain is the mean of paired differences. The paper prints means of 30 trials without their spread; ours stands in for it.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scarf_lightning.intervals import student_quantile

DEFAULT = "default"
PLACE = ["dataset_id", "regime"]
ARM = ["pretrain", "method", "reading"]
NOT_OF_CONTROL = (
    "pretrain",
    "corruption",
    "selection",
    "views",
    "loss",
    "network.pretrain_head",
    "finetune.first_layer",
    "method",
)
PAPERS_TRIALS = 30
SMALLEST_ERROR = 0.5
"""Points. Where ours scatters less, the paper's last digits are not asked for."""


def gains_beside(trials: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Each reading's gain over control on each dataset and regime, beside the paper's.

    Args:
        trials: a row a trial: ``dataset_id, regime, pretrain, method, reading, trial, accuracy`` (a fraction). Control
            has pretrain ``none`` and method ``control``, and that of the same reading counts, but for what control
            does not use. A reading is ``default``, or options as in ``network.weight_init=pytorch, fit_on=train``.
        published: `published_accuracy()`.

    Returns:
        A row a dataset, regime, pretrain, method and reading that have a trial in common with control, in points:
        ``trials`` in common; ``control`` and ``level``, accuracies of control and of the reading on them;
        ``paper_control, paper_level``; ``gain`` with its standard error ``gain_se`` and 95 % t interval ``gain_low,
        gain_high`` (NaN for one trial), ``paper_gain``; ``level_se`` and ``control_se``, standard errors as of
        ``level``.
    """
    points = trials.assign(accuracy=100 * trials["accuracy"]).dropna(subset=["accuracy"])
    is_control = _is_control(points)
    control = points.loc[is_control, [*PLACE, "reading", "trial", "accuracy"]]
    control = control.rename(columns={"accuracy": "control", "reading": "reading_of_control"})
    others = points[~is_control]
    both = others.assign(reading_of_control=others["reading"].map(_of_control)).merge(
        control, on=[*PLACE, "reading_of_control", "trial"]
    )
    both["gain"] = both["accuracy"] - both["control"]
    groups = both.groupby([*PLACE, *ARM], sort=False)
    found = groups.agg(
        trials=("trial", "count"),
        control=("control", "mean"),
        level=("accuracy", "mean"),
        gain=("gain", "mean"),
        gain_se=("gain", "sem"),
        level_se=("accuracy", "sem"),
        control_se=("control", "sem"),
    ).reset_index()
    papers = published.assign(accuracy=100 * published["accuracy"])
    arms = papers[[*PLACE, "pretrain", "method", "accuracy"]].rename(columns={"accuracy": "paper_level"})
    alone = papers[_is_control(papers)]
    found = found.merge(arms, on=[*PLACE, "pretrain", "method"])
    found = found.merge(alone[[*PLACE, "accuracy"]].rename(columns={"accuracy": "paper_control"}), on=PLACE)
    found["paper_gain"] = found["paper_level"] - found["paper_control"]
    half = found["trials"].map(lambda trials: student_quantile(trials - 1)) * found["gain_se"]
    return found.assign(gain_low=found["gain"] - half, gain_high=found["gain"] + half)


def reading_summary(gains: pd.DataFrame) -> pd.DataFrame:
    """How near each reading comes, by regime and over ``all``.

    Args:
        gains: what `gains_beside` returns.

    Returns:
        A row a pretrain, method, reading and regime: ``datasets``; fewest ``trials``; ``control_difference`` and
        ``level_difference``, means of ours less the paper's in points, and ``control_absolute, level_absolute``, means
        of their sizes; ``gain`` and ``paper_gain``, means in points; ``relative_gain`` and ``paper_relative_gain``, in
        percent of control; ``gain_absolute``, mean size of the difference of gains; ``slope`` of our gain regressed on
        the paper's with its standard error ``slope_se``, and their ``correlation``, NaN below three datasets.
    """
    everywhere = pd.concat([gains, gains.assign(regime="all")])
    rows = {key: _summary(group) for key, group in everywhere.groupby([*ARM, "regime"], sort=False)}
    return pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(rows, names=[*ARM, "regime"]))


def reading_scores(gains: pd.DataFrame) -> pd.DataFrame:
    """Distance from the paper in standard errors, a row a dataset, pretrain, method and reading.

    ``G`` is the mean over regimes of the squared difference of gains over its squared standard error, ``L`` the same of
    both arms' accuracies, ``S = (G + L) / 2``; 1 would be agreement but for error. Errors are those of the default
    reading of the same arm, so that a reading gains nothing by scattering more: max(0.5, s sqrt(1 / n + 1 / 30)).
    Datasets without the default are left out.
    """
    errors = gains.loc[gains["reading"] == DEFAULT, [*PLACE, "pretrain", "method", "trials", *ERRORS.values()]]
    errors = errors.rename(columns={name: f"{name}_default" for name in ("trials", *ERRORS.values())})
    both = gains.merge(errors, on=[*PLACE, "pretrain", "method"])
    squared = {}
    for value, error in ERRORS.items():
        n = both["trials_default"]
        spread = both[f"{error}_default"] * np.sqrt(n) * np.sqrt(1 / n + 1 / PAPERS_TRIALS)
        squared[value] = ((both[value] - both[f"paper_{value}"]) / spread.clip(lower=SMALLEST_ERROR)) ** 2
    both = both.assign(G=squared["gain"], L=(squared["control"] + squared["level"]) / 2)
    scores = both.groupby(["dataset_id", *ARM], sort=False)[["G", "L"]].mean().reset_index()
    return scores.assign(S=(scores["G"] + scores["L"]) / 2)


def against_default(trials: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Each other reading against the default of its arm, paired by dataset, on the trials that both have.

    Args:
        trials, published: as `gains_beside` takes them.

    Returns:
        A row a pretrain, method and reading: ``datasets`` that both have; the mean by which the reading's ``S``, ``G``
        and ``L`` (`reading_scores`), the size of its difference of gains ``gain_absolute`` and that of its accuracies
        ``level_absolute`` (points) exceed the default's, each with the standard error over datasets (``S_se`` ...), NaN
        for one; and ``p``, one-sided, of S being smaller only by chance (t test).
    """
    known = trials.dropna(subset=["accuracy"])
    control = known[_is_control(known)]
    by_arm = {tuple(map(str, arm)): rows for arm, rows in known.groupby(ARM, sort=False)}
    rows = []
    for (pretrain, method, reading), chosen in by_arm.items():
        usual = by_arm.get((pretrain, method, DEFAULT))
        if reading == DEFAULT or (pretrain, method) == ("none", "control") or usual is None:
            continue
        place = [*PLACE, "trial"]
        shared = chosen[place].merge(usual[place])
        compared = pd.concat([control, usual, chosen]).merge(shared)
        distances = _distances(gains_beside(compared, published), pretrain, method)
        if {reading, DEFAULT} - set(distances):
            continue
        differences = (distances[reading] - distances[DEFAULT]).dropna()
        row: dict[str, Any] = dict(zip(ARM, (pretrain, method, reading), strict=True)) | {"datasets": len(differences)}
        for name in ("S", "G", "L", "gain_absolute", "level_absolute"):
            row |= {name: differences[name].mean(), f"{name}_se": differences[name].sem()}
        t = row["S"] / row["S_se"] if row["S_se"] else np.nan
        rows.append(row | {"p": float(stats.t.cdf(t, len(differences) - 1)) if len(differences) > 1 else np.nan})
    return pd.DataFrame(rows)


def _distances(gains: pd.DataFrame, pretrain: str, method: str) -> dict[str, pd.DataFrame]:
    """Of each reading of an arm: `reading_scores` and mean sizes of differences from the paper, a row a dataset."""
    of_arm = gains[(gains["pretrain"] == pretrain) & (gains["method"] == method)]
    sizes = of_arm.assign(
        gain_absolute=(of_arm["gain"] - of_arm["paper_gain"]).abs(),
        level_absolute=(of_arm["level"] - of_arm["paper_level"]).abs(),
    )
    keys = ["dataset_id", "reading"]
    means = sizes.groupby(keys, sort=False)[["gain_absolute", "level_absolute"]].mean()
    values = reading_scores(of_arm).set_index(keys)[["S", "G", "L"]].join(means)
    return {str(reading): group.droplevel("reading") for reading, group in values.groupby("reading", sort=False)}


ERRORS = {"gain": "gain_se", "level": "level_se", "control": "control_se"}
"""Values, and their standard errors."""


def _is_control(rows: pd.DataFrame) -> "pd.Series[bool]":
    return (rows["pretrain"] == "none") & (rows["method"] == "control")


def _of_control(reading: str) -> str:
    """What control uses of a reading."""
    kept = [part for part in reading.split(", ") if not part.startswith(NOT_OF_CONTROL)]
    return ", ".join(kept) or DEFAULT


def _summary(group: pd.DataFrame) -> dict[str, float]:
    regression = None
    if len(group) > 2 and np.ptp(group["paper_gain"]) > 0:
        regression = stats.linregress(group["paper_gain"], group["gain"])
    of_control, of_level = group["control"] - group["paper_control"], group["level"] - group["paper_level"]
    return {
        "datasets": group["dataset_id"].nunique(),
        "trials": int(group["trials"].min()),
        "control_difference": of_control.mean(),
        "control_absolute": of_control.abs().mean(),
        "level_difference": of_level.mean(),
        "level_absolute": of_level.abs().mean(),
        "gain": group["gain"].mean(),
        "paper_gain": group["paper_gain"].mean(),
        "relative_gain": (100 * group["gain"] / group["control"]).mean(),
        "paper_relative_gain": (100 * group["paper_gain"] / group["paper_control"]).mean(),
        "gain_absolute": (group["gain"] - group["paper_gain"]).abs().mean(),
        "slope": regression.slope if regression else np.nan,
        "slope_se": regression.stderr if regression else np.nan,
        "correlation": regression.rvalue if regression else np.nan,
    }
