"""Result tables: one of a cell, one of a sweep."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

Row = dict[str, Any]

METRICS = ("accuracy", "balanced_accuracy", "log_loss", "auroc")
NOT_SHOWN = ("fingerprint", "data", "dataset_id")
AXES = (
    "dataset", "split", "regime", "scaling", "pretrain", "corruption", "selection", "views", "loss", "method",
    "cotrain.task",
)  # fmt: skip


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half-width of its 95 % interval by Student's t; NaN half-width for fewer than two values."""
    from scipy.special import stdtrit

    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan
    quantile = float(stdtrit(len(values) - 1, 0.975))
    return mean, quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def cell_table(rows: Sequence[Row]) -> Table:
    """Each metric of a cell over its trials, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", "95 % interval", "trials"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for metric in METRICS:
        values = [row[metric] for row in rows if row[metric] is not None]
        if values:
            mean, half = confidence_interval(values)
            interval = "" if math.isnan(half) else f"{mean - half:.4f} to {mean + half:.4f}"
            table.add_row(metric.replace("_", " "), f"{mean:.4f}", interval, str(len(values)))
    if n_diverged(rows):
        table.add_row("diverged, without metrics", "", "", str(n_diverged(rows)))
    table.add_section()
    for phase in ("pretrain", "finetune"):
        epochs = [row[f"{phase}_epochs"] for row in rows if row[f"{phase}_epochs"] is not None]
        if epochs:
            seconds = sum(row[f"{phase}_seconds"] for row in rows)
            table.add_row(f"{phase} epochs (median)", f"{np.median(epochs):g}", "", str(len(epochs)))
            table.add_row(f"{phase} seconds (all trials)", f"{seconds:.1f}", "", str(len(epochs)))
    for kind in ("labelled", "unlabelled"):
        sizes = [row[f"n_{kind}"] for row in rows if row.get("n_unlabelled")]
        if sizes:
            table.add_row(f"{kind} training rows (median)", f"{np.median(sizes):,g}", "", str(len(sizes)))
    return table


def n_diverged(rows: Sequence[Row]) -> int:
    """How many trials diverged."""
    return sum(row.get("diverged") is not None for row in rows)


def describe(axes: Row) -> str:
    """A cell in words: the choice on each axis that it uses."""
    return ", ".join(f"{axis}={axes[axis]}" for axis in AXES if axes.get(axis))


def sweep_table(cells: Sequence[tuple[Row, Sequence[Row]]]) -> Table:
    """A line a cell: the axes and options in which the cells differ, then what came out.

    What they share is not in the table: see `shared_axes`.

    Args:
        cells: for each cell its axis columns and the rows of its trials, none where it did not finish.
    """
    shown = _shown([axes for axes, _ in cells])
    table = Table(box=box.SIMPLE_HEAD)
    for column in shown:
        table.add_column(column)
    for heading in ("trials", "accuracy", "95 % interval", "pretrain epochs", "finetune epochs", "seconds"):
        table.add_column(heading, justify="right")
    for axes, rows in cells:
        table.add_row(*("" if axes.get(column) is None else str(axes[column]) for column in shown), *_outcome(rows))
    return table


def summary_table(cells: Sequence[tuple[Row, Sequence[Row]]]) -> Table:
    """A line a setting: the mean of the datasets' mean accuracies, for sweeps too long for a line a cell.

    Args:
        cells: as for `sweep_table`.
    """
    shown = [column for column in _shown([axes for axes, _ in cells]) if column != "dataset"]
    settings: dict[tuple[str, ...], list[Sequence[Row]]] = {}
    for axes, rows in cells:
        setting = tuple("" if axes.get(column) is None else str(axes[column]) for column in shown)
        settings.setdefault(setting, []).append(rows)
    table = Table(*shown, box=box.SIMPLE_HEAD)
    for heading in ("datasets finished", "of", "mean accuracy"):
        table.add_column(heading, justify="right")
    for setting, of_datasets in settings.items():
        found = [[row["accuracy"] for row in rows if row["accuracy"] is not None] for rows in of_datasets]
        means = [np.mean(accuracies) for accuracies in found if accuracies]
        table.add_row(*setting, str(len(means)), str(len(of_datasets)), f"{np.mean(means):.4f}" if means else "")
    return table


def shared_axes(cells: Sequence[Row]) -> Row:
    """The axes that are the same in all cells that use them."""
    shown = _shown(cells)
    return {axis: value for cell in cells for axis, value in cell.items() if value is not None and axis not in shown}


def _shown(cells: Sequence[Row]) -> list[str]:
    """Columns in which cells that use them differ: axes first, then options."""
    columns = [column for column in dict.fromkeys(key for cell in cells for key in cell) if column not in NOT_SHOWN]
    ordered = [*(axis for axis in AXES if axis in columns), *(column for column in columns if column not in AXES)]
    used = {column: {str(cell[column]) for cell in cells if cell.get(column) is not None} for column in ordered}
    return [column for column in ordered if len(used[column]) > 1]


def _outcome(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["0", "not finished", "", "", "", ""]
    accuracies = [row["accuracy"] for row in rows if row["accuracy"] is not None]
    mean, half = confidence_interval(accuracies) if accuracies else (math.nan, math.nan)
    accuracy = "" if math.isnan(mean) else f"{mean:.4f}"
    gone = n_diverged(rows)
    trials = f"{len(rows)}, {gone} diverged" if gone else str(len(rows))
    epochs = []
    for phase in ("pretrain", "finetune"):
        values = [row[f"{phase}_epochs"] for row in rows if row[f"{phase}_epochs"] is not None]
        epochs.append(f"{np.median(values):g}" if values else "")
    seconds = sum((row["pretrain_seconds"] or 0.0) + row["finetune_seconds"] for row in rows)
    return [trials, accuracy, "" if math.isnan(half) else f"±{half:.4f}", *epochs, f"{seconds:.1f}"]
