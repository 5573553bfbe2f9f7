"""The result table of a run: of one cell its metrics, of several a line a cell."""

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Literal

from rich import box
from rich.table import Table

from ..intervals import FIXED_SPLITS, SIZES, Interval, level_interval, median_sizes
from ..metrics import METRICS, Metric, metrics
from ..options.axes import COLUMNS
from ..reporting.levels import levels_of
from ..reporting.names import text_of
from ..results import values_of, with_reading
from ..screen import screen

Row = dict[str, Any]
ShownCells = Sequence[tuple[Row, Sequence[Row]]]
"""For each cell its columns and the rows of its trials. A cell that did not finish has no rows."""

CHOSEN = METRICS[0]
"""The metric of tables with a line for each cell, if none is named."""
MOST_OPTIONS = 5
"""Options that have a column each; more share one column of what differs from the first cell."""
INTERVAL = "95 % interval"
UNKNOWN = "–"
NARROW = 100
"""Characters below which a terminal is narrow."""
NOT_SHOWN = ("fingerprint", "data", "dataset_id")
"""Columns of records that name a cell or its data for the store."""
PHASES = ("pretrain", "finetune")


def cell_table(axes: Row, rows: Sequence[Row], chosen: Metric = CHOSEN) -> Table:
    """Each metric of a cell over its trials, the chosen one first, then epochs and seconds."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("", "mean", INTERVAL, "trials"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    levels = _levels(axes, rows)
    # The sort is stable: behind the chosen metric, the others keep their usual order.
    for metric in sorted(metrics(), key=lambda metric: metric != chosen):
        if metric.name in levels:
            table.add_row(metric.label, *_in_words(levels[metric.name], metric), str(len(_known(rows, metric.name))))
    # Means are those of the other trials, so a reader must see how many are missing from them.
    if n_diverged(rows):
        table.add_row("diverged, without metrics", "", "", str(n_diverged(rows)))
    table.add_section()
    for phase in PHASES:
        if epochs := _known(rows, f"{phase}_epochs"):
            table.add_row(f"{phase} epochs (median)", f"{median(epochs):g}", "", str(len(epochs)))
            table.add_row(f"{phase} seconds (all trials)", f"{_seconds(rows, phase):.1f}", "", str(len(epochs)))
    return table


def sweep_table(cells: ShownCells, chosen: Metric = CHOSEN) -> Table:
    """A line for each cell: the options in which the cells differ, then the results.

    `shared_axes` and `shared_trials` give what all cells have in common. Columns without a value are left out, as the
    epochs of other libraries' models.
    """
    options = _option_columns(with_reading([axes for axes, _ in cells]))
    # The sentence above the table says how many trials each cell has.
    results = ["trials"] if shared_trials(cells) is None else []
    results += [chosen.label, INTERVAL, *(f"{phase} epochs" for phase in PHASES), "seconds"]
    lines = []
    for (axes, rows), line in zip(cells, options, strict=True):
        diverged = f", {n_diverged(rows)} diverged" if n_diverged(rows) else ""
        shown = line | {"trials": f"{len(rows)}{diverged}"}
        # A cell of which all trials diverged has no metric.
        if level := _levels(axes, rows).get(chosen.name):
            shown[chosen.label], shown[INTERVAL] = _in_words(level, chosen)
        elif not rows:
            shown[chosen.label] = "not finished"
        for phase in PHASES:
            if epochs := _known(rows, f"{phase}_epochs"):
                shown[f"{phase} epochs"] = f"{median(epochs):g}"
        if rows:
            shown["seconds"] = f"{sum(_seconds(rows, phase) for phase in PHASES):.1f}"
        lines.append(shown)
    filled = [heading for heading in results if {line.get(heading, "") for line in lines} - {"", UNKNOWN}]
    # Two blanks between columns in place of three, so that the table of an ablation fits 80 characters.
    left = 0 if screen().width < NARROW else 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, left))
    for heading in (*options[0], *filled):
        justify: Literal["left", "right"] = "right" if heading in filled else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading == INTERVAL)
    for line in lines:
        table.add_row(*(line.get(heading, "") for heading in (*options[0], *filled)))
    return table


def describe(axes: Row, settings: Iterable[str] = ()) -> str:
    """A cell in words: its choice on each axis that it uses, and these options."""
    return ", ".join(f"{name}={axes[name]}" for name in (*COLUMNS, *settings) if axes.get(name) is not None)


def n_diverged(rows: Sequence[Row]) -> int:
    """The number of trials that diverged."""
    return len(_known(rows, "diverged"))


def shared_axes(cells: Sequence[Row]) -> Row:
    """The options that are the same in all cells that use them."""
    cells = with_reading(cells)
    shown = differing_options(cells)
    return {name: value for cell in cells for name, value in cell.items() if value is not None and name not in shown}


def shared_trials(cells: ShownCells) -> int | None:
    """The number of trials, if all cells have the same number and none diverged."""
    numbers = {len(rows) for _, rows in cells}
    # Where no cell has a trial, the table says so of each.
    if len(numbers) > 1 or not any(numbers) or any(n_diverged(rows) for _, rows in cells):
        return None
    return numbers.pop()


def differing_options(cells: Sequence[Row]) -> list[str]:
    """The options in which cells that use them differ; axes come first, in a fixed order."""
    names = dict.fromkeys(COLUMNS) | dict.fromkeys(name for cell in cells for name in cell)
    differing = []
    for name in names:
        # As text, which the table shows: values that look alike would make a column of equal texts.
        used = {str(cell[name]) for cell in cells if cell.get(name) is not None}
        if len(used) > 1 and name not in NOT_SHOWN:
            differing.append(name)
    return differing


def why_no_interval(cells: Sequence[Row]) -> list[str]:
    """A sentence for each fixed split of these cells, which have no predictions that were read."""
    fixed = {str(cell.get("split")) for cell in cells} & set(FIXED_SPLITS)
    return [
        f"With split={split} all trials share their test rows, so their spread gives no interval; it comes from "
        "three or more trials whose predictions were kept."
        for split in sorted(fixed)
    ]


def _option_columns(cells: Sequence[Row]) -> list[dict[str, str]]:
    """The options in which cells differ, for each cell by the headings of the table."""
    varying = differing_options(cells)
    lines = [{name: _choice(axes, name) for name in varying} for axes in cells]
    if len(varying) <= MOST_OPTIONS:
        return lines
    # A column each would be a letter wide.
    first = lines[0]
    return [
        {"options": ", ".join(f"{name}={value}" for name, value in line.items() if value != first[name])}
        for line in lines
    ]


def _choice(axes: Row, name: str) -> str:
    """An option of a cell as the command line has it; empty if it has none."""
    value = axes.get(name)
    return "" if value is None else text_of(value)


def _levels(axes: Row, rows: Sequence[Row]) -> dict[str, Interval]:
    """The mean and the interval of every metric that a trial has: from predictions, if they were read, and else from
    the trials alone."""
    sizes = median_sizes({name: values_of(rows, name) for name in SIZES})
    levels: dict[str, Interval] = {}
    for metric in metrics():
        if known := _known(rows, metric.name):
            levels[metric.name] = level_interval(known, sizes, axes.get("split"), metric.bounds)
    return levels | dict(levels_of(rows))


def _in_words(level: Interval, metric: Metric) -> tuple[str, str]:
    """The mean of a metric, and its interval."""
    mean, low, high = level
    # Too few trials, or a fixed split without predictions, give a mean alone.
    return metric.plain(mean), UNKNOWN if math.isnan(low) else f"{metric.plain(low)} to {metric.plain(high)}"


def _seconds(rows: Sequence[Row], phase: str) -> float:
    """The seconds of a phase over all trials."""
    return float(sum(_known(rows, f"{phase}_seconds")))


def _known(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, without those of rows that have none. A trial has no metric if it diverged, if the metric
    is undefined, or if its row is older than the metric."""
    return [value for value in values_of(rows, name) if value is not None]
