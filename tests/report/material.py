"""What a report is made from, by hand: no store, no configuration."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from scarf_lightning.report.reading import Material

USUAL = {"dataset_id": None, "fingerprint": "0" * 16, "failure": None}


def material_of(cells: Sequence[tuple[Mapping[str, Any], Sequence[float]]], *, asked: int | None = None) -> Material:
    """Material of cells by their columns and the accuracies of their trials.

    Args:
        cells: for each its columns, such as ``dataset, regime, pretrain, method``, and accuracies; NaN is a trial that
            is not finished.
        asked: trials of each; as many as the fullest has if not given.
    """
    most = asked or max(len(values) for _, values in cells)
    described, rows = [], []
    for cell, (columns, values) in enumerate(cells):
        finished = [(trial, value) for trial, value in enumerate(values) if value == value]
        described.append(USUAL | dict(columns) | {"asked": most, "finished": len(finished)})
        rows += [(cell, trial, value, 10.0 + trial) for trial, value in finished]
    columns = list(dict.fromkeys(key for cell in described for key in cell))
    kinds = {"asked": "int64", "finished": "int64"}
    frame = pd.DataFrame(
        {c: pd.Series([cell.get(c) for cell in described], dtype=kinds.get(c, object)) for c in columns}
    )
    trials = pd.DataFrame(rows, columns=["cell", "trial", "accuracy", "finetune_epochs"])
    return Material(frame, trials, {}, {})


def compared(values: Mapping[str, Mapping[str, Sequence[float]]], **shared: Any) -> Material:
    """Material of {dataset: {pretrain: accuracies}}, all else alike."""
    usual = {"regime": "full", "method": "control"} | shared
    return material_of(
        [
            ({"dataset": dataset, "pretrain": pretrain} | usual, accuracies)
            for dataset, of_dataset in values.items()
            for pretrain, accuracies in of_dataset.items()
        ]
    )


HOSTILE = '<script>alert("x")</script> & a|b_c $%#{}~^\\ \u2028end'
"""A name of a dataset that HTML, LaTeX, Markdown and matplotlib each could take for something else."""
