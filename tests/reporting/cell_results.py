"""What a report is made from, by hand: no store, no configuration."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scarf_lightning.intervals import TEST_TO_TRAIN
from scarf_lightning.metrics import metrics
from scarf_lightning.reporting.cell_results import COUNTS, SECONDS, CellResults
from scarf_lightning.results.store import FLAGS

ALIKE = {"dataset": "iris", "regime": "full", "pretrain": "none", "method": "control", "network": "mlp"}
"""The columns of a cell that chooses nothing."""
USUAL = {"dataset_id": None, "fingerprint": "0" * 16, "failure": None, "overrides": ()}


def results_of(
    cells: Sequence[tuple[Mapping[str, Any], Sequence[float]]],
    *,
    wanted: int | None = None,
    metric: str = "accuracy",
    usual: Mapping[str, Any] | None = None,
) -> CellResults:
    """Results of cells by their columns and the values of their trials.

    Args:
        cells: for each its columns, such as ``dataset, regime, pretrain, method``, and values; NaN is a trial that is
            not finished.
        wanted: trials of each; as many as the fullest has if not given.
        metric: what the values are of; of other metrics the trials have none.
        usual: as in `CellResults`.
    """
    most = wanted or max(len(values) for _, values in cells)
    described, rows = [], []
    for cell, (columns, values) in enumerate(cells):
        finished = [(trial, value) for trial, value in enumerate(values) if value == value]
        described.append(USUAL | dict(columns) | {"wanted": most, "finished": len(finished)})
        rows += [(cell, trial, False, value, 10.0 + trial) for trial, value in finished]
    columns = list(dict.fromkeys(key for cell in described for key in cell))
    kinds = {"wanted": "int64", "finished": "int64"}
    frame = pd.DataFrame(
        {c: pd.Series([cell.get(c) for cell in described], dtype=kinds.get(c, object)) for c in columns}
    )
    trials = pd.DataFrame(rows, columns=["cell", "trial", "diverged", metric, "finetune_epochs"])
    every = [*(each.name for each in metrics()), *COUNTS, *FLAGS, *SECONDS]
    return CellResults(
        frame,
        trials.reindex(columns=[*trials, *(c for c in every if c not in trials)]),
        usual=dict(usual or {}),
    )


def a_cell(values: Sequence[float] = (), **columns: Any) -> tuple[dict[str, Any], Sequence[float]]:
    """A cell for `results_of` by what it chose; double underscores in names of columns stand for dots."""
    return ALIKE | {name.replace("__", "."): value for name, value in columns.items()}, values


def over_labels(results: CellResults, every: int = 400) -> CellResults:
    """The same, with as many labelled training rows as the regime of each cell says, or every one."""
    labels = results.cells["regime.labels"].astype(float).fillna(every)
    sizes = {"n_labelled": results.trials["cell"].map(labels), "n_train": float(every), "n_test": 120.0}
    return replace(results, trials=results.trials.assign(**sizes))


def gains_at(level: float, trials: int, test_to_train: float = TEST_TO_TRAIN) -> np.ndarray:
    """Of trials, whose direction is found at this level by the corrected resampled t-test."""
    spread = np.tile([0.01, -0.01], trials // 2)
    error = spread.std(ddof=1) * math.sqrt(1 / trials + test_to_train)
    return spread + float(stats.t(trials - 1).isf(level / 2)) * error


def compared(values: Mapping[str, Mapping[str, Sequence[float]]], **shared: Any) -> CellResults:
    """Results of {dataset: {pretrain: accuracies}}, all else alike."""
    usual = {"regime": "full", "method": "control"} | shared
    return results_of(
        [
            ({"dataset": dataset, "pretrain": pretrain} | usual, accuracies)
            for dataset, of_dataset in values.items()
            for pretrain, accuracies in of_dataset.items()
        ]
    )


HOSTILE = '<script>alert("x")</script> & a|b_c $%#{}~^\\ \u2028end'
"""A name of a dataset that HTML, LaTeX, Markdown and matplotlib each could take for something else."""
