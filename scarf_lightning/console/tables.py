"""Result tables: one of a cell, one of a sweep."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from ..config.axes import COLUMNS
from ..metrics import METRICS, Metric, metrics

Row = dict[str, Any]

CHOSEN = METRICS[0]
"""What a line a cell shows."""
NOT_SHOWN = ("fingerprint", "data", "dataset_id")


def cell_table(rows: Sequence[Row]) -> Table:
    """Each metric of a cell over its trials, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", "95 % interval", "trials"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for metric in metrics():
        values = _defined(rows, metric)
        if values:
            table.add_row(metric.label, *_mean_and_interval(values, metric), str(len(values)))
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
    return ", ".join(f"{axis}={axes[axis]}" for axis in COLUMNS if axes.get(axis))


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
    for heading in ("trials", CHOSEN.label, "95 % interval", "pretrain epochs", "finetune epochs", "seconds"):
        table.add_column(heading, justify="right")
    for axes, rows in cells:
        table.add_row(*("" if axes.get(column) is None else str(axes[column]) for column in shown), *_outcome(rows))
    return table


def summary_table(cells: Sequence[tuple[Row, Sequence[Row]]]) -> Table:
    """A line a setting: the mean of the datasets' means, for sweeps too long for a line a cell.

    Args:
        cells: as for `sweep_table`.
    """
    shown = [column for column in _shown([axes for axes, _ in cells]) if column != "dataset"]
    settings: dict[tuple[str, ...], list[Sequence[Row]]] = {}
    for axes, rows in cells:
        setting = tuple("" if axes.get(column) is None else str(axes[column]) for column in shown)
        settings.setdefault(setting, []).append(rows)
    table = Table(*shown, box=box.SIMPLE_HEAD)
    for heading in ("datasets finished", "of", f"mean {CHOSEN.label}"):
        table.add_column(heading, justify="right")
    for setting, of_datasets in settings.items():
        means = [np.mean(values) for rows in of_datasets if (values := _defined(rows, CHOSEN))]
        table.add_row(*setting, str(len(means)), str(len(of_datasets)), f"{np.mean(means):.4f}" if means else "")
    return table


def shared_axes(cells: Sequence[Row]) -> Row:
    """The axes that are the same in all cells that use them."""
    shown = _shown(cells)
    return {axis: value for cell in cells for axis, value in cell.items() if value is not None and axis not in shown}


def _shown(cells: Sequence[Row]) -> list[str]:
    """Columns in which cells that use them differ: axes first, then options."""
    columns = [column for column in dict.fromkeys(key for cell in cells for key in cell) if column not in NOT_SHOWN]
    ordered = [*(axis for axis in COLUMNS if axis in columns), *(column for column in columns if column not in COLUMNS)]
    used = {column: {str(cell[column]) for cell in cells if cell.get(column) is not None} for column in ordered}
    return [column for column in ordered if len(used[column]) > 1]


def _outcome(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["0", "not finished", "", "", "", ""]
    gone = n_diverged(rows)
    trials = f"{len(rows)}, {gone} diverged" if gone else str(len(rows))
    epochs = []
    for phase in ("pretrain", "finetune"):
        values = [row[f"{phase}_epochs"] for row in rows if row[f"{phase}_epochs"] is not None]
        epochs.append(f"{np.median(values):g}" if values else "")
    seconds = sum((row["pretrain_seconds"] or 0.0) + row["finetune_seconds"] for row in rows)
    return [trials, *_mean_and_interval(_defined(rows, CHOSEN), CHOSEN), *epochs, f"{seconds:.1f}"]


def _defined(rows: Sequence[Row], metric: Metric) -> list[float]:
    """A metric of the trials that have it: one may have diverged, it may not be defined, or be younger than the row."""
    return [row[metric.name] for row in rows if row.get(metric.name) is not None]


def _mean_and_interval(values: Sequence[float], metric: Metric) -> tuple[str, str]:
    if not values:
        return "", ""
    mean, low, high = metric.interval(values)
    return f"{mean:.4f}", "" if math.isnan(low) else f"{low:.4f} to {high:.4f}"
